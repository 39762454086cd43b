"""Real models on a GPU, in each of its precisions, against ONNX Runtime's float32 result on the CPU.

Runs where TENON_DEVICE names a GPU (`make cuda-test` does); the fake driver would take hours.
"""

import ctypes
import functools
import pathlib
import time
from collections.abc import Callable

import numpy as np
import plans
import pytest
import references
import tenon
import tensorrt as trt
from zoo import MODELS, Model, Shapes

# What a build may round to.
PRECISIONS = {
    "float32": (),
    "tf32": (trt.BuilderFlag.TF32,),
    "float16": (trt.BuilderFlag.TF32, trt.BuilderFlag.FP16),
    "bfloat16": (trt.BuilderFlag.TF32, trt.BuilderFlag.BF16),
}
# float32: max|a-b| may be references.BAR of max|b-b'|, as on CPUs. Of the others the norm of a-b may be so many times
# what ONNX Runtime's own result moves by when the weights, and nothing else, are rounded to that precision. Operands
# beside them are rounded, too, and in 16 bits also what lies between layers, sums of residuals among it. By max|a-b| it
# was 0.6 to 1.7 times as much in TF32 on an H200, and 1.1 to 4.6 times in 16 bits.
TIMES = {"tf32": 4, "float16": 6, "bfloat16": 6}
ROUNDING = {"tf32": 2**-11, "float16": 2**-11, "bfloat16": 2**-8}  # Of one number: no bar is below.
TRANSFORMERS = ("vit_b_16", "bert_base", "gpt2", "llama_small", "dynamo_bert4")
CASES = [
    pytest.param(name, precision, marks=pytest.mark.xdist_group(name))
    for name in MODELS
    for precision in PRECISIONS
    if precision != "bfloat16" or name in TRANSFORMERS
]
SHAPES = 2  # Of each model's shapes, the first ones.


def has_gpu() -> bool:
    """Of a real driver, and chosen."""
    try:
        fake = hasattr(ctypes.CDLL("libcuda.so.1"), "tenonFakeCalls")
    except OSError:
        return False
    return not fake and tenon.devices()["chosen"].startswith("cuda")


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="there is no GPU, or TENON_DEVICE does not name it")


@functools.cache
def references_of(name: str) -> dict[str, tuple[dict, dict]]:
    """By shape: what ONNX Runtime answers to the first and to the second input."""
    return answers(MODELS[name], MODELS[name].path)


@functools.cache
def bars_of(name: str, precision: str) -> dict[str, float]:
    """By shape."""
    if precision == "float32":
        return {at(shapes): references.BAR for shapes in MODELS[name].shapes[:SHAPES]}
    rounded = answers(MODELS[name], references.rounded_weights(MODELS[name].path, precision).SerializeToString())
    bars = {}
    for shape, (want, _) in references_of(name).items():
        moved = max(references.distance(rounded[shape][0][output], want[output]) for output in want)
        bars[shape] = max(TIMES[precision] * moved, ROUNDING[precision])
    return bars


def answers(model: Model, given: pathlib.Path | bytes) -> dict[str, tuple[dict, dict]]:
    session = references.ort_session(given)
    return {
        at(shapes): tuple(references.ort_outputs(session, references.inputs(model, shapes, v)) for v in (0, 1))
        for shapes in model.shapes[:SHAPES]
    }


def at(shapes: Shapes) -> str:
    return " ".join("x".join(map(str, shape)) for shape in dict.fromkeys(shapes.values()))


def largest_error(model: Model, shapes: Shapes, session: plans.Session, precision: str) -> float:
    """The worst of all outputs for both inputs; the first runs again, by then as a graph, and answers the same."""
    wants = references_of(model.name)[at(shapes)]
    feeds = [references.inputs(model, shapes, variant) for variant in (0, 1)]
    first, second, again = session(feeds[0]), session(feeds[1]), session(feeds[0])
    errors = []
    for number, got in enumerate((first, second)):
        want, other = wants[number], wants[1 - number]
        assert set(got) == set(want), f"outputs {sorted(got)} instead of {sorted(want)}"
        for name in want:
            assert got[name].dtype == want[name].dtype, f"output '{name}': {got[name].dtype}, not {want[name].dtype}"
            if precision == "float32":
                errors.append(references.error_ratio(got[name], want[name], other[name]))
            else:
                errors.append(references.distance(got[name], want[name]))
    for name, values in first.items():
        np.testing.assert_array_equal(again[name], values, err_msg=f"output '{name}' of the same input, later")
    return max(errors)


@needs_gpu
@pytest.mark.parametrize(("name", "precision"), CASES)
def test_agrees_with_onnxruntime(
    name: str,
    precision: str,
    tmp_path: pathlib.Path,
    tell_errors: Callable[..., None],
    record_property: Callable[[str, object], None],
) -> None:
    model = MODELS[name]
    begun = [time.perf_counter()]
    try:
        bars = bars_of(name, precision)
        references_of(name)
    except (ImportError, FileNotFoundError) as error:  # Of the package that the model comes with.
        pytest.skip(str(error))
    begun.append(time.perf_counter())
    path = tmp_path / f"{name}.plan"
    path.write_bytes(plans.build(model, flags=PRECISIONS[precision]))
    begun.append(time.perf_counter())
    session = plans.Session(path)
    path.unlink()  # Hundreds of megabytes each.
    begun.append(time.perf_counter())
    errors = {at(shapes): largest_error(model, shapes, session, precision) for shapes in model.shapes[:SHAPES]}
    begun.append(time.perf_counter())
    for what, start, end in zip(("reference", "build", "load", "runs"), begun, begun[1:], strict=False):
        record_property(f"seconds of {what}", round(end - start, 2))
    tell_errors(f"{name} {precision}", errors, bars)
    failed = {shape: f"{error:.2e} > {bars[shape]:.2e}" for shape, error in errors.items() if not error <= bars[shape]}
    assert not failed, f"{name} in {precision}: {failed}"


def test_rounded_weights_are_the_nearest() -> None:
    values = np.array(
        [1, 1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-7, 1 + 2**-8, 1 + 3 * 2**-8, -0.1], np.float32
    )
    tf32 = references.rounded(values, "tf32")
    np.testing.assert_array_equal(tf32, references.rounded(values, "float16"))
    np.testing.assert_array_equal(tf32[:4], np.float32([1, 1 + 2**-10, 1, 1 + 2**-9]))
    np.testing.assert_array_equal(
        references.rounded(values, "bfloat16")[:-1], np.float32([1, 1, 1, 1, 1 + 2**-7, 1, 1 + 2**-6])
    )
