"""What of the tests is not run on CUDA, and why: tests/cuda_exclusions.toml."""

import tomllib

from cuda_parts.place import ROOT

FILE = ROOT / "tests/cuda_exclusions.toml"


def entries() -> dict[str, list[dict]]:
    """By suite: patterns of the cases that are left out, and why."""
    return tomllib.loads(FILE.read_text())


def filter_of(program: str, only: str = "*") -> str:
    left_out = ":".join(case for entry in entries().get(program, []) for case in entry["cases"])
    return f"{only}:-{left_out}" if left_out else only
