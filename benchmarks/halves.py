#!/usr/bin/env python3
"""Float16 and bfloat16 against float32: every layer's precision set, through the API of weakly typed networks.

Rounds alternate between the three; at each instruction set (TENON_ISA) in a process of its own.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import each_isa
import plans
import references
import rounds
from variants import build
from zoo import MODELS

PLANS = pathlib.Path(__file__).resolve().parents[1] / "build" / "plans"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", default=["resnet50", "bert_base"])
    parser.add_argument("--rounds", type=int, default=15, help="rounds per measurement (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine (default: %(default)s)")
    parser.add_argument("--isa", nargs="+", default=[""], help="caps; empty: all that the machine has")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of each type, and medians of the ratios float32 to it, under this process's instruction set."""
    import contestant

    model = MODELS[name]
    feed = references.inputs(model, model.timed, 0)
    PLANS.mkdir(parents=True, exist_ok=True)
    engines = {}
    for label in ("float32", "bfloat16", "float16"):
        path = PLANS / f"{name}_{label}.plan"
        path.write_bytes(plans.build(model, options.threads) if label == "float32" else build(model, label))
        engines[label] = contestant.Tenon(path, feed, options.threads)
    result = rounds.measure(engines, options.rounds)
    numbers = {label: result.milliseconds(label) for label in engines}
    return numbers | {f"float32 to {label}": 1.0 / result.ratio(label, ["float32"]) for label in list(engines)[1:]}


def main() -> None:
    options = arguments()
    each_isa.run(__file__, measure, options)


if __name__ == "__main__":
    main()
