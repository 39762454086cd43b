"""One program for a GPU, built in three ways, runs where there is none."""

import pathlib
import subprocess

import pytest
from toolkit import BUILD, HEADERS, HERE, LINKS, ROOT, run, toolkit


def check(program: pathlib.Path, **extra: str) -> None:
    lines = run(program, **extra).splitlines()
    (model,) = {
        line.split(": ")[1]
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    }
    assert lines == [f"device {model}", "worst small, time positive"]


def compile_program(folder: pathlib.Path, *flags: object) -> pathlib.Path:
    program = folder / "program"
    run(
        "g++",
        "-std=c++17",
        HERE / "program" / "program.cpp",
        *flags,
        f"-I{ROOT / 'include'}",
        f"-L{BUILD / 'lib'}",
        "-lnvinfer",
        f"-Wl,-rpath,{BUILD / 'lib'}:{LINKS}",
        f"-Wl,-rpath-link,{BUILD / 'lib'}",
        "-o",
        program,
    )
    return program


def test_with_our_headers_and_no_toolkit(tmp_path: pathlib.Path) -> None:
    read = run("g++", "-std=c++17", "-M", HERE / "program" / "program.cpp", f"-I{HEADERS}", f"-I{ROOT / 'include'}")
    cuda = [path for path in read.split() if "cuda" in pathlib.Path(path).name or "driver_types" in path]
    assert cuda and all(path.startswith(str(HEADERS)) for path in cuda), cuda
    check(compile_program(tmp_path, f"-I{HEADERS}", f"-L{LINKS}", "-lcudart"))


def test_with_the_toolkits_headers_and_our_library(tmp_path: pathlib.Path) -> None:
    check(compile_program(tmp_path, f"-I{toolkit() / 'include'}", f"-L{LINKS}", "-lcudart"))


def test_built_with_the_toolkit_and_run_with_our_links(tmp_path: pathlib.Path) -> None:
    """Not built anew: the loader finds libcudart.so.13 where it is told to look."""
    real = toolkit()
    program = compile_program(tmp_path, f"-I{real / 'include'}", f"-L{real / 'lib'}", "-l:libcudart.so.13")
    needed = run("objdump", "-p", program)
    assert "libcudart.so.13" in needed and "hostrt" not in [
        line.split()[-1] for line in needed.splitlines() if "NEEDED" in line
    ]
    check(program, LD_LIBRARY_PATH=str(LINKS))


def test_without_any_header_of_cuda(tmp_path: pathlib.Path) -> None:
    """The API's own headers need none."""
    source = tmp_path / "only.cpp"
    source.write_text("#include <NvInfer.h>\nint main() { cudaStream_t stream = nullptr; return stream != nullptr; }\n")
    found = subprocess.run(
        ["g++", "-fsyntax-only", "-std=c++17", f"-I{ROOT / 'include'}", source], text=True, capture_output=True
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_a_c_program(tmp_path: pathlib.Path, compiler: str) -> None:
    source = tmp_path / "plain.c"
    source.write_text(
        "#include <cuda_runtime_api.h>\n#include <stdio.h>\n"
        "int main(void)\n{\n    void* memory = 0;\n    unsigned char byte = 0;\n"
        "    if (cudaMalloc(&memory, 64) != cudaSuccess || cudaMemset(memory, 42, 64) != cudaSuccess)\n"
        "        return 1;\n"
        "    if (cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost) != cudaSuccess)\n        return 2;\n"
        '    printf("%d %s\\n", byte, cudaGetErrorName(cudaFree(&byte)));\n    return cudaFree(memory);\n}\n'
    )
    run(
        compiler,
        "-x",
        "c" if compiler == "gcc" else "c++",
        source,
        "-x",
        "none",
        f"-I{HEADERS}",
        f"-L{LINKS}",
        "-lcudart",
        f"-Wl,-rpath,{BUILD / 'lib'}",
        f"-Wl,-rpath-link,{BUILD / 'lib'}",
        "-o",
        tmp_path / "plain",
    )
    assert run(tmp_path / "plain") == "42 cudaErrorInvalidValue\n"
