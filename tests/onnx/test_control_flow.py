"""Recurrent operators, If, Loop and Scan beside ONNX Runtime, at several lengths."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser
from running import Refused, check_equal, plan_of, run

BATCH, INPUTS, HIDDEN = 3, 4, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
LENGTHS = (7, 1, 12)


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def compare(model: onnx.ModelProto, runs: list[dict[str, np.ndarray]]) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = run(plan_of(model, runs), runs)
    for feed, results in zip(runs, found, strict=True):
        for output, expected in zip(session.get_outputs(), session.run(None, feed), strict=True):
            check_equal(results[output.name], expected, output.name)


def model_of(nodes, inputs, outputs, constants=(), opset: int = 17) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "control",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants],
    )
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    )


def recurrent(op: str, known: bool, *, lengths: bool = False, initial: bool = False, peepholes: bool = False,
              **attributes):  # fmt: skip
    """The model of one node, and what it is run with. `known`: weights are constants, and the node becomes one layer;
    else it becomes a loop."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    constants = [
        ("w", random(1, directions, GATES[op] * HIDDEN, INPUTS)),
        ("r", random(2, directions, GATES[op] * HIDDEN, HIDDEN)),
        ("b", random(3, directions, 2 * GATES[op] * HIDDEN)),
    ]
    names = ["x", "w", "r", "b", "lengths" if lengths else "", "h0" if initial else ""]
    inputs = [("x", TensorProto.FLOAT, ["steps", BATCH, INPUTS])]
    given = {} if known else dict(constants[:2])
    constants = constants[len(given) :]
    inputs += [(name, TensorProto.FLOAT, list(array.shape)) for name, array in given.items()]
    if lengths:
        inputs.append(("lengths", TensorProto.INT32, [BATCH]))
    if initial:
        constants.append(("h0", random(4, directions, BATCH, HIDDEN)))
    outputs = [("y", TensorProto.FLOAT), ("yh", TensorProto.FLOAT)]
    if op == "LSTM":
        names += ["c0" if initial else "", "p" if peepholes else ""]
        constants += [("c0", random(5, directions, BATCH, HIDDEN))] if initial else []
        constants += [("p", random(6, directions, 3 * HIDDEN))] if peepholes else []
        outputs.append(("yc", TensorProto.FLOAT))
    while not names[-1]:
        names.pop()
    node = helper.make_node(op, names, [name for name, _ in outputs], hidden_size=HIDDEN, **attributes)
    runs = []
    for steps in LENGTHS:
        feed = {"x": random(10 + steps, steps, BATCH, INPUTS)} | given
        if lengths:
            feed["lengths"] = np.array([steps, max(steps - 2, 1), 1], np.int32)
        runs.append(feed)
    return model_of([node], inputs, outputs, constants), runs


@pytest.mark.parametrize("known", [True, False], ids=["layer", "loop"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_directions_and_lengths(op: str, direction: str, known: bool) -> None:
    compare(*recurrent(op, known, direction=direction))
    compare(*recurrent(op, known, direction=direction, lengths=True, initial=True))


@pytest.mark.parametrize("known", [True, False], ids=["layer", "loop"])
def test_what_cells_can_be_told(known: bool) -> None:
    compare(*recurrent("GRU", known, linear_before_reset=1, initial=True))
    compare(*recurrent("LSTM", known, peepholes=True, initial=True, direction="bidirectional"))
    compare(*recurrent("LSTM", known, peepholes=True, input_forget=1))
    compare(*recurrent("LSTM", known, clip=0.5))
    compare(*recurrent("RNN", known, activations=["LeakyRelu"], activation_alpha=[0.3]))
    compare(
        *recurrent("GRU", known, activations=["HardSigmoid", "Softsign"], activation_alpha=[0.3], activation_beta=[0.4])
    )
    compare(*recurrent("LSTM", known, activations=["Sigmoid", "ScaledTanh", "Elu"], activation_alpha=[0.7, 0.5],
                       activation_beta=[0.9]))  # fmt: skip


def test_an_if_evaluates_one_branch_on_outer_values() -> None:
    def branch(name: str, op: str) -> onnx.GraphProto:
        nodes = [helper.make_node(op, ["x", "w"], [f"{name}_1"]), helper.make_node("Relu", [f"{name}_1"], [name])]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], then_branch=branch("a", "Add"), else_branch=branch("b", "Mul")),
    ]
    constants = [("zero", np.array(0, np.float32)), ("w", random(1, 4))]
    model = model_of(nodes, [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT)], constants)
    compare(model, [{"x": np.abs(random(2, 3, 4))}, {"x": -np.abs(random(3, 5, 4))}])


