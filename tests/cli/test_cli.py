"""The program `tenon`: subcommands, exit statuses, texts."""

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build")) / "bin" / "tenon"
RANGE = "x=1x8:2x8:16x8"


def tenon(*arguments: object, status: int = 0, **environment: str) -> subprocess.CompletedProcess:
    command = [str(PROGRAM), *map(str, arguments)]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("TENON_")}
    done = subprocess.run(command, capture_output=True, text=True, env=clean | environment, timeout=300)
    assert done.returncode == status, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


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


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("cli") / "small.onnx"
    save(path)
    return path


@pytest.fixture(scope="module")
def plan(model: pathlib.Path) -> pathlib.Path:
    tenon("build", model, "--shapes", RANGE, "--quiet")
    return model.with_suffix(".plan")


def test_version_and_help() -> None:
    assert tenon("--version").stdout.startswith("tenon 0.1.0 (TensorRT API 10.16.")
    text = tenon("--help").stdout
    for word in ("build", "run", "bench", "inspect", "verify", "knobs", "api", "Exit status", "--shapes"):
        assert word in text
    for command in ("build", "run", "bench", "inspect", "verify"):
        assert len(tenon(command, "--help").stdout.splitlines()) > 8


def test_build_says_what_it_wrote(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "a.plan"
    done = tenon("build", model, "-o", target, "--shapes", RANGE)
    assert str(target) in done.stdout and target.stat().st_size > 0
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


def test_run_builds_a_model_first(model: pathlib.Path) -> None:
    assert "y: 2x8" in tenon("run", model, "--shapes", RANGE).stdout


def test_bench_prints_figures(plan: pathlib.Path) -> None:
    figures = json.loads(tenon("bench", plan, "--seconds", 0.2, "--json", "--threads", 1).stdout)
    assert figures["runs"] > 10 and 0 < figures["min_ms"] <= figures["median_ms"] <= figures["p99_ms"]
    assert figures["load_ms"] > 0 and figures["rss_mib"] > 1
    assert "median" in tenon("bench", plan, "--seconds", 0.1).stdout


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
    network = tenon("inspect", model).stdout
    assert "MatrixMultiply" in network and "Activation" in network
    kinds = [layer["kind"] for layer in json.loads(tenon("inspect", model, "--json").stdout)["layers"]]
    assert "MatrixMultiply" in kinds


def test_verify_agrees_and_counts(model: pathlib.Path, plan: pathlib.Path) -> None:
    assert "steps compared with the reference" in tenon("verify", plan, "--shapes", "x=7x8").stdout
    report = json.loads(tenon("verify", model, "--shapes", RANGE, "--json").stdout)
    assert report["ok"] and report["first_divergence"] is None
    assert any(step["compared"] for step in report["steps"])


def test_verify_with_an_impossible_tolerance_fails(plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    save(tmp_path / "wide.onnx", layers=2, width=512)
    done = tenon("verify", tmp_path / "wide.onnx", "--shapes", "x=4x512", "--atol", "1e-12", status=1)
    assert "first divergence: step" in done.stdout and "WRONG" in done.stdout


def test_knobs_devices_api() -> None:
    text = tenon("knobs", TENON_THREADS="3").stdout
    assert "TENON_THREADS" in text and "set to '3'" in text and "TENON_ISA" in text
    assert "<- chosen" in tenon("devices").stdout
    refused = tenon("devices", TENON_DEVICE="abacus", status=1)
    assert "abacus" in refused.stdout and "TENON_DEVICE" in refused.stdout
    calls = tenon("api").stdout.splitlines()
    assert "INetworkDefinition::addLoop" in calls and calls == sorted(calls)


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        ([], 2, "subcommand"),
        (["build"], 2, "model"),
        (["build", "missing.onnx"], 2, "missing.onnx"),
        (["frobnicate"], 2, "frobnicate"),
        (["build", "MODEL", "--shapes", "x=1xtwo"], 2, "1xtwo"),
        (["build", "MODEL", "--shapes", "x=1x8:2x8"], 2, "2 shapes"),
        (["build", "MODEL"], 1, "--shapes x="),
        (["build", "MODEL", "--shapes", "z=1x8"], 1, "'x'"),
        (["build", "MODEL", "--shapes", RANGE + ",z=1"], 1, "no input 'z'"),
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
    command = [str(PROGRAM), "build", str(path), "--shapes", "x=1x512:8x512:64x512"]
    for wait in (0.2, 0.1, 0.05, 0.02, 0.4):  # Machines differ; one of these strikes while it builds.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode in (0, 130, -signal.SIGINT)  # Killed only before it could set its handler.
        if process.returncode == 130:
            assert not list(tmp_path.glob("*.plan*"))
            return
        (tmp_path / "deep.plan").unlink(missing_ok=True)
    pytest.fail("no build was interrupted")


def test_interrupted_bench_ends_at_once(plan: pathlib.Path) -> None:
    process = subprocess.Popen([str(PROGRAM), "bench", str(plan), "--seconds", "60"], stdout=subprocess.DEVNULL)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130


def test_progress_bar_on_a_terminal_only(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "deep.onnx"
    save(path, layers=40, width=256)
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [str(PROGRAM), "build", str(path), "--shapes", "x=1x256:8x256:64x256"],
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while select.select([leader], [], [], 30)[0]:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # The other end is closed.
            break
        if not piece:
            break
        shown += piece
    assert process.wait(timeout=60) == 0
    assert b"%" in shown and b"left" in shown and b"[" in shown


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
