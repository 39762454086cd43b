"""tenon verify --against onnxruntime: the tensors of a network beside those of its model, node by node."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_cli import RANGE, ROOT, save, tenon

AGAINST = ["--against", "onnxruntime", "--python", sys.executable]

# ONNX Runtime, but for a node whose result it doubles: what an importer that reads the node wrongly looks like.
DOUBLING = """
import onnxruntime
run = onnxruntime.InferenceSession.run
def doubling(session, names, feed, *more):
    return [each * 2 if name == "NAME" else each for name, each in zip(names, run(session, names, feed, *more))]
onnxruntime.InferenceSession.run = doubling
"""


def doubled(folder: pathlib.Path, name: str) -> dict[str, str]:
    """The environment in which ONNX Runtime doubles the tensor."""
    (folder / "sitecustomize.py").write_text(DOUBLING.replace("NAME", name))
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}


def test_a_model_agrees(model: pathlib.Path) -> None:
    report = json.loads(tenon("verify", model, "--shapes", RANGE, "--json", *AGAINST).stdout)
    assert report["ok"] and report["differ"] == [] and report["left_out"] == {}
    assert report["nodes"] == report["compared"] == 2
    text = tenon("verify", model, "--shapes", RANGE, *AGAINST).stdout
    assert text.startswith("onnxruntime ") and "2 of 2 nodes compared" in text
    assert text.splitlines()[-1] == "verdict: OK, all 2 compared nodes agree"


def test_the_node_that_differs_is_named_and_not_those_behind_it(tmp_path: pathlib.Path) -> None:
    model = tmp_path / "deep.onnx"
    save(model, layers=4)
    wrong = doubled(tmp_path, "m2")
    done = tenon("verify", model, "--shapes", "x=4x8", *AGAINST, status=1, **wrong)
    assert "first node that differs: 'product2' (MatMul), output 'm2', element [" in done.stdout
    assert done.stdout.splitlines()[-1] == "verdict: WRONG, 1 of 8 compared nodes differ"
    report = json.loads(tenon("verify", model, "--shapes", "x=4x8", "--json", *AGAINST, status=1, **wrong).stdout)
    (found,) = report["differ"]
    assert found["node"] == "product2" and found["number"] == 4 and len(found["index"]) == 2
    assert float(found["want"]) == pytest.approx(2 * float(found["got"]), rel=1e-3)


@pytest.mark.parametrize(("node", "operator"), [("relu1", "Relu"), ("product2", "MatMul"), ("relu3", "Relu")])
def test_a_fault_of_the_importer_is_found_at_its_node(node: str, operator: str, tmp_path: pathlib.Path) -> None:
    """The importer reads one node as something else: only another engine can know."""
    library = tmp_path / "wrong.so"
    source = pathlib.Path(__file__).with_name("wrong_importer.cpp")
    flags = ["-std=c++17", "-shared", "-fPIC", "-w", f"-I{ROOT / 'include'}"]
    subprocess.run(["c++", *flags, source, "-o", library, "-ldl"], check=True)
    save(tmp_path / "deep.onnx", layers=4)
    model = ["verify", tmp_path / "deep.onnx", "--shapes", "x=4x8"]
    wrong = {"LD_PRELOAD": str(library), "WRONG_NODE": node}
    tenon(*model, **wrong)  # The plan does what the network says.
    tenon(*model, *AGAINST)  # Without the fault the two agree.
    report = json.loads(tenon(*model, "--json", *AGAINST, status=1, **wrong).stdout)
    (found,) = report["differ"]
    assert (found["node"], found["operator"]) == (node, operator) and report["compared"] == report["nodes"] == 8
    assert f"first node that differs: '{node}' ({operator})" in tenon(*model, *AGAINST, status=1, **wrong).stdout


def test_inputs_shapes_and_tolerances_are_heard(tmp_path: pathlib.Path) -> None:
    model = tmp_path / "wide.onnx"
    save(model, layers=2, width=512)
    tenon("verify", model, "--shapes", "x=4x512", *AGAINST)
    exact = ["--atol", 0, "--rtol", 0, "--json"]
    report = json.loads(tenon("verify", model, "--shapes", "x=4x512", *AGAINST, *exact, status=1).stdout)
    assert "product0" in [each["node"] for each in report["differ"]]  # Sums in another order.
    first = json.loads(tenon("verify", model, "--shapes", "x=4x512", *AGAINST, *exact, "--first", status=1).stdout)
    assert len(first["differ"]) == 1 and first["compared"] <= report["compared"] == report["nodes"] == 4
    np.save(tmp_path / "zeros.npy", np.zeros((4, 512), np.float32))
    given = ["--input", f"x={tmp_path / 'zeros.npy'}"]
    assert json.loads(tenon("verify", model, "--shapes", "x=4x512", *given, *AGAINST, *exact).stdout)["ok"]


def test_indices_that_depend_on_data_shapes_and_random_nodes(tmp_path: pathlib.Path) -> None:
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], "exp"),
        helper.make_node("Shape", ["e"], ["s"], "shape"),
        helper.make_node("RandomNormalLike", ["x"], ["r"], "noise"),
        helper.make_node("Mul", ["r", "zero"], ["quiet"], "silence"),
        helper.make_node("Add", ["e", "quiet"], ["a"], "add"),
        helper.make_node("TopK", ["a", "k"], ["v", "i"], "top", axis=1),
        helper.make_node("Reshape", ["v", "flat"], ["y"], "reshape"),
    ]
    graph = helper.make_graph(
        nodes,
        "mixed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [None]),
            helper.make_tensor_value_info("s", TensorProto.INT64, [2]),
        ],
        [
            numpy_helper.from_array(np.float32(0), "zero"),
            numpy_helper.from_array(np.array([3]), "k"),
            numpy_helper.from_array(np.array([-1]), "flat"),
        ],
    )
    path = tmp_path / "mixed.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    report = json.loads(tenon("verify", path, "--shapes", RANGE, "--json", *AGAINST).stdout)
    assert report["ok"] and report["left_out"] == {"random": 1} and report["compared"] == 6


def test_a_node_behind_values_that_are_not_seen_is_not_blamed(tmp_path: pathlib.Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"], "places"),  # Extents of data: integers are not seen.
        helper.make_node("Cast", ["places"], ["f"], "cast", to=TensorProto.FLOAT),
        helper.make_node("Exp", ["f"], ["y"], "exp"),
    ]
    graph = helper.make_graph(
        nodes,
        "late",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, None])],
    )
    path = tmp_path / "late.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    assert json.loads(tenon("verify", path, "--json", *AGAINST).stdout)["ok"]
    report = json.loads(tenon("verify", path, "--json", *AGAINST, **doubled(tmp_path, "f")).stdout)
    assert report["compared"] == 1 and any("not seen" in why for why in report["left_out"])
    done = tenon("verify", path, *AGAINST, status=1, **doubled(tmp_path, "y"))
    assert "first node that differs: 'exp' (Exp), output 'y'" in done.stdout


def test_a_model_of_which_no_node_is_compared_has_not_passed(tmp_path: pathlib.Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("RandomNormalLike", ["x"], ["y"], "noise")],
        "noise",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
    )
    path = tmp_path / "noise.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    done = tenon("verify", path, *AGAINST, status=1)
    assert done.stdout.splitlines()[-1] == "verdict: none of the nodes could be compared"
    report = json.loads(tenon("verify", path, "--json", *AGAINST, status=1).stdout)
    assert not report["ok"] and report["compared"] == 0 and report["nodes"] == 1


def test_what_cannot_be_compared(model: pathlib.Path, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert "name the .onnx file" in tenon("verify", plan, *AGAINST, status=2).stderr
    assert "'openvino' is not onnxruntime" in tenon("verify", model, "--against", "openvino", status=2).stderr
    assert "--against" in tenon("verify", model, "--python", sys.executable, status=2).stderr
    empty = tmp_path / "python3"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    empty.chmod(0o755)
    done = tenon("verify", model, "--shapes", RANGE, "--against", "onnxruntime", "--python", empty, status=1)
    assert "the Python package 'onnxruntime' is not installed for" in done.stderr and "--python names" in done.stderr
