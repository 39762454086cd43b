#!/usr/bin/env python3
"""Single operators beside ONNX Runtime: each a model of one node with random operands, timed in turns.

What stands here has once been much slower than the peer, or shares its kernel with something that was. At a capped
instruction set (TENON_ISA) only Tenon is capped: ONNX Runtime takes what the machine has.
"""

import argparse
import dataclasses
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import numpy as np
import onnx
import peers
import plans
import rounds
from onnx import helper, numpy_helper
from stored import Stored

OPSET = 20
DRAW = np.random.default_rng(20240607)


def real(*shape: int) -> np.ndarray:
    return DRAW.standard_normal(shape, np.float32)


def whole(dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return DRAW.integers(max(limits.min, -1000), min(limits.max, 1000), shape, dtype, endpoint=True)


@dataclasses.dataclass(frozen=True)
class Case:
    """Arrays of `given` come with the run, those of `known` are initializers; None: an operand is absent."""

    operator: str
    given: tuple[np.ndarray, ...]
    known: tuple[np.ndarray | None, ...] = ()
    attributes: dict[str, object] = dataclasses.field(default_factory=dict)
    outputs: int = 1

    def write(self, path: pathlib.Path) -> dict[str, np.ndarray]:
        feed = {f"x{i}": array for i, array in enumerate(self.given)}
        constants = {f"k{i}": array for i, array in enumerate(self.known) if array is not None}
        names = [*feed, *(f"k{i}" if array is not None else "" for i, array in enumerate(self.known))]
        results = [f"y{i}" for i in range(self.outputs)]
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                  for name, array in feed.items()]  # fmt: skip
        graph = helper.make_graph(
            [helper.make_node(self.operator, names, results, **self.attributes)], "one", inputs,
            [onnx.ValueInfoProto(name=name) for name in results],
            [numpy_helper.from_array(array, name) for name, array in constants.items()],
        )  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), path)
        return feed


def image(dtype: str = "float32") -> np.ndarray:
    return real(1, 64, 56, 56) if dtype == "float32" else whole(dtype, 1, 64, 56, 56)


def grid(*shape: int) -> np.ndarray:
    return DRAW.uniform(-1.1, 1.1, (*shape, 2)).astype(np.float32)


SCALE, ZERO = np.array(0.02, np.float32), np.array(117, np.uint8)
PADS = np.array([0, 0, 1, 2, 0, 0, 3, 1])
BY_CHANNEL = np.abs(real(64)) + 0.01
CASES = {
    "QuantizeLinear uint8": Case("QuantizeLinear", (image(),), (SCALE, ZERO)),
    "QuantizeLinear int8": Case("QuantizeLinear", (image(),), (SCALE, np.array(0, np.int8))),
    "QuantizeLinear int8 by channel": Case(
        "QuantizeLinear", (image(),), (BY_CHANNEL, np.zeros(64, np.int8)), {"axis": 1}
    ),
    "QuantizeLinear uint8, scale of the run": Case("QuantizeLinear", (image(), SCALE, ZERO)),
    "DequantizeLinear uint8": Case("DequantizeLinear", (image("uint8"),), (SCALE, ZERO)),
    "DynamicQuantizeLinear": Case("DynamicQuantizeLinear", (image(),), outputs=3),
    "Conv 3x3, kernel of the run": Case("Conv", (image(), real(64, 64, 3, 3)), (), {"pads": [1] * 4}),
    "Conv 1x1, kernel of the run": Case("Conv", (image(), real(128, 64, 1, 1))),
    "Conv depthwise, kernel of the run": Case("Conv", (image(), real(64, 1, 3, 3)), (), {"pads": [1] * 4, "group": 64}),
    "GridSample linear": Case("GridSample", (image(), grid(1, 56, 56))),
    "GridSample linear, 3 channels": Case("GridSample", (real(1, 3, 224, 224), grid(1, 224, 224))),
    "GridSample nearest, border": Case(
        "GridSample", (image(), grid(1, 56, 56)), (), {"mode": "nearest", "padding_mode": "border"}
    ),
    "Pad": Case("Pad", (image(),), (PADS,)),
    "MatMulInteger u8 s8, both of the run": Case("MatMulInteger", (whole("uint8", 128, 768), whole("int8", 768, 768))),
    "MatMulInteger u8 u8, both of the run": Case("MatMulInteger", (whole("uint8", 128, 768), whole("uint8", 768, 768))),
    "LRN": Case("LRN", (image(),), (), {"size": 5}),
    "Less uint8": Case("Less", (image("uint8"), image("uint8"))),
    "Equal int8": Case("Equal", (image("int8"), image("int8"))),
    "Greater int32": Case("Greater", (image("int32"), image("int32"))),
    "Add uint8": Case("Add", (image("uint8"), image("uint8"))),
    "Mul int32": Case("Mul", (image("int32"), image("int32"))),
    "Div int32": Case("Div", (image("int32"), np.abs(image("int32")) + 1)),
    "BitShift uint8 left, 3": Case("BitShift", (image("uint8"),), (np.full(1, 3, np.uint8),), {"direction": "LEFT"}),
    "BitShift uint8 right": Case(
        "BitShift", (image("uint8"), image("uint8") % np.uint8(8)), (), {"direction": "RIGHT"}
    ),
    "BitShift uint32 right": Case(
        "BitShift", (image("uint32"), image("uint32") % np.uint32(32)), (), {"direction": "RIGHT"}
    ),
    "BitShift uint32 left": Case(
        "BitShift", (image("uint32"), image("uint32") % np.uint32(32)), (), {"direction": "LEFT"}
    ),
    "Det 256 x 256": Case("Det", (real(256, 256),)),
    "Det 64 x 64, 16 of them": Case("Det", (real(16, 64, 64),)),
    "Det 3 x 3, 5000 of them": Case("Det", (real(5000, 3, 3),)),
    "ReduceMax of all": Case("ReduceMax", (image(),), (), {"keepdims": 0}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="CASE", help="what begins so (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import contestant

    chosen = [name for name in CASES if not options.names or name.startswith(tuple(options.names))]
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            file, plan = pathlib.Path(folder) / "one.onnx", pathlib.Path(folder) / "one.plan"
            feed = CASES[name].write(file)
            model = Stored(name, "image", (), None, file=file)
            feed = {each: held(array) for each, array in feed.items()}
            plan.write_bytes(plans.build(model, options.threads))
            engines = {"tenon": contestant.Tenon(plan, feed, options.threads)}
            engines["onnxruntime"] = peers.OnnxRuntime(file, CASES[name].write(file), options.threads)
            found = rounds.measure(engines, options.rounds)
            least = {label: 1e3 * min(found.times[label]) for label in engines}
            print(f"{name}: {least['tenon']:.1f} us to {least['onnxruntime']:.1f}, ratio of least "
                  f"{least['tenon'] / least['onnxruntime']:.2f}, median {found.ratio('tenon', ['onnxruntime']):.2f}",
                  flush=True)  # fmt: skip


def held(array: np.ndarray) -> np.ndarray:
    """In a type that the engine has (decision 46)."""
    return array.astype({"uint16": "int32", "uint32": "int64", "uint64": "int64"}.get(array.dtype.name, array.dtype))


if __name__ == "__main__":
    main()
