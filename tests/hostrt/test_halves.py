"""Halves and bfloat16 on the host: types and overloads as in facts, printed with the toolkit's; numbers as NumPy's."""

import collections
import collections.abc
import dataclasses
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
ALL = np.arange(1 << 16, dtype=np.uint16)
NAN, SIGN = 0x7FFF, 0x8000


@dataclasses.dataclass(frozen=True)
class Kind:
    """A type of 16 bits with `fraction` bits of fraction."""

    name: str
    header: str
    fraction: int
    one: int

    @property
    def infinity(self) -> int:
        return NAN >> self.fraction << self.fraction

    @property
    def bias(self) -> int:
        return self.one >> self.fraction

    def source(self, folder: pathlib.Path) -> pathlib.Path:
        """The program, which is written for halves, with the names of this type."""
        text = SOURCE.read_text()
        if self.name != "half":
            for halves, ours in (("FP16", "BF16"), ("cuda_fp16", "cuda_bf16"), ("0x3C00", "0x3F80")):
                text = text.replace(halves, ours)
            text = re.sub(r"\b(?:__)?half(2?)(_raw)?\b(?!##)", r"__nv_bfloat16\1\2", text)
            text = text.replace("half", "bfloat16")
            text = re.sub(r"    ROUNDED\((?!float)", "    NEAREST(", text)  # Of integers nothing else is the host's.
        path = folder / f"{self.name}.cpp"
        path.write_text(text)
        return path

    def values(self, bits: npt.NDArray[np.uint16]) -> Doubles:
        if self.name == "half":
            return bits.view(np.float16).astype(np.float64)
        with np.errstate(invalid="ignore"):
            return self.floats(bits).astype(np.float64)

    def floats(self, bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
        """With what is not a number as the type has it."""
        if self.name == "half":
            floats = bits.view(np.float16).astype(np.float32)
            return np.where(np.isnan(floats), np.uint32(0x7FFFFFFF), floats.view(np.uint32)).view(np.float32)
        return (bits.astype(np.uint32) << 16).view(np.float32)

    def rounded(self, values: npt.NDArray[np.generic], direction: str = "rn") -> Bits:
        """The bits of the number next to each, in one step."""
        exact = values.astype(np.longdouble)  # 64 bits of fraction hold every integer and double.
        sizes = np.where(np.isfinite(exact), np.abs(exact), 0)
        exponents = np.maximum(np.where(sizes == 0, -self.bias, np.frexp(sizes)[1] - 1), 1 - self.bias)
        scaled = np.ldexp(exact, self.fraction - exponents)
        whole = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}[direction](scaled)
        steps = np.where(np.isfinite(whole), np.abs(whole), 0).astype(np.uint64)
        bits = steps + ((exponents - 1 + self.bias).astype(np.uint64) << np.uint64(self.fraction))
        negative = np.signbit(exact)
        up = {"rn": ~negative | negative, "rz": negative & ~negative, "rd": negative, "ru": ~negative}[direction]
        largest = np.where(up | ~np.isfinite(exact), self.infinity, self.infinity - 1).astype(np.uint64)
        bits = np.where(np.isfinite(exact) & (bits < self.infinity), bits, largest)
        return np.where(np.isnan(exact), np.uint64(NAN), bits | negative.astype(np.uint64) << np.uint64(15))


HALF = Kind("half", "cuda_fp16.h", 10, 0x3C00)
BFLOAT = Kind("bfloat", "cuda_bf16.h", 7, 0x3F80)
both = pytest.mark.parametrize("kind", [HALF, BFLOAT], ids=lambda kind: kind.name)
SWITCHES = (
    "NOTHING",
    "CUDA_NO_HALF",
    "__CUDA_NO_HALF_CONVERSIONS__",
    "__CUDA_NO_HALF_OPERATORS__",
    "__CUDA_NO_HALF2_OPERATORS__",
    "__CUDA_FP16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__",
    "CUDA_NO_BFLOAT16",
    "__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "__CUDA_NO_BFLOAT16_OPERATORS__",
    "__CUDA_NO_BFLOAT162_OPERATORS__",
)


def program(kind: Kind, folder: pathlib.Path, *flags: object) -> pathlib.Path:
    run("g++", *flags, kind.source(folder), "-o", folder / "halves")
    return folder / "halves"


