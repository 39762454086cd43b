"""tenon plugin: libraries and modules of custom layers are checked, listed and traced."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from test_cli import PATIENCE, PROGRAM, ROOT, tenon
from trtexec import SHORT, trtexec

LIBRARIES = PROGRAM.parent.parent / "lib"
FAULTY = LIBRARIES / "libtenon_faulty_library.so"
PAD = LIBRARIES / "libtenon_pad_library.so"
MODULE = ROOT / "tests" / "python" / "scaled_plugin.py"
SHAPES = "1x3x5:2x3x5:4x3x5"


def test_a_sound_library_passes() -> None:
    done = tenon("plugin", "check", FAULTY, "--shapes", SHAPES, "--fields", "scale=2.5")
    assert "'FaultyV3' version '1' namespace '' (V3)" in done.stdout
    assert "'FaultyDynamic' version '1' namespace '' (V2DynamicExt)" in done.stdout
    assert done.stdout.count("nothing found") == 2 and "1 combinations" in done.stdout
    done = tenon("plugin", "check", PAD, "--creator", "CircPadV3", "--fields", "before=1:2,after=0:3")
    assert "nothing found" in done.stdout and "4 combinations" in done.stdout


@pytest.mark.parametrize(
    "fault, v3, v2",
    [
        ("clone", "clone: clone-carries, rule L6", "clone: clone-carries, rule K10"),
        ("crash", "enqueue: crashes", "enqueue: crashes"),
        ("throw", "onShapeChange: throws, rule L21", "nothing found"),
    ],
)
def test_findings_name_callback_rule_and_remedy(fault: str, v3: str, v2: str) -> None:
    done = tenon("plugin", "check", FAULTY, "--shapes", SHAPES, "--creator", "FaultyV3:1:", status=1, FAULTY=fault)
    assert v3 in done.stdout and "to do: " in done.stdout
    assert done.stdout.count("to do: ") == 1
    status = 0 if v2 == "nothing found" else 1
    done = tenon(
        "plugin", "check", FAULTY, "--shapes", SHAPES, "--creator", "FaultyDynamic", status=status, FAULTY=fault
    )
    assert v2 in done.stdout


def hanging_child_of(pid: int) -> int | None:
    for child in map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        with contextlib.suppress(OSError):  # One that has ended meanwhile.
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "hanging":
                return child
    return None


def is_running(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("by", ["program", "Python"])
def test_a_signal_ends_the_check_of_a_callback_that_hangs(how: signal.Signals, by: str) -> None:
    wanted = [FAULTY, "--creator", "FaultyV3", "--shapes", SHAPES, "--seconds", "3600"]
    command = [PROGRAM, "plugin", "check"] if by == "program" else [sys.executable, "-m", "tenon.plugin_check"]
    environment = os.environ | {"FAULTY": "hang", "PYTHONPATH": str(PROGRAM.parent.parent / "python")}
    with subprocess.Popen([*map(str, command + wanted)], env=environment, stdout=subprocess.PIPE) as process:
        until(lambda: hanging_child_of(process.pid))
        child = hanging_child_of(process.pid)
        process.send_signal(how)
        assert process.wait(PATIENCE) == -how
        until(lambda: not is_running(child))


def test_reports_as_json() -> None:
    done = tenon("plugin", "check", FAULTY, "--shapes", SHAPES, "--json", status=1, FAULTY="clone")
    reports = json.loads(done.stdout)
    assert [report["plugin"]["generation"] for report in reports] == ["V3", "V2DynamicExt"]
    for report in reports:
        assert not report["ok"] and report["findings"][0]["callback"] == "clone" and report["findings"][0]["change"]


def test_wrong_arguments_say_what_is_wrong() -> None:
    checked = ("plugin", "check", FAULTY, "--shapes", SHAPES)
    assert "has no field 'size'; it has scale, offset" in tenon(*checked, "--fields", "size=1", status=2).stderr
    assert "'a' in 'scale=a' is no number" in tenon(*checked, "--fields", "scale=a", status=2).stderr
    assert "'2x3:4x3' is no shape" in tenon("plugin", "check", FAULTY, "--shapes", "2x3:4x3", status=2).stderr
    assert "'wide' is no type" in tenon(*checked, "--types", "wide", status=2).stderr
    assert "has no creator 'Nobody'" in tenon(*checked, "--creator", "Nobody", status=1).stderr
    nothing = tenon("plugin", "check", LIBRARIES / "libtenon.so", status=1).stderr
    assert "exports neither getCreators" in nothing and "cannot be loaded as a library of plugins" in nothing


def test_python_modules_are_checked_by_python(tmp_path: pathlib.Path) -> None:
    package = str(PROGRAM.parent.parent / "python")
    with_python = ("--python", sys.executable)
    done = tenon("plugin", "check", MODULE, *with_python, "--shapes", "1x4:2x4:3x4", PYTHONPATH=package)
    assert done.stdout.count("nothing found") == 2
    missing = tenon("plugin", "check", MODULE, "--python", "/no/such/python", status=1)
    assert "'/no/such/python' cannot be started" in missing.stderr and "--python" in missing.stderr
    tenon("plugin", "check", "no_such_module", *with_python, status=1, PYTHONPATH=package)
    (tmp_path / "tenon.py").write_text("raise ImportError('not for this version')")
    lacking = tenon("plugin", "check", MODULE, *with_python, status=1, PYTHONPATH=str(tmp_path)).stderr
    assert f"{sys.executable} has no package tenon (not for this version)" in lacking and "--python" in lacking


def test_modules_are_checked_by_the_first_interpreter_that_has_the_package(tmp_path: pathlib.Path) -> None:
    """None on the PATH, one that lacks it, and the environment of a folder above the program."""
    program = tmp_path / "tree" / "build" / "bin" / "tenon"
    program.parent.mkdir(parents=True)
    shutil.copy(PROGRAM, program)
    interpreter = tmp_path / "tree" / ".venv" / "bin" / "python3"
    interpreter.parent.mkdir(parents=True)
    package = PROGRAM.parent.parent / "python"
    interpreter.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path), "LD_LIBRARY_PATH": str(LIBRARIES)}
    environment.pop("PYTHONPATH", None)
    command = [program, "plugin", "check", MODULE, "--shapes", "1x4:2x4:3x4"]

    def checked() -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert checked().count("nothing found") == 2
    lacking = tmp_path / "python3"
    lacking.write_text("#!/bin/sh\nexit 1\n")
    lacking.chmod(0o755)
    assert checked().count("nothing found") == 2


def test_stock_plugins_are_listed_and_checked() -> None:
    listed = json.loads(tenon("plugin", "list", "--json").stdout)
    by_name = {(each["name"], each["version"]): each for each in listed}
    norm = by_name["InstanceNormalization_TRT", "1"]
    assert norm["generation"] == "V2" and norm["library"] == "" and norm["fields"]
    assert re.search(r"^InstanceNormalization_TRT +version 1", tenon("plugin", "list").stdout, re.M)
    assert json.loads(tenon("plugin", "list", "stock", "--json").stdout) == listed
    mine = json.loads(tenon("plugin", "list", FAULTY, "--json").stdout)
    assert [(each["name"], each["library"]) for each in mine] == [
        ("FaultyV3", str(FAULTY)),
        ("FaultyDynamic", str(FAULTY)),
    ]
    assert mine[0]["fields"][0] == {"name": "scale", "type": "float32", "length": 1}


@pytest.fixture(scope="module")
def padded(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A model whose one node is a plugin of the library."""
    path = tmp_path_factory.mktemp("plugin") / "padded.onnx"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 5, 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("CircPadV3", ["x"], ["y"], "pad", before=[1, 2], after=[0, 3])
    graph = helper.make_graph([node], "padded", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_plan_lists_its_plugins_and_a_missing_one_is_named_with_its_library(padded: pathlib.Path) -> None:
    plan = padded.with_suffix(".plan")
    tenon("build", padded, "--plugins", PAD)
    needed = json.loads(tenon("inspect", plan, "--json").stdout)["plugins"]
    assert needed == [{"name": "CircPadV3", "version": "1", "namespace": "", "library": str(PAD), "generation": "V3"}]
    assert f"plugin needed: CircPadV3, version 1, namespace '' (V3), from {PAD}" in tenon("inspect", plan).stdout
    missing = tenon("run", plan, status=1).stderr
    assert "no creator of plugin 'CircPadV3' version '1' namespace '' is registered" in missing
    assert f"had it from '{PAD}'" in missing
    tenon("run", plan, "--plugins", PAD)


@pytest.mark.parametrize("way", ["--staticPlugins", "--plugins", "--dynamicPlugins"])
def test_trtexec_takes_a_plugin_before_an_operator_when_told(way: str, tmp_path: pathlib.Path) -> None:
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", TensorProto.FLOAT, [1, 2, 5, 6])], [value("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "gate")], "gated", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "a.onnx")
    x = np.random.default_rng(8).standard_normal((1, 2, 5, 6), np.float32)
    x.tofile(tmp_path / "x.bin")
    words = [f"--onnx={tmp_path / 'a.onnx'}", f"{way}={LIBRARIES / 'libtenon_relu_library.so'}", *SHORT]
    words += [f"--loadInputs=x:{tmp_path / 'x.bin'}", f"--exportOutput={tmp_path / 'y.json'}"]
    padded = np.pad(x, [(0, 0), (0, 0), (1, 3), (2, 1)], mode="wrap")
    for flag, want in ([], np.maximum(x, 0)), (["--enablePluginOverride"], padded):
        trtexec(*words, *flag)
        (y,) = json.loads((tmp_path / "y.json").read_text())
        assert y["dimensions"] == "x".join(map(str, want.shape))
        np.testing.assert_array_equal(np.array(y["values"], np.float32).reshape(want.shape), want)


