"""A plan that several processes load lies in memory once, and nothing that happens to its file changes it."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import tenon
import tensorrt as trt
from tenon.serving import Pool
from tenon.serving.shared_plans import SharedPlan

WEIGHTS = np.random.default_rng(3).standard_normal((64, 4), np.float32)
X = np.random.default_rng(5).standard_normal((3, 64), np.float32)
LOGGER = trt.Logger(trt.Logger.ERROR)
HOLDER = """
import sys
from tenon.serving.shared_plans import SharedPlan
held = SharedPlan(sys.argv[1])
print(held.is_of_another, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Where processes find each other: other tests have their own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path / f"tenon-plans-{os.getuid()}"


@pytest.fixture
def plan(tmp_path: pathlib.Path) -> pathlib.Path:
    builder = trt.Builder(LOGGER)
    network, config = builder.create_network(), builder.create_builder_config()
    x = network.add_input("x", trt.float32, (3, 64))
    weights = network.add_constant((64, 4), WEIGHTS).get_output(0)
    none = trt.MatrixOperation.NONE
    y = network.add_matrix_multiply(x, none, weights, none).get_output(0)
    y.name = "y"
    network.mark_output(y)
    path = tmp_path / "small.plan"
    path.write_bytes(builder.build_serialized_network(network, config))
    return path


def check(shared: SharedPlan) -> None:
    engine = shared.engine(tenon.Runtime(LOGGER))
    with Pool(engine) as pool:
        np.testing.assert_allclose(pool.infer({"x": X})["y"], X @ WEIGHTS, rtol=1e-4, atol=1e-4)


def mapped() -> set[str]:
    return set(re.findall(r"(\d+)\s+/memfd:tenon-plan-", pathlib.Path("/proc/self/maps").read_text()))


def holder(plan: pathlib.Path) -> tuple[subprocess.Popen, bool]:
    """Another process that has the plan, and whether it has it from somebody."""
    found = subprocess.Popen([sys.executable, "-c", HOLDER, plan], stdin=-1, stdout=-1, text=True)
    return found, found.stdout.readline() == "True\n"


def end(process: subprocess.Popen) -> None:
    process.communicate("")
    assert process.returncode == 0


def test_who_comes_later_takes_the_memory_of_who_is_there(plan: pathlib.Path) -> None:
    before = mapped()  # By other tests of this process.
    first, is_of_another = holder(plan)
    assert not is_of_another
    mine = SharedPlan(plan)
    assert mine.is_of_another
    end(first)
    second, is_of_another = holder(plan)  # From this process: the first is gone.
    assert is_of_another
    engine = mine.engine(tenon.Runtime(LOGGER))
    assert len(mapped() - before) == 1
    check(mine)
    mine.close()
    third, is_of_another = holder(plan)
    assert is_of_another
    end(second)
    end(third)
    assert len(mapped() - before) == 1  # The engine keeps it.
    del engine
    assert not mapped() - before
    assert not SharedPlan(plan).is_of_another  # Nobody has it any more.


def test_bytes_and_a_file_are_loaded_and_the_same_bytes_once(plan: pathlib.Path) -> None:
    first, second = SharedPlan(plan.read_bytes()), SharedPlan(memoryview(bytearray(plan.read_bytes())))
    assert not first.is_of_another and second.is_of_another
    for each in (first, second, SharedPlan(plan)):
        check(each)


def test_what_happens_to_the_file_changes_nothing_and_makes_another_plan(plan: pathlib.Path) -> None:
    held = SharedPlan(plan)
    engine = held.engine(tenon.Runtime(LOGGER))
    plan.write_bytes(b"damaged")
    check(held)
    damaged = SharedPlan(plan)
    assert not damaged.is_of_another and damaged.engine(tenon.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR))) is None
    plan.unlink()
    check(held)
    assert engine is not None
    with pytest.raises(FileNotFoundError, match="small.plan"):
        SharedPlan(plan)
    with pytest.raises(OSError, match="is no plain file"):
        SharedPlan(plan.parent)


def test_nobody_can_write_to_what_is_shared(plan: pathlib.Path, folder: pathlib.Path) -> None:
    held = SharedPlan(plan)
    (notes,) = folder.iterdir()
    path = notes.read_text().strip()
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        with pytest.raises(PermissionError), open(os.open(path, flags), "r+b") as memory:
            memory.write(b"damaged")
            memory.flush()
    check(held)


def test_what_others_may_write_is_not_trusted(plan: pathlib.Path, folder: pathlib.Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(OSError, match="is not a folder of this user's alone"):
        SharedPlan(plan)
    folder.chmod(0o700)
    held = SharedPlan(plan)
    (notes,) = folder.iterdir()
    decoy = pathlib.Path(folder.parent / "decoy")
    decoy.write_bytes(b"damaged")
    with decoy.open("rb") as file:  # A process whose number and descriptor are others' by now.
        notes.write_text(f"/proc/{os.getpid()}/fd/{file.fileno()}\n/proc/1/fd/0\n{decoy}\n")
        later = SharedPlan(plan)
        assert not later.is_of_another
        check(later)
    check(held)
