"""What every call answers, mistakes included, is what a GPU answers: an H100 with CUDA 13.0 printed behaviour.txt."""

import pathlib

from toolkit import BUILD, HEADERS, HERE, LINKS, run


def test_answers_are_those_of_a_gpu(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "behaviour"
    run(
        "g++",
        "-std=c++20",
        HERE / "behaviour" / "behaviour.cpp",
        "-DTENON_CUDART_MAJOR=13",
        f"-I{HEADERS}",
        f"-L{LINKS}",
        "-lcudart",
        f"-Wl,-rpath,{BUILD / 'lib'}",
        f"-Wl,-rpath-link,{BUILD / 'lib'}",
        "-o",
        program,
    )
    ours = run(program).splitlines()
    theirs = (HERE / "behaviour" / "behaviour.txt").read_text().splitlines()
    assert len(theirs) > 300 and len(ours) == len(theirs)
    differ = [f"line {n}: {a}    GPU: {b}" for n, (a, b) in enumerate(zip(ours, theirs, strict=True), 1) if a != b]
    assert not differ, "\n".join(differ)
