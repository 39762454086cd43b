"""Numbers of 8 and 4 bits on the host: what is made of what as in facts.txt, printed with the toolkit's; numbers as a
table of all of them has them, with ml_dtypes' values.
"""

import collections.abc
import pathlib
import re
import subprocess

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from test_halves import answers
from toolkit import HEADERS, HERE, run, toolkit

Bits = npt.NDArray[np.uint64]
Doubles = npt.NDArray[np.float64]

SOURCE = HERE / "narrow" / "narrow.cpp"
HEADERS_HERE = ("cuda_fp8.h", "cuda_fp4.h")
ALL = np.arange(1 << 16, dtype=np.uint16)
TYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "e2m1": ml_dtypes.float4_e2m1fn,
}


def program(folder: pathlib.Path, *flags: object) -> pathlib.Path:
    run("g++", *flags, SOURCE, "-o", folder / "narrow")
    return folder / "narrow"


def doubles(folder: pathlib.Path) -> Doubles:
    random = np.random.default_rng(17)
    halves = ALL.view(np.float16)
    halves = halves[np.isfinite(halves)].astype(np.float64)
    steps = np.arange(0, 500) / 16
    special = [np.inf, np.nan, 448, 464, 464.0001, 479.9, 480, 57344, 61440, 61439.9, 61440.1, 65536, 1e300, 0.0]
    powers = 2.0 ** np.arange(-1074, 1024)
    found = np.concatenate([halves[::7], steps, powers, 1.5 * powers[70:], special])
    found = np.concatenate([found, random.standard_normal(4000) * 10.0 ** random.integers(-9, 9, 4000)])
    found = np.concatenate([found, np.nextafter(found, np.inf), np.nextafter(found, -np.inf)])
    found = np.concatenate([found, -found])
    (folder / "doubles").write_bytes(found.tobytes())
    return found


def sizes(name: str) -> Doubles:
    """The numbers that are not negative, in the order of their bits, and one more: what is above stands for it."""
    count = {"e4m3": 0x7F, "e5m2": 0x7C, "e8m0": 0xFF, "e2m1": 8}[name]
    table = np.arange(count, dtype=np.uint8).view(TYPES[name]).astype(np.float64)
    step = table[-1] if name == "e8m0" else table[-1] - table[-2]
    return np.append(table, table[-1] + step)


def nearest(name: str, values: Doubles, is_saturated: bool) -> Bits:
    """Ties to even bits; e8m0: up, without a sign."""
    table = sizes(name)
    size = np.abs(np.where(np.isnan(values), 0, values))
    above = np.searchsorted(table, size).clip(1, len(table) - 1)
    below = table[above - 1]
    middle = (below + table[above]) / 2
    is_up = (size > middle) | ((size == middle) & (above % 2 == 0))
    if name == "e8m0":
        is_up = size > below
    bits = np.where(is_up, above, above - 1)
    last = len(table) - 1
    beyond = {"e4m3": 0x7F, "e5m2": 0x7C, "e8m0": 0xFF, "e2m1": 7}[name]
    bits = np.where(bits == last, last - 1 if is_saturated or name == "e2m1" else beyond, bits)
    sign = {"e8m0": 0, "e2m1": 8}.get(name, 0x80)
    not_one = {"e5m2": 0x7F, "e8m0": 0xFF, "e2m1": 7}.get(name, 0x7F)
    return np.where(np.isnan(values), not_one, bits | np.where(np.signbit(values), sign, 0)).astype(np.uint64)


@pytest.mark.parametrize("name", TYPES)
def test_numbers_are_the_nearest_of_all(tmp_path: pathlib.Path, name: str) -> None:
    """From every half, every bfloat16, and doubles; not numbers of doubles keep their sign."""
    values = doubles(tmp_path)
    found = answers(program(tmp_path, "-std=c++11", "-O1", f"-I{HEADERS}"), tmp_path)
    with np.errstate(all="ignore"):
        halves = ALL.view(np.float16).astype(np.float64)
        bfloats = ALL.view(ml_dtypes.bfloat16).astype(np.float64)
        floats = values.astype(np.float32).astype(np.float64)
        is_number = ~np.isnan(values)
        np.testing.assert_array_equal(
            found[f"{name} double"][0][is_number], nearest(name, values, True)[is_number], "of doubles"
        )
        for source, numbers in {"float": floats, "half": halves, "bfloat": bfloats}.items():
            np.testing.assert_array_equal(found[f"{name} {source}"][0], nearest(name, numbers, True), source)
            if name in ("e4m3", "e5m2"):
                open_ended = nearest(name, numbers, False)
                np.testing.assert_array_equal(found[f"{name} open {source}"][0], open_ended, f"{source}, not saturated")


