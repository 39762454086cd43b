"""tools/arrows tells of includes that docs/ARCHITECTURE.md does not have, and of headers that are no faces."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

TABLE = """<!-- arrows:begin -->
| Folder | May include | Faces |
|---|---|---|
| `src/low` | `include` | all but `secret.h` |
| `src/middle` | `src/low`, interfaces | `door.h`, `inner/window.h` |
| `src/high` | `src/middle` | none |
<!-- arrows:end -->
"""
FILES = {
    "include/NvInfer.h": "",
    "include/NvInferRuntime.h": "",
    "src/low/open.h": '#include "NvInfer.h"\n',
    "src/low/secret.h": "",
    "src/low/low.cpp": '#include "low/secret.h"\n#include "low/open.h"\n',
    "src/middle/door.h": '#include "NvInferRuntime.h"\n#include "low/open.h"\n',
    "src/middle/cellar.h": "",
    "src/middle/inner/window.h": '#include "middle/cellar.h"\n',
    "src/high/high.cpp": '#include "middle/door.h"\n#include "middle/inner/window.h"\n',
    "src/high/own.h": "",
}


def checked(folder: pathlib.Path, changes: dict[str, str], table: str = TABLE) -> tuple[int, str]:
    for name, text in (FILES | changes | {"docs/ARCHITECTURE.md": table}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "arrows", folder / "tools" / "arrows")
    done = subprocess.run([sys.executable, folder / "tools" / "arrows"], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_what_the_table_has_is_fine(tmp_path: pathlib.Path) -> None:
    assert checked(tmp_path, {}) == (0, "arrows: 5 includes across folders, 0 forbidden\n")


@pytest.mark.parametrize(
    ("path", "include", "said"),
    [
        ("src/high/high.cpp", "low/open.h", "src/high may not include src/low (low/open.h)"),
        ("src/high/high.cpp", "NvInfer.h", "src/high may not include include (NvInfer.h)"),
        ("src/middle/door.h", "NvInfer.h", "src/middle may not include include (NvInfer.h)"),
        ("src/low/open.h", "middle/door.h", "src/low may not include src/middle (middle/door.h)"),
        ("src/high/high.cpp", "middle/cellar.h", "cellar.h is no face of src/middle: src/high may not include it"),
        ("src/middle/door.h", "low/secret.h", "secret.h is no face of src/low: src/middle may not include it"),
    ],
)
def test_what_it_has_not_fails_by_file_and_line(path: str, include: str, said: str, tmp_path: pathlib.Path) -> None:
    status, text = checked(tmp_path, {path: f'\n#include "{include}"\n'})
    assert status == 1 and f"{path}:2: {said}\n" in text, text
    assert text.endswith("1 forbidden\n")


def test_faces_that_are_gone_are_told(tmp_path: pathlib.Path) -> None:
    status, text = checked(tmp_path, {}, TABLE.replace("`door.h`", "`door.h`, `gate.h`"))
    assert status == 1 and "docs/ARCHITECTURE.md: src/middle has no gate.h\n" in text


def test_a_table_that_cannot_be_read_is_no_permission(tmp_path: pathlib.Path) -> None:
    status, text = checked(tmp_path, {}, TABLE.replace("| all but `secret.h` |", "|"))
    assert status == 1 and "| `src/low` | `include` |" in text


def test_the_tree_keeps_to_its_table() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "arrows"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
