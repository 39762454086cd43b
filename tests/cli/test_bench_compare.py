"""tenon bench --compare: another engine runs the same model in turns with this one."""

import json
import pathlib
import sys

import pytest
from test_cli import RANGE, tenon

WITH = ["--python", sys.executable]


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


def test_what_cannot_be_compared(model: pathlib.Path, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert "name the .onnx file" in tenon("bench", plan, "--compare", status=2).stderr
    assert "'torch' is none of" in tenon("bench", model, "--compare=torch", status=2).stderr
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
