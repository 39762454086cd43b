"""What the seed documents (tests/seeds.toml) state about the Python API and no rule of another file covers."""

import numpy as np
import pytest
import small
import tensorrt as trt


class Allocator(trt.IOutputAllocator):
    """Gives memory of its own, or None when it refuses, and keeps what it was asked for and told."""

    def __init__(self, refuse: bool = False) -> None:
        trt.IOutputAllocator.__init__(self)
        self.refuse = refuse
        self.asked: list[tuple] = []
        self.told: list[tuple] = []
        self.memory = np.full(64, -1, np.int32)

    def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> int | None:
        self.asked.append((tensor_name, memory, size, alignment))
        return None if self.refuse else self.memory.ctypes.data

    def notify_shape(self, tensor_name: str, shape: trt.Dims) -> None:
        self.told.append((tensor_name, tuple(shape)))


def finder() -> trt.IExecutionContext:
    """Where x of shape (2, 3) is not 0: an output whose extent depends on data."""
    builder = trt.Builder(small.Recorder())
    network = builder.create_network()
    x = network.add_input(name="x", dtype=trt.float32, shape=(2, 3))
    found = network.add_non_zero(x).get_output(0)
    found.name = "found"
    network.mark_output(found)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(small.Recorder()).deserialize_cuda_engine(plan).create_execution_context()


def test_a_network_is_defined_with_the_keywords_of_the_seed() -> None:
    builder = trt.Builder(trt.Logger())
    network = builder.create_network()
    x = network.add_input(name="X", dtype=trt.float32, shape=(2, 3))
    assert x.name == "X" and tuple(x.shape) == (2, 3) and x.dtype == trt.DataType.FLOAT
    y = network.add_activation(x, trt.ActivationType.RELU).get_output(0)
    y.name = "Y"
    network.mark_output(tensor=y)
    assert network.num_outputs == 1 and network.get_output(0).name == "Y" and y.is_network_output


def test_an_output_allocator_written_in_python_serves_a_run() -> None:
    context, allocator = finder(), Allocator()
    x = np.array([[0, 2, 0], [3, 0, 4]], np.float32)
    assert context.set_tensor_address("x", x) and context.set_output_allocator("found", allocator)
    assert context.execute_async_v3(0)
    (asked,) = allocator.asked
    assert asked[0] == "found" and asked[2] >= 2 * 3 * 4 and asked[3] > 0
    assert allocator.told == [("found", (2, 3))]
    np.testing.assert_array_equal(allocator.memory[:6].reshape(2, 3), np.array(np.nonzero(x)))


def test_an_output_allocator_that_skips_the_base_is_refused() -> None:
    class Forgetful(Allocator):
        def __init__(self) -> None:
            pass

    with pytest.raises(TypeError, match="__init__"):
        finder().set_output_allocator("found", Forgetful())


def test_none_from_an_output_allocator_fails_the_run() -> None:
    context, allocator = finder(), Allocator(refuse=True)
    x = np.ones((2, 3), np.float32)
    assert context.set_tensor_address("x", x) and context.set_output_allocator("found", allocator)
    assert not context.execute_async_v3(0)
    assert len(allocator.asked) == 1 and (allocator.memory == -1).all()


def test_contexts_know_their_engine_and_name_and_are_made_by_it_alone() -> None:
    engine = small.engine(small.Recorder())
    context = engine.create_execution_context()
    assert context.engine is engine
    context.name = "first"
    assert context.name == "first"
    with pytest.raises(TypeError, match="No constructor|cannot"):
        trt.IExecutionContext()


def test_infer_shapes_lists_names_or_raises() -> None:
    context = small.engine(small.Recorder()).create_execution_context()
    assert context.infer_shapes() == ["x"]
    assert context.set_input_shape("x", (3, 8))
    assert context.infer_shapes() == []

    builder = trt.Builder(small.Recorder())
    network = builder.create_network()
    a, b = (network.add_input(name, trt.float32, (-1, 8)) for name in "ab")
    network.mark_output(network.add_elementwise(a, b, trt.ElementWiseOperation.SUM).get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    for name in "ab":
        profile.set_shape(name, (1, 8), (2, 8), (4, 8))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    context = trt.Runtime(small.Recorder()).deserialize_cuda_engine(plan).create_execution_context()
    assert context.set_input_shape("a", (2, 8)) and context.set_input_shape("b", (3, 8))
    with pytest.raises(RuntimeError):  # 2 and 3 rows do not go together.
        context.infer_shapes()
