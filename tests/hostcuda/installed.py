"""The distribution as it is installed: its package and its path entry in a folder like site-packages."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = ROOT / "python" / "hostcuda_distribution"

START = "import runpy, site, sys; site.addsitedir(sys.argv[1]); del sys.argv[:2]; sys.argv or sys.exit(2); "


def install(folder: pathlib.Path) -> pathlib.Path:
    site = folder / "site-packages"
    shutil.copytree(PROJECT / "tenon_hostcuda", site / "tenon_hostcuda")
    shutil.copy(PROJECT / "tenon_hostcuda.pth", site)
    return site


def run_file(site: pathlib.Path, script: pathlib.Path, *arguments: object) -> str:
    """A script, as `python script arguments…` with the distribution installed."""
    code = START + "runpy.run_path(sys.argv[0], run_name='__main__')"
    return _run([sys.executable, "-c", code, str(site), str(script), *map(str, arguments)])


def run_code(site: pathlib.Path, code: str) -> str:
    """A program given as text."""
    return _run([sys.executable, "-c", f"import site; site.addsitedir({str(site)!r})\n{code}"])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
