"""check_catalog.py, in a process of its own: KServe's and Triton's client's messages have the same names."""

import pathlib
import subprocess
import sys


def test_the_catalog() -> None:
    checks = pathlib.Path(__file__).with_name("check_catalog.py")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(checks)], capture_output=True, text=True)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr
