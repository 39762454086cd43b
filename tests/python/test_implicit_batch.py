"""Networks whose dims leave the batch out, as programs of 8.x wrote them: max_batch_size, execute and execute_async."""

import numpy as np
import pytest
import small
import tenon
import tensorrt as trt
from host_streams import Event, Stream
from onnx import TensorProto, helper

MOST = 6
EXPLICIT = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)


def weights() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    kernel = generator.standard_normal((5, 24)).astype(np.float32)
    return kernel, generator.standard_normal(5).astype(np.float32)


def classifier(network: trt.INetworkDefinition) -> None:
    """softmax(fully connected(relu(x))): x [2, 3, 4] to y [5, 1, 1], and the best class."""
    kernel, bias = weights()
    x = network.add_input("x", trt.float32, (2, 3, 4))
    relu = network.add_activation(x, trt.ActivationType.RELU)
    full = network.add_fully_connected(relu.get_output(0), 5, kernel, bias)
    assert isinstance(full, trt.IFullyConnectedLayer) and full.num_output_channels == 5
    np.testing.assert_array_equal(np.asarray(full.kernel).reshape(5, 24), kernel)
    np.testing.assert_array_equal(full.bias, bias)
    soft = network.add_softmax(full.get_output(0))
    soft.axes = 1
    assert tuple(soft.get_output(0).shape) == (5, 1, 1)
    best = network.add_topk(soft.get_output(0), trt.TopKOperation.MAX, 1, 1)
    for tensor, name in ((soft.get_output(0), "y"), (best.get_output(1), "best")):
        tensor.name = name
        network.mark_output(tensor)


def want(x: np.ndarray) -> np.ndarray:
    kernel, bias = weights()
    scores = np.maximum(x, 0).reshape(len(x), 24) @ kernel.T + bias
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).reshape(len(x), 5, 1, 1)


def build(logger: trt.ILogger, most: int = MOST) -> trt.ICudaEngine:
    builder = trt.Builder(logger)
    assert builder.max_batch_size == 1
    network = builder.create_network()
    assert not network.has_implicit_batch_dimension
    builder.max_batch_size = most
    assert builder.max_batch_size == most and network.has_implicit_batch_dimension
    classifier(network)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan is not None, logger.errors()
    return trt.Runtime(logger).deserialize_cuda_engine(plan)


