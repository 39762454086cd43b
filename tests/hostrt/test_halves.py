"""Halves on the host: types and overloads as in facts.txt, printed with the toolkit's; numbers as NumPy's doubles."""

import collections
import collections.abc
import pathlib
import re
import subprocess

import numpy as np
import numpy.typing as npt
import pytest
from toolkit import HEADERS, HERE, run, toolkit

Bits = npt.NDArray[np.uint64]
Doubles = npt.NDArray[np.float64]

SOURCE = HERE / "halves" / "halves.cpp"
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
HALVES = np.arange(1 << 16, dtype=np.uint16)
NAN, ONE, INFINITY, SIGN = 0x7FFF, 0x3C00, 0x7C00, 0x8000
SWITCHES = (
    "NOTHING",
    "CUDA_NO_HALF",
    "__CUDA_NO_HALF_CONVERSIONS__",
    "__CUDA_NO_HALF_OPERATORS__",
    "__CUDA_NO_HALF2_OPERATORS__",
    "__CUDA_FP16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__",
)


def program(folder: pathlib.Path, *flags: object) -> pathlib.Path:
    run("g++", *flags, SOURCE, "-o", folder / "halves")
    return folder / "halves"


def inputs(folder: pathlib.Path) -> tuple[npt.NDArray[np.uint16], Doubles, npt.NDArray[np.int64]]:
    random = np.random.default_rng(11)
    special = np.array([0, 1, 0x3FF, 0x400, ONE, 0x3C01, 0x7BFF, INFINITY, 0x7C01, 0x7E00, NAN], np.uint16)
    special = np.concatenate([special, special | SIGN])
    pairs = np.concatenate(
        [
            np.stack(np.meshgrid(special, special), -1).reshape(-1, 2),
            random.integers(0, 1 << 16, (60000, 2), dtype=np.uint16),  # Any two, most of them far apart.
            random.integers(0x3800, 0x4400, (60000, 2), dtype=np.uint16) | random.choice([0, SIGN], (60000, 2)),
        ]
    ).astype(np.uint16)
    every = HALVES.view(np.float16)
    every = every[np.isfinite(every)].astype(np.float64)
    ties = (every[:-1] + every[1:]) / 2
    doubles = np.concatenate(
        [
            every,
            ties,
            np.nextafter(ties, np.inf),
            np.nextafter(ties, -np.inf),
            [np.inf, -np.inf, np.nan, 65519.9, 65520, 65535.9, 65536, 1e300, -1e-300, 5e-324, 1 + 2**-11 + 2**-40],
            random.standard_normal(50000) * 10.0 ** random.integers(-9, 6, 50000),
        ]
    )
    near = np.array([0, 1 << 11, 1 << 12, 1 << 15, 65504, 65520, 65536, 1 << 31, 1 << 32], np.int64)
    integers = np.concatenate([(near[:, None] + np.arange(-40, 41)).ravel(), np.arange(-70000, 70000, 7)])
    integers = np.concatenate([integers, random.integers(-(1 << 62), 1 << 62, 10000) >> random.integers(0, 60, 10000)])
    integers = np.concatenate([integers, -integers, [np.iinfo(np.int64).min, np.iinfo(np.int64).max]])
    for name, values in {"pairs": pairs, "doubles": doubles, "integers": integers}.items():
        (folder / name).write_bytes(values.tobytes())
    return pairs, doubles, integers


def answers(program: pathlib.Path, folder: pathlib.Path) -> dict[str, list[Bits]]:
    """By name: several functions have one and have to agree."""
    output = subprocess.run([program, folder], stdout=subprocess.PIPE, check=True).stdout
    found = collections.defaultdict(list)
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        name, count = output[at:end].decode().rsplit(" ", 1)
        found[name].append(np.frombuffer(output, np.uint64, int(count), end + 1))
        at = end + 1 + 8 * int(count)
    return found


def as_bits(values: npt.NDArray[np.generic]) -> Bits:
    return values.view(f"u{values.itemsize}").astype(np.uint64)


def rounded(values: Doubles, direction: str = "rn") -> Bits:
    """The half next to each, from doubles at once."""
    values = values.astype(np.float64)
    half = values.astype(np.float16)
    back = half.astype(np.float64)
    if direction == "rz":
        half = np.where(np.abs(back) > np.abs(values), np.nextafter(half, np.float16(0)), half)
    if direction == "rd":
        half = np.where(back > values, np.nextafter(half, np.float16(-np.inf)), half)
    if direction == "ru":
        half = np.where(back < values, np.nextafter(half, np.float16(np.inf)), half)
    return np.where(np.isnan(values), NAN, as_bits(half)).astype(np.uint64)


