"""tools/once_more: who fails by chance is named, who fails twice or crashes is no matter of chance."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: What a shell does the first time, by name; the second time each of them passes but the last.
SHELL = {
    "passes": "true",
    "unsteady": 'test -e "$0.seen" || { touch "$0.seen"; false; }',
    "crashes": 'test -e "$0.seen" || { touch "$0.seen"; kill -SEGV $$; }',
    "fails": "false",
}
BODY = {
    "passes": "pass",
    "unsteady": "assert seen(__file__ + '.seen')",
    "crashes": "seen(__file__ + '.seen') or os.kill(os.getpid(), signal.SIGSEGV)",
    "fails": "assert False",
}


def once_more(*command: str, strict: bool = False) -> subprocess.CompletedProcess:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", **({"STRICT": "1"} if strict else {})}
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "once_more"), *command],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


def by_ctest(folder: pathlib.Path, kinds: list[str], **more: bool) -> subprocess.CompletedProcess:
    tests = [f'add_test(t{i}.{kind} /bin/sh -c [=[{SHELL[kind]}]=] "{folder}/{i}")' for i, kind in enumerate(kinds)]
    (folder / "CTestTestfile.cmake").write_text("\n".join(tests) + "\n")
    return once_more("ctest", "--test-dir", str(folder), "-j", "2", **more)


def by_pytest(folder: pathlib.Path, kinds: list[str], *workers: str, **more: bool) -> subprocess.CompletedProcess:
    begin = "import os, pathlib, signal\ndef seen(path):\n    path = pathlib.Path(path)\n    was = path.exists()\n"
    begin += "    path.touch()\n    return was\n"
    for i, kind in enumerate(kinds):
        (folder / f"test_t{i}.py").write_text(f"{begin}def test_{kind}():\n    {BODY[kind]}\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", f"--rootdir={folder}", *workers, str(folder)]
    return once_more(*command, **more)


CASES = pytest.mark.parametrize(
    ("kinds", "passes"),
    [
        (["passes"], True),
        (["passes", "unsteady"], True),
        (["unsteady"] * 4, True),
        (["unsteady"] * 5, False),
        (["passes", "fails"], False),
        (["unsteady", "fails"], False),
        (["passes", "crashes"], False),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, list) else None,
)


@CASES
def test_of_ctest(tmp_path: pathlib.Path, kinds: list[str], passes: bool) -> None:
    done = by_ctest(tmp_path, kinds)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    named = re.findall(r"UNSTEADY, passed the second time: \d+ - (\S+) ", done.stdout)
    expected = [f"t{i}.{kind}" for i, kind in enumerate(kinds) if kind == "unsteady"] if passes else []
    assert sorted(named) == expected


@CASES
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one", "workers"])
def test_of_pytest(tmp_path: pathlib.Path, workers: tuple[str, ...], kinds: list[str], passes: bool) -> None:
    done = by_pytest(tmp_path, kinds, *workers)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    named = re.findall(r"UNSTEADY, passed the second time: FAILED (?:\S*/)?(\S+?)::", done.stdout)
    expected = [f"test_t{i}.py" for i, kind in enumerate(kinds) if kind == "unsteady"] if passes else []
    assert sorted(named) == expected


def test_strict_runs_forgive_nothing(tmp_path: pathlib.Path) -> None:
    assert by_ctest(tmp_path, ["passes", "unsteady"], strict=True).returncode != 0
    assert by_pytest(tmp_path, ["passes", "unsteady"], strict=True).returncode != 0
