#!/usr/bin/env python3
"""Int8 against float32: a model that onnxruntime.quantization has given Q/DQ layers, beside the model as it was.

The scales come from seeded random images: speed does not depend on them. Rounds alternate, at each instruction set
(TENON_ISA) in a process of its own; with --peers ONNX Runtime and OpenVINO run the quantized model, too.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import each_isa
import numpy as np
import peers
import plans
import quantized_models
import rounds
from zoo import image

PLANS = pathlib.Path(__file__).resolve().parents[1] / "build" / "plans"
LEVELS = ("avx2", "avx512", "avx512_vnni")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", default=["resnet50"])
    parser.add_argument("--rounds", type=int, default=15, help="rounds per measurement (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine (default: %(default)s)")
    parser.add_argument("--isa", nargs="+", default=[*LEVELS, ""], help="caps; empty: all that the machine has")
    parser.add_argument("--peers", action="store_true", help="ONNX Runtime and OpenVINO, too")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of each engine and medians of ratios, under this process's instruction set."""
    import contestant

    model = image(name)
    feed = {"input": np.random.default_rng(0).standard_normal((1, 3, 224, 224), np.float32)}
    int8 = quantized_models.materialize(name)
    engines = {}
    for label, path in (("float32", model.path), ("int8", int8)):
        plan = PLANS / f"{path.stem}.plan"
        plan.parent.mkdir(parents=True, exist_ok=True)
        plan.write_bytes(plans.build(model, options.threads, path))
        engines[label] = contestant.Tenon(plan, feed, options.threads)
    if options.peers:
        engines |= {peer.label: peer(int8, feed, options.threads) for peer in peers.PEERS}
    result = rounds.measure(engines, options.rounds)
    numbers = {label: result.milliseconds(label) for label in engines}
    numbers["speedup"] = 1.0 / result.ratio("int8", ["float32"])
    if options.peers:
        numbers["ratio to the better peer"] = result.ratio("int8", [peer.label for peer in peers.PEERS])
    return numbers


def main() -> None:
    options = arguments()
    each_isa.run(__file__, measure, options, ["--peers"] if options.peers else [])


if __name__ == "__main__":
    main()
