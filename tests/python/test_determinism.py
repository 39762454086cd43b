"""The same model gives the same plan in any process and with any thread count; plans run under every cap."""

import hashlib
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import references
from zoo import MODELS

ROOT = pathlib.Path(__file__).resolve().parents[2]

CAPPED = [
    "mobilenet_v2",
    "shufflenet_v2",
    "convnext_tiny",
    "unet",
    "dynamo_resnet18",
    "dynamo_bert4",
    "ocr_classifier",
    "ocr_recognizer",
    "magika",
]


def worker(*arguments: object, **knobs: str) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TENON_") or key == "TENON_CACHE_DIR"}
    command = [sys.executable, str(ROOT / "tests" / "python" / "plan_worker.py"), *map(str, arguments)]
    done = subprocess.run(command, env=kept | knobs, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def first_difference(left: pathlib.Path, right: pathlib.Path) -> str:
    a, b = (np.frombuffer(path.read_bytes(), np.uint8) for path in (left, right))
    if a.size != b.size:
        return f"sizes {a.size} and {b.size}"
    different = np.flatnonzero(a != b)
    return f"{different.size} bytes differ, the first at offset {different[0]} of {a.size}"


def supports(flag: str) -> bool:
    return flag in pathlib.Path("/proc/cpuinfo").read_text().split()


@pytest.mark.parametrize("name", list(MODELS))
def test_two_processes_build_the_same_bytes(name: str, tmp_path: pathlib.Path) -> None:
    first, second = tmp_path / "one.plan", tmp_path / "two.plan"
    try:
        worker("build", name, first, 1, TENON_THREADS="1", PYTHONHASHSEED="1")
        worker("build", name, second, 2, TENON_THREADS="2", PYTHONHASHSEED="2")
        assert first.stat().st_size > 1000
        assert digest(first) == digest(second), first_difference(first, second)
    finally:
        for path in (first, second):
            path.unlink(missing_ok=True)  # pytest would keep hundreds of megabytes.


@pytest.mark.skipif(not supports("avx512f"), reason="this CPU has no AVX-512")
@pytest.mark.parametrize("built, run", [("avx512", "avx2"), ("avx2", "avx512")])
@pytest.mark.parametrize("name", CAPPED)
def test_a_plan_runs_under_another_cap(name: str, built: str, run: str, tmp_path: pathlib.Path) -> None:
    model, plan, outputs = MODELS[name], tmp_path / "capped.plan", tmp_path / "outputs.npz"
    worker("build", name, plan, 2, TENON_ISA=built)
    worker("run", name, plan, outputs, TENON_ISA=run)
    plan.unlink()
    session = references.ort_session(model.path)
    want, other = (references.ort_outputs(session, references.inputs(model, model.shapes[-1], v)) for v in (0, 1))
    got = np.load(outputs)
    for output in want:
        assert references.error_ratio(got[output], want[output], other[output]) <= references.BAR


@pytest.mark.parametrize("threads", ["1", "2"])
def test_two_processes_compute_the_same_bits(threads: str, tmp_path: pathlib.Path) -> None:
    plan, first, second = (tmp_path / file for file in ("same.plan", "one.npz", "two.npz"))
    worker("build", "unet", plan, 1)
    for outputs in (first, second):
        worker("run", "unet", plan, outputs, TENON_THREADS=threads)
    left, right = np.load(first), np.load(second)
    assert left.files and all(np.array_equal(left[name], right[name]) for name in left.files)
