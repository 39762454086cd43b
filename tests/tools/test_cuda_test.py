"""tools/cuda_test: what fails, crashes, takes too long or is missing is told by its name, and nothing is forgotten."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from cuda_parts import exclusions, parts  # noqa: E402

# Speaks as GoogleTest's programs do: a test's name says how it ends.
PROGRAM = """\
    #!{python}
    import fnmatch, os, signal, sys, time
    tests = {tests}
    only = next((a.split("=", 1)[1] for a in sys.argv if a.startswith("--gtest_filter=")), "*")
    only = [each for each in only.split(":-")[0].split(":")]
    chosen = [t for t in tests if any(fnmatch.fnmatchcase(t, each) for each in only)]
    if "--gtest_list_tests" in sys.argv:
        print("Suite.\\n" + "".join(f"  {{t.split('.')[1]}}\\n" for t in chosen))
        sys.exit(0)
    wrong = 0
    for test in chosen:
        print(f"[ RUN      ] {{test}}", flush=True)
        if "crashes" in test:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "hangs" in test:
            time.sleep(60)
        bad = "fails" in test
        if bad:
            print("/somewhere/a_test.cpp:7: Failure\\nExpected equality\\n  of 1 and 2\\n")
        wrong += bad
        word = "  FAILED  " if bad else "  SKIPPED " if "skipped" in test else "       OK "
        print(f"[{{word}}] {{test}} (0 ms)", flush=True)
    sys.exit(wrong > 0)
"""


def build(folder: pathlib.Path, **programs: list[str]) -> pathlib.Path:
    (folder / "bin").mkdir()
    for name, tests in programs.items():
        path = folder / "bin" / name
        names = [f"Suite.{each}" for each in tests]
        path.write_text(textwrap.dedent(PROGRAM).format(python=sys.executable, tests=names))
        path.chmod(0o755)
    return folder


def cuda_test(folder: pathlib.Path, *flags: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "tools/cuda_test"), "--build", str(folder), "--skip-build", "--jobs", "2"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run([*command, *flags], capture_output=True, text=True, env=own, timeout=120, check=False)


def result(folder: pathlib.Path) -> dict:
    (one,) = json.loads((folder / "cuda_test/results.json").read_text())
    return one


def test_a_part_in_which_all_pass_is_ok(tmp_path):
    done = cuda_test(build(tmp_path, test_backends=["a", "b", "skipped", "d"]), "--only", "kernels")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok       kernels    passed 3 of 3, 1 skipped" in done.stdout


def test_a_failure_is_told_with_its_first_message(tmp_path):
    done = cuda_test(build(tmp_path, test_backends=["a", "fails", "c"]), "--only", "kernels")
    assert done.returncode == 1
    assert "FAULT    kernels    passed 2 of 3" in done.stdout
    assert "    Suite.fails: a_test.cpp:7: Expected equality of 1 and 2" in done.stdout


def test_behind_a_crash_the_others_still_run(tmp_path):
    names = [f"t{i}" for i in range(100)]
    names[3] = names[40] = ""
    names = [name or f"crashes{i}" for i, name in enumerate(names)]
    done = cuda_test(build(tmp_path, test_backends=names), "--only", "kernels")
    assert done.returncode == 1
    told = result(tmp_path)
    assert (told["passed"], told["ran"]) == (98, 100), done.stdout
    assert [name for name, _ in told["failures"]] == ["Suite.crashes3", "Suite.crashes40"]
    assert all("status -11" in message for _, message in told["failures"])


def test_what_takes_too_long_is_told_and_what_had_no_time_too(tmp_path):
    build(tmp_path, test_contract=["a/cuda", "hangs/cuda", "c/cuda"])
    done = cuda_test(tmp_path, "--only", "contract", "--limit", "contract=2")
    assert done.returncode == 1, done.stdout
    told = result(tmp_path)
    assert (told["verdict"], told["passed"], told["failures"]) == ("TOO LONG", 1, [])
    assert told["late"] == ["Suite.hangs/cuda", "Suite.c/cuda"]
    assert "not over in time: Suite.hangs/cuda, Suite.c/cuda" in done.stdout


def test_a_failure_beside_what_takes_too_long_is_a_fault(tmp_path):
    done = cuda_test(build(tmp_path, test_backends=["fails", "hangs"]), "--only", "kernels", "--limit", "3")
    told = result(tmp_path)
    assert done.returncode == 1 and told["verdict"] == "FAULT"
    assert [name for name, _ in told["failures"]] == ["Suite.fails"] and told["late"] == ["Suite.hangs"]


def test_all_parts_together_end_in_time(tmp_path):
    done = cuda_test(
        build(tmp_path, test_backends=["hangs1", "hangs2", "hangs3"]), "--only", "kernels", "--within", "2"
    )
    assert done.returncode == 1
    assert len(result(tmp_path)["late"]) == 3


def test_a_part_that_was_named_and_is_missing_is_a_fault(tmp_path):
    (tmp_path / "bin").mkdir()
    done = cuda_test(tmp_path, "--only", "soak")
    assert done.returncode == 1
    assert "FAULT    soak" in done.stdout and "test_soak is not built" in done.stdout


def test_a_program_that_does_not_start_is_a_fault(tmp_path):
    build(tmp_path, test_soak=["a"])
    (tmp_path / "bin/test_soak").write_text("#!/bin/sh\necho what is missing >&2\nexit 127\n")
    done = cuda_test(tmp_path, "--only", "soak")
    assert done.returncode == 1 and "what is missing" in done.stdout


@pytest.mark.parametrize("flags", [("--only", "nonsense"), ("--limit", "nonsense=3"), ("--limit", "kernels=soon")])
def test_a_flag_that_names_nothing_is_refused(tmp_path, flags):
    done = cuda_test(tmp_path, *flags)
    assert done.returncode == 2 and ("nonsense" in done.stderr or "soon" in done.stderr)


SANITIZER = """\
#!/bin/sh
# Of each test whose name it knows, what compute-sanitizer prints; the rest is the program's.
while [ "${1#--}" != "$1" ]; do shift 2; done
"$@"
status=$?
case "$2" in
*ours*) echo "========= Error: Race reported between Write access at rows+0x10 and Read access at rows+0x20 [4 hazards]"
    echo "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" ;;
