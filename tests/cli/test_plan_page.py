"""tenon inspect --html and --dot: what the page holds, and that names from models stay text."""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model
from test_cli import PATIENCE, RANGE, save, tenon

LOOP = """
import sys
import numpy as np
import tensorrt as trt
builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
network = builder.create_network()
x = network.add_input("x", trt.float32, (4, 3))
count = network.add_input("count", trt.int32, ())
loop = network.add_loop()
loop.add_trip_limit(count, trt.TripLimit.COUNT)
row = loop.add_iterator(x, 0, False).get_output(0)
total = loop.add_recurrence(network.add_constant((3,), np.zeros(3, np.float32)).get_output(0))
total.set_input(1, network.add_elementwise(total.get_output(0), row, trt.ElementWiseOperation.SUM).get_output(0))
every = loop.add_loop_output(total.get_output(0), trt.LoopOutput.CONCATENATE, 0)
every.set_input(1, count)
network.mark_output(every.get_output(0))
config = builder.create_builder_config()
profile = builder.create_optimization_profile()
profile.set_shape_input("count", [1], [2], [4])
config.add_optimization_profile(profile)
open(sys.argv[1], "wb").write(builder.build_serialized_network(network, config))
"""


def data_of(page: pathlib.Path) -> dict:
    text = page.read_text()
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert len(found) == 1 and "<" not in found[0]
    assert not re.search(r'(src|href)="?http', text), "the page needs nothing else"
    return json.loads(found[0])


def test_the_page_of_a_plan(model: pathlib.Path, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    page = tmp_path / "small.html"
    assert "the page of plan 'small.plan'" in tenon("inspect", plan, "--html", page).stdout
    data = data_of(page)
    report = json.loads(tenon("inspect", plan, "--json").stdout)
    assert data["plan"] | {"name": report["name"]} == report
    assert data["plan"]["name"] and data["network"] is None and data["times"] is None
    tenon("inspect", plan, "--html", page, "--model", model, "--profile", "--shapes", "x=4x8", "--threads", 1)
    data = data_of(page)
    steps = data["plan"]["programs"][0]["steps"]
    assert set(data["times"]["steps"]) == {step["name"] for step in steps} and data["times"]["runs"] >= 5
    assert all(ms > 0 for ms in data["times"]["steps"].values()) and data["times"]["threads"] == 1
    layers = {layer["name"] for layer in data["network"]["layers"]}
    assert layers >= {origin for step in steps for origin in step["origins"]}


def test_the_page_of_a_model_that_it_builds(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tenon("inspect", model, "--html", tmp_path / "page.html", "--shapes", RANGE)
    data = data_of(tmp_path / "page.html")
    assert data["plan"]["programs"][0]["steps"] and data["network"]["layers"]


def test_names_of_models_are_text(tmp_path: pathlib.Path) -> None:
    name = '</script><script>alert("x")</script>'
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"], name),
            helper.make_node("Erf", ["m"], ["y"], 'a "quoted" \\ one'),
        ],
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [weight],
    )
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "odd.onnx")
    tenon("build", tmp_path / "odd.onnx", "--quiet")
    tenon("inspect", tmp_path / "odd.plan", "--html", tmp_path / "odd.html")
    data = data_of(tmp_path / "odd.html")
    assert name in json.dumps(data["plan"], ensure_ascii=False).replace('\\"', '"')
    dot = tenon("inspect", tmp_path / "odd.plan", "--dot").stdout
    assert dot.startswith("digraph plan {") and dot.rstrip().endswith("}")
    # Quotes of names are escaped: outside of strings nothing of them is left.
    assert "alert" not in re.sub(r'"(\\.|[^"\\])*"', "", dot, flags=re.S)


def test_edges_follow_the_tensors(tmp_path: pathlib.Path, plan: pathlib.Path) -> None:
    steps = json.loads(tenon("inspect", plan, "--json").stdout)["programs"][0]["steps"]
    dot = tenon("inspect", plan, "--dot").stdout
    assert len(re.findall(r"^  s\d+ \[label", dot, re.M)) == len(steps)
    writers = {output["memory"]: i for i, step in enumerate(steps) for output in step["outputs"]}
    edges = {
        (writers[tensor["memory"]], i)
        for i, step in enumerate(steps)
        for tensor in step["inputs"]
        if tensor and writers.get(tensor["memory"], i) < i
    }
    assert {(int(a), int(b)) for a, b in re.findall(r"^  s(\d+) -> s(\d+)", dot, re.M)} == edges


