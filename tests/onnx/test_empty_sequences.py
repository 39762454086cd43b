"""Recurrent operators over no step at all, and over sequences of length 0: states stay what they were."""

import numpy as np
import onnx
import onnx.helper as helper
import onnx.numpy_helper
import pytest
from running import plan_of, run

FLOAT, INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
BATCH, INPUTS, HIDDEN = 2, 3, 4


def model_of(op: str, direction: str, has_lengths: bool, has_state: bool, activations: list[str]) -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    directions, gates = 1 + (direction == "bidirectional"), {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    names = ["x", "w", "r", "", "lengths" if has_lengths else "", "first" if has_state else ""]
    more = {"activations": activations * directions} if activations else {}
    node = helper.make_node(op, names, ["all", "last"], hidden_size=HIDDEN, direction=direction, **more)
    inputs = [helper.make_tensor_value_info("x", FLOAT, ["steps", BATCH, INPUTS])]
    inputs += [helper.make_tensor_value_info("lengths", INT32, [BATCH])] * has_lengths
    inputs += [helper.make_tensor_value_info("first", FLOAT, [directions, BATCH, HIDDEN])] * has_state
    weights = {
        "w": rng.standard_normal((directions, gates * HIDDEN, INPUTS)),
        "r": rng.standard_normal((directions, gates * HIDDEN, HIDDEN)),
    }
    graph = helper.make_graph(
        [node], op, inputs, [helper.make_tensor_value_info(name, FLOAT, None) for name in ("all", "last")],
        [onnx.numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=9)


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("has_lengths", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(
    ("op", "activations"), [("LSTM", []), ("GRU", []), ("RNN", []), ("RNN", ["Softsign"])]
)  # The last one is a loop.
def test_states_stay(op: str, activations: list[str], direction: str, has_lengths: bool, has_state: bool) -> None:
    rng = np.random.default_rng(2)
    directions = 1 + (direction == "bidirectional")
    state = rng.standard_normal((directions, BATCH, HIDDEN)).astype(np.float32) * has_state

    def feed(steps: int, lengths: list[int]) -> dict[str, np.ndarray]:
        made = {"x": rng.standard_normal((steps, BATCH, INPUTS)).astype(np.float32)}
        made |= {"lengths": np.array(lengths, np.int32)} if has_lengths else {}
        return made | ({"first": state} if has_state else {})

    feeds = [feed(3, [3, 0]), feed(0, [0, 0]), feed(2, [0, 2])]
    model = model_of(op, direction, has_lengths, has_state, activations)
    longer, empty, shorter = run(plan_of(model, feeds), feeds)
    assert empty["all"].shape == (0, directions, BATCH, HIDDEN)
    np.testing.assert_array_equal(empty["last"], state)
    if has_lengths:
        np.testing.assert_array_equal(longer["last"][:, 1], state[:, 1])
        np.testing.assert_array_equal(longer["all"][:, :, 1], 0)
        np.testing.assert_array_equal(shorter["last"][:, 0], state[:, 0])
    assert np.all(longer["last"][:, 0] != state[:, 0])
