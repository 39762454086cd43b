"""A user's project builds and runs against the installed tree, found by CMake and by pkg-config."""

import os
import pathlib
import shlex
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", HERE.parents[1] / "build"))
EXPECTED = "0.1.0 1 3 -4 6.5 14\n"


def run(*command: object, **extra: str) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | extra)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    first = tmp_path_factory.mktemp("first") / "usr"
    run("cmake", "--install", BUILD, "--prefix", first, "--component", "tenon")
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
    assert {path.name for path in links.iterdir()} == {"libcudart.so", "libcudart.so.12", "libcudart.so.13"}
    assert not list(installed.glob("include/cuda*")) and not list(links.parents[1].glob("libcudart*"))
    (folder,) = installed.glob("lib*/**/pkgconfig")
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "tenon-cudart", PKG_CONFIG_PATH=str(folder)))
    assert f"-I{headers}" in map(os.path.normpath, flags) or f"-I{headers}" in flags, flags
    for major in (12, 13):
        program = tmp_path / f"memory{major}"
        define = f"-DTENON_CUDART_MAJOR={major}"
        run("g++", HERE / "memory.cpp", define, *flags, f"-Wl,-rpath,{folder.parent}", "-o", program)
        assert run(program) == "1010101\n"


def test_nothing_points_into_the_build(installed: pathlib.Path) -> None:
    for library in installed.rglob("*.so*"):
        paths = run("objdump", "-p", library).splitlines()
        assert not [line for line in paths if "PATH" in line and str(BUILD) in line], library


def test_installed_program_answers(installed: pathlib.Path) -> None:
    assert run(installed / "bin" / "tenon", "--version").startswith("tenon 0.1.0 (TensorRT API 10.16")
