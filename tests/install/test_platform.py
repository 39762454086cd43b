"""Where Tenon cannot run, configuring, and with it `pip install`, ends with one sentence."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("system", "processor"), [("Darwin", "x86_64"), ("Linux", "aarch64"), ("Windows", "AMD64")])
def test_other_systems_are_refused_by_name(system: str, processor: str) -> None:
    names = [f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={processor}"]
    done = subprocess.run(
        ["cmake", *names, "-P", ROOT / "cmake" / "TenonPlatform.cmake"], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert f"Tenon runs on Linux on x86-64; this is {system} on {processor}." in " ".join(done.stderr.split())
