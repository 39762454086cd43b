#!/usr/bin/env python3
"""What float16, bfloat16 and calibrated int8 do to the answers of float networks, beside ONNX Runtime's own variants.

Per model: the largest error as a share of the float32 answer's range, and the cosine of both, against ONNX Runtime in
float32. Tenon's variants are made through the API of weakly typed networks (layers' precisions; a calibrator), ONNX
Runtime's by its own tools (float16 conversion; static quantization), from the same calibration inputs.
"""

import argparse
import collections.abc
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import calibrators
import numpy as np
import onnx
import plans
import references
import tensorrt as trt
from onnxruntime import quantization
from onnxruntime.transformers import float16
from zoo import MODELS, Model

DEFAULT = ("resnet50", "mobilenet_v2", "bert_base", "gpt2")
CALIBRATION_INPUTS = 4
Answers = dict[str, np.ndarray]
CALIBRATORS = {"int8 entropy": calibrators.Entropy, "int8 minmax": calibrators.MinMax}
PEERS_METHODS = {
    "int8 entropy": quantization.CalibrationMethod.Entropy,
    "int8 minmax": quantization.CalibrationMethod.MinMax,
}
VARIANTS = ("float16", "bfloat16", *CALIBRATORS)


def feeds_of(model: Model) -> list[Answers]:
    """Calibration inputs; number 0 is what is compared."""
    return [references.inputs(model, model.timed, seed) for seed in range(1, 1 + CALIBRATION_INPUTS)]


def give_precision(network: trt.INetworkDefinition, dtype: trt.DataType) -> None:
    """Every layer that computes real numbers computes and stores them in `dtype`."""
    for layer in network:
        if layer.type in (trt.LayerType.CONSTANT, trt.LayerType.CAST):
            continue
        if not any(layer.get_output(i).dtype == trt.float32 for i in range(layer.num_outputs)):
            continue
        layer.precision = dtype
        for i in range(layer.num_outputs):
            if layer.get_output(i).dtype == trt.float32 and not layer.get_output(i).is_network_output:
                layer.set_output_type(i, dtype)


def build(model: Model, variant: str) -> bytes:
    builder = trt.Builder(plans.LOGGER)
    network = builder.create_network()
    parser = trt.OnnxParser(network, plans.LOGGER)
    if not parser.parse_from_file(str(model.path)):
        raise plans.PlanError("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
    config = builder.create_builder_config()
    if model.profile:
        config.add_optimization_profile(plans.profile_of(builder, (model.timed, model.timed, model.timed)))
    if variant in CALIBRATORS:
        config.set_flag(trt.BuilderFlag.INT8)
        config.int8_calibrator = CALIBRATORS[variant](feeds_of(model))
    else:
        flag, dtype = {
            "float16": (trt.BuilderFlag.FP16, trt.float16),
            "bfloat16": (trt.BuilderFlag.BF16, trt.bfloat16),
        }[variant]
        config.set_flag(flag)
        config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        give_precision(network, dtype)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise plans.PlanError(f"model '{model.name}' in {variant}: the builder returned no plan (see the log)")
    return bytes(plan)


def answers_of_tenon(model: Model, variant: str, folder: pathlib.Path) -> Answers:
    path = folder / f"{model.name}.{variant}.plan"
    path.write_bytes(build(model, variant))
    return plans.Session(path)(references.inputs(model, model.timed, 0))


class Feeds(quantization.CalibrationDataReader):
    def __init__(self, feeds: list[Answers]) -> None:
        self._feeds = iter(feeds)

    def get_next(self) -> Answers | None:
        return next(self._feeds, None)


def peers_variant(model: Model, variant: str, folder: pathlib.Path) -> pathlib.Path:
    path = folder / f"{model.name}.{variant}.onnx"
    if variant == "float16":
        onnx.save(float16.convert_float_to_float16(onnx.load(str(model.path)), keep_io_types=True), str(path))
    else:
        quantization.quantize_static(
            str(model.path),
            str(path),
            Feeds(feeds_of(model)),
            quant_format=quantization.QuantFormat.QDQ,
            calibrate_method=PEERS_METHODS[variant],
            per_channel=True,
            activation_type=quantization.QuantType.QInt8,
            weight_type=quantization.QuantType.QInt8,
            extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
        )
    return path


def answers_of_peer(model: Model, variant: str, folder: pathlib.Path) -> Answers:
    path = peers_variant(model, variant, folder)
    return references.ort_outputs(references.ort_session(path), references.inputs(model, model.timed, 0))


def judged(got: Answers, want: Answers) -> tuple[float, float]:
    """Largest error as a share of the range, and cosine: the worst of all outputs."""
    errors, cosines = [], []
    for name, right in want.items():
        a, b = got[name].astype(np.float64).ravel(), right.astype(np.float64).ravel()
        errors.append(float(np.abs(a - b).max() / (b.max() - b.min())))
        cosines.append(float(a @ b / np.sqrt((a @ a) * (b @ b))))
    return max(errors), min(cosines)


def row(make: collections.abc.Callable[[], Answers], want: Answers) -> str:
    try:
        error, cosine = judged(make(), want)
    except Exception as refusal:  # A peer that has no such kernels says so, in many ways.
        return str(refusal).strip().splitlines()[0][:70]
    return f"error {error:.2e}, cosine {cosine:.6f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=DEFAULT, help=f"default: {', '.join(DEFAULT)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in parser.parse_args().models:
            model = MODELS[name]
            want = references.ort_outputs(references.ort_session(model.path), references.inputs(model, model.timed, 0))
            for variant in VARIANTS:
                ours = row(lambda: answers_of_tenon(model, variant, pathlib.Path(folder)), want)  # noqa: B023
                theirs = "-"
                if variant != "bfloat16":
                    theirs = row(lambda: answers_of_peer(model, variant, pathlib.Path(folder)), want)  # noqa: B023
                print(f"{name:14} {variant:12} Tenon: {ours:40} ONNX Runtime: {theirs}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
