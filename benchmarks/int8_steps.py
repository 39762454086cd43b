#!/usr/bin/env python3
"""How many int8 values of a quantized network are within one step of ONNX Runtime's, from the network's input on.

Beside that: what ONNX Runtime's two kinds of float32 convolution and double precision are from each other. Counted are
all int8 tensors, which are outputs for that, and the last tensor of a run without these outputs.
"""

import argparse
import itertools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import quantized_models
from whole_networks import WholeNetwork
from zoo import image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="qdq_resnet18", help="this one, or one that is to be quantized")
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--seed", type=int, nargs="+", default=[0, 1, 2, 3])
    given = parser.parse_args()
    source = image(given.model).path if given.model.startswith("qdq") else quantized_models.materialize(given.model)
    for batch, seed in itertools.product(given.batch, given.seed):
        with tempfile.TemporaryDirectory() as folder:
            whole = WholeNetwork(given.model, source, batch, seed, pathlib.Path(folder), has_last=True)
        print(f"{given.model}, batch {batch}, seed {seed}, %: within one step | equal | last tensor within one step")
        for a, b in itertools.combinations(whole.numbers, 2):
            within, equal = whole.shares(a, b)
            last = whole.last_share(a, b)
            print(f"  {a:10} to {b:10} {100 * within:8.4f} {100 * equal:8.4f} {100 * last:7.2f}", flush=True)


if __name__ == "__main__":
    main()
