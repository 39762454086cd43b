#!/usr/bin/env python3
"""Fills the graphs of tests/models/graphs with seeded weights and writes them to build/models.

Each NAME.skeleton.onnx is the exported graph of a well-known architecture whose large initializers have a name,
a type and a shape but no data; NAME.weights.json holds the moments of that data. The draw is seeded by the
initializer's name alone, so every machine gets the same weights.

    materialize.py [OUT_DIR [NAME ...]]        # every graph when none is named; models that exist are kept
"""

import argparse
import json
import os
import pathlib
import zlib

import numpy as np
import onnx

GRAPHS = pathlib.Path(__file__).resolve().parent / "graphs"
OUT = pathlib.Path(__file__).resolve().parents[2] / "build" / "models"


def graph_names() -> list[str]:
    return sorted(path.name.split(".")[0] for path in GRAPHS.glob("*.skeleton.onnx"))


def draw(name: str, spec: dict) -> np.ndarray:
    """Normal data with the recorded moments, folded to positive values where the original had none below zero."""
    generator = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    data = generator.standard_normal(size=spec["shape"], dtype=np.float32)
    data = data * np.float32(spec["std"]) + np.float32(spec["mean"])
    if spec["min"] >= 0:
        data = np.abs(data)
    dtype = np.dtype(spec["dtype"])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        data = np.clip(np.rint(data), limits.min, limits.max)
    return data.astype(dtype)


def materialize(name: str, out: pathlib.Path = OUT) -> pathlib.Path:
    """Path of NAME.onnx in `out`, written first where it is missing or older than its graph."""
    skeleton, weights = GRAPHS / f"{name}.skeleton.onnx", GRAPHS / f"{name}.weights.json"
    path = out / f"{name}.onnx"
    if path.exists() and path.stat().st_mtime >= max(skeleton.stat().st_mtime, weights.stat().st_mtime):
        return path
    model = onnx.load(skeleton)
    specs = json.loads(weights.read_text())
    for tensor in model.graph.initializer:
        if tensor.name in specs:
            tensor.CopyFrom(onnx.numpy_helper.from_array(draw(tensor.name, specs[tensor.name]), tensor.name))
    out.mkdir(parents=True, exist_ok=True)
    unfinished = out / f".{name}.{os.getpid()}.onnx"  # A second process must never see half a model.
    onnx.save(model, unfinished)
    unfinished.replace(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=OUT, metavar="OUT_DIR")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(graph_names()))
    options = parser.parse_args()
    unknown = set(options.names) - set(graph_names())
    if unknown:
        parser.error(f"no such graph: {', '.join(sorted(unknown))}")
    for name in options.names or graph_names():
        path = materialize(name, options.out)
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