@pytest.mark.parametrize("name", TYPES)
def test_values_are_those_of_ml_dtypes(tmp_path: pathlib.Path, name: str) -> None:
    doubles(tmp_path)
    found = answers(program(tmp_path, "-std=c++17", "-O1", f"-I{HEADERS}"), tmp_path)[f"{name} to"][0]
    bits = np.arange(16 if name == "e2m1" else 256, dtype=np.uint8)
    with np.errstate(all="ignore"):
        known = bits.view(TYPES[name]).astype(np.float32)
        rows = found.reshape(len(bits), -1)
        floats = rows[:, 0].astype(np.uint32).view(np.float32)
        np.testing.assert_array_equal(floats, known)
        np.testing.assert_array_equal(np.signbit(floats[~np.isnan(known)]), np.signbit(known[~np.isnan(known)]))
        np.testing.assert_array_equal(rows[:, 1].view(np.float64), known.astype(np.float64))
        np.testing.assert_array_equal(rows[:, 2].astype(np.uint16).view(np.float16), known.astype(np.float16))
        np.testing.assert_array_equal(rows[:, 4], known != 0)
        clipped = np.clip(np.nan_to_num(known.astype(np.float64), nan=0), -(2.0**31), 2.0**31 - 1)
        np.testing.assert_array_equal(rows[:, 10].astype(np.uint32).view(np.int32), np.trunc(clipped).astype(np.int64))


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++23"])
def test_what_is_made_of_what(tmp_path: pathlib.Path, standard: str) -> None:
    ours = program(tmp_path, f"-std={standard}", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}")
    assert run(ours, "facts") == (HERE / "narrow" / "facts.txt").read_text()


def test_the_toolkits_are_the_same(tmp_path: pathlib.Path) -> None:
    real = toolkit()
    doubles(tmp_path)
    (tmp_path / "ours").mkdir()
    ours = program(tmp_path / "ours", "-std=c++17", "-O1", f"-I{HEADERS}")
    theirs = program(tmp_path, "-std=c++17", "-O1", "-isystem", real / "include")
    assert run(theirs, "facts") == (HERE / "narrow" / "facts.txt").read_text()
    mine, known = answers(ours, tmp_path), answers(theirs, tmp_path)
    assert mine.keys() == known.keys() and len(known) > 80
    for name in known:
        for number, values in enumerate(known[name]):
            np.testing.assert_array_equal(mine[name][number], values, f"{name}, {number}")


def functions(include: pathlib.Path) -> list[str]:
    names: set[str] = set()
    for header in HEADERS_HERE:
        names |= set(
            re.findall(r"\b__nv_cvt_\w+(?=\()", run("g++", "-E", "-x", "c++", f"-I{include}", include / header))
        )
    return sorted(name for name in names if "fp6" not in name)  # Of a header that the toolkit's includes.


@pytest.mark.parametrize("include", [lambda: HEADERS, lambda: toolkit() / "include"], ids=["ours", "toolkit"])
def test_every_conversion_is_there(include: collections.abc.Callable[[], pathlib.Path]) -> None:
    """Those of CUDA 13.0's headers stand in functions.txt."""
    known = (HERE / "narrow" / "functions.txt").read_text().split()
    assert len(known) > 25 and functions(include()) == known


@pytest.mark.parametrize("header", HEADERS_HERE)
@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++23"])
def test_compiles_alone(tmp_path: pathlib.Path, standard: str, header: str) -> None:
    strict = (
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Wsign-conversion",
        "-Wshadow",
        "-Wold-style-cast",
        "-pedantic",
        "-Werror",
    )
    source = tmp_path / "alone"
    source.write_text(f"#include <{header}>\n")
    run("g++", *strict, "-fsyntax-only", "-x", "c++", f"-std={standard}", f"-I{HEADERS}", source)


@pytest.mark.parametrize("theirs", ["cuda_runtime_api.h", "cuda_fp16.h", "cuda.h", "library_types.h"])
@pytest.mark.parametrize("ours", ["cuda_runtime.h", "cuda_fp8.h", "cuda.h"])
def test_a_toolkits_headers_in_front_are_told_of(tmp_path: pathlib.Path, theirs: str, ours: str) -> None:
    source = tmp_path / "both.cpp"
    source.write_text(f'#include "{toolkit()}/include/{theirs}"\n#include "{HEADERS}/{ours}"\n')
    done = subprocess.run(["g++", "-fsyntax-only", source], capture_output=True, text=True)
    assert done.returncode != 0 and "a CUDA toolkit's headers come before those of Tenon's host run-time" in done.stderr
