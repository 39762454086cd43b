"""Ctrl-C ends every long command in whatever it is busy with: exit status 130, one line, and no half of a file."""

import fcntl
import os
import pathlib
import resource
import signal
import subprocess
import time
from collections.abc import Callable

import onnx
import pytest
from onnx import TensorProto, helper
from test_cli import PATIENCE, PROGRAM, interrupt_when, save, tenon

TICKS = os.sysconf("SC_CLK_TCK")


def products(path: pathlib.Path, count: int, width: int) -> None:
    """x multiplied with itself, again and again: nothing to read, and much to compute."""
    nodes = [helper.make_node("MatMul", [f"t{i}", "x"], [f"t{i + 1}"], f"product{i}") for i in range(1, count)]
    nodes.insert(0, helper.make_node("MatMul", ["x", "x"], ["t1"], "product0"))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [width, width]) for name in ("x", f"t{count}")]
    graph = helper.make_graph(nodes, "products", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.fixture(scope="module")
def long_plan(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """One step, for which the reference takes seconds on the fastest machines; a run of it far less."""
    path = tmp_path_factory.mktemp("long") / "products.onnx"
    products(path, 1, 3200)
    tenon("build", path, "--quiet")
    return path.with_suffix(".plan")


def state_of(pid: int) -> tuple[str, float]:
    """What a process does, which nobody has waited for, and the seconds that it has computed."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / TICKS


def ended_children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def interrupted(
    command: list[object], is_time: Callable[[subprocess.Popen], bool], **environment: str
) -> tuple[int, str, str, float]:
    """Status, both outputs, and the processor's seconds from the signal to the end."""
    process = subprocess.Popen(
        [str(PROGRAM), *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        end = time.monotonic() + PATIENCE
        while process.poll() is None and not is_time(process) and time.monotonic() < end:
            time.sleep(0.001)
        before = ended_children_seconds()
        spent = 0.0 if process.poll() is not None else state_of(process.pid)[1]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err, ended_children_seconds() - before - spent
    finally:
        process.kill()


def after(seconds: float) -> Callable[[subprocess.Popen], bool]:
    """Once the program has computed for so long."""
    return lambda process: state_of(process.pid)[1] >= seconds


INTERRUPTED = (130, "", "tenon: interrupted\n")


def test_verify_ends_within_a_step(long_plan: pathlib.Path) -> None:
    *what, spent = interrupted(["verify", long_plan], after(1.0))
    assert tuple(what) == INTERRUPTED
    assert spent < 20, spent  # The step would take many times longer.


def test_verify_ends_between_steps(tmp_path: pathlib.Path) -> None:
    products(tmp_path / "steps.onnx", 60, 900)
    tenon("build", tmp_path / "steps.onnx", "--quiet")
    assert interrupted(["verify", tmp_path / "steps.plan"], after(1.0))[:3] == INTERRUPTED


def test_verify_ends_while_its_model_is_built(tmp_path: pathlib.Path) -> None:
    path, trace = tmp_path / "deep.onnx", tmp_path / "trace.json"
    save(path, layers=120, width=512)
    command = ["verify", path, "--shapes", "x=1x512:8x512:64x512"]
    result = interrupted(command, lambda _: trace.exists(), TENON_TRACE=str(trace))  # The builder opens it.
    assert result[:3] == INTERRUPTED


@pytest.mark.parametrize("command", ["run", "bench"])
@pytest.mark.parametrize("seconds", [0.1, 1.5])
def test_run_and_bench_end_while_they_prepare_and_within_a_run(
    command: str, seconds: float, tmp_path: pathlib.Path
) -> None:
    products(tmp_path / "runs.onnx", 40, 3000)  # Two trillion operations.
    tenon("build", tmp_path / "runs.onnx", "--quiet")
    assert interrupted([command, tmp_path / "runs.plan"], after(seconds))[:3] == INTERRUPTED


def is_waiting(process: subprocess.Popen) -> bool:
    """For a pipe that nobody has at its other end: it has slept for a second, and has nothing else to do."""
    before = state_of(process.pid)
    time.sleep(1.0)
    return process.poll() is None and before[0] == "S" and before == state_of(process.pid)


@pytest.mark.parametrize("command", [["run", "--input"], ["verify", "--input"], ["run", "--outputs"]])
def test_waiting_for_a_pipe_ends_too(command: list[str], long_plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    name, option = command
    if option == "--outputs":
        os.mkfifo(tmp_path / "t1.npy")
        given = tmp_path
    else:
        os.mkfifo(tmp_path / "pipe")
        given = f"x={tmp_path / 'pipe'}"
    status, out, err, _ = interrupted([name, long_plan, option, given, "--quiet"], is_waiting)
    assert (status, out, err) == INTERRUPTED


def test_a_build_that_writes_to_a_pipe_nobody_reads_ends(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "small.onnx")
    os.mkfifo(tmp_path / "pipe")
    command = ["build", tmp_path / "small.onnx", "-o", tmp_path / "pipe", "--shapes", "x=2x8"]
    assert interrupted(command, is_waiting)[:3] == INTERRUPTED


def test_half_a_file_goes_with_the_program(tmp_path: pathlib.Path) -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.INT32, [1 << 25]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "large", ends[:1], ends[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(proto, tmp_path / "large.onnx")
    tenon("build", tmp_path / "large.onnx", "--quiet")
    target = tmp_path / "out" / "y.npy"
    target.parent.mkdir()
    command = ["run", tmp_path / "large.plan", "--outputs", target.parent, "--quiet"]
    for _ in range(10):  # A machine that stands still may send the signal when all is written.
        target.unlink(missing_ok=True)
        status, *_ = interrupted(command, lambda process: any(target.parent.iterdir()))
        assert not list(target.parent.glob("*.part"))
        if status == 130 and not target.exists():
            return
        assert target.stat().st_size > 4 << 25
    pytest.fail("no file was interrupted")


def test_no_half_of_the_line_is_written(tmp_path: pathlib.Path) -> None:
    """Its pipe has room for the program's name; what ends a program that takes too long to end waits for the rest."""
    save(tmp_path / "small.onnx")
    tenon("build", tmp_path / "small.onnx", "--shapes", "x=2x8", "--quiet")
    trace, page = tmp_path / "trace.json", 4096  # The least that a pipe has.
    before, line = b"x" * (page - len("tenon")), b"tenon: interrupted\n"
    command = [str(PROGRAM), "bench", str(tmp_path / "small.plan"), "--seconds", "100000"]
    for _ in range(10):  # A machine that stands still may read too late.
        trace.unlink(missing_ok=True)
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, page)
        os.write(writing, before)
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=writing, env=os.environ | {"TENON_TRACE": str(trace)}
        )
        os.close(writing)
        with open(reading, "rb") as errors:
            interrupt_when(process, trace.exists)
            time.sleep(0.6)  # Twice what the program gives itself to end.
            found = errors.read().removeprefix(before)
        assert process.wait(timeout=PATIENCE) == 130 and found in (b"", line)
        if found:
            return
    pytest.fail("the line was never written")
