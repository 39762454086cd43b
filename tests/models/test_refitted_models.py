"""Real models refitted from other weights: bit for bit the engine that would be built anew, while others run."""

import math
import pathlib
import threading

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
import tensorrt as trt
from materialize import OUT

LOGGER = trt.Logger(trt.Logger.ERROR)
RESNET, BERT, SSD = "resnet50", "bert_base", "ssdlite320"
PATIENCE = 600


def plan(path: pathlib.Path, *flags: trt.BuilderFlag) -> trt.IHostMemory:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse_from_file(str(path))
    config = builder.create_builder_config()
    for flag in flags:
        config.set_flag(flag)
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        shape = [extent if extent >= 0 else (1 if axis == 0 else 16) for axis, extent in enumerate(tensor.shape)]
        profile.set_shape(tensor.name, shape, shape, shape)
    config.add_optimization_profile(profile)
    made = builder.build_serialized_network(network, config)
    assert made is not None
    return made


def engine(path: pathlib.Path, *flags: trt.BuilderFlag) -> trt.ICudaEngine:
    loaded = trt.Runtime(LOGGER).deserialize_cuda_engine(plan(path, *flags))
    assert loaded is not None
    return loaded


def run(loaded: trt.ICudaEngine) -> list[np.ndarray]:
    context = loaded.create_execution_context()
    generator = np.random.default_rng(3)
    arrays, outputs = [], {}
    for name in (loaded.get_tensor_name(i) for i in range(loaded.num_io_tensors)):
        kind = trt.nptype(loaded.get_tensor_dtype(name))
        if loaded.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            shape = loaded.get_tensor_profile_shape(name, 0)[1]
            context.set_input_shape(name, shape)
            reals = generator.standard_normal(tuple(shape))
            arrays.append((reals if np.issubdtype(kind, np.floating) else np.abs(reals) > 0).astype(kind))
        else:  # How many elements there are may be known only behind the run.
            arrays.append(np.empty(context.get_max_output_size(name) // np.dtype(kind).itemsize, kind))
            outputs[name] = len(arrays) - 1
        context.set_tensor_address(name, arrays[-1])
    assert context.execute_async_v3(0)
    for name, at in outputs.items():
        shape = tuple(context.get_tensor_shape(name))
        arrays[at] = arrays[at][: math.prod(shape)].reshape(shape)
    return arrays


def other_weights(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The model with every large weight scaled by a factor of its own."""
    model = onnx.load(path)
    generator = np.random.default_rng(5)
    for tensor in model.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype == np.float32 and array.size > 1:
            changed = array * np.float32(generator.uniform(0.9, 1.1))
            tensor.CopyFrom(onnx.numpy_helper.from_array(changed, tensor.name))
    onnx.save(model, folder / path.name)
    return folder / path.name


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", [RESNET, BERT, SSD])
def test_U3_W13_a_model_refitted_is_the_one_built_anew(name: str, tmp_path: pathlib.Path) -> None:
    before = OUT / f"{name}.onnx"
    behind = other_weights(before, tmp_path)
    refittable = engine(before, trt.BuilderFlag.REFIT)
    first = run(refittable)
    wanted = run(engine(behind))
    wrong, is_over = [], threading.Event()

    def work() -> None:
        while not is_over.is_set():
            got = run(refittable)
            if not same(got, first) and not same(got, wanted):
                wrong.append(name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    refitter = trt.Refitter(refittable, LOGGER)
    assert trt.OnnxParserRefitter(refitter, LOGGER).refit_from_file(str(behind))
    assert refitter.refit_cuda_engine()
    is_over.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert not wrong and not same(first, wanted)
    assert same(run(refittable), wanted)


@pytest.mark.parametrize("name", [RESNET, BERT, SSD])
def test_G13_a_stripped_plan_is_small_and_takes_its_weights_from_the_model(name: str) -> None:
    path = OUT / f"{name}.onnx"
    stripped = plan(path, trt.BuilderFlag.STRIP_PLAN)
    assert len(stripped) < 2_000_000
    loaded = trt.Runtime(LOGGER).deserialize_cuda_engine(stripped)
    refitter = trt.Refitter(loaded, LOGGER)
    assert trt.OnnxParserRefitter(refitter, LOGGER).refit_from_file(str(path))
    assert refitter.refit_cuda_engine()
    assert same(run(loaded), run(engine(path)))
