"""What the library exports: every name of the toolkit's, under the versions that programs were linked with. Those of
CUDA 13.0 stand in facts/names.txt.
"""

import pathlib
import re
import subprocess

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


def test_links_carry_the_names() -> None:
    for name in ("libcudart.so", "libcudart.so.12", "libcudart.so.13"):
        assert (LINKS / name).is_symlink()
        assert (LINKS / name).resolve() == LIBRARY.resolve()
    assert not list((BUILD / "lib").glob("libcudart*")), "never where libraries are looked for by themselves"


def test_the_engine_asks_for_no_cuda_name() -> None:
    for library in ("libtenon.so", "libnvinfer.so", "libnvinfer_plugin.so", "libnvonnxparser.so"):
        wanted = run("nm", "-D", "--undefined-only", BUILD / "lib" / library)
        assert not re.findall(r"\bcuda\w+", wanted)
        needed = [line for line in run("objdump", "-p", BUILD / "lib" / library).splitlines() if "NEEDED" in line]
        assert needed and not [line for line in needed if "cudart" in line or "hostrt" in line]


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
