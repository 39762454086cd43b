"""Real models by binding index (8.x) and by tensor name: the same bytes at the same shape, in either profile."""

import numpy as np
import pytest
import references
import tenon
import tensorrt as trt
from zoo import MODELS, Shapes

LOGGER = trt.Logger(trt.Logger.WARNING)
CASES: dict[str, tuple[Shapes, ...]] = {
    "resnet50": ({"input": (1, 3, 224, 224)}, {"input": (3, 3, 224, 224)}),
    "bert_base": tuple({"input_ids": s, "attention_mask": s} for s in ((1, 24), (3, 17))),
}


def two_profiles(name: str) -> trt.ICudaEngine:
    model = MODELS[name]
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse_from_file(str(model.path))
    config = builder.create_builder_config()
    for shapes in CASES[name]:
        profile = builder.create_optimization_profile()
        for tensor, shape in shapes.items():
            profile.set_shape(tensor, (1, *shape[1:]), shape, shape)
        assert config.add_optimization_profile(profile) >= 0
    plan = builder.build_serialized_network(network, config)
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def outputs_of(engine: trt.ICudaEngine, context: trt.IExecutionContext) -> dict[str, np.ndarray]:
    names = [name for name in engine if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT]
    types = {name: trt.nptype(engine.get_tensor_dtype(name)) for name in names}
    return {name: np.full(tuple(context.get_tensor_shape(name)), 77, types[name]) for name in names}


def by_name(engine: trt.ICudaEngine, profile: int, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    context = engine.create_execution_context()
    with tenon.Stream() as stream:
        assert context.set_optimization_profile_async(profile, stream.handle)
        for name, data in feed.items():
            assert context.set_input_shape(name, data.shape)
            assert context.set_tensor_address(name, data)
        outputs = outputs_of(engine, context)
        for name, array in outputs.items():
            assert context.set_tensor_address(name, array)
        assert context.execute_async_v3(stream.handle)
        stream.synchronize()
    return outputs


def by_index(
    engine: trt.ICudaEngine, profile: int, feed: dict[str, np.ndarray], on_stream: bool
) -> dict[str, np.ndarray]:
    context = engine.create_execution_context()
    context.active_optimization_profile = profile
    first = profile * engine.num_io_tensors
    bindings: list = [0] * engine.num_bindings
    for name, data in feed.items():
        index = first + engine.get_binding_index(name)
        assert context.set_binding_shape(index, data.shape)
        bindings[index] = data.ctypes.data
    assert context.all_binding_shapes_specified
    outputs = outputs_of(engine, context)
    for name, array in outputs.items():
        bindings[first + engine.get_binding_index(name)] = array.ctypes.data
    if not on_stream:
        assert context.execute_v2(bindings)
        return outputs
    with tenon.Stream() as stream:
        assert context.execute_async_v2(bindings, stream.handle)
        stream.synchronize()
    return outputs


@pytest.mark.parametrize("name", list(CASES))
def test_bindings_by_index_give_the_bytes_of_tensors_by_name(name: str) -> None:
    engine = two_profiles(name)
    assert engine.num_bindings == 2 * engine.num_io_tensors
    for profile, shapes in enumerate(CASES[name]):
        feed = references.inputs(MODELS[name], shapes, profile)
        want = by_name(engine, profile, feed)
        for on_stream in (False, True):
            got = by_index(engine, profile, feed, on_stream)
            assert set(got) == set(want)
            for tensor, array in want.items():
                assert not np.all(array == 77)
                np.testing.assert_array_equal(got[tensor], array)
