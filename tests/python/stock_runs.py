"""Runs a stock plugin as an engine does: built with two profiles, stored, loaded, and run with several extents."""

from collections.abc import Sequence

import numpy as np
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
KINDS = {np.dtype(np.float32): trt.float32, np.dtype(np.float16): trt.float16, np.dtype(np.int32): trt.int32}
KINDS |= {np.dtype(np.int8): trt.int8}
HALVES = ["CustomEmbLayerNormPluginDynamic"]  # What may give float16 of other types.
Arrays = Sequence[np.ndarray]


def collection(fields: dict[str, object]) -> trt.PluginFieldCollection:
    """Whole numbers become int32 fields, others float32 ones."""
    made = []
    for name, value in fields.items():
        is_whole = np.issubdtype(np.asarray(value).dtype, np.integer)
        data = np.atleast_1d(np.asarray(value, np.int32 if is_whole else np.float32)).ravel()
        made.append(trt.PluginField(name, data, trt.PluginFieldType.INT32 if is_whole else trt.PluginFieldType.FLOAT32))
    return trt.PluginFieldCollection(made)


def layer_of(
    network: trt.INetworkDefinition, name: str, version: str, fields: dict[str, object], tensors: list[trt.ITensor]
) -> trt.ILayer:
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    assert creator is not None, f"{name} {version}"
    if isinstance(creator, trt.IPluginCreatorV3One):
        plugin = creator.create_plugin(name, collection(fields), trt.TensorRTPhase.BUILD)
        return network.add_plugin_v3(tensors, [], plugin)
    return network.add_plugin_v2(tensors, creator.create_plugin(name, collection(fields)))


def engine_of(
    name: str, version: str, fields: dict[str, object], cases: Sequence[Arrays], ends: Sequence[float] = ()
) -> trt.ICudaEngine | None:
    """Extents that differ between cases are dynamic. Profile 0 is for the first case, profile 1 for all of them.

    `ends` are those of the ranges of inputs, then outputs; 0 for none.
    """
    builder = trt.Builder(LOGGER)
    flags = trt.NetworkDefinitionCreationFlag
    # Weakly typed networks offer float32 where no flag asks for another type.
    is_strong = any(x.dtype in (np.float16, np.int8) for x in cases[0]) or name in HALVES
    # Batches stand in the dims, also of plugins that leave them out of theirs.
    network = builder.create_network(1 << int(flags.EXPLICIT_BATCH) | int(is_strong) << int(flags.STRONGLY_TYPED))
    config = builder.create_builder_config()
    profiles = [builder.create_optimization_profile() for _ in range(2)]
    tensors = []
    for i, x in enumerate(cases[0]):
        shapes = np.array([case[i].shape for case in cases])
        least, most = shapes.min(0), shapes.max(0)
        tensors.append(network.add_input(f"x{i}", KINDS[x.dtype], np.where(least == most, least, -1).tolist()))
        for axis in np.flatnonzero(least != most):  # Extents that are the same in every case are one extent.
            tensors[-1].set_dimension_name(int(axis), f"extent {shapes[:, axis].tolist()}")
        profiles[0].set_shape(f"x{i}", x.shape, x.shape, x.shape)
        profiles[1].set_shape(f"x{i}", least.tolist(), most.tolist(), most.tolist())
    for profile in profiles if tensors else []:
        config.add_optimization_profile(profile)
    layer = layer_of(network, name, version, fields, tensors)
    for tensor, end in zip([*tensors, *(layer.get_output(i) for i in range(layer.num_outputs))], ends, strict=False):
        if end:
            tensor.dynamic_range = (-end, end)
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    plan = builder.build_serialized_network(network, config)
    return None if plan is None else trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def run(engine: trt.ICudaEngine, inputs: Arrays, profile: int = 0, fails: bool = False) -> list[np.ndarray]:
    context = engine.create_execution_context()
    if profile:
        assert context.set_optimization_profile_async(profile, 0)
    inputs = [np.ascontiguousarray(x) for x in inputs]
    for i, x in enumerate(inputs):
        assert context.set_input_shape(f"x{i}", x.shape)
        context.set_tensor_address(f"x{i}", x.ctypes.data)
    outputs = []
    for i in range(engine.num_io_tensors - len(inputs)):
        kind = trt.nptype(engine.get_tensor_dtype(f"y{i}"))
        outputs.append(np.full(tuple(context.get_tensor_shape(f"y{i}")), 77, kind))
        context.set_tensor_address(f"y{i}", outputs[-1].ctypes.data)
    assert context.execute_async_v3(0) is not fails
    return outputs


def results(
    name: str, version: str, fields: dict[str, object], cases: Sequence[Arrays], ends: Sequence[float] = ()
) -> list[list[np.ndarray]]:
    """Of each case. What profile 0 gives for the first one must be the same."""
    engine = engine_of(name, version, fields, cases, ends)
    assert engine is not None, f"{name} {version} was refused"
    every = [run(engine, case, int(len(case) > 0)) for case in cases]
    for a, b in zip(run(engine, cases[0]), every[0], strict=True):
        np.testing.assert_array_equal(a, b)
    return every
