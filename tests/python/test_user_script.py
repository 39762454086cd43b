"""Scripts written for TensorRT 10 run on `import tensorrt`; so does the README's example."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import references
from zoo import MODELS

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command: object) -> str:
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", ["mobilenet_v2", "ocr_recognizer", "dynamo_resnet18", "magika"])
def test_user_script_builds_saves_loads_and_runs(name: str, tmp_path: pathlib.Path) -> None:
    model = MODELS[name]
    feed, second = (references.inputs(model, model.shapes[-1], variant) for variant in (0, 1))
    session = references.ort_session(model.path)
    want, other = references.ort_outputs(session, feed), references.ort_outputs(session, second)
    inputs, engine, outputs = (tmp_path / file for file in ("inputs.npz", "engine.trt", "outputs.npz"))
    np.savez(inputs, **feed)
    script = ROOT / "tests" / "python" / "user_script.py"

    assert "input" in run(script, model.path, engine, inputs, outputs)  # The first time it builds,
    built = dict(np.load(outputs))
    outputs.unlink()
    assert run(script, model.path, engine, inputs, outputs) == ""  # the second time it loads the engine file.
    loaded = dict(np.load(outputs))
    for output in want:
        assert references.error_ratio(built[output], want[output], other[output]) <= references.BAR
        assert np.array_equal(built[output], loaded[output])


def test_readme_example_names_the_classes_that_onnxruntime_names(tmp_path: pathlib.Path) -> None:
    pixels = np.random.default_rng(11).integers(0, 256, (224, 224, 3), np.uint8)
    picture = tmp_path / "picture.png"
    Image.fromarray(pixels).save(picture)
    model = MODELS["mobilenet_v2"].path
    printed = run(ROOT / "examples" / "python" / "classify.py", model, picture).splitlines()

    batch = np.ascontiguousarray((pixels.astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[None])
    scores = references.ort_session(model).run(None, {"input": batch})[0][0]
    assert [int(line.split()[1].rstrip(":")) for line in printed] == np.argsort(-scores)[:5].tolist()
    assert np.allclose([float(line.split()[2]) for line in printed], np.sort(scores)[::-1][:5], atol=2e-3)


def test_examples_say_what_they_want() -> None:
    script = ROOT / "examples" / "python" / "classify.py"
    for given in ([], ["network.onnx"], ["network.onnx", "a.png", "b.png"]):
        done = subprocess.run([sys.executable, script, *given], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "usage: classify.py NETWORK.onnx PICTURE\n")
