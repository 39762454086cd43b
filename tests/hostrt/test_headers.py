"""Our headers have the names, values, layouts and signatures of the toolkit's: one program, compiled against ours,
gives the facts in facts/. It gave them with the headers of CUDA 13.0, and has to with those of a toolkit, where one is.
"""

import pathlib
import re

import pytest
from toolkit import HEADERS, HERE, run, toolkit

TYPES = (HEADERS / "driver_types.h").read_text()
VECTORS = (HEADERS / "vector_types.h").read_text()
CALLS = (HEADERS / "cuda_runtime_api.h").read_text() + (HEADERS / "cuda_profiler_api.h").read_text()


def preprocessed(header: str) -> str:
    """As a program of version 13 sees it, without what it includes."""
    text = run("g++", "-E", "-P", "-x", "c++", "-DTENON_CUDART_MAJOR=13", f"-I{HEADERS}", HEADERS / header)
    return text


def enumerators() -> list[str]:
    return re.findall(r"^\s+(cuda\w+) = ", TYPES, re.M)


def macros() -> list[str]:
    return re.findall(r"^#define (cuda\w+) (?:0x|\(\(int\))", TYPES, re.M)


def fields() -> list[tuple[str, str]]:
    found = []
    for name, body in re.findall(r"struct (\w+)\s*\{(.*?)\}", preprocessed("cuda_runtime_api.h"), re.S):
        if name in VECTORS or name == "dim3":
            continue
        found += [(name, field) for field in re.findall(r"(\w+)(?:\[\w+\])?;", body)]
    return found


def vectors() -> list[str]:
    return re.findall(r"^struct(?: __align__\(\d+\))? (\w+)$", VECTORS, re.M)


def calls() -> list[str]:
    return sorted(set(re.findall(r"\b(cuda[A-Z]\w+)\(", CALLS)))


def program() -> str:
    lines = [f'    say("{name}", (long long) {name});' for name in enumerators() + macros()]
    for struct in sorted({name for name, _ in fields()}):
        lines.append(f'    say("sizeof {struct}", sizeof({struct}));')
    lines += [f'    say("{s}.{f}", offsetof({s}, {f})); say("size {s}.{f}", sizeof({s}::{f}));' for s, f in fields()]
    lines += [f'    say("{v}", sizeof({v}) * 1000 + alignof({v}));' for v in vectors()]
    lines += [f'    signature<decltype(&{call})>("{call}");' for call in calls()]
    return (
        "#include <cuda_runtime_api.h>\n#include <cuda_profiler_api.h>\n#include <vector_types.h>\n"
        "#include <cstddef>\n#include <cstdio>\n#include <cstring>\n"
        'static void say(char const* what, long long value) { std::printf("%s = %lld\\n", what, value); }\n'
        "template <typename T> void signature(char const* call)\n"
        '{ std::printf("%s: %s\\n", call, std::strstr(__PRETTY_FUNCTION__, "T = ")); }\n'
        "int main()\n{\n" + "\n".join(lines) + "\n}\n"
    )


def answers(folder: pathlib.Path, include: pathlib.Path, *flags: str) -> list[str]:
    source = folder / "facts.cpp"
    source.write_text(program())
    run(
        "g++",
        "-std=c++17",
        "-Wno-deprecated-declarations",
        "-Wno-invalid-offsetof",
        *flags,
        f"-I{include}",
        "-c",
        source,
        "-o",
        folder / "facts.o",
    )
    # Only types are asked for, so that nothing of a runtime is needed.
    run("g++", folder / "facts.o", "-o", folder / "facts")
    return run(folder / "facts").splitlines()


def expect_facts(file: str, found: list[str]) -> None:
    """What was found is what a toolkit gave, line by line."""
    known = (HERE / "facts" / file).read_text().splitlines()
    differ = [f"+ {line}" for line in found if line not in known] + [f"- {line}" for line in known if line not in found]
    assert found == known, "\n".join(differ)


def test_the_lists_are_not_empty() -> None:
    assert len(enumerators()) > 350 and len(fields()) > 150 and len(vectors()) >= 48 and len(calls()) > 110


def test_values_layouts_and_signatures_are_those_that_a_toolkit_gave(tmp_path: pathlib.Path) -> None:
    expect_facts("runtime.txt", answers(tmp_path, HEADERS, "-DTENON_CUDART_MAJOR=13"))


