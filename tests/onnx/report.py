"""Writes docs/ONNX.md: which operators, opsets and element types pass of the onnx package's backend tests."""

import argparse
import collections
import concurrent.futures
import multiprocessing
import pathlib
import sys

import onnx
import test_node_tests as cases
from onnx import helper

TARGET = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ONNX.md"
HEAD = """# ONNX operators

What the backend tests of onnx {version} say: each case is imported, built, saved, loaded and run, and its results are
compared. `make onnx-report` writes this page. The opsets are those that the cases were written for (a model of any
opset from 9 on is read), the types those of their inputs. An operator's expanded form, a graph of simpler ones, is a
case of its own. Cases that fail stand in `tests/onnx/node_tests.toml` with the reason.

{passed} of {total} cases pass; of the {scope} that are not about training, strings, sequences, maps or optionals
{inside} pass: {percent:.1f} %. A second pass leaves the operands of Reshape, Expand, Slice, Range and TopK to the run.

| Operator | Opsets | Types of inputs | Passed | Of |
|---|---|---|---:|---:|
"""


def passes(name: str) -> bool:
    try:
        cases.check(name)
    except Exception:  # Whatever it ends with: the list says what it should be.
        return False
    return True


def operator_of(name: str, model: onnx.ModelProto) -> str:
    """The one operator of a case, or what the case was made for; networks of several operators go together."""
    whole = cases.CASES.get(name.removesuffix("_expanded"))
    nodes = (whole.model if whole is not None and whole.model is not None else model).graph.node
    kinds = {(node.domain, node.op_type) for node in nodes if node.op_type != "Constant"}
    if len(kinds) != 1:
        return "(several)"
    ((domain, kind),) = kinds
    return kind if domain in ("", "ai.onnx") else f"{domain}.{kind}"


def is_in_scope(name: str, model: onnx.ModelProto) -> bool:
    """Not about training, strings, sequences, maps or optionals."""
    infos = [info.type for info in [*model.graph.input, *model.graph.output]]
    if any(not info.HasField("tensor_type") or info.tensor_type.elem_type == onnx.TensorProto.STRING for info in infos):
        return False
    of_others = ("Sequence", "Optional", "String")
    kinds = [f"{node.domain}.{node.op_type}" for node in model.graph.node]
    is_training = "training" in name or any("training" in kind for kind in kinds)
    return not is_training and not any(word in kind for kind in kinds for word in of_others)


def types_of(model: onnx.ModelProto) -> set[str]:
    infos = [info.type for info in model.graph.input]
    return {
        helper.tensor_dtype_to_string(info.tensor_type.elem_type).removeprefix("TensorProto.").lower()
        if info.HasField("tensor_type")
        else info.WhichOneof("value").removesuffix("_type")
        for info in infos
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    names = list(cases.CASES)
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        results = dict(zip(names, pool.map(passes, names, chunksize=16), strict=True))
    rows = collections.defaultdict(lambda: {"opsets": set(), "types": set(), "passed": 0, "total": 0})
    for name, passed in results.items():
        model, _, _ = cases.data_of(cases.CASES[name])
        row = rows[operator_of(name, model)]
        row["opsets"] |= {opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")}
        row["types"] |= types_of(model)
        row["passed"] += passed
        row["total"] += 1
    scope = [passed for name, passed in results.items() if is_in_scope(name, cases.data_of(cases.CASES[name])[0])]
    text = HEAD.format(
        version=onnx.__version__,
        passed=sum(results.values()),
        total=len(results),
        scope=len(scope),
        inside=sum(scope),
        percent=100 * sum(scope) / len(scope),
    )
    for operator, row in sorted(rows.items()):
        opsets = ", ".join(map(str, sorted(row["opsets"]))) or "none"
        text += f"| {operator} | {opsets} | {', '.join(sorted(row['types']))} | {row['passed']} | {row['total']} |\n"
    TARGET.write_text(text)
    print(f"{TARGET}: {sum(results.values())} of {len(results)} cases pass", file=sys.stderr)


if __name__ == "__main__":
    main()
