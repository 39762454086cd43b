"""Plan files that change while an engine uses them, and what is no plain file."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
import small
import tenon
import tensorrt as trt
from onnx import TensorProto, helper

LOGGER = trt.Logger(trt.Logger.ERROR)
WIDTH = 1024  # Weights of 4 MiB: pages that nothing has touched by the time the file changes.

# In a process of its own, which a signal may end.
SCRIPT = """
import mmap, pathlib, shutil, sys
import numpy as np
import tenon, tensorrt as trt
path, loading, change, other = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
if loading == "path":
    engine = tenon.load(runtime, path)
else:
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    blob = memoryview(mapping) if loading == "view" else mapping
    engine = runtime.deserialize_cuda_engine(blob)
    del blob, mapping
context = engine.create_execution_context()
x, y = np.load(path.parent / "x.npy"), np.empty_like(np.load(path.parent / "x.npy"))
context.set_tensor_address("x", x)
context.set_tensor_address("y", y)
if change == "written over":
    with open(path, "wb") as file:
        file.write(bytes(1 << 23))
elif change == "another plan":
    shutil.copyfile(other, path)
elif change == "truncated":
    open(path, "wb").close()
elif change == "in place":
    with open(path, "r+b") as file:
        file.write(bytes(1 << 23))
else:
    path.unlink()
assert context.execute_async_v3(0)
np.save(path.parent / "y.npy", y)
"""


def plan_of(weights: np.ndarray) -> bytes:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, WIDTH))
    constant = network.add_constant(weights.shape, weights).get_output(0)
    none = trt.MatrixOperation.NONE
    y = network.add_matrix_multiply(x, none, constant, none).get_output(0)
    y.name = "y"
    network.mark_output(y)
    return bytes(builder.build_serialized_network(network, builder.create_builder_config()))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, np.ndarray]:
    """A folder with two plans of one form and an input, and what the first plan makes of that."""
    folder = tmp_path_factory.mktemp("plans")
    random = np.random.default_rng(3)
    weights, others = random.standard_normal((2, WIDTH, WIDTH), np.float32) / WIDTH**0.5
    x = random.standard_normal((2, WIDTH), np.float32)
    (folder / "one.plan").write_bytes(plan_of(weights))
    (folder / "two.plan").write_bytes(plan_of(others))
    np.save(folder / "x.npy", x)
    return folder, x.astype(np.float64) @ weights


@pytest.mark.parametrize("change", ["written over", "another plan", "truncated", "in place", "removed"])
@pytest.mark.parametrize("loading", ["path", "mmap", "view"])
def test_a_plan_in_use_stays_what_it_was_when_its_file_changes(
    made: tuple[pathlib.Path, np.ndarray], loading: str, change: str, tmp_path: pathlib.Path
) -> None:
    folder, want = made
    path = tmp_path / "used.plan"
    shutil.copyfile(folder / "one.plan", path)
    shutil.copyfile(folder / "x.npy", tmp_path / "x.npy")
    arguments = [sys.executable, "-c", SCRIPT, path, loading, change, folder / "two.plan"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=small.PATIENCE)
    assert done.returncode == 0, (done.returncode, done.stderr)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, atol=1e-4)


SHRUNK = """
import mmap, os, sys
import tensorrt as trt
size = os.path.getsize(sys.argv[1])
with open(sys.argv[1], "r+b") as file:
    mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    file.truncate(int(sys.argv[2]))
assert trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(mapping) is None
"""


@pytest.mark.parametrize("left", [0, 1, 8192])
def test_a_mapping_whose_file_is_shorter_by_now_is_no_plan(
    made: tuple[pathlib.Path, np.ndarray], left: int, tmp_path: pathlib.Path
) -> None:
    path = shutil.copyfile(made[0] / "one.plan", tmp_path / "shrunk.plan")
    arguments = [sys.executable, "-c", SHRUNK, path, str(left)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=small.PATIENCE)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "deserializeCudaEngine: " in done.stderr and "plan" in done.stderr


def test_what_is_no_plain_file_is_refused_at_once(tmp_path: pathlib.Path) -> None:
    logger = small.Recorder()
    pipe = tmp_path / "pipe.onnx"  # Nobody writes to it: who waits for that waits for ever.
    os.mkfifo(pipe)
    assert tenon.load(trt.Runtime(logger), pipe) is None
    assert "pipe.onnx' is a pipe, not a plain file" in logger.errors()
    with pytest.raises(RuntimeError, match="is a pipe, not a plain file"):
        tenon.inspect(pipe)
    with pytest.raises(FileNotFoundError):
        tenon.inspect(tmp_path / "none.plan")
    builder = trt.Builder(logger)
    parser = trt.OnnxParser(builder.create_network(), logger)
    assert not parser.parse_from_file(str(pipe))
    assert "is a pipe, not a plain file" in parser.get_error(0).desc()
    weights = tmp_path / "weights.bin"
    os.mkfifo(weights)
    tensor = helper.make_tensor("w", TensorProto.FLOAT, [4], np.zeros(4, np.float32).tobytes(), raw=True)
    onnx.external_data_helper.set_external_data(tensor, weights.name)
    tensor.ClearField("raw_data")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    parser = trt.OnnxParser(builder.create_network(), logger)
    assert not parser.parse_from_file(str(tmp_path / "model.onnx"))
    assert "tensor 'w'" in parser.get_error(0).desc() and "weights.bin' is a pipe" in parser.get_error(0).desc()
