"""Scripts where the GPU is the fake driver's (tests/devices/fake_cuda)."""

import os
import pathlib
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ.get("TENON_BUILD", pathlib.Path(__file__).parents[2] / "build"))

needs_fake_gpu = pytest.mark.skipif(not (BUILD / "fake_cuda").is_dir(), reason="a build without the fake driver")


def on_fake_gpu(script: str, capability: int = 90) -> str:
    """What the script prints where the GPU is of this compute capability (86: 8.6)."""
    environment = os.environ | {
        "TENON_DEVICE": "cuda",
        "LD_LIBRARY_PATH": f"{BUILD / 'fake_cuda'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
        "TENON_CACHE_DIR": str(BUILD / "test_cache"),
        "TENON_FAKE_CAPABILITY": str(capability),
    }
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=pathlib.Path(__file__).parent, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
