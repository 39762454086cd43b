#!/usr/bin/env python3
"""llama_small in float32 and with weights of four bits, side by side with ONNX Runtime, for one token and for many."""

import argparse
import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import numpy as np
import onnx
import peers
import references
import rounds
from onnx import helper, numpy_helper
from stored import Stored
from zoo import MODELS, Model

PLANS = pathlib.Path(__file__).resolve().parents[1] / "build" / "plans"
BLOCK = 32


def four_bits(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[depth, columns] as MatMulNBits stores it: two numbers a byte, by column and block, and a scale per block."""
    depth, columns = matrix.shape
    blocks = matrix.T.reshape(columns, depth // BLOCK, BLOCK)
    scales = np.abs(blocks).max(-1) / 7 + 1e-12
    numbers = (np.rint(blocks / scales[..., None]) + 8).astype(np.uint8)
    return numbers[..., ::2] | numbers[..., 1::2] << 4, scales.astype(np.float32)


def with_four_bits(source: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """The model whose products with constant matrices are MatMulNBits."""
    model = onnx.load(source)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in constants:
            continue
        name = node.input[1]
        matrix = numpy_helper.to_array(constants[name])
        if matrix.ndim != 2 or matrix.shape[0] % BLOCK:
            continue
        packed, scales = four_bits(matrix)
        tensors = [numpy_helper.from_array(packed, f"{name}_4"), numpy_helper.from_array(scales, f"{name}_s")]
        model.graph.initializer.extend(tensors)
        model.graph.initializer.remove(constants.pop(name))
        node.CopyFrom(helper.make_node("MatMulNBits", [node.input[0], *(t.name for t in tensors)], list(node.output),
                                       domain="com.microsoft", K=matrix.shape[0], N=matrix.shape[1], bits=4,
                                       block_size=BLOCK))  # fmt: skip
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import contestant

    whole = MODELS["llama_small"]
    fields = {field.name: getattr(whole, field.name) for field in dataclasses.fields(Model)}
    small = Stored(**fields, file=with_four_bits(whole.path, PLANS / "llama_small_4.onnx"))
    plans = {}
    for label, model in (("float32", whole), ("4 bits", small)):
        plans[label] = PLANS / f"{model.path.stem}.plan"
        seconds = contestant.build(model, plans[label], options.threads)
        print(f"{label}: built in {seconds:.1f} s, a plan of {plans[label].stat().st_size / 1e6:.0f} MB", flush=True)
    for shape in ((1, 1), (1, 8), (1, 128)):
        feed, other = (references.inputs(whole, {name: shape for name in whole.timed}, v) for v in (0, 1))
        engines = {f"tenon {label}": contestant.Tenon(path, feed, options.threads) for label, path in plans.items()}
        engines["ort float32"] = peers.OnnxRuntime(whole.path, feed, options.threads)
        engines["ort 4 bits"] = peers.OnnxRuntime(small.path, feed, options.threads)
        apart = engines["ort 4 bits"]._session.run(None, other)[0]
        error = references.error_ratio(engines["tenon 4 bits"].run()[0], engines["ort 4 bits"].run()[0], apart)
        found = rounds.measure(engines, options.rounds)
        times = "  ".join(f"{label} {found.milliseconds(label):.1f} ms" for label in engines)
        own = found.ratio("tenon 4 bits", ["tenon float32"])
        print(f"{shape}: {times}  4 bits to float32 {own:.3f}, to ONNX Runtime's 4 bits "
              f"{found.ratio('tenon 4 bits', ['ort 4 bits']):.3f}, error {error:.1e}", flush=True)  # fmt: skip
        engines.clear()


if __name__ == "__main__":
    main()
