"""The build that the parts run from, where it is not there already."""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess

from cuda_parts.place import ROOT

TARGETS = [
    "fake_cuda",
    "fake_nvrtc",
    "fake_cublasLt",
    "fake_cudnn",
    "test_contract",
    "test_backends",
    "test_cuda",
    "test_cuda_networks",
    "test_plugins",
    "test_api",
    "test_control",
    "test_soak",
    "tenon_bench_cuda_overhead",
]
WITH_PYTHON = ["tenon_native", "tenon_cli", "tenon_trtexec"]


def unpack(folder: pathlib.Path, into: pathlib.Path) -> None:
    """Unpacks packages into a folder of their own: over / they could replace what the machine's programs load."""
    into.mkdir(parents=True, exist_ok=True)
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(into)], check=True)
    libraries = [str(each) for each in into.glob("usr/lib/*-linux-gnu")]
    for name, folders in (
        ("CMAKE_PREFIX_PATH", [str(into / "usr")]),
        ("PATH", [str(into / "usr/bin")]),
        ("LD_LIBRARY_PATH", libraries),
    ):
        os.environ[name] = ":".join([*folders, os.environ.get(name, "")]).strip(":")


def build(options: argparse.Namespace) -> str:
    """'ok', or what failed. A folder that was configured before stays as it is."""
    has_python = importlib.util.find_spec("pybind11") is not None or (ROOT / ".venv").exists()
    configure = ["cmake", "-S", str(ROOT), "-B", str(options.build), "-DCMAKE_BUILD_TYPE=Release"]
    configure += ["-G", "Ninja"] if shutil.which("ninja") else []
    configure += ["-DCMAKE_UNITY_BUILD=ON", f"-DTENON_PYTHON={'ON' if has_python else 'OFF'}", *options.cmake.split()]
    if (ROOT / ".venv/bin/python").exists():
        configure.append(f"-DPython_EXECUTABLE={ROOT / '.venv/bin/python'}")
    targets = TARGETS + (WITH_PYTHON if has_python else [])
    make = ["cmake", "--build", str(options.build), "-j", str(os.cpu_count() or 4), "--target", *targets]
    commands = [make] if (options.build / "CMakeCache.txt").exists() else [configure, make]
    log = options.build / "cuda_test.build.log"
    options.build.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        for command in commands:
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
                return f"failed: {log}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-25:])
    return "ok"