def test_conditionals_in_conditionals_are_each_written_once() -> None:
    """30 levels: written for each level around it, too, the innermost would be written a billion times."""

    def value(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])

    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["o0"])], "inner", [], [value("o0")])
    for level in range(30):
        other = helper.make_graph([helper.make_node("Abs", ["x"], [f"e{level}"])], "other", [], [value(f"e{level}")])
        made = f"o{level + 1}"
        nodes = [
            helper.make_node("If", ["c"], [f"i{level}"], then_branch=inner, else_branch=other),
            helper.make_node("Add", [f"i{level}", "x"], [made]),
        ]
        inner = helper.make_graph(nodes, made, [], [value(made)])
    inputs = [("x", TensorProto.FLOAT, [2, 3]), ("c", TensorProto.BOOL, [])]
    model = model_of(list(inner.node), inputs, [("o30", TensorProto.FLOAT)])
    compare(model, [{"x": random(1, 2, 3), "c": np.array(taken)} for taken in (True, False)])


def rounds_of(nodes: list[onnx.NodeProto]) -> onnx.GraphProto:
    """A loop's body: from v to v_next, which is seen; `again` says whether a round follows."""
    value = helper.make_tensor_value_info
    inputs = [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("v", TensorProto.FLOAT, [3])]
    outputs = [
        value("again", TensorProto.BOOL, []),
        *(value(name, TensorProto.FLOAT, [3]) for name in ("v_next", "seen")),
    ]
    return helper.make_graph(nodes, "body", inputs, outputs)


def test_a_loop_of_a_negative_count_runs_no_round() -> None:
    body = rounds_of(
        [
            helper.make_node("Identity", ["go"], ["again"]),
            helper.make_node("Add", ["v", "x"], ["v_next"]),
            helper.make_node("Identity", ["v_next"], ["seen"]),
        ]
    )
    model = model_of(
        [helper.make_node("Loop", ["rounds", "", "x"], ["last", "all"], body=body)],
        [("x", TensorProto.FLOAT, [3])],
        [("last", TensorProto.FLOAT), ("all", TensorProto.FLOAT)],
        [("rounds", np.array(-2, np.int64))],
    )
    compare(model, [{"x": random(2, 3)}])


def test_a_loop_with_a_condition_gives_as_many_rounds_as_it_ran() -> None:
    body = rounds_of(
        [
            helper.make_node("Add", ["v", "x"], ["v_next"]),
            helper.make_node("ReduceMax", ["v_next"], ["most"], keepdims=0),
            helper.make_node("Less", ["most", "limit"], ["again"]),
            helper.make_node("Identity", ["v_next"], ["seen"]),
        ]
    )
    constants = [("most", np.array(20, np.int64)), ("yes", np.array(True)), ("limit", np.array(9, np.float32))]
    model = model_of(
        [helper.make_node("Loop", ["rounds", "yes", "x"], ["last", "all"], body=body)],
        [("x", TensorProto.FLOAT, [3])],
        [("last", TensorProto.FLOAT), ("all", TensorProto.FLOAT)],
        [("rounds", constants[0][1]), *constants[1:]],
    )
    compare(model, [{"x": np.array(x, np.float32)} for x in ([1, 2, 3], [20, 0, 0], [0.1, 0, 0], [1, 0.5, 0])])


# What says that a round follows: of the round's number r, a counter i that starts at `from`, i + 1, a bound n that is
# carried along and one outside of the body, m. And whether the number of rounds is known in front of the loop.
CONDITIONS = {
    "go_on = Less (i_next, n)": True,
    "go_on = Less (i, n)": True,
    "a = Cast <to = 1> (i_next) b = Cast <to = 1> (n) go_on = Less (a, b)": True,
    "go_on = GreaterOrEqual (m, i_next)": True,
    "a = Less (i_next, n) b = Less (r, m) go_on = And (a, b)": True,
    "two = Constant <value_int = 2> () a = Mul (i_next, two) go_on = Less (a, n)": False,
    "go_on = Less (n, i_next)": False,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_W14_a_loop_whose_condition_counts_has_a_trip_count(condition: str) -> None:
    text = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[3] x, int64 from, int64 most, int64 m, bool go) => (float[3] last, int64 i_last, float[k,3] all)
