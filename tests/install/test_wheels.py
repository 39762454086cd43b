"""Both distributions: what .venv knows of them, the wheel of names, and one sentence for other platforms.

The wheel of the engine takes a whole build: tests/soak/soak_wheels.py.
"""

import pathlib
import subprocess
import sys
import zipfile
from importlib import metadata

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_wheel_of_names(tmp_path: pathlib.Path) -> None:
    project = ROOT / "python" / "tensorrt_distribution"
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", str(tmp_path)]
    command = [sys.executable, "-m", "pip", "wheel", "-q", *offline, str(project)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wheel = tmp_path / "tenon_tensorrt-0.1.0-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = ("tensorrt", "tensorrt_lean", "tensorrt_dispatch")
    assert {f"{module}/{file}" for module in modules for file in ("__init__.py", "py.typed")} <= names
    assert not [n for n in names if n.startswith("tenon/")]


def test_the_environment_of_make_build_knows_both_distributions() -> None:
    for name in ("tenon", "tenon-tensorrt"):
        assert metadata.version(name) == "0.1.0"
        assert metadata.metadata(name)["Requires-Python"] == ">=3.11"
    assert "numpy>=1.26" in (metadata.requires("tenon") or [])
    assert metadata.requires("tenon-tensorrt") == ["tenon==0.1.0"]


@pytest.mark.parametrize(
    "patch, reason",
    [
        ("platform.system = lambda: 'Darwin'", "this is Darwin."),
        ("platform.machine = lambda: 'aarch64'", "this machine is aarch64."),
        ("platform.libc_ver = lambda: ('glibc', '2.31')", "this system has glibc 2.31."),
        ("platform.libc_ver = lambda: ('', '')", "this system has another C library."),
    ],
)
def test_other_platforms_get_one_sentence(patch: str, reason: str) -> None:
    program = f"import platform, sys; sys.path.insert(0, 'python/build_backend'); {patch}; import tenon_build"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode != 0
    assert done.stderr == f"Tenon needs Linux on x86-64 with glibc 2.36 or later; {reason}\n"


def test_cmake_says_so_too() -> None:
    command = [
        "cmake",
        "-DCMAKE_SYSTEM_NAME=Darwin",
        "-DCMAKE_SYSTEM_PROCESSOR=arm64",
        "-P",
        "cmake/TenonPlatform.cmake",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode != 0 and "Darwin on arm64" in " ".join(done.stderr.split())
