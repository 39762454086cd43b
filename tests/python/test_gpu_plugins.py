"""Plugins in Python and arrays on CUDA: on a GPU where there is one, else on the fake driver of this build."""

import ctypes
import os
import pathlib
import subprocess
import sys

import pytest

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
        own["TENON_CACHE_DIR"] = str(fake / "cache")
    return own


@pytest.mark.parametrize("what", ["decorated", "arrays"])
def test_N11_on_a_gpu_tensors_are_its_memory(what):
    done = subprocess.run(
        [sys.executable, str(HERE / "gpu_plugins.py"), what],
        capture_output=True, text=True, env=environment(), timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stdout + done.stderr
