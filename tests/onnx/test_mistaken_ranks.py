"""Operands of ranks that their operators do not have: refused by the node's name (the fuzzer had found crashes)."""

import onnx
import pytest
import tensorrt as trt
from onnx import TensorProto, helper

FLOAT, INT8, INT64 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT64
CASES = {
    "MaxPool": ([("x", FLOAT, [4])], {"kernel_shape": [2]}),
    "ConvInteger": ([("x", INT8, [1, 2, 4, 4]), ("w", INT8, [3])], {}),
    "Conv": ([("x", FLOAT, [1, 2, 4, 4]), ("w", FLOAT, [3])], {}),
    "RotaryEmbedding": ([("x", FLOAT, [2, 4]), ("cos", FLOAT, [4, 2]), ("sin", FLOAT, [4, 2])], {}),
    "Attention": ([("q", FLOAT, [2, 4]), ("k", FLOAT, [2, 4]), ("v", FLOAT, [2, 4])], {}),
    "RoiAlign": ([("x", FLOAT, [4]), ("rois", FLOAT, [1, 4]), ("of", INT64, [1])], {}),
    "LSTM": ([("x", FLOAT, [1, 2, 4]), ("w", FLOAT, [1, 12]), ("r", FLOAT, [1, 12, 3])], {"hidden_size": 3}),
    "ConcatFromSequence": ([("x", FLOAT, [2])], {"axis": 0}),
}


def parsed(nodes: list[onnx.NodeProto], inputs: list[tuple[str, int, list[int]]]) -> list[trt.ParserError]:
    infos = [helper.make_tensor_value_info(*each) for each in inputs]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    parser = trt.OnnxParser(trt.Builder(logger).create_network(), logger)
    assert not parser.parse(model.SerializeToString())
    return [parser.get_error(i) for i in range(parser.num_errors)]


@pytest.mark.parametrize("op", CASES)
def test_ranks_that_do_not_fit_are_the_models_mistake(op: str) -> None:
    inputs, attributes = CASES[op]
    node = helper.make_node(op, [name for name, *_ in inputs], ["y"], name="here", **attributes)
    errors = parsed([node], inputs)
    assert errors and errors[0].code() != trt.ErrorCode.INTERNAL_ERROR, [each.desc() for each in errors]
    assert any(each.node_name() == "here" or "here" in each.desc() for each in errors)


def test_positions_and_caches_of_microsofts_rotary_embedding_have_two_axes() -> None:
    inputs = [("x", FLOAT, [1, 1, 4]), ("at", INT64, [1, 1, 1]), ("cos", FLOAT, [1]), ("sin", FLOAT, [1])]
    node = helper.make_node(
        "RotaryEmbedding", [name for name, *_ in inputs], ["y"], name="here", domain="com.microsoft"
    )
    (error,) = parsed([node], inputs)
    assert error.code() == trt.ErrorCode.INVALID_NODE and error.node_name() == "here"
    assert "RotaryEmbedding of [1,1,4] at positions [1,1,1] with cosines [1] and sines [1]" in error.desc()


def test_lists_and_parts_without_end_are_refused() -> None:
    parts = helper.make_node("Split", ["x"], ["y"], name="here", num_outputs=2**63 - 1)
    (error,) = parsed([parts], [("x", FLOAT, [6])])
    assert error.node_name() == "here" and f"1 outputs for {2**63 - 1} parts" in error.desc()
    wide = helper.make_node("Expand", ["x", "to"], ["y"], name="here")
    (error,) = parsed([wide], [("x", FLOAT, [6]), ("to", INT64, [2**63 - 1])])
    assert error.node_name() == "here" and "a known length up to 4096" in error.desc()


def test_a_loop_of_sequences_needs_trips_and_condition() -> None:
    infos = [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, [])]
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"])], "body", infos, infos[1:])
    nodes = [
        helper.make_node("SequenceEmpty", [], ["list"]),
        helper.make_node("Loop", ["list"], ["y"], name="here", body=body),
    ]
    (error,) = parsed(nodes, [])
    assert error.code() == trt.ErrorCode.UNSUPPORTED_NODE_INPUT and error.node_name() == "here"
    assert "input 0 'list'" in error.desc()


def test_an_identity_without_inputs_in_a_loop_is_named() -> None:
    body = helper.make_graph(
        [helper.make_node("Identity", [], ["again"], name="here"), helper.make_node("Neg", ["x"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", FLOAT, [2]),
        ],
    )
    loop = helper.make_node("Loop", ["count", "", "x"], ["y"], name="loop", body=body)
    errors = parsed([loop], [("count", INT64, []), ("x", FLOAT, [2])])
    assert errors and errors[0].code() != trt.ErrorCode.INTERNAL_ERROR, [each.desc() for each in errors]
