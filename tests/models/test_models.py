"""Every real model, from ONNX through a saved and reloaded plan with a dynamic profile, against ONNX Runtime."""

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import references
from zoo import MODELS, Model, Shapes

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"


# Where plain loops compute it too: small, as these take seconds where kernels take microseconds.
VERIFIED: dict[str, Shapes] = {
    "unet": {"input": (1, 3, 48, 64)},
    "bert_base": {"input_ids": (2, 3), "attention_mask": (2, 3)},
    "gpt2": {"input_ids": (2, 3), "attention_mask": (2, 3)},
    "llama_small": {"input_ids": (2, 3), "attention_mask": (2, 3)},
    "rnn_lstm_gru": {"input": (2, 9, 80)},
    "ocr_detector": {"x": (1, 3, 64, 64)},
    "ocr_recognizer": {"x": (2, 3, 48, 96)},
    "ocr_classifier": {"x": (2, 3, 48, 96)},
}


# Plain loops take too long for it: planned again for them, and not run.
TOO_LARGE_TO_RUN = {"vit_b_16"}


class Saved(NamedTuple):
    """A model whose plan has been built, saved and loaded again."""

    model: Model
    session: Any
    path: pathlib.Path


@pytest.fixture(scope="module", params=list(MODELS))
def saved(request: pytest.FixtureRequest) -> Iterator[Saved]:
    model = MODELS[request.param]
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="plan_") as folder:
        path = pathlib.Path(folder) / f"{model.name}.plan"
        yield Saved(model, saved_and_reloaded(model, path), path)


def test_agrees_with_onnxruntime(saved: Saved, tell_errors: Callable[..., None]) -> None:
    model, session = saved.model, saved.session
    reference = references.ort_session(model.path)
    ratios = {at(shapes): largest_ratio(model, shapes, session, reference) for shapes in model.shapes}
    ratios[f"{at(model.shapes[0])} again"] = largest_ratio(model, model.shapes[0], session, reference)
    tell_errors(model.name, ratios, dict.fromkeys(ratios, references.BAR))
    failed = {shape: f"{ratio:.2e}" for shape, ratio in ratios.items() if not ratio <= references.BAR}
    assert not failed, f"{model.name}: max|a-b| / max|b-b'| above {references.BAR:g} at {failed}"


def test_every_step_agrees_with_the_reference(saved: Saved) -> None:
    """Each step on the values that really reach it, with the tolerances of the element type; nothing is left out."""
    import tenon

    feed = references.inputs(saved.model, VERIFIED.get(saved.model.name, saved.model.shapes[0]), 0)
    report = tenon.verify(saved.session.engine, feed)
    left_out = [f"{step['name']}: {step['why']}" for step in report["steps"] if not step["compared"]]
    assert not left_out, left_out
    wrong = [f"{step['name']}: {step['worst']} tolerances off" for step in report["steps"] if not step["ok"]]
    assert not wrong, wrong
    assert report["ok"] and report["first_divergence"] is None
    assert len(report["steps"]) >= 5


def test_is_planned_again_for_another_device(saved: Saved) -> None:
    """The CPU's plan on the reference, which has kernels for none of its fusions: the portable graph is portable."""
    if saved.model.name in TOO_LARGE_TO_RUN:
        assert planned_again(saved.path) > saved.session.engine.num_layers, "nothing was undone"
        return
    shapes = VERIFIED.get(saved.model.name, saved.model.shapes[0])
    feed, other = (references.inputs(saved.model, shapes, variant) for variant in (0, 1))
    inputs, outputs = saved.path.with_suffix(".in.npz"), saved.path.with_suffix(".out.npz")
    np.savez(inputs, **feed)
    steps = planned_again(saved.path, inputs, outputs)
    assert steps > saved.session.engine.num_layers, "nothing was undone"
    apart = {name: array.copy() for name, array in saved.session(other).items()}
    want = saved.session(feed)
    with np.load(outputs) as got:
        assert set(got) == set(want)
        for name in want:
            ratio = references.error_ratio(got[name], want[name], apart[name])
            assert ratio <= references.BAR, f"output '{name}': {ratio:.2e}"


def planned_again(*paths: pathlib.Path) -> int:
    """Number of steps that the plan has on the reference device, in a process of its own: devices are fixed in one."""
    script = pathlib.Path(__file__).with_name("planned_again.py")
    done = subprocess.run(
        [sys.executable, script, *paths],
        env=os.environ | {"TENON_DEVICE": "ref"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def saved_and_reloaded(model: Model, path: pathlib.Path):
    import plans

    path.write_bytes(plans.build(model))
    return plans.Session(path)


def largest_ratio(model: Model, shapes: Shapes, session, reference) -> float:
    """The worst of all outputs; both inputs run, so that a result cannot come from the run before."""
    first, second = (references.inputs(model, shapes, variant) for variant in (0, 1))
    want, other = (references.ort_outputs(reference, feed) for feed in (first, second))
    got_second, got = session(second), session(first)
    assert set(got) == set(want), f"outputs {sorted(got)} instead of {sorted(want)}"
    return max(worst_of(name, got, want, other, got_second) for name in want)


def worst_of(name: str, got: dict, want: dict, other: dict, got_second: dict) -> float:
    assert got[name].dtype == want[name].dtype, f"output '{name}': {got[name].dtype}, not {want[name].dtype}"
    return max(
        references.error_ratio(got[name], want[name], other[name]),
        references.error_ratio(got_second[name], other[name], want[name]),
    )


def at(shapes: Shapes) -> str:
    return " ".join("x".join(map(str, shape)) for shape in dict.fromkeys(shapes.values()))


@pytest.mark.parametrize("name", list(MODELS))
def test_inputs_tell_two_runs_apart(name: str) -> None:
    """The measure itself: a zero result, and the result for another input, are far outside the bar."""
    model = MODELS[name]
    reference = references.ort_session(model.path)
    shapes = model.shapes[-1]
    want, other = (references.ort_outputs(reference, references.inputs(model, shapes, v)) for v in (0, 1))
    for output in want:
        assert references.error_ratio(want[output], want[output], other[output]) == 0
        assert references.error_ratio(other[output], want[output], other[output]) > references.BAR
        assert references.error_ratio(np.zeros_like(want[output]), want[output], other[output]) > references.BAR
