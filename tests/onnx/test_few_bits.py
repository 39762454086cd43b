"""MatMulNBits beside ONNX Runtime: weights of four and eight bits, with and without zero points."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from running import check_equal, plan_of, run


def packed(rng: np.random.Generator, columns: int, depth: int, bits: int, block: int, points: str):
    blocks = depth // block
    weights = rng.integers(0, 256, (columns, blocks, block * bits // 8), np.uint8)
    scales = rng.uniform(0.01, 0.1, (columns, blocks)).astype(np.float32) / (1 if bits == 4 else 16)
    constants = [("w", weights), ("s", scales)]
    if points == "packed":
        constants.append(("z", rng.integers(0, 256, (columns, -(-blocks * bits // 8)), np.uint8)))
    elif points == "float":
        constants.append(("z", rng.uniform(0, 2**bits - 1, (columns, blocks)).astype(np.float32)))
    return constants


# ONNX Runtime takes zero points in float for four bits alone.
@pytest.mark.parametrize(("bits", "points"), [(4, ""), (4, "packed"), (4, "float"), (8, ""), (8, "packed")])
@pytest.mark.parametrize(("depth", "block"), [(64, 32), (96, 16), (128, 128)])
def test_matmul_n_bits(bits: int, depth: int, block: int, points: str) -> None:
    columns = 40
    constants = packed(np.random.default_rng(depth + bits), columns, depth, bits, block, points)
    node = helper.make_node("MatMulNBits", ["x", *(name for name, _ in constants)], ["y"], domain="com.microsoft",
                            K=depth, N=columns, bits=bits, block_size=block)  # fmt: skip
    graph = helper.make_graph(
        [node],
        "few_bits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", "rows", depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", "rows", columns])],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    rng = np.random.default_rng(1)
    runs = [{"x": rng.uniform(-1, 1, (2, rows, depth)).astype(np.float32)} for rows in (1, 3, 20)]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = run(plan_of(model, runs), runs)
    for feed, results in zip(runs, found, strict=True):
        check_equal(results["y"], session.run(None, feed)[0], "y")
