"""The arithmetic behind the benchmark's verdict and the demo's report."""

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "ocr"))

import fusions
import rounds


class Clockwork:
    """An engine whose runs are only counted."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self) -> None:
        self.runs += 1


def test_ratio_is_taken_round_by_round_to_the_better_peer() -> None:
    # The machine slows down by half in the last two rounds: medians of times would mislead, ratios do not.
    times = {
        "own": [9.0, 9.0, 9.0, 18.0, 18.0],
        "fast": [10.0, 10.0, 10.0, 20.0, 20.0],
        "slow": [11.0] * 3 + [22.0] * 2,
    }
    assert rounds.Rounds(times).ratio("own", ["fast", "slow"]) == pytest.approx(0.9)
    assert rounds.Rounds(times).ratio("own", ["slow"]) == pytest.approx(9 / 11)


def test_every_engine_runs_in_every_round_and_begins_some() -> None:
    assert [rounds.in_turn(["a", "b", "c"], number)[0] for number in range(4)] == ["a", "b", "c", "a"]
    assert sorted(rounds.in_turn(["a", "b", "c"], 2)) == ["a", "b", "c"]


def test_measure_times_each_engine_once_per_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "SHARE", 1e-6)
    monkeypatch.setattr(rounds, "QUIET", 0)
    engines = {"a": Clockwork(), "b": Clockwork()}
    result = rounds.measure(engines, 4)
    assert {label: len(times) for label, times in result.times.items()} == {"a": 4, "b": 4}
    assert all(time > 0 for times in result.times.values() for time in times)
    assert all(engine.runs >= 4 * 2 + 2 * rounds.WARM_UP for engine in engines.values())


def test_fusions_count_what_each_step_took_up() -> None:
    layers = [
        {"Name": "conv1 + bn1 + relu1", "LayerType": "Convolution"},
        {"Name": "conv2 + relu2", "LayerType": "Convolution"},
        {"Name": "pool", "LayerType": "Pooling"},
    ]
    lines = fusions.summary(json.dumps({"Layers": layers, "Bindings": []}), nodes=9)
    assert lines == ["9 ONNX nodes run as 3 steps", "2 x Convolution took up 3 other layers"]
    names = json.dumps({"Layers": ["conv1 + bn1", "pool"], "Bindings": []})
    assert fusions.summary(names, nodes=4)[1:] == ["1 x step took up 1 other layers"]


def test_live_memory_of_a_small_graph(tmp_path: pathlib.Path) -> None:
    """x (4 MB) -> convolution to 8 MB -> relu in place -> mean: weights 2 x 1 x 1 x 1 floats, at most 12 MB alive."""
    import numpy as np
    from live_memory import live_memory
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 1000, 1000])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2, 1, 1])],
        [numpy_helper.from_array(np.array([1.5, -2], np.float32).reshape(2, 1, 1, 1), "w")],
    )
    path = tmp_path / "small.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    weights, alive = live_memory(path, {"x": (1, 1, 1000, 1000)})
    assert 8 <= weights <= 64  # The reader adds a few numbers, such as axes.
    assert 12_000_000 <= alive <= 12_000_100
    assert live_memory(path, {"x": (3, 1, 1000, 1000)})[1] == pytest.approx(3 * alive, rel=1e-4)
