"""Inputs of the model tests, the reference's outputs for them, and the measure of agreement."""

import functools
import pathlib
import zlib

import numpy as np
import onnx
import onnxruntime
from zoo import Model, Shape, Shapes

THREADS = 2
BAR = 1e-3  # max|a-b| may be this share of max|b-b'|.

# Crops of the page (height, width) and the detector's shorter side, by the shape that RapidOCR then prepares.
PAGE_CROPS = {
    (736, 1472): (184, 368, 736),
    (736, 736): (150, 150, 736),
    (1088, 736): (180, 121, 736),
    (320, 544): (96, 160, 320),
    (64, 64): (64, 64, 64),
}


def inputs(model: Model, shapes: Shapes, variant: int) -> dict[str, np.ndarray]:
    """Random input number `variant` of these shapes; the same on every machine."""
    seed = zlib.crc32(f"{model.name} {sorted(shapes.items())} {variant}".encode())
    generator = np.random.Generator(np.random.PCG64(seed))
    return {name: one_input(model, name, shape, generator, variant) for name, shape in shapes.items()}


def one_input(model: Model, name: str, shape: Shape, generator: np.random.Generator, variant: int) -> np.ndarray:
    if name == "attention_mask":
        return np.ones(shape, np.int64)
    if model.kind == "text":
        return generator.integers(0, model.vocabulary, shape, np.int64)
    if model.kind == "bytes":
        return generator.integers(0, model.vocabulary, shape, np.int32)
    if model.kind == "page":
        return page_crop(shape, variant)
    return generator.standard_normal(shape, np.float32)


@functools.cache
def page() -> np.ndarray:
    """The scanned page that scikit-image ships, as OpenCV would read it: height x width x 3 bytes."""
    import skimage.data

    return np.ascontiguousarray(np.repeat(skimage.data.page()[:, :, None], 3, axis=2))


def page_crop(shape: Shape, variant: int) -> np.ndarray:
    """A crop of the page, resized and normalised by RapidOCR's own code; variants start at other places."""
    from rapidocr_onnxruntime.ch_ppocr_det.utils import DetPreProcess

    height, width, side = PAGE_CROPS[shape[2:]]
    top = (page().shape[0] - height) * (variant % 2)
    left = (page().shape[1] - width) * (variant % 2)
    crop = page()[top : top + height, left : left + width]
    prepared = DetPreProcess(side, "min")(crop)
    assert prepared.shape == shape, f"RapidOCR made {prepared.shape} of the crop for {shape}"
    return np.ascontiguousarray(prepared)


def ort_session(model: pathlib.Path | bytes, threads: int = THREADS) -> onnxruntime.InferenceSession:
    """Of a file, or of what would stand in one."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Without VNNI it lets sums of products of bytes saturate unless told not to.
    options.add_session_config_entry("session.x64quantprecision", "1")
    given = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def ort_outputs(session: onnxruntime.InferenceSession, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, feed), strict=True))


def error_ratio(got: np.ndarray, want: np.ndarray, other: np.ndarray) -> float:
    """max|a-b| / max|b-b'|; infinite where the shapes differ or the result is not finite."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return float("inf")
    scale = float(np.max(np.abs(want.astype(np.float64) - other)))
    assert scale > 0, "the reference answers the same to two inputs: the comparison would prove nothing"
    return float(np.max(np.abs(got.astype(np.float64) - want))) / scale


def rounded(values: np.ndarray, precision: str) -> np.ndarray:
    """float32 numbers that have at most the bits of "tf32", "float16" or "bfloat16": the nearest ones, ties to even."""
    if precision == "float16":
        most = np.finfo(np.float16).max  # Masks have the least number of float32.
        return np.clip(values, -most, most).astype(np.float16).astype(np.float32)
    dropped = {"tf32": 13, "bfloat16": 16}[precision]
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    up = np.uint32((1 << dropped - 1) - 1) + (bits >> np.uint32(dropped) & np.uint32(1))
    return (bits + up & np.uint32(~((1 << dropped) - 1) & 0xFFFFFFFF)).view(np.float32)


def rounded_weights(path: pathlib.Path, precision: str) -> onnx.ModelProto:
    """The model with its float32 weights rounded."""
    model = onnx.load(path)
    constants = [node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"]
    for tensor in [*model.graph.initializer, *constants]:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            values = rounded(onnx.numpy_helper.to_array(tensor), precision)
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    return model


def distance(got: np.ndarray, want: np.ndarray) -> float:
    """The norm of the difference as a share of the norm; infinite where shapes differ or the result is not finite."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return float("inf")
    return float(np.linalg.norm(got.astype(np.float64) - want) / np.linalg.norm(want.astype(np.float64)))
