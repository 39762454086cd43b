"""The program `tenon`: subcommands, exit statuses, texts."""

import itertools
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build")) / "bin" / "tenon"
RANGE = "x=1x8:2x8:16x8"
PATIENCE = 600  # Seconds, far beyond what anything here takes: what takes longer hangs.
KEPT = ("TENON_CACHE_DIR", "TENON_DEVICE")  # Of the environment's knobs: tests have caches of their own.


def clean() -> dict[str, str]:
    """The environment without the knobs that whoever runs the tests has set."""
    return {key: value for key, value in os.environ.items() if key in KEPT or not key.startswith("TENON_")}


def tenon(*arguments: object, status: int = 0, **environment: str) -> subprocess.CompletedProcess:
    command = [str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=clean() | environment, timeout=PATIENCE)
    assert done.returncode == status, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def figures_of(*words: object) -> tuple[dict[str, Any], float]:
    """What bench says of a hundred runs or more, and the seconds it took: a machine may stand still meanwhile."""
    for _ in range(10):
        start = time.monotonic()
        figures = json.loads(tenon("bench", *words, "--json").stdout)
        spent = time.monotonic() - start
        if figures["runs"] >= 100:
            break
    return figures, spent


def save(path: pathlib.Path, layers: int = 1, width: int = 8) -> list[np.ndarray]:
    """x · w, relu, as often as `layers` says; dynamic batch."""
    random = np.random.default_rng(2)
    weights = [random.standard_normal((width, width), np.float32) / width**0.5 for _ in range(layers)]
    nodes, value = [], "x"
    for i in range(layers):
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"], f"product{i}"))
        value = "y" if i == layers - 1 else f"r{i}"
        nodes.append(helper.make_node("Relu", [f"m{i}"], [value], f"relu{i}"))
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", width])],
        [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return weights


def test_version_and_help() -> None:
    assert tenon("--version").stdout.startswith("tenon 0.1.0 (TensorRT API 10.16.")
    text = tenon("--help").stdout
    for word in ("build", "run", "bench", "inspect", "verify", "knobs", "api", "Exit status", "--shapes"):
        assert word in text
    for command in ("build", "run", "bench", "inspect", "verify", "serve"):
        assert len(tenon(command, "--help").stdout.splitlines()) > 8


def test_help_of_a_command_by_either_word() -> None:
    assert tenon("help", "build").stdout == tenon("build", "--help").stdout
    assert tenon("help").stdout == tenon("--help").stdout
    assert "no command 'nosuch'" in tenon("help", "nosuch", status=2).stderr


@pytest.mark.parametrize("target", ["/proc/a.plan", "/dev/a.plan", "{tmp}/absent/a.plan", "{tmp}/file/a.plan"])
def test_where_nothing_can_be_written_is_said_before_the_build(
    target: str, model: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    target = target.format(tmp=tmp_path)
    done = tenon("build", model, "-o", target, "--shapes", RANGE, "-v", status=1)
    (line,) = done.stderr.splitlines()  # Of a build there would be more.
    assert line.startswith(f"tenon: cannot write '{target}': ")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file() and path.suffix == ".part") == []


def test_build_says_what_it_wrote(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "a.plan"
    done = tenon("build", model, "-o", target, "--shapes", RANGE)
    size, unit = re.match(rf"{target}: ([\d.]+) (B|KiB) in [\d.]+ s\n", done.stdout).groups()
    scale = {"B": 1, "KiB": 1024}[unit]
    assert float(size) == pytest.approx(target.stat().st_size / scale, abs=0.051)
    assert done.stderr == ""  # Quiet in a pipe: no bar, no warnings.
    assert not list(tmp_path.glob("*.part"))
    verbose = tenon("build", model, "-o", target, "--shapes", RANGE, "-v")
    assert "fuse" in verbose.stderr


def test_run_takes_and_writes_npy_files(model: pathlib.Path, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (weights,) = save(model)
    x = np.random.default_rng(4).standard_normal((5, 8), np.float32)
    np.save(tmp_path / "x.npy", x)
    done = tenon("run", plan, "--input", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path / "out")
    assert done.stdout.startswith("y: 5x8, min 0,")
    np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), np.maximum(x @ weights, 0), atol=1e-5)
    same = [tenon("run", plan, "--shapes", "x=3x8", "--seed", 7).stdout for _ in range(2)]
    assert same[0] == same[1] and "3x8" in same[0]
    assert tenon("run", plan, "--shapes", "x=3x8", "--seed", 8).stdout != same[0]


def test_run_writes_outputs_whose_extents_depend_on_data(tmp_path: pathlib.Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("NonZero", ["x"], ["where"]), helper.make_node("Relu", ["x"], ["y"])],
        "sparse",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
        [
            helper.make_tensor_value_info("where", TensorProto.INT64, [2, None]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 6]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "sparse.onnx")
    random = np.random.default_rng(6)
    for rows in (1, 5):
        x = random.standard_normal((rows, 6), np.float32) * random.integers(0, 2, (rows, 6)).astype(np.float32)
        np.save(tmp_path / "x.npy", x)
        given = ["--shapes", "x=1x6:2x6:9x6", "--input", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path]
        done = tenon("run", tmp_path / "sparse.onnx", *given)
        want = np.stack(np.nonzero(x))
        assert f"where: 2x{want.shape[1]}, min 0, max {want.max()}, mean" in done.stdout
        np.testing.assert_array_equal(np.load(tmp_path / "where.npy"), want)
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.maximum(x, 0))


