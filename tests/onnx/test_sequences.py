"""Sequences and optionals that end at import, beside ONNX Runtime; and what is refused, by name."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from running import Refused, check_equal, plan_of, run

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name: str, kind: int = FLOAT, shape: list | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def number(name: str, numbers, kind: int = INT64) -> onnx.TensorProto:
    array = np.asarray(numbers)
    return helper.make_tensor(name, kind, array.shape, array.ravel().tolist())


def model_of(nodes: list, inputs: list, outputs: list, initializers: list = ()) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "lists", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def compare(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = dict(zip((o.name for o in model.graph.output), session.run(None, feed), strict=True))
    (found,) = run(plan_of(model, [feed]), [feed])
    for name, array in expected.items():
        assert found[name].dtype == np.asarray(array).dtype
        check_equal(found[name], np.asarray(array), name)


def random(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


@pytest.mark.parametrize(("split", "keepdims"), [(None, 0), (None, 1), (2, 1), ([1, 3, 1], 1)])
def test_a_tensor_cut_to_a_sequence_and_joined_again(split, keepdims: int) -> None:
    parts = [] if split is None else ["parts"]
    nodes = [
        helper.make_node("SplitToSequence", ["x", *parts], ["s"], axis=1, keepdims=keepdims),
        helper.make_node("SequenceAt", ["s", "last"], ["a"]),
        helper.make_node("SequenceErase", ["s", "first"], ["t"]),
        helper.make_node("SequenceInsert", ["t", "a", "first"], ["u"]),
        helper.make_node("SequenceLength", ["u"], ["n"]),
        helper.make_node("ConcatFromSequence", ["u"], ["y"], axis=1),
    ]
    initializers = [number("last", -1), number("first", 0)] + ([] if split is None else [number("parts", split)])
    outputs = [value("y"), value("n", INT64), value("a")]
    compare(model_of(nodes, [value("x", shape=[2, 5, 3])], outputs, initializers), {"x": random(2, 5, 3)})


def test_an_empty_sequence_that_grows_is_stacked() -> None:
    nodes = [
        helper.make_node("SequenceEmpty", [], ["e"]),
        helper.make_node("SequenceInsert", ["e", "x"], ["f"]),
        helper.make_node("SequenceInsert", ["f", "z", "front"], ["g"]),
        helper.make_node("Identity", ["g"], ["h"]),
        helper.make_node("ConcatFromSequence", ["h"], ["y"], axis=1, new_axis=1),
    ]
    inputs = [value("x", shape=[2, "n"]), value("z", shape=[2, "n"])]
    feed = {"x": random(2, 4), "z": random(2, 4, seed=2)}
    compare(model_of(nodes, inputs, [value("y")], [number("front", 0)]), feed)


def test_a_graph_for_each_element() -> None:
    body = helper.make_graph(
        [helper.make_node("Mul", ["e", "c"], ["p"]), helper.make_node("ReduceSum", ["p"], ["q"], keepdims=0)],
        "body",
        [value("e"), value("c")],
        [value("p"), value("q")],
    )
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "z", "x"], ["s"]),
        helper.make_node("SequenceMap", ["s", "w"], ["a", "b"], body=body),
        helper.make_node("ConcatFromSequence", ["a"], ["y"], axis=0),
        helper.make_node("ConcatFromSequence", ["b"], ["sums"], axis=0, new_axis=1),
    ]
    inputs = [value("x", shape=[3, 4]), value("z", shape=[2, 4]), value("w", shape=[4])]
    feed = {"x": random(3, 4), "z": random(2, 4, seed=2), "w": random(4, seed=3)}
    compare(model_of(nodes, inputs, [value("y"), value("sums")]), feed)


def test_a_loop_that_appends_is_unrolled() -> None:
    """What exporters make of a list that grows in a loop, with a value that is carried beside it."""
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["carried", "two"], ["next"]),
            helper.make_node("Gather", ["x", "i"], ["row"], axis=0),
            helper.make_node("Add", ["next", "row"], ["sum"]),
            helper.make_node("SequenceInsert", ["list", "sum"], ["longer"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [value("i", INT64, []), value("go", BOOL, []), helper.make_tensor_sequence_value_info("list", FLOAT, None),
         value("carried", FLOAT, [4])],
        [value("on", BOOL, []), helper.make_tensor_sequence_value_info("longer", FLOAT, None),
         value("next", FLOAT, [4]), value("sum", FLOAT, [4])],
    )  # fmt: skip
    nodes = [
        helper.make_node("SequenceEmpty", [], ["none"]),
        helper.make_node("Loop", ["count", "true", "none", "first"], ["all", "last", "scan"], body=body),
        helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1),
    ]
    initializers = [number("count", 3), number("true", True, BOOL), number("two", 2.0, FLOAT)]
    model = model_of(
        nodes,
        [value("x", shape=[3, 4]), value("first", shape=[4])],
        [value("y"), value("last"), value("scan")],
        initializers,
    )
    compare(model, {"x": random(3, 4), "first": random(4, seed=2)})


@pytest.mark.parametrize("condition", [True, False])
def test_branches_give_sequences_of_one_length(condition: bool) -> None:
    def branch(name: str, elements: list[str]) -> onnx.GraphProto:
        made = helper.make_node("SequenceConstruct", elements, [f"{name}_s"])
        return helper.make_graph([made], name, [], [helper.make_tensor_sequence_value_info(f"{name}_s", FLOAT, None)])

    nodes = [
        helper.make_node(
            "If", ["c"], ["s"], then_branch=branch("yes", ["x", "z"]), else_branch=branch("no", ["z", "z"])
        ),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    inputs = [value("c", BOOL, []), value("x", shape=[2, 3]), value("z", shape=[2, 3])]
    feed = {"c": np.array(condition), "x": random(2, 3), "z": random(2, 3, seed=2)}
    compare(model_of(nodes, inputs, [value("y")]), feed)


def test_optionals_are_known_at_import() -> None:
    of_tensor = helper.make_tensor_type_proto(FLOAT, None)
    nodes = [
        helper.make_node("Optional", ["x"], ["some"]),
        helper.make_node("Optional", [], ["none"], type=of_tensor),
        helper.make_node("OptionalHasElement", ["some"], ["has"]),
        helper.make_node("OptionalHasElement", ["none"], ["lacks"]),
        helper.make_node("OptionalGetElement", ["some"], ["got"]),
        helper.make_node("Neg", ["got"], ["y"]),
    ]
    x = random(2, 3)
    model = model_of(nodes, [value("x", shape=[2, 3])], [value("y"), value("has", BOOL), value("lacks", BOOL)])
    (found,) = run(plan_of(model, [{"x": x}]), [{"x": x}])
    np.testing.assert_array_equal(found["y"], -x)
    assert found["has"] and not found["lacks"]


REFUSALS = {
    "place": (
        [helper.make_node("SequenceAt", ["s", "at"], ["y"])],
        "the place in a sequence",
    ),
    "far": ([helper.make_node("SequenceAt", ["s", "nine"], ["y"])], "place 9 in a sequence of 2"),
    "tensor": ([helper.make_node("Relu", ["s"], ["y"])], "its input 's' is a sequence, and Relu takes tensors"),
    "output": ([helper.make_node("Identity", ["s"], ["y"])], "output 'y' is a sequence: the engine gives out tensors"),
    "no sequence": ([helper.make_node("SequenceLength", ["x"], ["y"])], "its input 0 is no sequence"),
    "empty": (
        [helper.make_node("Optional", [], ["o"]), helper.make_node("OptionalGetElement", ["o"], ["y"])],
        "its optional is empty",
    ),
}


@pytest.mark.parametrize("which", REFUSALS)
def test_what_only_the_run_knows_is_refused_by_name(which: str) -> None:
    nodes, words = REFUSALS[which]
    inputs = [value("x", shape=[2, 3]), value("at", INT64, [])]
    made = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]), *nodes]
    with pytest.raises(Refused, match=words):
        plan_of(model_of(made, inputs, [value("y")], [number("nine", 9)]), [{"x": random(2, 3), "at": np.array(0)}])
