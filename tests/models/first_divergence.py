#!/usr/bin/env python3
"""Names the first ONNX node of a model whose result differs from ONNX Runtime's.

Makes the results of all nodes outputs, some at a time, builds a plan of each such variant and compares. Making an
output changes what is fused: a model that agrees here and not as a whole has a wrong fusion (see `tenon verify`).

    first_divergence.py MODEL [--shapes NUMBER] [--at-a-time COUNT] [--all-types]
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import references
from zoo import MODELS, Model

KINDS = {"f": 1e-3, "i": 0, "b": 0}  # Type of array to allowed share of max|b|.


def node_results(graph: onnx.GraphProto) -> list[tuple[str, onnx.NodeProto]]:
    taken = {output.name for output in graph.output}
    return [
        (name, node)
        for node in graph.node
        if node.op_type not in ("Constant", "Identity")
        for name in node.output
        if name and name not in taken
    ]


def variant(proto: onnx.ModelProto, names: list[str], path: pathlib.Path) -> pathlib.Path:
    """The model with these results as outputs beside its own."""
    own = len(proto.graph.output)
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    onnx.save(proto, path)
    del proto.graph.output[own:]
    return path


def differs(got: np.ndarray | None, want: np.ndarray) -> str:
    """What is wrong with the result; empty when it agrees."""
    if got is None:
        return "missing"
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.size == 0 or np.array_equal(got, want):
        return ""
    if want.dtype.kind != "f":
        return f"{np.count_nonzero(got != want)} of {want.size} values differ"
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return "infinities or NaNs elsewhere"
    scale = float(np.max(np.abs(want[finite]), initial=0))
    error = float(np.max(np.abs(got[finite].astype(np.float64) - want[finite]), initial=0))
    return "" if error <= KINDS["f"] * scale else f"max|a-b| {error:.3g} where max|b| is {scale:.3g}"


def compare(model: Model, shapes: dict, at_a_time: int, kinds: str, folder: pathlib.Path) -> str:
    proto = onnx.load(model.path)
    results = node_results(proto.graph)
    feed = references.inputs(model, shapes, 0)
    import plans

    for start in range(0, len(results), at_a_time):
        chunk = results[start : start + at_a_time]
        path = variant(proto, [name for name, _ in chunk], folder / "variant.onnx")
        want = references.ort_outputs(references.ort_session(path), feed)
        chunk = [(name, node) for name, node in chunk if want[name].dtype.kind in kinds]
        path = variant(proto, [name for name, _ in chunk], path)
        plan = folder / "variant.plan"
        plan.write_bytes(plans.build(model, path=path))
        got = plans.Session(plan)(feed)
        print(f"nodes {start} to {start + at_a_time} of {len(results)}: {len(chunk)} results compared", flush=True)
        for name, node in chunk:
            wrong = differs(got.get(name), want[name])
            if wrong:
                return f"{node.op_type} '{node.name}', output '{name}': {wrong}; its inputs: {', '.join(node.input)}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=list(MODELS))
    parser.add_argument("--shapes", type=int, default=0, help="which of the model's shapes (default: the first)")
    parser.add_argument("--at-a-time", type=int, default=100, help="results per variant (default: %(default)s)")
    parser.add_argument("--all-types", action="store_true", help="compare integers and booleans too")
    options = parser.parse_args()
    model = MODELS[options.model]
    with tempfile.TemporaryDirectory() as folder:
        found = compare(
            model,
            model.shapes[options.shapes],
            options.at_a_time,
            "".join(KINDS) if options.all_types else "f",
            pathlib.Path(folder),
        )
    print(found or "all results agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
