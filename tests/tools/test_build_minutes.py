"""tools/build_minutes: sums over the log of a build."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = """
rule make
  command = true
build a.o b.inc: make
build lib.so: make a.o
build tenon: make lib.so
build {here}/made.cmake: make
build test: make tenon {here}/made.cmake
build tenon_package: phony lib.so
build tenon_native: phony lib.so
build tenon_cli: phony tenon
build tenon_trtexec: phony tenon
build all: phony test
"""


def test_each_edge_counts_once_with_its_latest_time(tmp_path: pathlib.Path) -> None:
    (tmp_path / "build.ninja").write_text(BUILD.format(here=tmp_path))
    times = [
        (0, 600_000, "lib.so", "1"),  # Before the latest.
        (0, 60_000, "a.o", "2"),
        (0, 60_000, "b.inc", "2"),  # The same edge.
        (10, 30_010, "lib.so", "3"),
        (0, 15_000, "tenon", "4"),
        (0, 6_000, f"{tmp_path}/made.cmake", "5"),
        (0, 9_000, "test", "6"),
        (0, 900_000, "gone.o", "7"),  # Of a source that is there no more.
    ]
    log = "".join(f"{start}\t{end}\t0\t{output}\t{mark}\n" for start, end, output, mark in times)
    (tmp_path / ".ninja_log").write_text("# ninja log v5\n" + log)
    done = subprocess.run([ROOT / "tools" / "build_minutes", tmp_path], capture_output=True, text=True, check=True)
    lines = [line.rsplit(maxsplit=2) for line in done.stdout.splitlines()[1:]]
    assert lines == [["make demo", "2", "1.50"], ["make program", "3", "1.75"], ["make build", "5", "2.00"]], (
        done.stdout
    )
