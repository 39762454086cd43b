"""Both wheels build without a network, install and run; takes a whole build of the libraries (ccache helps)."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build"))


def run(*command: object, cwd: pathlib.Path = ROOT, **extra: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        env=os.environ | extra,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wheel(project: pathlib.Path, folder: pathlib.Path, *options: str) -> pathlib.Path:
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", folder]
    run(sys.executable, "-m", "pip", "wheel", "-q", *offline, *options, project)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    native = wheel(ROOT, tmp_path_factory.mktemp("native"), f"--config-settings=build-dir={BUILD / 'wheel'}")
    return [native, wheel(ROOT / "python" / "tensorrt_distribution", tmp_path_factory.mktemp("names"))]


def test_wheels_hold_what_they_should(wheels: list[pathlib.Path]) -> None:
    native, names = (set(zipfile.ZipFile(path).namelist()) for path in wheels)
    assert {"tenon/__init__.py", "tenon/_native.pyi", "tenon/py.typed", "tenon/lib/libnvinfer.so.10"} <= native
    assert "tensorrt/__init__.py" in names and "tensorrt/py.typed" in names
    assert wheels[0].name.startswith("tenon-0.1.0-cp3") and wheels[1].name == "tenon_tensorrt-0.1.0-py3-none-any.whl"
    assert not [name for name in native if name.startswith(("tensorrt/", "tests/", "include/"))]


PROGRAM = """
import importlib.metadata, sys
import small, tenon, tensorrt
assert tenon.__file__.startswith(sys.argv[1]) and tensorrt.__file__.startswith(sys.argv[1]), tenon.__file__
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "libtenon" in line or "libnv" in line}
assert libraries and all(path.startswith(sys.argv[1]) for path in libraries), libraries
x = small.inputs(5)
assert abs(small.run(small.engine(tensorrt.Logger()), x) - small.want(x)).max() < 1e-5
print(importlib.metadata.version("tenon"), importlib.metadata.version("tenon-tensorrt"))
"""


def test_installed_wheels_run(wheels: list[pathlib.Path], tmp_path: pathlib.Path) -> None:
    site = tmp_path / "site"
    run(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", site, *wheels)
    search = os.pathsep.join([str(site), str(ROOT / "tests" / "python")])
    assert run(sys.executable, "-c", PROGRAM, site, cwd=tmp_path, PYTHONPATH=search) == "0.1.0 0.1.0\n"