def truncated(values: Doubles, kind: type[np.integer]) -> Bits:
    limits = np.iinfo(kind)
    not_one = 0 if limits.bits < 64 else 1 << 63
    whole = [
        0 if np.isnan(v) else limits.max if v > limits.max else limits.min if v < limits.min else int(v) for v in values
    ]
    return np.where(np.isnan(values), np.uint64(not_one), as_bits(np.array(whole, kind)))


def larger(a: Doubles, b: Doubles) -> Bits:
    largest = np.fmax(a, b)
    zeros = (a == 0) & (b == 0)
    return rounded(np.where(zeros, np.where(np.signbit(a) & np.signbit(b), -0.0, 0.0), largest))


def smaller(a: Doubles, b: Doubles) -> Bits:
    return rounded(-larger(-a, -b).astype(np.uint16).view(np.float16).astype(np.float64))


def expected(
    pairs: npt.NDArray[np.uint16], doubles: Doubles, integers: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[np.uint64]]:
    h = HALVES.view(np.float16).astype(np.float64)
    a, b = pairs.view(np.float16).astype(np.float64).T
    bits = {"same": HALVES.astype(np.uint64), "a": pairs[:, 0].astype(np.uint64)}
    bits["a twice"] = bits["a"] | bits["a"] << np.uint64(16)

    for direction in ("rn", "rz", "rd", "ru"):
        bits[f"{direction} float"] = rounded(doubles.astype(np.float32), direction)
        for name, kind in {"short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32}.items():
            bits[f"{direction} {name}"] = rounded(integers.astype(kind), direction)
        bits[f"{direction} ll"] = rounded(integers, direction)
        bits[f"{direction} ull"] = rounded(integers.astype(np.uint64), direction)
    bits["rn double"] = rounded(doubles)
    bits["twice float"] = bits["rn float"] | bits["rn float"] << np.uint64(16)

    kinds = {"schar": np.int8, "uchar": np.uint8, "char": np.int8, "short": np.int16, "ushort": np.uint16}
    for name, kind in (kinds | {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}).items():
        bits[f"to {name}"] = truncated(h, kind)
    bits["to float"] = np.where(np.isnan(h), 0x7FFFFFFF, as_bits(h.astype(np.float32))).astype(np.uint64)
    bits["to double"] = np.where(np.isnan(h), 0x7FFFFFFFE0000000, as_bits(h)).astype(np.uint64)
    bits["to bool"] = (h != 0).astype(np.uint64)
    bits["isnan"] = np.isnan(h).astype(np.uint64)
    bits["isinf"] = as_bits((np.isinf(h) * np.sign(np.nan_to_num(h))).astype(np.int32))

    for suffix, values in {"": h, "_a": a}.items():
        bits[f"up{suffix}"] = rounded(values + 1)
        bits[f"down{suffix}"] = rounded(values - 1)
        bits[f"neg{suffix}"] = rounded(-values)
        bits[f"abs{suffix}"] = rounded(np.abs(values))
    bits["add"], bits["sub"], bits["mul"], bits["div"] = rounded(a + b), rounded(a - b), rounded(a * b), rounded(a / b)
    for name in ("add", "sub", "mul"):
        value = bits[name].astype(np.uint16).view(np.float16).astype(np.float64)
        bits[f"{name}_sat"] = rounded(np.where(value > 0, np.minimum(value, 1), 0.0))
    bits["max"], bits["min"] = larger(a, b), smaller(a, b)
    either = np.isnan(a) | np.isnan(b)
    for name in ("max", "min"):
        bits[f"{name}_nan"] = np.where(either, np.uint64(NAN), bits[name])

    questions = {"eq": a == b, "ne": a != b, "lt": a < b, "gt": a > b, "le": a <= b, "ge": a >= b}
    for name, yes in questions.items():
        bits[name] = (yes & ~either).astype(np.uint64)
        bits[f"{name}u"] = (yes | either).astype(np.uint64)
    bits["isnan_a"] = np.isnan(a).astype(np.uint64)

    def next_to(values: Bits, width: int = 16) -> Bits:
        return values | np.roll(values, -1) << np.uint64(width)

    for name in [*bits]:
        if bits[name].size == len(a):
            bits[f"each {name}"] = next_to(bits[name])
            bits[f"ones {name}"] = next_to(bits[name] * np.uint64(ONE))
            bits[f"masks {name}"] = next_to(bits[name] * np.uint64(0xFFFF))
            bits[f"both {name}"] = bits[name] & np.roll(bits[name], -1)
    bits["each float_a"] = next_to(bits["to float"][pairs[:, 0]], 32)
    return bits


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++23"])
def test_types_and_overloads(tmp_path: pathlib.Path, standard: str) -> None:
    ours = program(tmp_path, f"-std={standard}", *STRICT, f"-I{HEADERS}")
    assert run(ours, "facts") == (HERE / "halves" / "facts.txt").read_text()


def test_numbers(tmp_path: pathlib.Path) -> None:
    ours = program(tmp_path, "-std=c++11", "-O1", f"-I{HEADERS}")
    with np.errstate(all="ignore"):
        bits = expected(*inputs(tmp_path))
    found = answers(ours, tmp_path)
    constants = np.concatenate([values[:1] for values in found.pop("constants")])
    np.testing.assert_array_equal(constants, [INFINITY, NAN, 1, 0x7BFF, SIGN, 0, ONE])
    assert len(found) > 100
    for name, functions in found.items():
        for number, values in enumerate(functions):
            np.testing.assert_array_equal(values, bits[name], f"{name}, {number}")


def test_the_toolkits_halves_are_the_same(tmp_path: pathlib.Path) -> None:
    real = toolkit()
    inputs(tmp_path)
    (tmp_path / "ours").mkdir()
    ours = program(tmp_path / "ours", "-std=c++17", "-O1", f"-I{HEADERS}")
    theirs = program(tmp_path, "-std=c++17", "-O1", "-isystem", real / "include")
    assert run(theirs, "facts") == (HERE / "halves" / "facts.txt").read_text()
    numbers = [subprocess.run([p, tmp_path], stdout=subprocess.PIPE, check=True).stdout for p in (ours, theirs)]
    assert len(numbers[0]) > 1 << 20 and numbers[0] == numbers[1]


def functions(folder: pathlib.Path, include: pathlib.Path) -> list[str]:
    """Each function of a header with its type, as a host compiler sees them."""
    kept, text = False, ""
    for line in run("g++", "-std=c++14", "-E", "-x", "c++", f"-I{include}", include / "cuda_fp16.h").splitlines():
        if line.startswith("#"):
            kept = "cuda_fp16.h" in line
        elif kept:
            text += line + "\n"
    names = sorted(
        set(re.findall(r"(?:inline|\(unused\)\)) [^(){};]*?(?<!operator )\b(__(?!internal)\w+|make_half2)\(", text))
    )
    (folder / "names.cpp").write_text(
        "#include <cuda_fp16.h>\n#include <cstdio>\n#include <cstring>\n"
        "template <typename T> void say(char const* name, T)\n"
        '{ std::printf("%s: %s\\n", name, std::strstr(__PRETTY_FUNCTION__, "T = ")); }\n'
        "int main()\n{\n" + "".join(f'    say("{name}", {name});\n' for name in names) + "}\n"
    )
    run("g++", "-std=c++14", "-isystem", include, folder / "names.cpp", "-o", folder / "names")
    return run(folder / "names").splitlines()


@pytest.mark.parametrize("include", [lambda: HEADERS, lambda: toolkit() / "include"], ids=["ours", "toolkit"])
def test_every_function_that_host_code_may_call_is_there_and_no_other(
    tmp_path: pathlib.Path, include: collections.abc.Callable[[], pathlib.Path]
) -> None:
    """Those of CUDA 13.0's header stand in functions.txt."""
    known = (HERE / "halves" / "functions.txt").read_text().splitlines()
    assert len(known) > 130 and functions(tmp_path, include()) == known


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++23"])
def test_compiles_alone(tmp_path: pathlib.Path, standard: str, switch: str) -> None:
    more = ("-Wsign-conversion", "-Wshadow", "-Wold-style-cast", "-fsyntax-only", "-x", "c++")
    source = tmp_path / "alone"
    source.write_text("#include <cuda_fp16.h>\n")
    run("g++", *STRICT, *more, f"-std={standard}", f"-D{switch}", f"-I{HEADERS}", source)


@pytest.mark.parametrize("include", [lambda: HEADERS, lambda: toolkit() / "include"], ids=["ours", "toolkit"])
def test_brings_the_types_of_the_runtime(
    tmp_path: pathlib.Path, include: collections.abc.Callable[[], pathlib.Path]
) -> None:
    source = tmp_path / "stream.cpp"
    source.write_text("#include <cuda_fp16.h>\ncudaStream_t stream{nullptr};\ncudaError_t error{cudaSuccess};\n")
    run("g++", "-std=c++17", "-fsyntax-only", f"-I{include()}", source)


@pytest.mark.parametrize("standard", ["c99", "c11", "c17", "c2x"])
def test_is_types_without_functions_in_c(tmp_path: pathlib.Path, standard: str) -> None:
    source = tmp_path / "types.c"
    source.write_text(
        "#include <cuda_fp16.h>\n#ifdef __CUDA_FP16_TYPES_EXIST__\n#error\n#endif\n"
        "__half_raw one = {0x3C00};\n__half2_raw two = {0x3C00, 0x3C00};\n"
        "int sizes[sizeof one == 2 && sizeof two == 4 && __alignof__(two) == 4 ? 1 : -1];\n"
    )
    run("gcc", *STRICT, f"-std={standard}", "-fsyntax-only", f"-I{HEADERS}", source)
