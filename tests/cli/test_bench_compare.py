"""tenon bench --compare: another engine runs the same model in turns with this one."""

import importlib.util
import json
import pathlib
import sys

import onnx
import pytest
from test_cli import RANGE, tenon

WITH = ["--python", sys.executable]

# What of PyTorch and onnx2torch the comparison calls, computed by the onnx package.
TORCH = """
import contextlib
__version__ = "2.0.standin"
inference_mode, from_numpy = contextlib.nullcontext, lambda data: data
def set_num_threads(count):
    assert count == 1
"""
ONNX2TORCH = """
import onnx.reference
class convert:
    def __init__(self, proto):
        weights = {each.name for each in proto.graph.initializer}
        assert all(node.input[1] in weights for node in proto.graph.node if node.op_type == "MatMul")
        self.run = onnx.reference.ReferenceEvaluator(proto)
    def eval(self):
        return self
    def __call__(self, x):
        assert x.shape == (4, 8) and x.dtype == "float32"
        return self.run.run(None, {"x": x})
"""


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_another_engine_beside_this_one(model: pathlib.Path, engine: str) -> None:
    options = ["--shapes", "x=4x8", "--threads", 1, "--seconds", 0.1, *WITH]
    figures = json.loads(tenon("bench", model, f"--compare={engine}", "--json", *options).stdout)
    (compared,) = figures["compared"]
    assert compared["engine"].startswith(engine + " ") and compared["runs"] >= 3 and compared["turns"] >= 3
    for each in (figures, compared):
        assert 0 < each["min_ms"] <= each["median_ms"]
    # The ratio is one of medians in turns: near that of all, which a busy machine moves.
    assert compared["ratio"] == pytest.approx(figures["median_ms"] / compared["median_ms"], rel=3)
    assert figures["threads"] == 1
    text = tenon("bench", model, "--compare", *options).stdout
    assert "onnxruntime 1." in text and "openvino 20" in text and "below 1 tenon is faster" in text


def test_pytorch_runs_what_onnx2torch_makes_of_the_model(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "torch.py").write_text(TORCH)
    options = ["--shapes", "x=4x8", "--threads", 1, "--seconds", 0.1, "--json", *WITH]
    if importlib.util.find_spec("onnx2torch") is None:
        alone = tenon("bench", model, "--compare", *options, PYTHONPATH=str(tmp_path))
        assert f"onnx2torch is not installed for {sys.executable}: torch is left out" in alone.stderr
    (tmp_path / "onnx2torch.py").write_text(ONNX2TORCH)
    done = tenon("bench", model, "--compare=torch", *options, PYTHONPATH=str(tmp_path))
    (compared,) = json.loads(done.stdout)["compared"]
    assert compared["engine"] == "torch 2.0.standin" and compared["turns"] >= 3
    # Weights that are named again, as PyTorch's exporter does with equal ones.
    proto = onnx.load(model)
    proto.graph.node[0].input[1] = "same"
    proto.graph.node.insert(0, onnx.helper.make_node("Identity", ["once"], ["same"]))
    proto.graph.node.insert(0, onnx.helper.make_node("Identity", ["w0"], ["once"]))
    onnx.save(proto, tmp_path / "shared.onnx")
    done = tenon("bench", tmp_path / "shared.onnx", "--compare=torch", *options, PYTHONPATH=str(tmp_path))
    assert json.loads(done.stdout)["compared"][0]["turns"] >= 3
    if importlib.util.find_spec("torch") and importlib.util.find_spec("onnx2torch"):
        (compared,) = json.loads(tenon("bench", model, "--compare=torch", *options).stdout)["compared"]
        assert compared["runs"] >= 3


def test_what_cannot_be_compared(model: pathlib.Path, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert "name the .onnx file" in tenon("bench", plan, "--compare", status=2).stderr
    assert "'tvm' is none of" in tenon("bench", model, "--compare=tvm", status=2).stderr
    assert "--profile" in tenon("bench", model, "--compare", "--profile", status=2).stderr
    assert "--streams" in tenon("bench", model, "--compare", "--streams", 2, status=2).stderr
    assert "--compare" in tenon("bench", model, *WITH, status=2).stderr
    # A shape that is missing, an engine that cannot be had: what the engine says is told.
    assert "--shapes x=" in tenon("bench", model, "--compare=onnxruntime", *WITH, status=1).stderr
    empty = tmp_path / "python3"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    empty.chmod(0o755)
    done = tenon("bench", model, "--compare=onnxruntime", "--python", empty, "--shapes", RANGE, status=1)
    assert "ModuleNotFoundError" in done.stderr
    done = tenon("bench", model, "--compare", "--python", empty, "--shapes", RANGE, status=1)
    assert "no other engine is installed" in done.stderr and "onnxruntime is not installed" in done.stderr