def test_values_layouts_and_signatures_are_the_toolkits(tmp_path: pathlib.Path) -> None:
    expect_facts("runtime.txt", answers(tmp_path, toolkit() / "include"))


@pytest.mark.parametrize("major", [12, 13])
@pytest.mark.parametrize(
    "language", [("gcc", "-std=c99", "c"), ("g++", "-std=c++14", "c++"), ("g++", "-std=c++20", "c++")]
)
@pytest.mark.parametrize("streams", ["-DNOTHING", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"])
def test_headers_compile(major: int, language: tuple[str, str, str], streams: str) -> None:
    compiler, standard, name = language
    others = ("cuda.h", "cuda_fp16.h", "library_types.h", "device_launch_parameters.h")
    for header in ("cuda_runtime.h", "cuda_profiler_api.h", *others):
        run(
            compiler,
            standard,
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            f"-DTENON_CUDART_MAJOR={major}",
            streams,
            "-x",
            name,
            HEADERS / header,
        )


def driver_calls() -> list[str]:
    return sorted(set(re.findall(r"CUresult (cu[A-Z]\w+)\(", (HEADERS / "cuda.h").read_text())))


def numbers_of_other_headers(folder: pathlib.Path, include: pathlib.Path, *flags: str) -> list[str]:
    names = []
    for header in ("cuda.h", "library_types.h"):
        names += re.findall(r"^\s+(\w+) = \d+,?$", (HEADERS / header).read_text(), re.M)
    assert len(names) > 150 and len(driver_calls()) > 80
    source = folder / "numbers.cpp"
    source.write_text(
        "#include <cuda.h>\n#include <cuda_fp16.h>\n#include <library_types.h>\n#include <device_launch_parameters.h>\n"
        "#include <cuda_runtime_api.h>\n#include <cstdio>\n#include <cstring>\n#include <type_traits>\n"
        "template <typename T> void signature(char const* call)\n"
        '{ std::printf("%s: %s\\n", call, std::strstr(__PRETTY_FUNCTION__, "T = ")); }\n'
        'static_assert(std::is_same<CUstream, cudaStream_t>::value && std::is_same<CUevent, cudaEvent_t>::value, "");\n'
        'static_assert(sizeof(__half) == 2 && sizeof(__half2) == 4 && alignof(__half2) == 4, "");\n'
        'static_assert(std::is_same<decltype(threadIdx), uint3 const>::value, "");\n'
        "int main()\n{\n"
        + "".join(f'    std::printf("{name} = %d\\n", static_cast<int>({name}));\n' for name in names)
        + "".join(f'    signature<decltype(&{call})>("{call}");\n' for call in driver_calls())
        + '    std::printf("%d %zu\\n", CUDA_VERSION, sizeof(CUdeviceptr));\n}\n'
    )
    run("g++", "-std=c++17", *flags, f"-I{include}", source, "-o", folder / "numbers")
    return run(folder / "numbers").splitlines()


def test_types_of_driver_and_libraries_are_those_that_a_toolkit_gave(tmp_path: pathlib.Path) -> None:
    expect_facts("others.txt", numbers_of_other_headers(tmp_path, HEADERS, "-DTENON_CUDART_MAJOR=13"))


def test_types_of_driver_and_libraries_are_the_toolkits(tmp_path: pathlib.Path) -> None:
    expect_facts("others.txt", numbers_of_other_headers(tmp_path, toolkit() / "include"))


def test_version_12_has_its_own_layout(tmp_path: pathlib.Path) -> None:
    """What clients of version 12 know of it: sizes that other bindings of that version state."""
    source = tmp_path / "twelve.c"
    source.write_text(
        "#include <stddef.h>\n#include <cuda_runtime_api.h>\n"
        '_Static_assert(CUDART_VERSION / 1000 == 12, "version");\n'
        '_Static_assert(sizeof(struct cudaDeviceProp) == 1032, "all");\n'
        '_Static_assert(offsetof(struct cudaDeviceProp, hostRegisterSupported) == 728, "version 11 ends here");\n'
        '_Static_assert(offsetof(struct cudaDeviceProp, clockRate) == 348, "clockRate");\n'
        '_Static_assert(sizeof(struct cudaPointerAttributes) == 24, "attributes");\n'
    )
    run("gcc", "-std=c11", "-fsyntax-only", f"-I{HEADERS}", source)