def test_trtexec_lets_plugins_alias_their_inputs_when_told(tmp_path: pathlib.Path) -> None:
    value = helper.make_tensor_value_info
    ports = [value("x", TensorProto.FLOAT, [5]), value("i", TensorProto.INT32, [2]), value("u", TensorProto.FLOAT, [2])]
    names = {"domain": "mine", "plugin_version": "1", "plugin_namespace": "special"}
    node = helper.make_node("InPlaceScatter", ["x", "i", "u"], ["y"], **names)
    graph = helper.make_graph([node], "g", ports, [value("y", TensorProto.FLOAT, [5])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "a.onnx")
    inputs = {"x": np.float32([1, 2, 3, 4, 5]), "i": np.int32([3, 1]), "u": np.float32([-4, -2])}
    for name, data in inputs.items():
        data.tofile(tmp_path / name)
    given = ",".join(f"{name}:{tmp_path / name}" for name in inputs)
    words = [f"--onnx={tmp_path / 'a.onnx'}", f"--staticPlugins={LIBRARIES / 'libtenon_special_library.so'}", *SHORT]
    done = trtexec(
        *words, "--preview=+aliasedPluginIO1003", f"--loadInputs={given}", f"--exportOutput={tmp_path / 'y'}"
    )
    assert "no effect" not in done.stdout + done.stderr
    (y,) = json.loads((tmp_path / "y").read_text())
    assert y["values"] == [1, -2, 3, -4, 5], "what is not updated comes from the input"


def test_the_trace_has_object_phase_thread_callback_and_reason(padded: pathlib.Path, tmp_path: pathlib.Path) -> None:
    calls = tmp_path / "calls.txt"
    tenon("plugin", "trace", "-o", calls, PROGRAM, "run", padded, "--plugins", PAD)
    lines = calls.read_text().splitlines()
    form = re.compile(
        r"(the (creator of|user's plugin|new plugin) 'CircPadV3' version '1' namespace ''"
        r"|plugin \d+ at 0x[0-9a-f]+ 'CircPadV3' version '1' namespace '' \(V3\), "
        r"(in a network|building|in an engine|in a context)), thread \d+: "
    )
    assert all(form.match(line) for line in lines)
    asked = [line for line in lines if " = " in line]
    assert all(re.search(r" = .* \(\d+\.\d us\), since \S", line) for line in asked)
    for phase, call in [
        ("building", "configurePlugin: configure, building: float32[1x2x5x6] LINEAR in"),
        ("building", "getFieldsToSerialize: store"),
        ("in an engine", "attachToContext: attach to a context"),
        ("in a context", "onShapeChange: shapes, before running"),
        ("in a context", "enqueue: run on stream"),
    ]:
        assert any(f", {phase}, " in line and call in line for line in lines), (phase, call)


def test_a_model_is_traced_by_running_it(padded: pathlib.Path) -> None:
    done = tenon("plugin", "trace", padded, "--plugins", PAD)
    assert "enqueue: run on stream" in done.stderr
    assert "wants a program" in tenon("plugin", "trace", status=2).stderr
    missing = tenon("plugin", "trace", "/no/such/program", status=1).stderr
    assert "'/no/such/program' cannot be started" in missing


def test_contents_reach_the_plugin(padded: pathlib.Path, tmp_path: pathlib.Path) -> None:
    x = np.random.default_rng(5).standard_normal((1, 2, 5, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    tenon("run", padded, "--plugins", PAD, "--input", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path / "out")
    y = np.load(tmp_path / "out" / "y.npy")
    np.testing.assert_array_equal(y, np.pad(x, [(0, 0), (0, 0), (1, 0), (2, 3)], mode="wrap"))


def one_node(path: pathlib.Path, op: str, **attributes: object) -> pathlib.Path:
    node = helper.make_node(op, ["x"], ["y"], domain="mine", **attributes)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def test_the_program_has_stock_plugins(tmp_path: pathlib.Path) -> None:
    fields = {"scales": [1.0, 2.0, 3.0], "bias": [0.0, 1.0, 0.0], "epsilon": 1e-3}
    model = one_node(tmp_path / "norm.onnx", "InstanceNormalization_TRT", plugin_version="1", **fields)
    tenon("build", model, "-o", tmp_path / "norm.plan")
    assert "y" in tenon("run", tmp_path / "norm.plan").stdout


def test_a_node_without_a_creator_names_what_there_is(tmp_path: pathlib.Path) -> None:
    model = one_node(tmp_path / "a.onnx", "InstanceNormalization_TRT", plugin_version="9", plugin_namespace="b")
    message = tenon("build", model, "-o", tmp_path / "a.plan", status=1).stderr
    assert "no plugin of version '9' and namespace 'b' stands for it" in message
    assert all(f"'InstanceNormalization_TRT' version '{i}' namespace ''" in message for i in (1, 2, 3))
    model = one_node(tmp_path / "b.onnx", "NoSuchPlugin")
    message = tenon("build", model, "-o", tmp_path / "b.plan", status=1).stderr
    assert "'NoSuchPlugin' of domain 'mine' is not supported, and no plugin of version '1'" in message


def test_libraries_may_register_themselves(tmp_path: pathlib.Path) -> None:
    model = one_node(tmp_path / "self.onnx", "SelfPad")
    message = tenon("build", model, "-o", tmp_path / "self.plan", status=1).stderr
    assert "no creator of plugin 'SelfPad' version '1' namespace '' is registered" in message
    library = LIBRARIES / "libtenon_static_library.so"
    tenon("build", model, "-o", tmp_path / "self.plan", "--plugins", library)
    assert "CircPadV3" in tenon("inspect", tmp_path / "self.plan").stdout


@pytest.mark.parametrize(
    "op, fault, died, callback",
    [
        ("FaultyV3", "crash", signal.SIGSEGV, "enqueue"),
        ("FaultyDynamic", "crash", signal.SIGSEGV, "enqueue"),
        ("FaultyV3", "throw", signal.SIGABRT, "onShapeChange"),
    ],
)
def test_a_crash_names_the_plugin(op: str, fault: str, died: signal.Signals, callback: str, tmp_path: pathlib.Path):
    model = one_node(tmp_path / "faulty.onnx", op, plugin_version="1", scale=2.5)
    plan = tmp_path / "faulty.plan"
    tenon("build", model, "-o", plan, "--plugins", FAULTY)
    message = tenon("run", plan, "--plugins", FAULTY, status=-died, FAULTY=fault).stderr
    assert f"the program dies ({died.name}) in {callback} of plugin '{op}' version '1'" in message


@pytest.mark.parametrize("library", ["own", "same"])
def test_libraries_may_register_themselves_and_export_as_well(library: str, tmp_path: pathlib.Path) -> None:
    model = one_node(tmp_path / "both.onnx", "Pad1")
    path = LIBRARIES / f"libtenon_{library}_library.so"
    tenon("build", model, "-o", tmp_path / "both.plan", "--plugins", path)


@pytest.mark.parametrize(
    "library, names", [("static", ["SelfPad"]), ("own", ["Pad1", "Pad2", "Pad3"]), ("same", ["Pad1", "Pad2"])]
)
def test_libraries_that_register_themselves_are_listed_and_checked(library: str, names: list[str]) -> None:
    path = LIBRARIES / f"libtenon_{library}_library.so"
    listed = json.loads(tenon("plugin", "list", path, "--json").stdout)
    assert [each["name"] for each in listed] == names
    done = tenon("plugin", "check", path, "--shapes", "2x3x4", "--json", status=1)
    reports = json.loads(done.stdout)
    told = [[finding["what"] for finding in report["findings"]] for report in reports]
    assert told == [[f"the plugin answers 'CircPadV3', its creator '{name}'"] for name in names]


def test_a_trace_that_cannot_be_opened_is_told(padded: pathlib.Path, tmp_path: pathlib.Path) -> None:
    nowhere = tmp_path / "none" / "calls.txt"
    refused = tenon("plugin", "trace", "-o", nowhere, padded, "--plugins", PAD, status=1).stderr
    assert f"'{nowhere}' cannot be opened: No such file or directory" in refused
    told = tenon("run", padded, "--plugins", PAD, TENON_PLUGIN_TRACE=str(nowhere), status=1).stderr
    assert told.count(f"TENON_PLUGIN_TRACE: '{nowhere}' cannot be opened: No such file or directory") == 1