def test_a_cache_may_be_empty(tmp_path: pathlib.Path) -> None:
    """The first run of a decoder: no keys yet."""
    real = TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Concat", ["past", "x"], ["all"], axis=0), helper.make_node("Relu", ["all"], ["y"])],
        "cache",
        [helper.make_tensor_value_info("past", real, ["n", 4]), helper.make_tensor_value_info("x", real, [2, 4])],
        [helper.make_tensor_value_info("y", real, ["m", 4])],
    )
    model, plan = tmp_path / "cache.onnx", tmp_path / "cache.plan"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    for shapes in ("past=0x4:3x4:8x4", "past=0x4"):
        tenon("build", model, "-o", plan, "--shapes", shapes)
        np.save(tmp_path / "x.npy", x := np.random.default_rng(7).standard_normal((2, 4), np.float32))
        into = tmp_path / shapes.replace(":", "_")
        given = ("--shapes", "past=0x4")
        tenon("run", plan, *given, "--input", f"x={tmp_path / 'x.npy'}", "--outputs", into)
        np.testing.assert_array_equal(np.load(into / "y.npy"), np.maximum(x, 0))
        tenon("verify", plan, *given)
        assert json.loads(tenon("bench", plan, *given, "--seconds", 0.1, "--json").stdout)["runs"] > 0