def test_rules_that_fused_or_refused_are_explained(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.html"
    tenon("inspect", model, "--html", page, "--shapes", RANGE)
    plan = data_of(page)["plan"]
    named = {each["text"].split(":")[0] for each in plan["decisions"] if each["kind"] in ("fuse", "skip")}
    assert named and named == set(plan["rules"]) & named
    for rule, sentence in plan["rules"].items():
        assert sentence.endswith(".") and len(sentence.split()) > 3, rule


def test_memory_holds_no_two_tensors_in_one_place(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tenon("build", model, "--shapes", RANGE, "--quiet", "-o", tmp_path / "m.plan", TENON_FUSION="off")
    program = json.loads(tenon("inspect", tmp_path / "m.plan", "--json").stdout)["programs"][0]
    blocks = program["memory"]["blocks"]
    assert blocks and program["memory"]["profile"] == 0
    for i, a in enumerate(blocks):
        assert a["tensors"] and 0 <= a["first"] <= a["last"] < len(program["steps"])
        assert a["offset"] + a["bytes"] <= program["memory"]["bytes"]
        for b in blocks[:i]:
            together = a["first"] <= b["last"] and b["first"] <= a["last"]
            assert not together or a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]


def test_plans_with_loops_are_inspected(tmp_path: pathlib.Path) -> None:
    plan = tmp_path / "loop.plan"
    subprocess.run([sys.executable, "-c", LOOP, str(plan)], check=True, timeout=PATIENCE)
    report = json.loads(tenon("inspect", plan, "--json").stdout)
    kinds = {
        tensor["kind"]
        for step in report["programs"][0]["steps"]
        for tensor in step["inputs"] + step["outputs"]
        if tensor
    }
    assert "part" in kinds
    tenon("inspect", plan, "--html", tmp_path / "loop.html", "--profile")
    assert data_of(tmp_path / "loop.html")["times"]["steps"]


def test_what_is_refused(model: pathlib.Path, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert "--html" in tenon("inspect", plan, "--profile", status=2).stderr
    assert "build the model first" in tenon("inspect", model, "--dot", status=2).stderr
    missing = tmp_path / "no" / "page.html"
    assert str(missing) in tenon("inspect", plan, "--html", missing, status=1).stderr


def browsed(address: str, folder: pathlib.Path) -> str:
    """The body as a browser has it after the page's program has run."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed (Debian: apt install chromium)")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    command += ["--window-size=1400,900", "--virtual-time-budget=20000", "--dump-dom", address]
    own = os.environ | {"TMPDIR": "/tmp"}  # The path of its socket has 107 characters at most.
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=own)
    return re.sub(r"<script.*?</script>", "", done.stdout.split("<body")[1], flags=re.S)


@pytest.mark.parametrize(("layers", "is_whole"), [(2, True), (60, False)])
def test_a_graph_without_times_begins_where_it_can_be_read(layers: int, is_whole: bool, tmp_path: pathlib.Path) -> None:
    save(tmp_path / "deep.onnx", layers=layers)
    tenon("inspect", tmp_path / "deep.onnx", "--html", tmp_path / "page.html", "--shapes", "x=4x8")
    shown = browsed((tmp_path / "page.html").as_uri(), tmp_path / "profile")
    (y, scale) = map(
        float, re.search(r'<g transform="translate\([-\d.]+,([-\d.]+)\) scale\(([\d.]+)\)', shown).groups()
    )
    assert scale >= 0.4 and (is_whole or scale == 0.8)
    assert 40 <= y <= 70, "the first steps are in sight, and not behind the buttons"


def test_a_browser_shows_the_steps_the_one_asked_for_and_what_is_searched(
    model: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    page = tmp_path / "page.html"
    tenon("inspect", model, "--html", page, "--profile", "--shapes", "x=4x8", "--threads", 1)
    steps = data_of(page)["plan"]["programs"][0]["steps"]
    shown = browsed(page.as_uri(), tmp_path / "profile")
    assert len(re.findall(r'<g class="node', shown)) == len(steps)
    slowest = max(range(len(steps)), key=lambda i: data_of(page)["times"]["steps"][steps[i]["name"]])
    assert re.findall(r'class="row on"><span class="n">(\d+)', shown) == [str(slowest)], "the page opens there"
    word = steps[-1]["candidate"]
    shown = browsed(f"{page.as_uri()}#step={len(steps) - 1}&unfold&find={word}", tmp_path / "profile")
    assert re.findall(r'class="row on"><span class="n">(\d+)', shown) == [str(len(steps) - 1)]
    assert f"<mark>{word}</mark>".lower() in shown.lower()
    for origin in steps[-1]["origins"]:
        assert html.escape(origin) in shown.split('id="list"')[1]


def test_what_another_rule_did_all_the_same_is_not_called_refused(tmp_path: pathlib.Path) -> None:
    """GELU as PyTorch exports it: the division goes into no product's factor, but all of it becomes one activation."""
    rng = np.random.default_rng(7)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], "product"),
        helper.make_node("Add", ["product", "bias"], ["sum"], "bias"),
        helper.make_node("Div", ["sum", "root"], ["divided"], "division"),
        helper.make_node("Erf", ["divided"], ["erf"], "erf"),
        helper.make_node("Add", ["erf", "one"], ["raised"], "raising"),
        helper.make_node("Mul", ["sum", "raised"], ["whole"], "whole"),
        helper.make_node("Mul", ["whole", "half"], ["y"], "halving"),
    ]
    constants = {"w": rng.standard_normal((8, 16)), "bias": rng.standard_normal(16)}
    constants |= {"root": np.sqrt(2.0), "one": 1.0, "half": 0.5}
    graph = helper.make_graph(
        nodes,
        "gelu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()],
    )
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "gelu.onnx")
    page = tmp_path / "page.html"
    tenon("inspect", tmp_path / "gelu.onnx", "--html", page)
    plan = data_of(page)["plan"]
    refused = [each for each in plan["decisions"] if each["kind"] == "skip" and each["layer"] == "division"]
    assert refused, "a rule has tried the division by itself"
    (step,) = [i for i, each in enumerate(plan["programs"][0]["steps"]) if "division" in each["origins"]]
    shown = html.unescape(browsed(f"{page.as_uri()}#step={step}", tmp_path / "profile"))
    not_fused, rest = shown.split("Not fused, and why")[1].split("Decisions</h2>")
    assert "what is not fused with it, no rule fuses" in not_fused
    for each in refused:
        assert each["text"] not in not_fused
        assert f"{each['text']} (at layer division, which another rule joined to this step)" in rest
