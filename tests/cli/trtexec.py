"""The program `trtexec`, run by tests."""

import pathlib
import subprocess

from test_cli import PATIENCE, PROGRAM, clean

TRTEXEC = PROGRAM.with_name("trtexec")
SHORT = ("--warmUp=5", "--duration=0.05")


def trtexec(
    *words: object, status: int = 0, cwd: pathlib.Path | None = None, **environment: str
) -> subprocess.CompletedProcess:
    command = [str(TRTEXEC), *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=clean() | environment, timeout=PATIENCE, cwd=cwd or "/"
    )
    assert done.returncode == status, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    (first, *_, last) = done.stdout.splitlines()
    verdict = "PASSED" if status == 0 else "FAILED"
    name = "TensorRT.trtexec [TensorRT v101600] [b72] # " + " ".join(command)
    assert (first, last) == (f"&&&& RUNNING {name}", f"&&&& {verdict} {name}")
    return done


def all_text(done: subprocess.CompletedProcess) -> str:
    return done.stdout + done.stderr