def inputs(kind: Kind, folder: pathlib.Path) -> tuple[npt.NDArray[np.uint16], Doubles, npt.NDArray[np.int64]]:
    random = np.random.default_rng(11)
    least, top = 1 << kind.fraction, kind.infinity
    special = np.array(
        [0, 1, least - 1, least, kind.one, kind.one + 1, top - 1, top, top + 1, top + least // 2, NAN], np.uint16
    )
    special = np.concatenate([special, special | SIGN])
    pairs = np.concatenate(
        [
            np.stack(np.meshgrid(special, special), -1).reshape(-1, 2),
            random.integers(0, 1 << 16, (60000, 2), dtype=np.uint16),  # Any two, most of them far apart.
            random.integers(kind.one - least, kind.one + 2 * least, (60000, 2), dtype=np.uint16)
            | random.choice([0, SIGN], (60000, 2)),
        ]
    ).astype(np.uint16)
    every = kind.values(ALL)
    every = every[np.isfinite(every)]
    ties = (every[:-1] + every[1:]) / 2
    doubles = np.concatenate(
        [
            every,
            ties,
            np.nextafter(ties, np.inf),
            np.nextafter(ties, -np.inf),
            [np.inf, -np.inf, np.nan, 65519.9, 65520, 65535.9, 65536, 1e300, -1e-300, 5e-324, 1 + 2**-11 + 2**-40],
            [3.3895e38, 3.3961e38, 3.4e38, 3.5e38, 1 + 2**-8 + 2**-40, 1e-40],
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


def truncated(values: Doubles, kind: type[np.integer]) -> Bits:
    limits = np.iinfo(kind)
    not_one = 0 if limits.bits < 64 else 1 << 63
    finite = np.where(np.isfinite(values), values, np.copysign(1e300, values))
    whole = [min(max(int(value), int(limits.min)), int(limits.max)) for value in finite]
    return np.where(np.isnan(values), np.uint64(not_one), as_bits(np.array(whole, kind)))


def larger(kind: Kind, a: Doubles, b: Doubles) -> Bits:
    largest = np.fmax(a, b)
    zeros = (a == 0) & (b == 0)
    return kind.rounded(np.where(zeros, np.where(np.signbit(a) & np.signbit(b), -0.0, 0.0), largest))


def smaller(kind: Kind, a: Doubles, b: Doubles) -> Bits:
    return kind.rounded(-kind.values(larger(kind, -a, -b).astype(np.uint16)))


def expected(
    kind: Kind, pairs: npt.NDArray[np.uint16], doubles: Doubles, integers: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[np.uint64]]:
    h, floats = kind.values(ALL), kind.floats(ALL)
    a, b = kind.values(pairs).T
    rounded = kind.rounded
    bits = {"same": ALL.astype(np.uint64), "a": pairs[:, 0].astype(np.uint64)}
    bits["a twice"] = bits["a"] | bits["a"] << np.uint64(16)

    for direction in ("rn", "rz", "rd", "ru"):
        bits[f"{direction} float"] = rounded(doubles.astype(np.float32), direction)
        for name, integer in {"short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32}.items():
            bits[f"{direction} {name}"] = rounded(integers.astype(integer), direction)
        bits[f"{direction} ll"] = rounded(integers, direction)
        bits[f"{direction} ull"] = rounded(integers.astype(np.uint64), direction)
    bits["rn double"] = rounded(doubles)
    bits["twice float"] = bits["rn float"] | bits["rn float"] << np.uint64(16)

    kinds = {"schar": np.int8, "uchar": np.uint8, "char": np.int8, "short": np.int16, "ushort": np.uint16}
    for name, integer in (kinds | {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}).items():
        bits[f"to {name}"] = truncated(h, integer)
    bits["to float"] = as_bits(floats)
    bits["to double"] = as_bits(floats.astype(np.float64))
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
        value = kind.values(bits[name].astype(np.uint16))
        bits[f"{name}_sat"] = rounded(np.where(value > 0, np.minimum(value, 1), 0.0))
    bits["max"], bits["min"] = larger(kind, a, b), smaller(kind, a, b)
    either = np.isnan(a) | np.isnan(b)
    for name in ("max", "min"):
        # Of a zero and its negative bfloat16's take the first.
        number = np.where((a == b) & (kind is BFLOAT), bits["a"], bits[name])
        bits[f"{name}_nan"] = np.where(either, np.uint64(NAN), number)

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
            bits[f"ones {name}"] = next_to(bits[name] * np.uint64(kind.one))
            bits[f"masks {name}"] = next_to(bits[name] * np.uint64(0xFFFF))
            bits[f"both {name}"] = bits[name] & np.roll(bits[name], -1)
    bits["each float_a"] = next_to(bits["to float"][pairs[:, 0]], 32)
    return bits


@both
@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++23"])
def test_types_and_overloads(tmp_path: pathlib.Path, kind: Kind, standard: str) -> None:
    ours = program(kind, tmp_path, f"-std={standard}", *STRICT, f"-I{HEADERS}")
    assert run(ours, "facts") == (HERE / "halves" / f"{kind.name}_facts.txt").read_text()


@both
def test_numbers(tmp_path: pathlib.Path, kind: Kind) -> None:
    ours = program(kind, tmp_path, "-std=c++11", "-O1", f"-I{HEADERS}")
    with np.errstate(all="ignore"):
        bits = expected(kind, *inputs(kind, tmp_path))
    found = answers(ours, tmp_path)
    constants = np.concatenate([values[:1] for values in found.pop("constants")])
    np.testing.assert_array_equal(constants, [kind.infinity, NAN, 1, kind.infinity - 1, SIGN, 0, kind.one])
    assert len(found) > 100
    for name, functions in found.items():
        for number, values in enumerate(functions):
            np.testing.assert_array_equal(values, bits[name], f"{name}, {number}")


@both
def test_the_toolkits_are_the_same(tmp_path: pathlib.Path, kind: Kind) -> None:
    real = toolkit()
    inputs(kind, tmp_path)
    (tmp_path / "ours").mkdir()
    ours = program(kind, tmp_path / "ours", "-std=c++17", "-O1", f"-I{HEADERS}")
    theirs = program(kind, tmp_path, "-std=c++17", "-O1", "-isystem", real / "include")
    assert run(theirs, "facts") == (HERE / "halves" / f"{kind.name}_facts.txt").read_text()
    numbers = [subprocess.run([p, tmp_path], stdout=subprocess.PIPE, check=True).stdout for p in (ours, theirs)]
    assert len(numbers[0]) > 1 << 20 and numbers[0] == numbers[1]


def functions(kind: Kind, folder: pathlib.Path, include: pathlib.Path) -> list[str]:
    """Each function of a header with its type, as a host compiler sees them."""
    kept, text = False, ""
    flags = ("-std=c++14", "-E", "-x", "c++", f"-I{include}")
    for line in run("g++", *flags, include / kind.header).splitlines():
        if line.startswith("#"):  # What lies in tenon_numbers.h belongs to the header that includes it.
            kept = kept if "tenon_numbers.h" in line else kind.header.removesuffix(".h") in line
        elif kept:
            text += line + "\n"
    name = r"\b(__(?!internal|nv_)\w+|make_(?:half|bfloat16)2)\("
    names = sorted(set(re.findall(r"(?:inline|\(unused\)\)) [^(){};]*?(?<!operator )" + name, text)))
    own = "__nv_bfloat16" if kind is BFLOAT else "__half"
    # A function that takes nothing of the type's own is found by its result.
    (folder / "names.cpp").write_text(
        f"#include <{kind.header}>\n#include <cstdio>\n#include <cstring>\n#include <type_traits>\n"
        "template <typename T> void say(char const* name, T)\n"
        '{ std::printf("%s: %s\\n", name, std::strstr(__PRETTY_FUNCTION__, "T = ")); }\n'
        f"typedef {own} N;\ntypedef {own}2 P;\n"
        "template <typename R> R (*one(R (*f)(N)))(N) { return f; }\n"
        "template <typename R> R (*one(R (*f)(P)))(P) { return f; }\n"
        "template <typename R> R (*one(R (*f)(N, N)))(N, N) { return f; }\n"
        "template <typename R> R (*one(R (*f)(P, P)))(P, P) { return f; }\n"
        "int main()\n{\n" + "".join(f'    say("{name}", {call_of(name)});\n' for name in names) + "}\n"
    )
    run("g++", "-std=c++14", "-isystem", include, folder / "names.cpp", "-o", folder / "names")
    return run(folder / "names").splitlines()


def call_of(name: str) -> str:
    """Functions that other types have as well are told apart by their parameters."""
    overloaded = name.startswith(("__h", "__low2float", "__high2float", "__lowhigh")) and not re.search(
        "half|bfl", name
    )
    return f"one({name})" if overloaded else name


@both
@pytest.mark.parametrize("include", [lambda: HEADERS, lambda: toolkit() / "include"], ids=["ours", "toolkit"])
def test_every_function_that_host_code_may_call_is_there_and_no_other(
    tmp_path: pathlib.Path, kind: Kind, include: collections.abc.Callable[[], pathlib.Path]
) -> None:
    """Those of CUDA 13.0's header stand in the list."""
    known = (HERE / "halves" / f"{kind.name}_functions.txt").read_text().splitlines()
    assert len(known) > 110 and functions(kind, tmp_path, include()) == known


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++23"])
def test_compiles_alone(tmp_path: pathlib.Path, standard: str, switch: str) -> None:
    more = ("-Wsign-conversion", "-Wshadow", "-Wold-style-cast", "-fsyntax-only", "-x", "c++")
    source = tmp_path / "alone"
    source.write_text("#include <cuda_bf16.h>\n")  # It includes cuda_fp16.h.
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
        "#include <cuda_bf16.h>\n#ifdef __CUDA_BF16_TYPES_EXIST__\n#error\n#endif\n"
        "__nv_bfloat16_raw another = {0x3F80};\n__nv_bfloat162_raw more = {0x3F80, 0x3F80};\n"
        "int sizes[sizeof one == 2 && sizeof two == 4 && __alignof__(two) == 4 ? 1 : -1];\n"
    )
    run("gcc", *STRICT, f"-std={standard}", "-fsyntax-only", f"-I{HEADERS}", source)