*library*) echo "========= Error: Race reported between Write access at nvjet_sm90_hsh+0x10 [4 hazards]"
    echo "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" ;;
*quiet*) echo "========= Target application terminated before first instrumented API call" ;;
*silent*) ;;
*) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
esac
exit $status
"""


def test_a_sanitizer_tells_of_our_kernels_and_notes_those_of_libraries(tmp_path, monkeypatch):
    (tmp_path / "path").mkdir()
    sanitizer = tmp_path / "path/compute-sanitizer"
    sanitizer.write_text(SANITIZER)
    sanitizer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sanitizer.parent}:{os.environ['PATH']}")
    build(tmp_path, test_backends=["ours", "library", "quiet", "silent", "right"])
    done = cuda_test(tmp_path, "--only", "racecheck")
    told = result(tmp_path)
    assert done.returncode == 1 and (told["passed"], told["ran"], told["skipped"]) == (2, 4, 1), done.stdout
    failures = dict(told["failures"])
    assert "at rows+0x10" in failures["Suite.ours"] and "no summary" in failures["Suite.silent"]
    assert "nvjet" in told["notes"][0] and "Suite.library" in told["notes"][0]


def test_parts_by_groups():
    assert parts.chosen("sanitize,soak") == ["soak", "memcheck", "racecheck"]
    assert parts.chosen("all") == list(parts.LIMITS)
    assert parts.chosen(None) == [name for name in parts.LIMITS if name in parts.CONFORMANCE]


OF_PROGRAMS = {name: entries for name, entries in exclusions.entries().items() if name.startswith("test_")}


def test_each_exclusion_names_cases_and_says_why():
    assert OF_PROGRAMS
    for suite, entries in exclusions.entries().items():
        for entry in entries:
            assert entry["cases"], (suite, entry)
            assert len(entry["why"]) > 20 and entry["why"].endswith("."), (suite, entry)


def test_each_exclusion_fits_a_test_that_there_is():
    """A name that nobody has any more would leave out nothing, or what gets it next."""
    for program, entries in OF_PROGRAMS.items():
        sources = "".join(path.read_text() for path in (ROOT / "tests" / program.removeprefix("test_")).glob("*.cpp"))
        for pattern in (each for entry in entries for each in entry["cases"] if each != "*"):
            suite, _, test = pattern.rpartition(".")
            suite = suite.split("/")[-1]
            assert f"({suite}, {test.split('/')[0].rstrip('*')}" in sources, pattern
