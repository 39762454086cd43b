"""Real models on a GPU, in each of its precisions, against ONNX Runtime's float32 result on the CPU.

Runs where TENON_DEVICE names a GPU (`make cuda-test` does); the fake driver would take hours.
"""

import ctypes
import functools
import pathlib
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import plans
import pytest
import references
import tenon
import tensorrt as trt
from zoo import MODELS, Model, Shapes


class Precision(NamedTuple):
    """What a build may round to, and what that may cost."""

    flags: tuple[trt.BuilderFlag, ...]
    bar: float


# float32: max|a-b| as a share of max|b-b'|, as on CPUs. Else as a share of max|b|: a result is that of up to a hundred
# layers one behind the other, each of which rounds its operands to 11 bits (TF32 and float16) or to 8.
PRECISIONS = {
    "float32": Precision((), references.BAR),
    "tf32": Precision((trt.BuilderFlag.TF32,), 5e-3),
    "float16": Precision((trt.BuilderFlag.TF32, trt.BuilderFlag.FP16), 5e-3),
    "bfloat16": Precision((trt.BuilderFlag.TF32, trt.BuilderFlag.BF16), 4e-2),
}
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
    model = MODELS[name]
    session = references.ort_session(model.path)
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
                errors.append(references.share_of_largest(got[name], want[name]))
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
    model, (flags, bar) = MODELS[name], PRECISIONS[precision]
    begun = [time.perf_counter()]
    try:
        references_of(name)
    except (ImportError, FileNotFoundError) as error:  # Of the package that the model comes with.
        pytest.skip(str(error))
    begun.append(time.perf_counter())
    path = tmp_path / f"{name}.plan"
    path.write_bytes(plans.build(model, flags=flags))
    begun.append(time.perf_counter())
    session = plans.Session(path)
    path.unlink()  # Hundreds of megabytes each.
    begun.append(time.perf_counter())
    errors = {at(shapes): largest_error(model, shapes, session, precision) for shapes in model.shapes[:SHAPES]}
    begun.append(time.perf_counter())
    for what, start, end in zip(("reference", "build", "load", "runs"), begun, begun[1:], strict=False):
        record_property(f"seconds of {what}", round(end - start, 2))
    tell_errors(f"{name} {precision}", errors, bar)
    failed = {shape: f"{error:.2e}" for shape, error in errors.items() if not error <= bar}
    assert not failed, f"{name} in {precision}: errors above {bar:g} at {failed}"
