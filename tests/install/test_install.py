"""A user's project builds and runs against the installed tree, found by CMake and by pkg-config."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build"))
EXPECTED = "0.1.0 1 3 -4 6.5 14\n"


def run(*command: object, **extra: str) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | extra)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def libraries_of_demo(build: pathlib.Path) -> set[str]:
    """The libraries that `make demo` builds in a folder that is configured, links included."""
    recipe = run("make", "-C", ROOT, "--dry-run", "demo", f"BUILD={build}", MAKEFLAGS="")
    (targets,) = re.findall(rf"^ninja .*-C {re.escape(str(build))} (.+)$", recipe, re.MULTILINE)
    return set(re.findall(r"\blib/([\w/]+\.so[.\d]*)", run("ninja", "-C", build, "-t", "commands", *targets.split())))


def after_demo(build: pathlib.Path) -> pathlib.Path:
    """A build folder as `make demo` leaves it: configured anew, with those libraries of BUILD that the demo needs."""
    python = f"-DPython_EXECUTABLE={sys.executable}"
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", python)
    for name in libraries_of_demo(build):
        (build / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(BUILD / "lib" / name, build / "lib" / name, follow_symlinks=False)
    return build


@pytest.fixture(scope="module", params=["test", "demo"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What is installed after `make test`, and after `make demo`."""
    first = tmp_path_factory.mktemp("first") / "usr"
    build = BUILD if request.param == "test" else after_demo(tmp_path_factory.mktemp("demo") / "build")
    run("cmake", "--install", build, "--prefix", first)
    moved = tmp_path_factory.mktemp("moved") / "usr"
    first.rename(moved)  # Nothing installed may remember where it was installed.
    return moved


def test_find_package(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    run("cmake", "-S", HERE, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "consumer") == EXPECTED
    assert run(tmp_path / "memory") == "1010101\n"


def test_pkg_config(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (folder,) = installed.glob("lib*/**/pkgconfig")
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "tenon", PKG_CONFIG_PATH=str(folder)))
    program = tmp_path / "consumer"
    run("g++", "-std=c++17", HERE / "consumer.cpp", *flags, f"-Wl,-rpath,{folder.parent}", "-o", program)
    assert run(program) == EXPECTED


def test_host_calls_under_the_names_of_cuda(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """They lie where nothing looks that was not told to, and a program that is told to builds and runs."""
    (links,) = installed.glob("lib*/**/tenon/hostrt")
    headers = installed / "include" / "tenon" / "hostrt"
    assert {path.name for path in links.iterdir()} == {
        *("libcudart.so", "libcudart.so.12", "libcudart.so.13"),
        *("libcuda.so", "libcuda.so.1"),
    }
    assert not list(installed.glob("include/cuda*")) and not list(links.parents[1].glob("libcuda*"))
    (folder,) = installed.glob("lib*/**/pkgconfig")
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "tenon-cudart", PKG_CONFIG_PATH=str(folder)))
    assert f"-I{headers}" in map(os.path.normpath, flags) or f"-I{headers}" in flags, flags
    for major in (12, 13):
        program = tmp_path / f"memory{major}"
        define = f"-DTENON_CUDART_MAJOR={major}"
        run("g++", HERE / "memory.cpp", define, *flags, f"-Wl,-rpath,{folder.parent}", "-o", program)
        assert run(program) == "1010101\n"


@pytest.mark.parametrize("installed", ["test"], indirect=True)  # The other's libraries are copies from that build.
def test_nothing_points_into_the_build(installed: pathlib.Path) -> None:
    for library in installed.rglob("*.so*"):
        paths = run("objdump", "-p", library).splitlines()
        assert not [line for line in paths if "PATH" in line and str(BUILD) in line], library


@pytest.mark.parametrize("installed", ["test"], indirect=True)
def test_installed_program_answers(installed: pathlib.Path) -> None:
    assert run(installed / "bin" / "tenon", "--version").startswith("tenon 0.1.0 (TensorRT API 10.16")
    (first, *_) = run(installed / "bin" / "trtexec", "--help").splitlines()
    assert first.startswith("&&&& RUNNING TensorRT.trtexec [TensorRT v101600]")
