"""Shapes and values that turn out wrong when a run starts: an error that names the tensor, and nothing is touched."""

import numpy as np
import pytest
import tensorrt as trt
from small import Recorder


def engine_of(recorder, describe):
    """An engine of the network that `describe(network, profile)` makes."""
    builder = trt.Builder(recorder)
    network = builder.create_network(0)
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    describe(network, profile)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, recorder.errors()
    return trt.Runtime(recorder).deserialize_cuda_engine(plan)


def run(context, arrays):
    for name, array in arrays.items():
        context.set_tensor_address(name, array.ctypes.data)
    return context.execute_async_v3(0)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_S11_a_reshape_that_changes_the_volume_fails(rows):
    recorder = Recorder()

    def describe(network, profile):
        x = network.add_input("x", trt.float32, (-1, 3))
        shuffle = network.add_shuffle(x)
        shuffle.reshape_dims = (2, 3)
        shuffle.get_output(0).name = "turned"
        y = network.add_activation(shuffle.get_output(0), trt.ActivationType.TANH).get_output(0)
        y.name = "y"
        network.mark_output(y)
        profile.set_shape("x", (1, 3), (2, 3), (4, 3))

    context = engine_of(recorder, describe).create_execution_context()
    x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
    y = np.full((2, 3), 7, np.float32)
    assert context.set_input_shape("x", x.shape)
    assert run(context, {"x": x, "y": y}) == (rows == 2)
    if rows == 2:
        np.testing.assert_allclose(y, np.tanh(x), rtol=1e-5)
        return
    assert "'turned'" in recorder.errors()
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    assert context.set_input_shape("x", x.shape)
    assert run(context, {"x": x, "y": y}), "the context stays usable"
    np.testing.assert_allclose(y, np.tanh(x), rtol=1e-5)


def test_gathered_elements_come_from_within_the_data():
    recorder = Recorder()

    def describe(network, profile):
        data = network.add_input("data", trt.float32, (-1, 3))
        indices = network.add_input("indices", trt.int32, (-1, 2))
        gather = network.add_gather_v2(data, indices, trt.GatherMode.ELEMENT)
        gather.axis = 1
        y = gather.get_output(0)
        y.name = "y"
        network.mark_output(y)
        profile.set_shape("data", (1, 3), (2, 3), (50, 3))
        profile.set_shape("indices", (1, 2), (2, 2), (50, 2))

    context = engine_of(recorder, describe).create_execution_context()
    rng = np.random.default_rng(1)
    data = rng.standard_normal((4, 3)).astype(np.float32)
    for rows in (4, 50):
        indices = rng.integers(0, 3, (rows, 2)).astype(np.int32)
        y = np.full((rows, 2), 7, np.float32)
        assert context.set_input_shape("data", data.shape)
        assert context.set_input_shape("indices", indices.shape)
        assert run(context, {"data": data, "indices": indices, "y": y}) == (rows == 4)
        expected = np.take_along_axis(data, indices, 1) if rows == 4 else np.full((rows, 2), 7)
        np.testing.assert_array_equal(y, expected.astype(np.float32))