<int64 one = {1}>
{
    last, i_last, n_last, all = Loop ("", go, x, from, most) <body = b
        (int64 r, bool was, float[3] v, int64 i, int64 n)
            => (bool go_on, float[3] v_next, int64 i_next, int64 n_on, float[3] seen)
        <int64 step = {1}>
        { i_next = Add (i, step) v_next = Add (v, x) n_on = Identity (n) seen = Mul (v, v_next) CONDITION }>
}"""
    model = parser.parse_model(text.replace("CONDITION", condition))
    if not CONDITIONS[condition]:
        with pytest.raises(Refused, match="nothing says how long it may become"):
            plan_of(model, [{}])
        return
    runs = [
        {"x": random(i, 3), "from": np.int64(a), "most": np.int64(n), "m": np.int64(m), "go": np.bool_(go)}
        for i, (a, n, m, go) in enumerate([(0, 5, 9, True), (2, 7, 3, True), (4, 1, 0, True), (0, 5, 9, False)])
    ]
    compare(model, [{name: np.asarray(value) for name, value in feed.items()} for feed in runs])


def test_a_scan_walks_backwards() -> None:
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["s_next"]), helper.make_node("Mul", ["s_next", "e"], ["out"])],
        "body",
        [value("s", TensorProto.FLOAT, [2]), value("e", TensorProto.FLOAT, [2])],
        [value("s_next", TensorProto.FLOAT, [2]), value("out", TensorProto.FLOAT, [2])],
    )
    node = helper.make_node("Scan", ["s0", "x"], ["last", "all"], body=body, num_scan_inputs=1,
                            scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1])  # fmt: skip
    inputs = [("s0", TensorProto.FLOAT, [2]), ("x", TensorProto.FLOAT, [2, "n"])]
    model = model_of([node], inputs, [("last", TensorProto.FLOAT), ("all", TensorProto.FLOAT)])
    compare(model, [{"s0": random(1, 2), "x": random(n, 2, n)} for n in (5, 1, 9)])


# What PyTorch writes for squeeze(2) of an axis whose extent it does not know: the branches differ in rank.
SQUEEZED = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[b, 4, n] x) => (float[b, c] y)
{
    two = Constant <value_ints = [2]> ()
    one = Constant <value_ints = [1]> ()
    shape = Shape (x)
    extent = Gather <axis = 0> (shape, two)
    is_one = Equal (extent, one)
    t = If (is_one) <
        then_branch = yes () => (float[b, 4] a) { a = Squeeze (x, two) },
        else_branch = no () => (float[b, 4, n] c) { c = Identity (x) }
    >
    y = Softmax <axis = 1> (t)
}
""")


def test_a_squeeze_that_may_keep_its_axis_is_taken_and_asserted() -> None:
    runs = [{"x": random(8, rows, 4, 1)} for rows in (3, 1, 5)]
    for feed, found in zip(runs, run(plan_of(SQUEEZED, runs), runs), strict=True):
        shares = np.exp(feed["x"][:, :, 0])
        check_equal(found["y"], shares / shares.sum(1, keepdims=True), "y")
    with pytest.raises(Refused):
        plan_of(SQUEEZED, [{"x": random(9, 3, 4, 2)}])
    wide = [{"x": random(9, 3, 4, 1)}, {"x": random(9, 3, 4, 2)}]
    with pytest.raises(Refused):
        run(plan_of(SQUEEZED, wide), wide[1:])


# No squeeze of PyTorch's: the branches read tensors of their own, and either may be taken.
OF_TWO = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (bool flag, float[1, 4] a, float[4] b) => (float[4] y)
{
    t = If (flag) <
        then_branch = yes () => (float[4] p) {
            zero = Constant <value_ints = [0]> ()
            p = Squeeze (a, zero)
        },
        else_branch = no () => (float[4] q) { q = Identity (b) }
    >
    y = Neg (t)
}
""")


def test_branches_that_read_tensors_of_their_own_are_both_there() -> None:
    feed = {"a": random(1, 1, 4), "b": random(2, 4)}
    compare(OF_TWO, [{"flag": np.array(flag), **feed} for flag in (True, False)])


RANGE = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[a, n] x) => (float[m] y)
{
    one = Constant <value_int = 1> ()
    start = Constant <value_float = 0.5> ()
    step = Constant <value_float = 0.75> ()
    shape = Shape (x)
    extent = Gather <axis = 0> (shape, one)
    limit = Cast <to = 1> (extent)
    y = Range (start, limit, step)
}
""")


def test_a_range_of_floating_numbers_follows_shapes() -> None:
    compare(RANGE, [{"x": random(7, 1, columns)} for columns in (9, 1, 4)])
