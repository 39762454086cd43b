"""benchmarks/physical_limit.py: layers, their bytes and operations, from graphs whose limits are known by hand."""

import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import physical_limit  # noqa: E402

FLOPS, BYTES = 790e12, 4.26e12


def found(folder: pathlib.Path, nodes, inputs, weights, outputs=("y",), axes=()) -> list[physical_limit.Layer]:
    """Layers of a graph whose inputs have symbols for the extents in `axes`."""
    named = [
        helper.make_tensor_value_info(name, kind, [f"axis{i}" if i in axes else e for i, e in enumerate(shape)])
        for name, (kind, shape) in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "graph", named, results, constants)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    shapes = {name: shape for name, (_, shape) in inputs.items()}
    return physical_limit.layers(*physical_limit.with_shapes(path, shapes))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_a_convolution_with_a_residual_is_one_layer_that_reads_it(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"]),
        helper.make_node("Add", ["c", "r"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    inputs = {"x": (TensorProto.FLOAT, (128, 64, 56, 56)), "r": (TensorProto.FLOAT, (128, 256, 56, 56))}
    (layer,) = found(tmp_path, nodes, inputs, {"w": zeros(256, 64, 1, 1), "b": zeros(256)}, axes=(0,))
    pixels = 128 * 56 * 56
    assert layer.flops == 2 * pixels * 64 * 256
    assert layer.bytes == 2 * (pixels * (64 + 256 + 256) + 256 * 64 + 256)
    assert layer.seconds == pytest.approx(108.6e-6, rel=1e-3)  # By bytes.


def test_a_product_that_computes_longer_than_it_reads(tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    inputs = {"x": (TensorProto.FLOAT, (4096, 768))}
    (layer,) = found(tmp_path, nodes, inputs, {"w": zeros(768, 3072)})
    assert layer.seconds == pytest.approx(2 * 4096 * 768 * 3072 / FLOPS)


@pytest.mark.parametrize("groups", [1, 32])
def test_convolutions_and_deconvolutions_of_groups(tmp_path, groups):
    inputs = {"x": (TensorProto.FLOAT, (2, 32, 8, 8))}
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], group=groups, pads=[1, 1, 1, 1])]
    (layer,) = found(tmp_path, nodes, inputs, {"w": zeros(64, 32 // groups, 3, 3)})
    assert layer.flops == 2 * (2 * 64 * 64) * (32 // groups) * 9
    nodes = [helper.make_node("ConvTranspose", ["x", "w"], ["y"], group=groups)]
    (layer,) = found(tmp_path, nodes, inputs, {"w": zeros(32, 64 // groups, 3, 3)})
    assert layer.flops == 2 * (2 * 32 * 64) * (64 // groups) * 9


def test_attention_is_one_layer(tmp_path):
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["p"]),
        helper.make_node("MatMul", ["p", "v"], ["o"]),
        helper.make_node("Transpose", ["o"], ["y"], perm=[0, 2, 1, 3]),
    ]
    inputs = {name: (TensorProto.FLOAT, (32, 12, 128, 64)) for name in "qkv"}
    (layer,) = found(tmp_path, nodes, inputs, {"scale": np.float32(0.125)})
    assert layer.flops == 2 * (2 * 32 * 12 * 128 * 128 * 64)
    assert layer.bytes == 4 * 2 * 32 * 12 * 128 * 64 + 2  # And the scale.
    assert layer.seconds == pytest.approx(5.9e-6, rel=1e-2)


def test_rows_of_a_table_are_read_and_integers_have_their_own_size(tmp_path):
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("LayerNormalization", ["rows", "g"], ["y"]),
    ]
    inputs = {"ids": (TensorProto.INT64, (4, 100))}
    rows, norm = found(tmp_path, nodes, inputs, {"table": zeros(30000, 64), "g": zeros(64)})
    assert rows.bytes == 400 * 8 + 2 * (2 * 400 * 64)
    assert norm.bytes == 2 * (2 * 400 * 64 + 64)


def test_what_two_layers_read_is_written_once_and_read_twice(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["a", "w"], ["b"]),
        helper.make_node("MatMul", ["a", "other"], ["c"]),
        helper.make_node("Add", ["b", "c"], ["y"]),
    ]
    weights = {"w": zeros(64, 64), "other": zeros(64, 64)}
    layers = found(tmp_path, nodes, {"x": (TensorProto.FLOAT, (64, 64))}, weights)
    tensor = 2 * 64 * 64
    assert [each.bytes for each in layers] == [3 * tensor, 3 * tensor, 4 * tensor]


def test_shapes_that_are_computed_are_known(tmp_path):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "minus"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    weights = {"zero": np.array([0]), "minus": np.array([-1]), "w": zeros(48, 1000)}
    (layer,) = found(tmp_path, nodes, {"x": (TensorProto.FLOAT, (7, 3, 4, 4))}, weights, axes=(0,))
    assert layer.flops == 2 * 7 * 48 * 1000
