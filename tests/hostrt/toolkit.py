"""Where things are: the build, our headers, and a CUDA toolkit to compare with, if the machine has one."""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build"))
HEADERS = ROOT / "hostrt" / "include"
LIBRARY = BUILD / "lib" / "libtenon_hostrt.so.0"
LINKS = BUILD / "lib" / "tenon" / "hostrt"


def toolkit() -> pathlib.Path:
    """The folder of a toolkit of version 13, which our headers can be told to be."""
    for place in (os.environ.get("CUDA_HOME"), "/usr/local/cuda", "/usr/local/cuda-13.0"):
        header = pathlib.Path(place or "/none") / "include" / "cuda_runtime_api.h"
        if header.exists() and "#define CUDART_VERSION  13" in header.read_text():
            return header.parents[1]
    pytest.skip("no CUDA toolkit of version 13 to compare with")


def run(*command: object, **extra: str) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | extra)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout
