"""Plugins in Python and arrays on CUDA: on a GPU where there is one, else on the fake driver of this build."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import small

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", HERE.parents[1] / "build")).resolve()


def environment() -> dict[str, str]:
    own = os.environ | {"TENON_DEVICE": "cuda"}
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        fake = BUILD / "fake_cuda"
        if not (fake / "libcuda.so.1").exists():
            pytest.skip("there is neither a GPU nor the fake driver")
        own["LD_LIBRARY_PATH"] = f"{fake}:{own.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        own["TENON_CACHE_DIR"] = str(BUILD / "test_cache")
    return own


@pytest.mark.parametrize("what", ["decorated", "arrays", "engines"])
def test_N11_on_a_gpu_tensors_are_its_memory(what):
    done = subprocess.run(
        [sys.executable, str(HERE / "gpu_plugins.py"), what],
        capture_output=True, text=True, env=environment(), timeout=small.PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stdout + done.stderr


def test_the_program_runs_plans_and_says_what_a_call_takes(tmp_path):
    own = environment()
    plan = tmp_path / "small.plan"
    plan.write_bytes(bytes(small.plan(small.Recorder())))  # Made for the CPU: it is planned again.
    x = small.inputs(5, seed=7)
    np.save(tmp_path / "x.npy", x)
    program = str(BUILD / "bin" / "tenon")
    run = [program, "run", str(plan), "--input", f"x={tmp_path / 'x.npy'}", "--outputs", str(tmp_path / "out")]
    done = subprocess.run(run, capture_output=True, text=True, env=own, timeout=small.PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), small.want(x), rtol=1e-4, atol=1e-5)
    bench = [program, "bench", str(plan), "--seconds", "0.2", "--streams", "2", "--json"]
    done = subprocess.run(bench, capture_output=True, text=True, env=own, timeout=small.PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["device"].startswith("cuda") and 0 < figures["enqueue_ms"] <= figures["max_ms"]
