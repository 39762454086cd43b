"""Models that ended a process, or were refused without a reason, when `make fuzz` made them: none does any more."""

import pathlib
import subprocess

from fuzz import what, worker

CASES = sorted((pathlib.Path(__file__).parent / "fuzz_cases").glob("*.onnx"))


def tried(folder: pathlib.Path, files: list[pathlib.Path]) -> subprocess.CompletedProcess:
    return worker(folder / "record", "--file", *map(str, files))


def test_what_the_fuzzer_found_is_mended(tmp_path: pathlib.Path) -> None:
    assert len(CASES) > 60
    if tried(tmp_path, CASES).returncode == 0:
        return
    for case in CASES:  # Which one is it?
        done = tried(tmp_path, [case])
        assert done.returncode == 0, f"{case.name}: {what(done.returncode)}\n{done.stderr[-2000:]}"