def test_run_takes_and_writes_bfloat16(tmp_path: pathlib.Path) -> None:
    shape, kind = ["n", 4], TensorProto.BFLOAT16
    values = [helper.make_tensor_value_info(name, kind, shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "brain", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "b.onnx")
    x = np.random.default_rng(8).standard_normal((3, 4), np.float32)
    halves = (x.view(np.uint32) >> 16).astype(np.uint16)
    np.save(tmp_path / "x.npy", halves.view("V2"))
    shapes = ["--shapes", "x=1x4:2x4:8x4", "--outputs", tmp_path]
    done = tenon("run", tmp_path / "b.onnx", *shapes, "--input", f"x={tmp_path / 'x.npy'}")
    kept = (halves.astype(np.uint32) << 16).view(np.float32)
    got = np.load(tmp_path / "y.npy")
    assert got.dtype == np.dtype("V2")
    np.testing.assert_array_equal((got.view(np.uint16).astype(np.uint32) << 16).view(np.float32), np.maximum(kept, 0))
    assert f"max {kept.max():g}," in done.stdout
    assert tenon("run", tmp_path / "b.onnx", *shapes, "--seed", 1).stdout.startswith("y: 2x4, min 0, max 0.3")
    np.save(tmp_path / "x.npy", x)
    for command in ("run", "verify"):
        wrong = tenon(command, tmp_path / "b.onnx", *shapes[:2], "--input", f"x={tmp_path / 'x.npy'}", status=2)
        assert "input 'x' has elements of type BF16, its file of FLOAT" in wrong.stderr


def test_a_seed_is_for_inputs_that_are_not_given(plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    two = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in ("a", "b", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "two", two[:2], two[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "s.onnx")
    a = np.random.default_rng(3).standard_normal((2, 3), np.float32)
    np.save(tmp_path / "a.npy", a)
    command = ["run", tmp_path / "s.onnx", "--shapes", "a=1x3:2x3:4x3,b=1x3:2x3:4x3", "--outputs", tmp_path]
    sums = {}
    for seed in (1, 2, 1):
        tenon(*command, "--input", f"a={tmp_path / 'a.npy'}", "--seed", seed)
        b = np.load(tmp_path / "y.npy") - a
        np.testing.assert_allclose(b, sums.setdefault(seed, b))
    assert np.abs(sums[1] - sums[2]).max() > 0.1
    both = [f"--input={name}={tmp_path / 'a.npy'}" for name in "ab"]
    tenon(*command, *both)
    for program in (command, ["verify", *command[1:4]]):
        assert "--seed has nothing to fill" in tenon(*program, *both, "--seed", 0, status=2).stderr
    assert "'a' is given twice" in tenon(*command, both[0], both[0], status=2).stderr


def test_run_builds_a_model_first(model: pathlib.Path) -> None:
    assert "y: 2x8" in tenon("run", model, "--shapes", RANGE).stdout


def test_bench_prints_figures(plan: pathlib.Path) -> None:
    figures, spent = figures_of(plan, "--seconds", 0.2, "--threads", 1)
    assert spent >= 0.2 and 0 < figures["min_ms"] <= figures["median_ms"] <= figures["p99_ms"]
    assert figures["runs"] >= 1 and figures["runs"] * figures["min_ms"] <= 1000 * spent
    assert figures["load_ms"] > 0 and figures["rss_mib"] > 1
    head, line = tenon("bench", plan, "--seconds", 0.1, "--threads", 1).stdout.splitlines()
    assert re.search(r"\S; device \w+, 1 thread, 1 stream$", head) and "median" in line


def test_bench_with_several_streams(plan: pathlib.Path) -> None:
    for _ in range(10):  # A machine may stand still within the last run of some attempts.
        figures, _ = figures_of(plan, "--seconds", 0.2, "--streams", 3, "--threads", 2)
        if figures["runs"] / 0.2 * 0.3 < figures["runs_per_s"]:
            break
    assert (figures["streams"], figures["threads"]) == (3, 2) and figures["cpu"] and figures["device"]
    assert figures["median_ms"] <= figures["p90_ms"] <= figures["p95_ms"] <= figures["p99_ms"] <= figures["max_ms"]
    # Each stream is busy all the time: together they do as many runs a second as three of the mean time.
    assert figures["runs"] / 0.2 * 0.3 < figures["runs_per_s"] and figures["min_ms"] < 3000 / figures["runs_per_s"]
    assert "3 streams" in tenon("bench", plan, "--seconds", 0.01, "--streams", 3).stdout
    assert "--streams" in tenon("bench", plan, "--streams", 0, status=2).stderr


def test_bench_times_each_layer(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "deep.onnx", layers=3, width=64)
    options = ["--shapes", "x=64x64", "--seconds", 0.1, "--profile", "--streams", 2]
    profile = figures_of(tmp_path / "deep.onnx", *options)[0]["profile"]
    assert profile["runs"] >= 5 and all(milliseconds >= 0 for milliseconds in profile["steps"].values())
    text = tenon("bench", tmp_path / "deep.onnx", *options).stdout
    rows = re.findall(r"^ +([\d.]+) +([\d.]+)  (.*)$", text, re.MULTILINE)
    assert {name for _, _, name in rows} == set(profile["steps"])
    for i in range(3):  # Fused or not, each node of the model is in a layer's name.
        assert [name for _, _, name in rows if f"product{i}" in name], text
    assert [float(spent) for spent, _, _ in rows] == sorted((float(spent) for spent, _, _ in rows), reverse=True)
    assert sum(float(share) for _, share, _ in rows) == pytest.approx(100, abs=0.1 * len(rows))


def test_inspect_plan_and_model(model: pathlib.Path, plan: pathlib.Path) -> None:
    text = tenon("inspect", plan).stdout
    for word in (
        "input  x",
        "output y",
        "profile 0",
        "1x8 to 16x8",
        "steps on cpu",
        "decisions:",
        "plugins needed: none",
    ):
        assert word in text, text
    report = json.loads(tenon("inspect", plan, "--json").stdout)
    assert report["bytes"] == plan.stat().st_size and report["programs"][0]["steps"]
    assert [decision for decision in report["decisions"] if decision["kind"] == "fuse" and decision["text"]]
    listed = tenon("inspect", plan, "--decisions").stdout
    assert len(listed.splitlines()) >= len(report["decisions"])
    steps = report["programs"][0]["steps"]
    for step in steps:  # Kernel, candidate and tactic of each step, without asking for more.
        choice = f"{step['kernel']}/{step['candidate']}/{step['tactic']} "
        assert [line for line in text.splitlines() if choice in line and step["name"] in line], choice
    assert text.startswith("plan 'small.plan'")
    network = tenon("inspect", model).stdout
    assert network.startswith("model 'small.onnx'")
    assert "MatrixMultiply" in network and "Activation" in network
    kinds = [layer["kind"] for layer in json.loads(tenon("inspect", model, "--json").stdout)["layers"]]
    assert "MatrixMultiply" in kinds


def test_verify_agrees_and_counts(model: pathlib.Path, plan: pathlib.Path) -> None:
    text = tenon("verify", plan, "--shapes", "x=7x8").stdout
    assert re.search(r"^(\d+) of \1 steps compared with the reference", text, re.M)
    assert re.fullmatch(r"verdict: OK, all [1-9]\d* compared steps agree", text.splitlines()[-1]), text
    report = json.loads(tenon("verify", model, "--shapes", RANGE, "--json").stdout)
    assert report["ok"] and report["first_divergence"] is None
    assert any(step["compared"] for step in report["steps"])


def test_verify_with_an_impossible_tolerance_fails(plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    save(tmp_path / "wide.onnx", layers=2, width=512)
    done = tenon("verify", tmp_path / "wide.onnx", "--shapes", "x=4x512", "--atol", "1e-12", status=1)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("first divergence: step")]
    name = line.split("'")[1]
    assert line.count(name) == 1 and "WRONG" in done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "word"),
    [
        ("TENON_ISA", "foo", "avx2, avx512, avx512_vnni, avx512_bf16, avx512_fp16, amx or amx_fp16"),
        ("TENON_THREADS", "abc", "whole number"),
        ("TENON_THREADS", "0", "whole number"),
        ("TENON_SPIN", "-1", "whole number from 0"),
        ("TENON_LOG", "bogus", "error, warning, info or verbose"),
        ("TENON_FUSION", "maybe", "1, on, true, yes, 0, off, false or no"),
        ("TENON_TACTICS", "luck", "estimate or time"),
        ("TENON_DOUBLE", "clamp", "keep or float"),
        ("TENON_API_GENERATION", "7", "8, 9 or 10"),
        ("TENON_IMPLICIT_BATCH", "perhaps", "1, on, true, yes, 0, off, false or no"),
    ],
)
def test_knobs_without_effect_are_said_once(variable: str, value: str, word: str, plan: pathlib.Path) -> None:
    environment = {variable: value}
    (line,) = tenon("run", plan, **environment).stderr.splitlines()
    assert line.startswith(f"warning: {variable}={value} has no effect") and word in line
    if word != "not in this release":
        assert f"{variable}={value} has no effect" in tenon("knobs", **environment).stdout


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TENON_ISA", "avx2"),
        ("TENON_THREADS", "1"),
        ("TENON_SPIN", "0"),
        ("TENON_FUSION", "off"),
        ("TENON_TACTICS", "time"),
        ("TENON_DOUBLE", "float"),
        ("TENON_API_GENERATION", "8"),
        ("TENON_IMPLICIT_BATCH", "1"),
        ("TENON_CHECK_INDICES", "1"),
    ],
)
def test_knobs_with_effect_give_no_warning(variable: str, value: str, plan: pathlib.Path) -> None:
    assert tenon("run", plan, **{variable: value}).stderr == ""


