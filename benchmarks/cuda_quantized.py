#!/usr/bin/env python3
"""Whole networks on one GPU in int8 and fp8 beside the same in float16: time of a run by trtexec, and errors.

Q/DQ layers come from quantize_model.py, weights are random. Errors are ‖y − r‖ / ‖r‖ against ONNX Runtime's float32
results of the first samples of a batch. bert_large is an encoder of its sizes without a mask; `--layers` takes fewer
of its 24.

    cuda_quantized.py BUILD MODELS [--rows resnet50:128,vit_b_16:64,bert_large:32x384] [--kinds fp16,int8,fp8]
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np
import onnx
import quantize_model
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

ROWS = "resnet50:128,vit_b_16:64,bert_large:32x384"
COMPARED = 4  # Samples.
IMAGE = 224
HIDDEN, HEADS, INNER, WORDS = 1024, 16, 4096, 30522


class Encoder:
    """BERT's encoder as a graph: normal weights of deviation 0.02 by one seed."""

    def __init__(self, layers: int, length: int) -> None:
        self.draw = np.random.default_rng(1)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        x = self.add("Gather", [self.weight(WORDS, HIDDEN), "input_ids"])
        x = self.norm(self.add("Add", [x, self.weight(length, HIDDEN)]))
        for _ in range(layers):
            x = self.norm(self.add("Add", [self.attention(x, length), x]))
            inner = self.gelu(self.dense(x, HIDDEN, INNER))
            x = self.norm(self.add("Add", [self.dense(inner, INNER, HIDDEN), x]))
        ends = [self.constant(np.array([i], np.int64)) for i in (0, 1, 1)]
        self.nodes.append(helper.make_node("Slice", [x, *ends], ["first"]))

    def constant(self, values: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def weight(self, *shape: int) -> str:
        return self.constant(self.draw.standard_normal(shape, np.float32) * np.float32(0.02))

    def add(self, kind: str, inputs: list[str], **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def norm(self, x: str) -> str:
        scale, shift = (self.constant(np.full(HIDDEN, value, np.float32)) for value in (1, 0))
        return self.add("LayerNormalization", [x, scale, shift], axis=-1, epsilon=1e-12)

    def dense(self, x: str, rows: int, columns: int) -> str:
        return self.add("Add", [self.add("MatMul", [x, self.weight(rows, columns)]), self.weight(columns)])

    def gelu(self, x: str) -> str:
        two, one, half = (self.constant(np.array(value, np.float32)) for value in (np.sqrt(2.0), 1.0, 0.5))
        gate = self.add("Add", [self.add("Erf", [self.add("Div", [x, two])]), one])
        return self.add("Mul", [self.add("Mul", [x, gate]), half])

    def attention(self, x: str, length: int) -> str:
        heads = self.constant(np.array([0, length, HEADS, HIDDEN // HEADS], np.int64))
        turned = {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}
        q, k, v = (
            self.add("Transpose", [self.add("Reshape", [self.dense(x, HIDDEN, HIDDEN), heads])], perm=order)
            for order in turned.values()
        )
        scale = self.constant(np.array((HIDDEN // HEADS) ** 0.5, np.float32))
        weights = self.add("Softmax", [self.add("Div", [self.add("MatMul", [q, k]), scale])], axis=-1)
        joined = self.add("Transpose", [self.add("MatMul", [weights, v])], perm=[0, 2, 1, 3])
        whole = self.constant(np.array([0, length, HIDDEN], np.int64))
        return self.dense(self.add("Reshape", [joined, whole]), HIDDEN, HIDDEN)

    def model(self, length: int) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["N", length])],
            [helper.make_tensor_value_info("first", TensorProto.FLOAT, ["N", 1, HIDDEN])],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def extents(row: str) -> tuple[str, int, int]:
    name, _, shape = row.partition(":")
    batch, _, length = (shape or "1").partition("x")
    return name, int(batch), int(length or 128)


def source(row: str, options: argparse.Namespace) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The network in float32, and a batch of inputs."""
    name, batch, length = extents(row)
    draw = np.random.default_rng(2)
    if name == "bert_large":
        feed = {"input_ids": draw.integers(0, WORDS, (batch, length), np.int64)}
        return Encoder(options.layers, length).model(length), feed
    import materialize

    feed = {"input": draw.standard_normal((batch, 3, IMAGE, IMAGE), np.float32)}
    return onnx.load(materialize.materialize(name, options.models)), feed


def expected(path: pathlib.Path, feed: dict[str, np.ndarray]) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {name: values[:COMPARED] for name, values in feed.items()})[0]


def prepared(row: str, kinds: list[str], options: argparse.Namespace) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A batch of inputs, and float32 results of its first samples. Models are written where they are missing."""
    name = extents(row)[0]
    model, feed = source(row, options)
    plain, results = options.models / f"{name}.fp16.onnx", options.models / f"{name}.expected.npy"
    if not results.exists():
        onnx.save(model, plain)
        np.save(results, expected(plain, feed))
    sample = {key: values[:COMPARED] for key, values in feed.items()}
    for kind in kinds:
        path = options.models / f"{name}.{kind}.onnx"
        if not path.exists():
            onnx.save(quantize_model.quantize(model, kind, [sample], options.models, name.startswith("res")), path)
    return feed, np.load(results)


def run(path: pathlib.Path, kind: str, feed: dict[str, np.ndarray], options: argparse.Namespace) -> dict[str, object]:
    """Builds and times by trtexec; milliseconds of a run and the results. Times of layers are in the log."""
    (name, values) = next(iter(feed.items()))
    given, made = options.models / "input.npy", options.models / "output.json"
    np.save(given, values)
    command = [str(options.build / "bin/trtexec"), f"--onnx={path}", "--fp16"]
    command += [f"--{kind}"] if kind != "fp16" else []
    command += ["--verbose"]  # The log has the times of all candidates.
    command += [
        f"--shapes={name}:{'x'.join(map(str, values.shape))}",
        "--warmUp=200",
        "--duration=1",
        "--iterations=20",
    ]
    command += [f"--loadInputs={name}:{given}", f"--exportOutput={made}", "--dumpProfile", "--separateProfileRun"]
    made.unlink(missing_ok=True)
    started = time.time()
    environment = {"TENON_DEVICE": "cuda"} | os.environ
    log = options.models / f"{path.stem}.log"
    with log.open("w") as out:  # Also of a build that takes too long.
        try:
            subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, env=environment, timeout=options.limit, check=False
            )
        except subprocess.TimeoutExpired:
            return {"error": f"not over in {options.limit} s: {log}"}
    text = log.read_text(errors="replace")
    found = re.search(r"GPU Compute Time:.*?median = ([0-9.]+) ms", text)
    if found is None or not made.exists():
        return {"error": text[-300:]}
    output = json.loads(made.read_text())[0]
    shape = [int(each) for each in output["dimensions"].split("x")]
    numbers = np.array([np.nan if each is None else each for each in output["values"]], np.float32).reshape(shape)
    return {"ms": float(found[1]), "output": numbers, "seconds": time.time() - started}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder of a build")
    parser.add_argument("models", type=pathlib.Path, help="folder for models")
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--kinds", default="fp16,int8,fp8")
    parser.add_argument("--prepare", action="store_true", help="make the models, and no more")
    parser.add_argument("--layers", type=int, default=24, help="of bert_large")
    parser.add_argument("--limit", type=int, default=180, help="seconds that a build and its runs may take")
    options = parser.parse_args()
    options.models.mkdir(parents=True, exist_ok=True)
    kinds = options.kinds.split(",")
    if options.prepare:
        for row in options.rows.split(","):
            prepared(row, kinds, options)
        return
    print(f"{'network':<20} {'kind':<5} {'ms':>8} {'fp16 /':>7} {'error':>8}  build and run, s")
    for row in options.rows.split(","):
        feed, reference = prepared(row, kinds, options)
        base = 0.0
        for kind in kinds:
            result = run(options.models / f"{extents(row)[0]}.{kind}.onnx", kind, feed, options)
            if "error" in result:
                print(f"{row:<20} {kind:<5} {result['error']}", flush=True)
                continue
            base = result["ms"] if kind == "fp16" else base
            error = np.linalg.norm(result["output"][:COMPARED] - reference) / np.linalg.norm(reference)
            faster = f"{base / result['ms']:7.2f}" if base else f"{'-':>7}"
            print(f"{row:<20} {kind:<5} {result['ms']:8.3f} {faster} {error:8.4f}  {result['seconds']:.0f}", flush=True)


if __name__ == "__main__":
    main()
