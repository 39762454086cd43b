"""A model through the public API: ONNX file to plan, plan to engine, inputs to outputs, on the device at hand."""

import pathlib
from collections.abc import Iterable

import numpy as np
import tenon
import tensorrt as trt
from tenon import DeviceArray
from zoo import Model, Shapes

LOGGER = trt.Logger(trt.Logger.WARNING)


class PlanError(RuntimeError):
    """What the parser, the builder or the runtime refused."""


def build(
    model: Model, threads: int = 0, path: pathlib.Path | None = None, flags: Iterable[trt.BuilderFlag] = ()
) -> trt.IHostMemory:
    """The model's serialized plan, with its dynamic profile where the graph is dynamic; `path`: a variant of it.

    float32 stays float32, but for what the flags allow: TF32 is cleared without them.
    """
    builder = trt.Builder(LOGGER)
    if threads:
        builder.max_threads = threads
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    if not parser.parse_from_file(str(path or model.path)):
        raise PlanError("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
    config = builder.create_builder_config()
    config.clear_flag(trt.BuilderFlag.TF32)
    for flag in flags:
        config.set_flag(flag)
    if model.profile:
        config.add_optimization_profile(profile_of(builder, model.profile))
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise PlanError(f"model '{model.name}': the builder returned no plan (see the log)")
    return plan


def profile_of(builder: trt.Builder, shapes: tuple[Shapes, Shapes, Shapes]) -> trt.IOptimizationProfile:
    profile = builder.create_optimization_profile()
    low, best, high = shapes
    for name in low:
        profile.set_shape(name, low[name], best[name], high[name])
    return profile


class Session:
    """A plan file, loaded by its path and ready to run at any shape of its profile."""

    def __init__(self, path: pathlib.Path, threads: int = 0) -> None:
        self._runtime = trt.Runtime(LOGGER)
        if threads:
            self._runtime.max_threads = threads
        self.engine = tenon.load(self._runtime, path)
        if self.engine is None:
            raise PlanError(f"{path}: the runtime refused the plan (see the log)")
        self.context = self.engine.create_execution_context()
        self._bound: dict[str, DeviceArray] = {}

    def bind(self, feed: dict[str, np.ndarray]) -> dict[str, DeviceArray]:
        """Sets shapes and addresses; the outputs' memory, filled by run()."""
        for name, data in feed.items():
            if not self.context.set_input_shape(name, data.shape):
                raise PlanError(f"input '{name}': shape {data.shape} refused")
            self._address(name, DeviceArray.of(self.engine, data))
        outputs = self.names(trt.TensorIOMode.OUTPUT)
        for name in outputs:
            shape = tuple(self.context.get_tensor_shape(name))
            dtype = trt.nptype(self.engine.get_tensor_dtype(name))
            self._address(name, DeviceArray(self.engine, shape, dtype))
        return {name: self._bound[name] for name in outputs}

    def run(self) -> None:
        if not self.context.execute_async_v3(0):
            raise PlanError("execute_async_v3 failed (see the log)")

    def __call__(self, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        outputs = self.bind(feed)
        self.run()
        return {name: array.numpy() for name, array in outputs.items()}

    def names(self, mode: trt.TensorIOMode) -> list[str]:
        names = [self.engine.get_tensor_name(i) for i in range(self.engine.num_io_tensors)]
        return [name for name in names if self.engine.get_tensor_mode(name) == mode]

    def _address(self, name: str, array: DeviceArray) -> None:
        self._bound[name] = array  # The engine holds no reference to what stands behind an address.
        if not self.context.set_tensor_address(name, array.address):
            raise PlanError(f"tensor '{name}': address refused")
