"""What the library exports: every name of the toolkit's, under the versions that programs were linked with. Those of
CUDA 13.0 stand in facts/names.txt.
"""

import os
import pathlib
import re
import subprocess
import sys

from toolkit import BUILD, HERE, LIBRARY, LINKS, run, toolkit


def exported(library: pathlib.Path) -> dict[str, set[str]]:
    versions: dict[str, set[str]] = {}
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        name, _, version = line.split()[-1].replace("@@", "@").partition("@")
        if version:
            versions.setdefault(version, set()).add(name)
    return versions


def expect_exported(wanted: set[str]) -> None:
    ours = exported(LIBRARY)
    assert len(wanted) > 400
    for version in ("libcudart.so.12", "libcudart.so.13"):
        assert not wanted - ours[version]


def test_every_name_that_a_toolkit_had_is_there_under_both_versions() -> None:
    expect_exported(set((HERE / "facts" / "names.txt").read_text().split()))


def test_every_name_of_the_toolkit_is_there_under_both_versions() -> None:
    (real,) = {path.resolve() for path in (toolkit() / "lib").glob("libcudart.so.13")} or {None}
    assert real is not None
    expect_exported(exported(real)["libcudart.so.13"])


def test_every_name_that_a_driver_had_is_there() -> None:
    """Those of the stub that CUDA 13.0 links programs with."""
    wanted = set((HERE / "facts" / "driver_names.txt").read_text().split())
    assert len(wanted) > 600 and not wanted - exported(LIBRARY)["libcuda.so.1"]


def test_every_name_of_the_toolkits_driver_is_there() -> None:
    stub = toolkit() / "lib" / "stubs" / "libcuda.so"
    names = {line.split()[-1] for line in run("nm", "-D", "--defined-only", stub).splitlines()}
    assert len(names) > 600 and not names - exported(LIBRARY)["libcuda.so.1"]


def test_a_program_linked_with_the_toolkits_driver_runs_with_our_link(tmp_path: pathlib.Path) -> None:
    """Beside the runtime: what one allocates the other knows."""
    real = toolkit()
    source = tmp_path / "both.cpp"
    source.write_text(
        "#include <cuda.h>\n#include <cuda_runtime_api.h>\n#include <cstdio>\n"
        "int main()\n{\n    void* memory = nullptr;\n    unsigned int type = 0;\n    CUcontext context = nullptr;\n"
        "    if (cudaMalloc(&memory, 64) != cudaSuccess || cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)\n"
        "        return 1;\n"
        "    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr) memory) != 0)\n"
        '        return 2;\n    std::printf("%u %d\\n", type, (int) cuMemFree((CUdeviceptr) memory));\n}\n'
    )
    program = tmp_path / "both"
    libraries = [f"-L{real / 'lib' / 'stubs'}", "-lcuda", f"-L{real / 'lib'}", "-l:libcudart.so.13"]
    run("g++", source, f"-I{real / 'include'}", *libraries, "-o", program)
    needed = run("objdump", "-p", program)
    assert "libcuda.so.1\n" in needed and "hostrt" not in needed
    assert run(program, LD_LIBRARY_PATH=f"{LINKS}:{BUILD / 'lib'}") == "2 0\n"


def test_links_carry_the_names() -> None:
    for name in ("libcudart.so", "libcudart.so.12", "libcudart.so.13", "libcuda.so", "libcuda.so.1"):
        assert (LINKS / name).is_symlink()
        assert (LINKS / name).resolve() == LIBRARY.resolve()
    assert not list((BUILD / "lib").glob("libcuda*")), "never where libraries are looked for by themselves"


def test_the_engine_asks_for_no_cuda_name() -> None:
    for library in ("libtenon.so", "libnvinfer.so", "libnvinfer_plugin.so", "libnvonnxparser.so"):
        wanted = run("nm", "-D", "--undefined-only", BUILD / "lib" / library)
        assert not re.findall(r"\b(?:cuda|cu[A-Z])\w+", wanted)
        needed = [line for line in run("objdump", "-p", BUILD / "lib" / library).splitlines() if "NEEDED" in line]
        assert needed and not [line for line in needed if re.search("cudart|hostrt|libcuda", line)]


def test_ctypes_finds_the_calls_by_any_name() -> None:
    """As programs do that open the library at run time."""
    script = (
        "import ctypes, sys\n"
        "lib = ctypes.CDLL(sys.argv[1])\n"
        "count = ctypes.c_int(-1)\n"
        "assert lib.cudaGetDeviceCount(ctypes.byref(count)) == 0\n"
        "print(count.value)\n"
    )
    for name in ("libcudart.so", "libcudart.so.12", "libcudart.so.13"):
        assert subprocess.check_output(["python3", "-c", script, str(LINKS / name)], text=True) == "1\n"
    script = script.replace("cudaGetDeviceCount", "cuDeviceGetCount").replace(
        "count =", "assert lib.cuInit(0) == 0\ncount ="
    )
    assert subprocess.check_output(["python3", "-c", script, str(LINKS / "libcuda.so.1")], text=True) == "1\n"


def test_the_engine_takes_it_for_no_driver() -> None:
    """Where the folder of the links is on the loader's path, and a GPU is asked for."""
    script = "import tensorrt as trt; trt.Builder(trt.Logger(trt.Logger.ERROR))"
    environment = {"LD_LIBRARY_PATH": str(LINKS), "TENON_DEVICE": "cuda", "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | environment)
    assert "is that of Tenon's host run-time, which has no GPU" in done.stdout + done.stderr
