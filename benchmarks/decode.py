#!/usr/bin/env python3
"""A decoder of llama_small's extents with a cache of keys and values, side by side with ONNX Runtime.

One token against a cache, as generation runs it, and a whole prompt without one; in float32 and with weights of four
bits.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import contestant
import few_bits
import numpy as np
import onnx
import peers
import rounds
from onnx import TensorProto, helper, numpy_helper
from zoo import Shapes

LAYERS, WIDTH, HEADS, KEYS, SIZE, INNER, WORDS = 8, 1024, 16, 4, 64, 2816, 32000
CACHE = 512


class Decoder:
    """The nodes and weights of the graph; each method gives the name of what it adds."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(0)

    def add(self, kind: str, inputs: list[str], name: str = "", **attributes: object) -> str:
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def whole(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def product(self, x: str, depth: int, columns: int) -> str:
        weights = self.random.standard_normal((depth, columns), np.float32) / np.float32(np.sqrt(depth))
        return self.add("MatMul", [x, self.constant(weights)])

    def norm(self, x: str) -> str:
        mean = self.add("ReduceMean", [self.add("Mul", [x, x])], axes=[-1])
        root = self.add("Sqrt", [self.add("Add", [mean, self.constant(np.float32([1e-6]))])])
        gain = self.constant(1 + self.random.standard_normal(WIDTH, np.float32) / 8)
        return self.add("Mul", [self.add("Div", [x, root]), gain])

    def heads(self, x: str, count: int) -> str:
        return self.add("Transpose", [self.add("Reshape", [x, self.whole(1, -1, count, SIZE)])], perm=[0, 2, 1, 3])

    def rotated(self, x: str, cosine: str, sine: str) -> str:
        half, end, axis = self.whole(SIZE // 2), self.whole(SIZE), self.whole(3)
        first = self.add("Slice", [x, self.whole(0), half, axis])
        second = self.add("Slice", [x, half, end, axis])
        turned = self.add("Concat", [self.add("Neg", [second]), first], axis=3)
        return self.add("Add", [self.add("Mul", [x, cosine]), self.add("Mul", [turned, sine])])

    def repeated(self, x: str) -> str:
        wide = self.add("Expand", [self.add("Unsqueeze", [x, self.whole(2)]), self.whole(1, 1, HEADS // KEYS, 1, 1)])
        return self.add("Reshape", [wide, self.whole(1, HEADS, -1, SIZE)])

    def layer(self, number: int, x: str, cosine: str, sine: str, mask: str) -> str:
        normal = self.norm(x)
        queries, keys, values = (self.heads(self.product(normal, WIDTH, n * SIZE), n) for n in (HEADS, KEYS, KEYS))
        keys = self.rotated(keys, cosine, sine)
        keys = self.add("Concat", [f"past_key_{number}", keys], f"key_{number}", axis=2)
        values = self.add("Concat", [f"past_value_{number}", values], f"value_{number}", axis=2)
        across = self.add("Transpose", [self.repeated(keys)], perm=[0, 1, 3, 2])
        scores = self.add("MatMul", [self.rotated(queries, cosine, sine), across])
        scores = self.add("Mul", [scores, self.constant(np.float32(SIZE**-0.5))])
        shares = self.add("Softmax", [self.add("Add", [scores, mask])], axis=-1)
        joined = self.add("Transpose", [self.add("MatMul", [shares, self.repeated(values)])], perm=[0, 2, 1, 3])
        joined = self.add("Reshape", [joined, self.whole(1, -1, WIDTH)])
        x = self.add("Add", [x, self.product(joined, WIDTH, WIDTH)])
        normal = self.norm(x)
        gate = self.product(normal, WIDTH, INNER)
        gate = self.add("Mul", [gate, self.add("Sigmoid", [gate])])
        inner = self.add("Mul", [gate, self.product(normal, WIDTH, INNER)])
        return self.add("Add", [x, self.product(inner, INNER, WIDTH)])

    def model(self) -> onnx.ModelProto:
        words = self.constant(self.random.standard_normal((WORDS, WIDTH), np.float32))
        angles = np.outer(np.arange(2 * CACHE), 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE)).astype(np.float32)
        angles = np.concatenate([angles, angles], 1)
        turns = [self.add("Gather", [self.constant(f(angles)), "positions"]) for f in (np.cos, np.sin)]
        cosine, sine = (self.add("Unsqueeze", [turn, self.whole(1)]) for turn in turns)
        x = self.add("Gather", [words, "input_ids"])
        for number in range(LAYERS):
            x = self.layer(number, x, cosine, sine, "mask")
        output = self.add("Identity", [self.product(self.norm(x), WIDTH, WORDS)], "output")
        cache = [f"{kind}_{number}" for number in range(LAYERS) for kind in ("key", "value")]
        real, number = TensorProto.FLOAT, TensorProto.INT64
        inputs = [helper.make_tensor_value_info(name, number, [1, "new"]) for name in ("input_ids", "positions")]
        inputs.append(helper.make_tensor_value_info("mask", real, [1, 1, "new", "all"]))
        inputs += [helper.make_tensor_value_info(f"past_{name}", real, [1, KEYS, "past", SIZE]) for name in cache]
        outputs = [helper.make_tensor_value_info(output, real, [1, "new", WORDS])]
        outputs += [helper.make_tensor_value_info(name, real, [1, KEYS, "all", SIZE]) for name in cache]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def shapes(new: int, past: int) -> Shapes:
    cache = {f"past_{kind}_{n}": (1, KEYS, past, SIZE) for n in range(LAYERS) for kind in ("key", "value")}
    return {"input_ids": (1, new), "positions": (1, new), "mask": (1, 1, new, past + new)} | cache


def inputs(new: int, past: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(new)
    feed = {name: random.standard_normal(shape, np.float32) for name, shape in shapes(new, past).items()}
    feed["input_ids"] = random.integers(0, WORDS, (1, new), np.int64)
    feed["positions"] = np.arange(past, past + new, dtype=np.int64)[None]
    feed["mask"] = np.triu(np.full((new, past + new), -1e9, np.float32), past + 1)[None, None]
    return feed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="rounds per measurement (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine (default: %(default)s)")
    options = parser.parse_args()
    few_bits.PLANS.mkdir(parents=True, exist_ok=True)
    file = few_bits.PLANS / "decoder.onnx"
    onnx.save(Decoder().model(), file)
    files = {"float32": file, "4 bits": few_bits.with_four_bits(file, few_bits.PLANS / "decoder_4.onnx")}
    profile = (shapes(1, 0), shapes(1, CACHE), shapes(CACHE, CACHE))
    plans = {}
    for label, path in files.items():
        model = few_bits.Stored(path.stem, "text", (), None, profile, file=path)
        plans[label] = path.with_suffix(".plan")
        print(f"{label}: built in {contestant.build(model, plans[label], options.threads):.1f} s", flush=True)
    for new, past in ((1, CACHE), (128, 0)):
        feed = inputs(new, past)
        engines = {f"tenon {label}": contestant.Tenon(path, feed, options.threads) for label, path in plans.items()}
        engines |= {f"ort {label}": peers.OnnxRuntime(path, feed, options.threads) for label, path in files.items()}
        results = {label: engine.run()[0] for label, engine in engines.items()}
        for label in files:
            apart = np.abs(results[f"tenon {label}"] - results[f"ort {label}"]).max()
            print(f"{label}: differs by {apart / np.abs(results[f'ort {label}']).max():.1e} of the largest result")
        found = rounds.measure(engines, options.rounds)
        times = ", ".join(f"{label} {found.milliseconds(label):.2f} ms" for label in engines)
        own = [found.ratio(f"tenon {label}", [f"ort {label}"]) for label in files]
        few = found.ratio("tenon 4 bits", ["tenon float32"])
        ratios = f"to ONNX Runtime {own[0]:.3f}, {own[1]:.3f}; 4 bits to float32 {few:.3f}"
        print(f"{new} new, {past} before: {times}; {ratios}", flush=True)


if __name__ == "__main__":
    main()
