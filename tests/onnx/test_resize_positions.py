"""Which elements Resize reads, for many scales, extents and modes, beside ONNX Runtime."""

import fractions

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from running import plan_of, run

SCALES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.7, 2.0, 2.4, 2.5, 3.0, 3.3, 4.7]
EXTENTS = [1, 2, 3, 7, 10, 15, 25, 30, 49, 64, 100, 225]
COORDINATES = ["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def resize(name: str, scale: float, rank: int, **attributes: str) -> tuple[onnx.NodeProto, onnx.TensorProto]:
    scales = numpy_helper.from_array(np.array([1] * (rank - 1) + [scale], np.float32), f"scales_{name}")
    return helper.make_node("Resize", ["x", "", scales.name], [name], name=name, **attributes), scales


def compare(x: np.ndarray, variants: list[dict[str, str]], absolute: float = 0.0) -> None:
    nodes, constants = [], []
    for number, attributes in enumerate(variants):
        for scale in SCALES:
            extent = int(np.float32(scale) * np.float32(x.shape[-1]))
            # 100 · 4.7 is 469 elements in float and 470 in the engine, which takes the scale for 47 / 10.
            is_same = extent == int(fractions.Fraction(str(scale)) * x.shape[-1])
            # Where the extent stays what it is, ONNX Runtime returns the input, whatever the scale.
            if extent > 0 and is_same and (extent != x.shape[-1] or scale == 1.0):
                node, scales = resize(f"y_{number}_{scale}", scale, x.ndim, **attributes)
                nodes.append(node)
                constants.append(scales)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    infos = [helper.make_tensor_value_info("x", kind, x.shape)]
    outputs = [onnx.ValueInfoProto(name=node.output[0]) for node in nodes]
    graph = helper.make_graph(nodes, "g", infos, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    model = onnx.shape_inference.infer_shapes(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    wanted = session.run(names, {"x": x})
    (found,) = run(plan_of(model, [{"x": x}]), [{"x": x}])
    for name, expected in zip(names, wanted, strict=True):
        number, scale = name.split("_")[1:]
        what = f"{variants[int(number)]}, scale {scale}, {x.shape[-1]} {x.dtype}"
        assert found[name].shape == expected.shape, what
        np.testing.assert_allclose(found[name], expected, rtol=1e-4 if absolute else 0.0, atol=absolute, err_msg=what)


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("kind", [np.float32, np.int32], ids=lambda kind: kind.__name__)
def test_nearest_reads_the_same_elements(extent: int, kind: type) -> None:
    # Images of floats have a kernel of their own, integers of rank 3 the reference.
    x = np.arange(2 * extent, dtype=kind).reshape((1, 1, 2, extent) if kind is np.float32 else (1, 2, extent))
    variants = [
        {"mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
        for coordinates in COORDINATES
        for rounding in ROUNDINGS
    ]
    compare(x, variants)


@pytest.mark.parametrize("extent", EXTENTS)
def test_linear_and_cubic_read_the_same_elements(extent: int) -> None:
    x = np.random.default_rng(extent).standard_normal((1, 1, 2, extent)).astype(np.float32)
    variants = [
        {"mode": mode, "coordinate_transformation_mode": coordinates}
        for mode in ("linear", "cubic")
        for coordinates in COORDINATES
    ]
    compare(x, variants, 1e-4)  # ONNX Runtime's positions are floats also between corners.
