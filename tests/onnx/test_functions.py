"""Functions that models bring along: their nodes stand where the call stands."""

import numpy as np
import pytest
import tensorrt as trt
from onnx import parser
from running import LOGGER, Refused, check_equal, plan_of, run

RNG = np.random.default_rng(5)

SCALED = """
<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[n, 4] x) => (float[n, 4] y, float[n, 4] z)
{
    y = own.scaled <factor = 3.0> (x)
    t = own.scaled (y)
    z = own.nested <by = 0.5> (t, x)
}
<domain: "own", opset_import: ["" : 18]>
scaled <factor: float = 2.0> (x) => (y)
{
    f = Constant <value_float: float = @factor> ()
    y = Mul (x, f)
}
<domain: "own", opset_import: ["" : 18, "own" : 1]>
nested <by> (a, b) => (x)
{
    t = own.scaled <factor: float = @by> (a)
    x = Add (t, b)
}
"""

# The same operator in two opsets: axes are an attribute of Unsqueeze at 12, an input at 18.
OPSETS = """
<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[n, 4] x) => (float[n, 1, 4] y)
{
    y = own.widened (x)
}
<domain: "own", opset_import: ["" : 12]>
widened (x) => (y)
{
    y = Unsqueeze <axes = [1]> (x)
}
"""

# A branch of an If inside of a function reads a value of the function, and an attribute of the call.
BRANCHES = """
<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[n, 4] x, bool c) => (float[n, 4] y)
{
    y = own.chosen <alpha = 0.3> (x, c)
}
<domain: "own", opset_import: ["" : 18]>
chosen <alpha> (x, c) => (y)
{
    t = Neg (x)
    y = If (c) <
        then_branch = yes () => (float[n, 4] a) { a = LeakyRelu <alpha: float = @alpha> (t) },
        else_branch = no () => (float[n, 4] b) { b = Exp (t) }
    >
}
"""

# An input that the call leaves out.
OPTIONAL = """
<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[n, 4] x, float m) => (float[n, 4] y, float[n, 4] z)
{
    y = own.limited (x, m)
    z = own.limited (x)
}
<domain: "own", opset_import: ["" : 18]>
limited (x, least) => (y)
{
    y = Clip (x, least)
}
"""


def expected_of(text: str, x: np.ndarray) -> dict[str, np.ndarray]:
    if text is SCALED:
        return {"y": x * 3, "z": x * 3 * 2 * np.float32(0.5) + x}
    return {"y": x[:, None, :]} if text is OPSETS else {"y": np.maximum(x, np.float32(-0.25)), "z": x}


@pytest.mark.parametrize("text", [SCALED, OPSETS, OPTIONAL], ids=["nested", "opset", "optional"])
@pytest.mark.parametrize("rows", [1, 5])
def test_calls_give_what_the_bodies_compute(text: str, rows: int) -> None:
    feed = {"x": RNG.standard_normal((rows, 4)).astype(np.float32)}
    if text is OPTIONAL:
        feed["m"] = np.float32(-0.25).reshape(())
    (found,) = run(plan_of(parser.parse_model(text), [feed]), [feed])
    for name, array in expected_of(text, feed["x"]).items():
        check_equal(found[name], array, name)


@pytest.mark.parametrize("condition", [False, True])
def test_branches_inside_of_a_function_see_its_values(condition: bool) -> None:
    model = parser.parse_model(BRANCHES)
    x = RNG.standard_normal((3, 4)).astype(np.float32)
    feed = {"x": x, "c": np.array(condition)}
    (found,) = run(plan_of(model, [feed]), [feed])
    check_equal(found["y"], np.where(-x > 0, -x, np.float32(0.3) * -x) if condition else np.exp(-x), "y")


def network_of(text: str) -> tuple[trt.INetworkDefinition, trt.OnnxParser, bool, trt.Builder]:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    onnx_parser = trt.OnnxParser(network, LOGGER)
    fine = onnx_parser.parse(parser.parse_model(text).SerializeToString())
    return network, onnx_parser, fine, builder


def test_layers_are_named_after_their_calls() -> None:
    text = SCALED.replace("z = own.nested", "[outer] z = own.nested").replace("x = Add", "[sum] x = Add")
    network, _, fine, _ = network_of(text)
    assert fine
    names = [network.get_layer(i).name for i in range(network.num_layers)]
    assert "outer/sum" in names
    assert [network.get_output(i).name for i in range(network.num_outputs)] == ["y", "z"]
    assert len({network.get_layer(i).get_output(0).name for i in range(network.num_layers)}) == network.num_layers


def test_an_error_names_the_chain_of_calls() -> None:
    text = SCALED.replace("y = Mul (x, f)", "y = NoSuchOperator (x, f)").replace("t = own.scaled (y)", "t = Abs (x)")
    text = text.replace("y = own.scaled <factor = 3.0> (x)", "y = Abs (x)")
    _, onnx_parser, fine, _ = network_of(text)
    assert not fine and onnx_parser.num_errors == 1
    error = onnx_parser.get_error(0)
    assert error.node_operator() == "nested" and error.node() == 2
    assert list(error.local_function_stack()) == ["own.nested", "own.scaled"]
    assert "in the function 'own.nested', node 0" in error.desc()
    assert "in the function 'own.scaled', node 1 '' (NoSuchOperator): operator 'NoSuchOperator'" in error.desc()


def test_functions_that_call_each_other_in_a_circle_are_refused() -> None:
    text = SCALED.replace("y = Mul (x, f)", "y = own.nested <by = 1.0> (x, f)")
    with pytest.raises(Refused, match="call each other in a circle: own.scaled, own.nested, own.scaled"):
        plan_of(parser.parse_model(text), [{"x": np.zeros((1, 4), np.float32)}])


def test_what_is_around_a_function_is_not_seen_in_it() -> None:
    text = SCALED.replace("y = Mul (x, f)", "y = Mul (t, f)")
    with pytest.raises(Refused, match="nothing makes the input 't'"):
        plan_of(parser.parse_model(text), [{"x": np.zeros((1, 4), np.float32)}])


def test_a_function_of_an_unknown_opset_is_refused() -> None:
    with pytest.raises(Refused, match="the function 'own.widened' is of opset 99; 9 to 28 are supported"):
        plan_of(parser.parse_model(OPSETS.replace('"" : 12', '"" : 99')), [{"x": np.zeros((1, 4), np.float32)}])


def test_a_plugin_goes_before_a_function_of_its_name() -> None:
    """W3."""
    text = SCALED.replace("own.scaled", "own.InstanceNormalization_TRT").replace(
        "\nscaled <", "\nInstanceNormalization_TRT <"
    )
    _, onnx_parser, fine, _ = network_of(text.replace("<factor = 3.0> ", "").replace("<factor: float = @by> ", ""))
    assert not fine  # The plugin wants three inputs; the function would take one.
    assert all(onnx_parser.get_error(i).node_operator() != "Mul" for i in range(onnx_parser.num_errors))
    assert "InstanceNormalization_TRT" in onnx_parser.get_error(0).desc()
    assert not onnx_parser.get_error(0).local_function_stack()
