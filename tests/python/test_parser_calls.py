"""What programs ask the ONNX parser in Python: parts of a model, tensors of nodes, errors, every way to read one."""

import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest
import small
import tensorrt as trt

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x) => (float[2, 3] y)
<float[3] w = {2.0, 3.0, 4.0}>
{
    a = Relu (x)
    y = Mul (a, w)
}
"""
WITH_UNKNOWN = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x) => (float[2, 3] y)
{
    a = Relu (x)
    b = Neg (a)
    c = NoSuchOperator (b)
    y = Relu (c)
}
"""
IN_FUNCTIONS = """
<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[4] x) => (float[4] y)
{
    y = own.outer (x)
}
<domain: "own", opset_import: ["" : 18, "own" : 1]>
outer (x) => (y)
{
    y = own.inner (x)
}
<domain: "own", opset_import: ["" : 18]>
inner (x) => (y)
{
    y = NoSuchOperator (x)
}
"""


def model(text: str) -> onnx.ModelProto:
    """With names of nodes, as exporters give them."""
    made = onnx.parser.parse_model(text)
    for number, node in enumerate(made.graph.node):
        node.name = f"node {number}"
    return made


class Reading:
    def __init__(self) -> None:
        self.logger = small.Recorder()
        self.builder = trt.Builder(self.logger)
        self.network = self.builder.create_network()
        self.parser = trt.OnnxParser(self.network, self.logger)

    def result(self, x: np.ndarray) -> np.ndarray:
        plan = self.builder.build_serialized_network(self.network, self.builder.create_builder_config())
        engine = trt.Runtime(self.logger).deserialize_cuda_engine(plan)
        context = engine.create_execution_context()
        given, y = small.memory(engine, x), small.memory(engine, np.zeros_like(x))
        assert context.set_tensor_address("x", given) and context.set_tensor_address("y", y)
        assert context.execute_async_v3(0)
        return small.contents(y)


X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


@pytest.mark.parametrize("way", ["parse", "parse_from_file", "parse_with_weight_descriptors", "parse_model_proto"])
def test_a_model_is_read_in_each_way(way: str, tmp_path) -> None:
    given = model(MODEL).SerializeToString()
    file = tmp_path / "model.onnx"
    file.write_bytes(given)
    reading = Reading()
    if way == "parse_from_file":
        assert reading.parser.parse_from_file(str(file))
    elif way == "parse_model_proto":
        assert not reading.parser.parse_model_proto(), "there is none yet"
        reading.parser.clear_errors()
        assert reading.parser.num_errors == 0 and reading.parser.load_model_proto(given)
        assert reading.network.num_layers == 0
        assert reading.parser.parse_model_proto()
    else:
        assert getattr(reading.parser, way)(given)
    np.testing.assert_array_equal(reading.result(X), np.maximum(X, 0) * np.float32([2, 3, 4]))
    assert not reading.parser.parse(given), "a parser reads one model"


def test_W5_parts_of_a_model() -> None:
    given = model(WITH_UNKNOWN).SerializeToString()
    parser = Reading().parser
    assert not parser.supports_model_v2(given)
    parts = [(parser.get_subgraph_nodes(i), parser.is_subgraph_supported(i)) for i in range(parser.num_subgraphs)]
    assert parts == [([0, 1], True), ([3], False)]
    assert parser.get_subgraph_nodes(len(parts)) == [] and not parser.is_subgraph_supported(len(parts))
    supported, collection = Reading().parser.supports_model(given)
    assert not supported and type(collection) is trt.SubGraphCollection
    assert [(list(nodes), whole) for nodes, whole in collection] == parts
    assert all(type(nodes) is trt.NodeIndices for nodes, _ in collection)
    whole = Reading().parser
    assert whole.supports_model_v2(model(MODEL).SerializeToString()) and whole.num_errors == 0
    assert whole.num_subgraphs == 1 and whole.get_subgraph_nodes(0) == [0, 1] and whole.is_subgraph_supported(0)


def test_W6_an_error_says_where_it_is() -> None:
    reading = Reading()
    assert not reading.parser.parse(model(WITH_UNKNOWN).SerializeToString())
    error = reading.parser.get_error(0)
    assert (error.node(), error.node_name(), error.node_operator()) == (2, "node 2", "NoSuchOperator")
    assert error.code() == trt.ErrorCode.UNSUPPORTED_NODE and "NoSuchOperator" in error.desc()
    assert error.file().endswith(".cpp") and error.line() > 0 and error.func()
    assert error.local_function_stack() == [] and error.local_function_stack_size() == 0
    assert "NoSuchOperator" in str(error) and "NoSuchOperator" in repr(error)
    assert reading.parser.get_error(reading.parser.num_errors) is None
    nested = Reading()
    assert not nested.parser.parse(model(IN_FUNCTIONS).SerializeToString())
    error = nested.parser.get_error(0)
    assert error.local_function_stack() == ["own.outer", "own.inner"] and error.local_function_stack_size() == 2


def test_W12_tensors_of_nodes() -> None:
    reading = Reading()
    assert reading.parser.parse(model(MODEL).SerializeToString())
    tensor = reading.parser.get_layer_output_tensor("node 1", 0)
    assert tensor.name == "y" and tensor.is_network_output
    assert reading.parser.get_layer_output_tensor("node 1", 1) is None
    assert reading.parser.get_layer_output_tensor("nobody", 0) is None


def test_W4_W11_operators_and_libraries() -> None:
    reading = Reading()
    assert reading.parser.supports_operator("Conv") and not reading.parser.supports_operator("NoSuchOperator")
    assert reading.parser.parse(model(MODEL).SerializeToString())
    assert reading.parser.get_used_vc_plugin_libraries() == []
    assert reading.parser.set_builder_config(reading.builder.create_builder_config())


def test_W8_flags() -> None:
    parser = Reading().parser
    native, override = trt.OnnxParserFlag.NATIVE_INSTANCENORM, trt.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE
    assert parser.get_flag(native) and not parser.get_flag(override)
    parser.set_flag(override)
    assert parser.flags == 1 << int(native) | 1 << int(override)
    parser.clear_flag(native)
    assert not parser.get_flag(native) and parser.get_flag(override)
    parser.flags = 1 << int(native)
    assert parser.get_flag(native) and not parser.get_flag(override)