def buffers(batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.random.default_rng(batch).standard_normal((batch, 2, 3, 4)).astype(np.float32)
    return x, np.full((batch, 5, 1, 1), 9, np.float32), np.full((batch, 1, 1, 1), -1, np.int32)


@pytest.fixture(scope="module")
def engine() -> trt.ICudaEngine:
    return build(small.Recorder())


def test_P11_the_engine_leaves_the_batch_out(engine: trt.ICudaEngine) -> None:
    assert engine.has_implicit_batch_dimension and engine.max_batch_size == MOST
    assert tuple(engine.get_tensor_shape("x")) == (2, 3, 4)
    assert tuple(engine.get_tensor_shape("y")) == (5, 1, 1)
    context = engine.create_execution_context()
    assert tuple(context.get_tensor_shape("y")) == (5, 1, 1)


def test_S4_execute_runs_every_batch_up_to_the_maximum(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    for batch in range(1, MOST + 1):
        x, y, best = buffers(batch)
        assert context.execute(batch, [x.ctypes.data, y.ctypes.data, best.ctypes.data]) is True
        np.testing.assert_allclose(y, want(x), 1e-4, 1e-5)
        np.testing.assert_array_equal(best.reshape(-1), want(x).reshape(batch, 5).argmax(axis=1))
    x, y, best = buffers(1)
    assert context.execute(bindings=[x, y, best])  # One sample unless said otherwise; arrays will do, too.
    np.testing.assert_allclose(y, want(x), 1e-4, 1e-5)
    assert context.execute(batch_size=1, bindings=[x, y, best])


def test_S4_execute_fails_for_other_batches_and_bindings() -> None:
    logger = small.Recorder()
    context = build(logger).create_execution_context()
    x, y, best = buffers(MOST)
    for batch in (MOST + 1, 0, -3):
        assert context.execute(batch, [x.ctypes.data, y.ctypes.data, best.ctypes.data]) is False
    assert f"{MOST} at most" in logger.errors()
    with pytest.raises(ValueError, match="3 tensors"):
        context.execute(2, [x, y])
    with pytest.raises(ValueError, match="'y'"):
        context.execute(MOST, [x, y[:2], best])
    with pytest.raises(TypeError):
        context.execute(2)
    assert context.execute(MOST, [x, y, best])


def test_S4_execute_async_runs_on_a_stream(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    for batch in (4, 2):
        x, y, best = buffers(batch)
        assert context.execute_async(batch, [x, y, best], 0) is True
        np.testing.assert_allclose(y, want(x), 1e-4, 1e-5)
        y[:] = 9
        bindings = [x.ctypes.data, y.ctypes.data, best.ctypes.data]
        assert context.execute_async(batch_size=batch, bindings=bindings, stream_handle=0, input_consumed=None)
        np.testing.assert_allclose(y, want(x), 1e-4, 1e-5)
    x, y, best = buffers(1)
    assert context.execute_async(bindings=[x, y, best], stream_handle=0)


def test_S3_execute_async_goes_on_and_records_its_event(engine: trt.ICudaEngine) -> None:
    context, stream, event = engine.create_execution_context(), Stream(), Event()
    x, y, best = buffers(4)
    wanted = want(x)
    gate = stream.hold()
    assert context.execute_async(4, [x, y, best], stream.handle, event.handle) is True
    assert not event.is_over() and (y == 9).all()
    gate.set()
    event.wait()
    x[:] = 1e9  # Refilled.
    assert stream.synchronize() == 0
    stream.close()
    np.testing.assert_allclose(y, wanted, 1e-4, 1e-5)


def test_S4_other_calls_fail_on_an_implicit_engine() -> None:
    logger = small.Recorder()
    context = build(logger).create_execution_context()
    x, y, best = buffers(1)
    assert context.execute_v2([x, y, best]) is False
    for name, array in (("x", x), ("y", y), ("best", best)):
        assert context.set_tensor_address(name, array)
    assert context.execute_async_v3(0) is False
    assert context.set_input_shape("x", (1, 2, 3, 4)) is False
    assert "implicit" in logger.errors()


def explicit(builder: trt.Builder, network: trt.INetworkDefinition, logger: trt.ILogger) -> trt.ICudaEngine:
    """y = relu(x) for two rows of three."""
    y = network.add_activation(network.add_input("x", trt.float32, (2, 3)), trt.ActivationType.RELU).get_output(0)
    y.name = "y"
    network.mark_output(y)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    assert not engine.has_implicit_batch_dimension and engine.max_batch_size == 1
    return engine


def test_S4_an_explicit_batch_makes_the_number_a_matter_of_form() -> None:
    logger = small.Recorder()
    builder = trt.Builder(logger)
    network = builder.create_network(EXPLICIT)
    builder.max_batch_size = 16  # As programs of that time did; the flag decides.
    assert not network.has_implicit_batch_dimension
    context = explicit(builder, network, logger).create_execution_context()
    data = np.random.default_rng(3).standard_normal((2, 3)).astype(np.float32)
    for batch in (1, 9, 7):
        result = np.full_like(data, 7)
        assert context.execute(batch, [data, result])
        np.testing.assert_array_equal(result, np.maximum(data, 0))
    warnings = [text for severity, text in logger.lines if severity == trt.ILogger.WARNING and "EXPLICIT" in text]
    assert len(warnings) == 1, warnings


def test_S4_whoever_never_said_which_batch_is_told_to_set_it() -> None:
    logger = small.Recorder()
    builder = trt.Builder(logger)
    context = explicit(builder, builder.create_network(), logger).create_execution_context()
    data = np.random.default_rng(3).standard_normal((2, 3)).astype(np.float32)
    result = np.full_like(data, 7)
    assert context.execute(2, [data, result]) is False and (result == 7).all()
    assert logger.errors().count("setMaxBatchSize") == 1, logger.errors()
    assert context.execute_async(2, [data, result], 0) is False and (result == 7).all()
    assert logger.errors().count("setMaxBatchSize") == 2, logger.errors()
    assert context.execute(1, [data, result])  # One run, of all that the dims hold.
    np.testing.assert_array_equal(result, np.maximum(data, 0))


def test_inspection_and_verification_see_the_batch(engine: trt.ICudaEngine) -> None:
    seen = tenon.inspect(engine)
    assert seen["batch"].startswith(f"implicit, at most {MOST}")
    assert [tensor["shape"][0] for tensor in seen["io"]] == [-1, -1, -1]
    report = tenon.verify(engine)
    assert report["ok"] and any(step["compared"] for step in report["steps"])


def test_C15_models_do_not_go_into_an_implicit_network() -> None:
    builder = trt.Builder(small.Recorder())
    builder.max_batch_size = 2
    network = builder.create_network()
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "small", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    parser = trt.OnnxParser(network, small.Recorder())
    assert not parser.parse(model.SerializeToString())
    assert "kEXPLICIT_BATCH" in parser.get_error(0).desc() and network.num_layers == 0
    parser = trt.OnnxParser(builder.create_network(EXPLICIT), small.Recorder())
    assert parser.parse(model.SerializeToString())


SCRIPT = """
import sys
import numpy as np
import tensorrt as trt
logger = trt.Logger(trt.Logger.ERROR)
builder = trt.Builder(logger)
network = builder.create_network()
assert network.has_implicit_batch_dimension
assert not builder.create_network(1).has_implicit_batch_dimension
x = network.add_input("x", trt.float32, (1, 4, 4))
layer = network.add_pooling_nd(x, trt.PoolingType.MAX, (2, 2))
layer.stride_nd = (2, 2)
network.mark_output(layer.get_output(0))
plan = builder.build_serialized_network(network, builder.create_builder_config())
engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
assert engine.max_batch_size == 1
x, y = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32), np.full((2, 2), 9, np.float32)
assert engine.create_execution_context().execute(1, [x, y])
np.testing.assert_array_equal(y, x.reshape(2, 2, 2, 2).max(axis=(1, 3)))
print("fine")
"""


def test_C15_the_knob_makes_networks_implicit() -> None:
    assert small.script(SCRIPT, TENON_IMPLICIT_BATCH="1").stdout.strip() == "fine"