def test_a_knob_has_tactics_chosen_by_time(tmp_path: pathlib.Path) -> None:
    weights = np.random.default_rng(1).standard_normal((32, 16, 3, 3)).astype(np.float32)
    ends = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 24, 24]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32, 22, 22]),
    ]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], "conv")],
        "one",
        ends[:1],
        ends[1:],
        [numpy_helper.from_array(weights, "w")],
    )
    model = tmp_path / "conv.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    for tactics, word in (("estimate", "about"), ("time", "measured")):
        plan = tmp_path / f"{tactics}.plan"
        tenon("build", model, "-o", plan, TENON_TACTICS=tactics)
        decisions = json.loads(tenon("inspect", plan, "--json").stdout)["decisions"]
        (text,) = [each["text"] for each in decisions if each["kind"] == "tactic"]
        assert f"({word} " in text
        assert tenon("verify", plan).returncode == 0


def test_a_knob_keeps_every_layer_a_step_of_its_own(tmp_path: pathlib.Path) -> None:
    nodes = [helper.make_node("Abs" if i % 2 else "Neg", [f"t{i}"], [f"t{i + 1}"], f"n{i}") for i in range(100)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16]) for name in ("t0", "t100")]
    model = helper.make_model(
        helper.make_graph(nodes, "chain", ends[:1], ends[1:]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(model, tmp_path / "chain.onnx")
    steps = {}
    for fusion in ("on", "off"):
        plan = tmp_path / f"{fusion}.plan"
        tenon("build", tmp_path / "chain.onnx", "-o", plan, TENON_FUSION=fusion)
        found = json.loads(tenon("inspect", plan, "--json").stdout)
        steps[fusion] = [step["name"] for step in found["programs"][0]["steps"]]
        fused = [decision for decision in found["decisions"] if decision["kind"] == "fuse"]
        assert bool(fused) == (fusion == "on")
    assert steps["off"] == [f"n{i}" for i in range(100)]
    assert len(steps["on"]) < 100


def test_a_trace_shows_the_layers_of_a_run(plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert tenon("run", plan, TENON_TRACE=str(tmp_path / "trace.json")).stderr == ""
    events = json.loads((tmp_path / "trace.json").read_text())
    steps = {event["name"] for event in events if event.get("cat") == "layer"}
    assert steps and {"load", "layer", "run"} <= {event.get("cat") for event in events}
    assert "TENON_TRACE" in tenon("knobs").stdout


def save_unsupported(path: pathlib.Path) -> None:
    """Four nodes of one unknown operator, one of another, one node that is fine."""
    nodes = [helper.make_node("FirstUnknown", ["x"], [f"a{i}"], f"first{i}") for i in range(4)]
    nodes += [helper.make_node("SecondUnknown", ["x"], ["b"], "second"), helper.make_node("Relu", ["x"], ["y"], "fine")]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "refused", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_what_a_model_needs_in_vain_is_listed_once(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "refused.onnx"
    save_unsupported(path)
    first, second, last = tenon("build", path, status=1).stderr.splitlines()
    for word in (str(path), "nodes 0 'first0', 1 'first1', 2 'first2' and 1 more", "(FirstUnknown)", "not supported"):
        assert word in first
    assert str(path) in second and "node 4 'second' (SecondUnknown)" in second
    assert last == f"tenon: '{path}' could not be read: 5 errors"


def test_knobs_devices_api() -> None:
    text = tenon("knobs", TENON_THREADS="3").stdout
    assert "TENON_THREADS" in text and "set to '3'" in text and "TENON_ISA" in text
    assert "<- chosen" in tenon("devices").stdout
    refused = tenon("devices", TENON_DEVICE="abacus", status=1)
    assert "abacus" in refused.stdout and "TENON_DEVICE" in refused.stdout
    calls = tenon("api").stdout.splitlines()
    assert "INetworkDefinition::addDistCollective" not in calls and calls == sorted(calls)


def test_the_program_alone_shows_its_help() -> None:
    done = tenon(status=2)
    assert "Usage: tenon" in done.stdout and "build" in done.stdout and done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (["build"], 2, "model"),
        (["build", "missing.onnx"], 2, "missing.onnx"),
        (["frobnicate"], 2, "frobnicate"),
        (["build", "MODEL", "--shapes", "x=1xtwo"], 2, "1xtwo"),
        (["build", "MODEL", "--shapes", "x=1x8:2x8"], 2, "2 shapes"),
        (["build", "MODEL"], 1, "--shapes x="),
        (["build", "MODEL", "--shapes", "z=1x8"], 2, "no input 'z'; it has 'x'"),
        (["build", "MODEL", "--shapes", RANGE + ",z=1"], 2, "no input 'z'"),
        (["run", "PLAN", "--shapes", "z=1x8"], 2, "no input 'z'; it has 'x'"),
        (["bench", "PLAN", "--shapes", "z=1x8"], 2, "no input 'z'"),
        (["verify", "PLAN", "--shapes", "z=1x8"], 2, "no input 'z'"),
        (["verify", "PLAN", "--atol", "-1"], 2, "--atol"),
        (["verify", "PLAN", "--rtol", "-1"], 2, "--rtol"),
        (["bench", "PLAN", "--seconds", "-1"], 2, "--seconds"),
        (["bench", "PLAN", "--seconds", "0"], 2, "--seconds"),
        (["bench", "PLAN", "--warmup", "-1"], 2, "--warmup"),
        (["run", "PLAN", "--shapes", "x=99x8"], 1, "99x8"),
        (["run", "PLAN", "--input", "x"], 2, "name=file.npy"),
        (["inspect", "TEXT"], 1, "plan"),
        (["run", "TEXT"], 1, "TEXT"),
        (["bench", "PLAN", "--threads", "0"], 2, "--threads"),
    ],
)
def test_wrong_use_is_one_clear_line(
    arguments: list[str], status: int, word: str, model: pathlib.Path, plan: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    text = tmp_path / "TEXT"
    text.write_text("this is no plan\n" * 20)
    places = {"MODEL": str(model), "PLAN": str(plan), "TEXT": str(text)}
    done = tenon(*[places.get(argument, argument) for argument in arguments], status=status)
    assert word in done.stderr, done.stderr


def test_interrupted_build_leaves_no_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "deep.onnx"
    save(path, layers=120, width=512)
    trace = tmp_path / "trace.json"
    command = [str(PROGRAM), "build", str(path), "--shapes", "x=1x512:8x512:64x512"]
    for _ in range(10):  # A machine that stands still may send the signal when all is done.
        trace.unlink(missing_ok=True)
        environment = os.environ | {"TENON_TRACE": str(trace)}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        interrupt_when(process, trace.exists)  # The builder opens it.
        _, said = process.communicate(timeout=PATIENCE)
        if process.returncode == 130:
            assert said == b"tenon: interrupted\n"
            assert not list(tmp_path.glob("*.plan*"))
            return
        assert process.returncode == 0, said
        (tmp_path / "deep.plan").unlink()
    pytest.fail("no build was interrupted")


def interrupt_when(process: subprocess.Popen, is_time: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while process.poll() is None and not is_time() and time.monotonic() < end:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)


def test_interrupted_bench_ends_at_once(plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "trace.json"
    command = [str(PROGRAM), "bench", str(plan), "--seconds", "100000"]
    environment = os.environ | {"TENON_TRACE": str(trace)}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        interrupt_when(process, lambda: trace.exists() and '"cat":"run"' in trace.read_text())
        assert process.wait(timeout=PATIENCE) == 130
    finally:
        process.kill()


class OnTerminal:
    """The program with a terminal for its standard error, and what it writes there, piece by piece with the time."""

    def __init__(self, command: list[str], program: pathlib.Path = PROGRAM) -> None:
        self._leader, follower = pty.openpty()
        self.started = time.monotonic()
        self.process = subprocess.Popen([str(program), *command], stdout=subprocess.DEVNULL, stderr=follower)
        os.close(follower)
        self.pieces: list[tuple[float, str]] = []

    def pieces_until_closed(self) -> Iterator[str]:
        while select.select([self._leader], [], [], PATIENCE)[0]:
            try:
                piece = os.read(self._leader, 4096).decode()
            except OSError:  # The other end is closed.
                return
            if not piece:
                return
            self.pieces.append((time.monotonic(), piece))
            yield piece

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces)

    def moment_of(self, end: int) -> float:
        """When the text had been read up to there."""
        ends = itertools.accumulate(len(piece) for _, piece in self.pieces)
        return next(moment for (moment, _), upto in zip(self.pieces, ends, strict=True) if upto >= end)


def built(path: pathlib.Path, width: int) -> list[str]:
    return ["build", str(path), "--shapes", f"x=1x{width}:8x{width}:64x{width}"]


def test_progress_bar_estimates_the_rest_of_the_whole_build(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "deep.onnx"
    save(path, layers=60, width=1024)
    terminal = OnTerminal(built(path, 1024))
    for _ in terminal.pieces_until_closed():
        pass
    assert terminal.process.wait(timeout=PATIENCE) == 0
    shares = [int(share) for share in re.findall(r"(\d+)%", terminal.text)]
    assert shares == sorted(shares) and shares[0] == 0 and len(set(shares)) > 10  # One bar, which never goes back.
    for phase in ("Reading the model", "Optimizing", "Building kernels", "Writing the plan"):
        assert phase in terminal.text
    # How right an estimate is depends on the machine, what its share means does not: the whole takes the time that
    # has passed, divided by it.
    shown = [
        (int(match[1]) / 100, float(match[2]), terminal.moment_of(match.end()) - terminal.started)
        for match in re.finditer(r"(\d+)%  about ([\d.]+) s left", terminal.text)
    ]
    assert len(shown) > 10
    least = 0.0  # Seconds that the build has taken so far, as the bar must have counted them.
    for share, left, passed in shown:
        # Both figures are rounded, to percents and to tenths of seconds.
        assert (left - 0.05) * (share - 0.005) / (1.005 - share) <= passed, shown
        assert (left + 0.05) * (share + 0.005) / (0.995 - share) >= least, shown
        least = max(least, (left - 0.05) * (share - 0.005) / (1.005 - share))
    assert least > 0.0, shown
    assert terminal.text.endswith("\r\x1b[K")  # The line is free again.


def test_interruption_on_a_terminal_has_a_line_of_its_own(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "deep.onnx"
    save(path, layers=60, width=1024)
    for _ in range(10):  # A machine that stands still may send the signal when all is done.
        terminal = OnTerminal(built(path, 1024))
        for _ in terminal.pieces_until_closed():
            if "Building kernels" in terminal.text:
                terminal.process.send_signal(signal.SIGINT)
                break
        for _ in terminal.pieces_until_closed():
            pass
        if terminal.process.wait(timeout=PATIENCE) != 0:
            break
    assert terminal.process.returncode == 130
    assert terminal.text.endswith("\r\x1b[Ktenon: interrupted\r\n") and "monitor" not in terminal.text


def test_cpp_example_names_the_classes_that_the_python_example_names(tmp_path: pathlib.Path) -> None:
    from PIL import Image

    sys.path.insert(0, str(ROOT / "tests" / "models"))
    from zoo import MODELS

    picture = Image.fromarray(np.random.default_rng(6).integers(0, 255, (224, 224, 3), np.uint8))
    picture.save(tmp_path / "a.ppm")
    network = str(MODELS["mobilenet_v2"].path)
    shown = [
        subprocess.run([*program, network, str(tmp_path / "a.ppm")], capture_output=True, text=True, check=True).stdout
        for program in (
            [str(PROGRAM.parent / "classify")],
            [sys.executable, str(ROOT / "examples" / "python" / "classify.py")],
        )
    ]
    classes = [[line.split(":")[0] for line in text.splitlines()] for text in shown]
    assert len(classes[0]) == 5 and classes[0] == classes[1]


def test_verify_does_not_count_steps_that_run_the_reference_itself(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "ref.plan"
    tenon("build", model, "-o", target, "--shapes", RANGE, "--quiet", TENON_DEVICE="ref")
    done = tenon("verify", target, status=1, TENON_DEVICE="ref")
    counted, left_out, verdict = done.stdout.splitlines()
    count = re.fullmatch(r"0 of (\d+) steps compared with the reference", counted)
    assert count and left_out == f"  {count[1]} not: its kernel is the reference itself" and count[1] != "0", (
        done.stdout
    )
    assert verdict == "verdict: none of the steps could be compared"
    report = json.loads(tenon("verify", target, "--json", status=1, TENON_DEVICE="ref").stdout)
    assert not report["ok"], "nothing has been proved"
    assert all(not step["compared"] and "reference itself" in step["why"] for step in report["steps"])


def test_build_writes_through_what_is_no_file(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    try:
        done = tenon("build", model, "-o", pipe, "--shapes", RANGE)
        read, _ = reader.communicate(timeout=PATIENCE)
    finally:
        reader.kill()
    whole = tmp_path / "whole.plan"
    tenon("build", model, "-o", whole, "--shapes", RANGE, "--quiet")
    assert read == whole.read_bytes()
    assert pipe.is_fifo() and not list(tmp_path.glob("*.part"))
    assert done.stdout == "" and str(pipe) in done.stderr  # The plan might have gone to standard output.
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "cannot write" in tenon("build", model, "-o", folder, "--shapes", RANGE, status=1).stderr
    assert folder.is_dir()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="this machine has no files in memory")
def test_files_in_memory_are_files(model: pathlib.Path) -> None:
    """Below /dev stands what is written through, but for these."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        plan = pathlib.Path(folder) / "a.plan"
        for _ in range(2):  # There is none before, and it is replaced.
            assert str(plan) in tenon("build", model, "-o", plan, "--shapes", RANGE).stdout
        assert [path.name for path in pathlib.Path(folder).iterdir()] == ["a.plan"]
        assert "y: 2x8" in tenon("run", plan).stdout
    refused = tenon("build", model, "-o", "/dev/no-such-stream", "--shapes", RANGE, status=1)
    assert "there is no such stream or device" in refused.stderr


def test_build_replaces_what_a_link_names(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "there").mkdir()
    target, link, chain = tmp_path / "there" / "a.plan", tmp_path / "a.plan", tmp_path / "chain.plan"
    link.symlink_to("there/a.plan")
    chain.symlink_to(link)
    for path in (link, chain):  # The first time the link leads nowhere yet.
        target.unlink(missing_ok=True)
        tenon("build", model, "-o", path, "--shapes", RANGE, "--quiet")
        assert path.is_symlink() and target.is_file() and not target.is_symlink()
    inode = target.stat().st_ino
    tenon("build", model, "-o", link, "--shapes", RANGE, "--quiet")
    assert link.is_symlink() and target.stat().st_ino != inode  # Renamed into its place, as a whole.
    assert not list(tmp_path.rglob("*.part"))


def test_the_model_is_never_replaced_by_its_plan(tmp_path: pathlib.Path, model: pathlib.Path) -> None:
    copy = tmp_path / "model.onnx"
    copy.write_bytes(model.read_bytes())
    assert "is the model itself" in tenon("build", copy, "-o", copy, status=2).stderr
    assert copy.read_bytes() == model.read_bytes()


def test_verify_takes_zero_as_a_tolerance(plan: pathlib.Path) -> None:
    for given in (["--atol", "0", "--rtol", "0"], ["--atol", "0"]):
        done = subprocess.run([PROGRAM, "verify", plan, "--json", *given], capture_output=True, text=True)
        report = json.loads(done.stdout)
        compared = [step for step in report["steps"] if step["compared"]]
        exact = all(step["max_error"] == 0 for step in compared)
        assert report["ok"] is exact and done.returncode == (0 if exact else 1)
        assert any(step["max_error"] > 0 for step in compared), "the model computes something that is rounded"


def test_output_that_cannot_be_written_is_a_failure() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "knobs"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "could not be written" in done.stderr


IMPLICIT = """
import sys
import tensorrt as trt
builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
builder.max_batch_size = 4
network = builder.create_network()
x = network.add_input("x", trt.float32, (2, 3))
network.mark_output(network.add_activation(x, trt.ActivationType.RELU).get_output(0))
open(sys.argv[1], "wb").write(builder.build_serialized_network(network, builder.create_builder_config()))
"""


def test_plans_with_an_implicit_batch_are_inspected_verified_and_run(tmp_path: pathlib.Path) -> None:
    plan = tmp_path / "implicit.plan"
    subprocess.run([sys.executable, "-c", IMPLICIT, str(plan)], check=True, timeout=PATIENCE)
    assert "batch: implicit, at most 4" in tenon("inspect", plan).stdout
    assert tenon("run", plan).stderr == "" and tenon("verify", plan).stdout
    done = tenon("run", plan, "--shapes", "x=1x2x3", status=1)
    assert "implicit batch" in done.stderr


def test_serve_says_how_to_install_what_it_needs() -> None:
    done = tenon("serve", "--python", "/nowhere/python3", "model.plan", "--port", "8000", status=1)
    assert done.stdout == ""
    assert "has no package tenon.serving; install it: pip install" in done.stderr
