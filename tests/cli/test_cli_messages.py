"""What the program says: of files that are something else, of hostile names, of memory, disks and mistyped commands."""

import gzip
import json
import pathlib
import pickle
import re
import struct
import subprocess
import zipfile
from collections.abc import Callable

import numpy as np
import onnx
import pytest
import tensorrt as trt
from onnx import TensorProto, helper
from test_cli import PATIENCE, PROGRAM, OnTerminal, save, tenon


def pytorch(path: pathlib.Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps([1]))
        archive.writestr("model/version", "3\n")


def legacy_pytorch(path: pathlib.Path) -> None:
    path.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2) + pickle.dumps(1001, protocol=2) + bytes(80))


def packed(path: pathlib.Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


def safetensors(path: pathlib.Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"
#: What stands in a file that is called model.onnx, and what is said of it.
OTHERS = {
    "git-lfs": (lambda path: path.write_text(LFS), "a pointer of Git LFS"),
    "html": (lambda path: path.write_text("\n<!DOCTYPE html><html><body>404</body></html>"), "an HTML page"),
    "html without a type": (lambda path: path.write_text("<HTML><head></head></HTML>" * 9), "an HTML page"),
    "json": (lambda path: path.write_text('{"message": "Not Found", "status": "404"}' + " " * 200), "a JSON text"),
    "xml": (lambda path: path.write_text('<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>'), "an XML text"),
    "zip": (packed, "a ZIP archive: unpack it"),
    "gzip": (lambda path: path.write_bytes(gzip.compress(bytes(500))), "compressed by gzip"),
    "PyTorch": (pytorch, "a ZIP archive of PyTorch"),
    "old PyTorch": (legacy_pytorch, "a pickle of PyTorch"),
    "pickle": (lambda path: path.write_bytes(pickle.dumps(list(range(300)))), "a Python pickle"),
    "TFLite": (lambda path: path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(200)), "a model of TensorFlow Lite"),
    "HDF5": (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200)), "an HDF5 file"),
    "safetensors": (safetensors, "weights in the form of safetensors"),
    "NumPy": (lambda path: np.save(path.open("wb"), np.zeros(99)), "an array of NumPy"),
    "zeros": (lambda path: path.write_bytes(bytes(4096)), "nothing but zeros"),
    "empty": (lambda path: path.write_bytes(b""), "an empty file"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_that_is_no_model_is_told_for_what_it_is(kind: str, tmp_path: pathlib.Path) -> None:
    make, what = OTHERS[kind]
    path = tmp_path / "model.onnx"
    make(path)
    said = tenon("build", path, status=1).stderr
    assert f"'{path}' are not an ONNX model but {what}" in said, said
    moved = path.rename(tmp_path / "model.plan")  # The same in the place of a plan.
    said = tenon("run", moved, status=1).stderr
    wanted = "is empty" if kind == "empty" else f"it is {what}"
    assert ("not a plan" in said or kind == "empty") and wanted in said, said


def test_a_plan_in_the_place_of_a_model_and_the_reverse(
    model: pathlib.Path,
    plan: pathlib.Path,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "a.onnx").write_bytes(plan.read_bytes())
    assert "not an ONNX model but a plan of Tenon" in tenon("build", tmp_path / "a.onnx", status=1).stderr
    (tmp_path / "a.plan").write_bytes(model.read_bytes())
    said = tenon("run", tmp_path / "a.plan", status=1).stderr
    assert "it is an ONNX model, it seems" in said and "tenon build" in said


def test_a_download_that_was_broken_off_says_how_much_there_should_be(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "whole.onnx", width=64)
    whole = (tmp_path / "whole.onnx").read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 200):
        (tmp_path / "cut.onnx").write_bytes(whole[:size])
        said = tenon("build", tmp_path / "cut.onnx", status=1).stderr
        found = re.search(r"the first part of one: it should have (\d+) bytes at least, and has (\d+)", said)
        assert found and size < int(found[1]) <= len(whole) and int(found[2]) == size, said
    (tmp_path / "noise.onnx").write_bytes(np.random.default_rng(1).bytes(900))
    assert "are not an ONNX model\n" in tenon("build", tmp_path / "noise.onnx", status=1).stderr


@pytest.mark.parametrize(
    ("opsets", "ir", "what"),
    [
        ([("", -3)], 8, "opset -3 does not exist"),
        ([("", 0)], 8, "opset 0 does not exist"),
        ([("ai.onnx", -1), ("", 17)], 8, "opset -1 does not exist"),
        ([("", 99)], 8, "opset 99; 9 to 28 are supported"),
        ([("", 17)], 15, "version 15 of the format (IR); 14 is the newest"),
        ([("", 17)], 2**40, "version 1099511627776 of the format (IR)"),
        ([("", 17)], None, "does not say which version of the format (IR)"),
        ([("", 17)], 13, None),
        ([("", 17)], 3, None),
        ([("", 17), ("elsewhere", -4)], 8, None),  # Of no node.
    ],
)
def test_versions_that_nobody_knows_are_refused_as_by_onnx_runtime(
    opsets: list[tuple[str, int]], ir: int | None, what: str | None, tmp_path: pathlib.Path
) -> None:
    import onnxruntime

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    proto = onnx.ModelProto()
    proto.graph.CopyFrom(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", ends[:1], ends[1:]))
    if ir is not None:
        proto.ir_version = ir
    for domain, version in opsets:
        proto.opset_import.add(domain=domain, version=version)
    (tmp_path / "a.onnx").write_bytes(proto.SerializeToString())
    done = tenon("build", tmp_path / "a.onnx", status=1 if what else 0)
    assert (what or "") in done.stderr and (what or done.stderr == "")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if what and "opset -1" not in what:  # ONNX Runtime takes the larger of two.
        with pytest.raises(Exception, match="."):  # noqa: B017
            onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    elif not what:
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


EVIL = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202ename"
LONG = "n" * 100_000


def hostile(path: pathlib.Path, name: str, operator: str = "Relu") -> None:
    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, ["n", 4]) for end in ("x" + name, "y" + name)]
    node = helper.make_node(operator, ["x" + name], ["y" + name], "node" + name)
    graph = helper.make_graph([node], "graph" + name, ends[:1], ends[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(proto.SerializeToString())


def is_plain(text: str) -> bool:
    """Nothing in it steers a terminal, and no line goes on for ever."""
    steering = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    return steering is None and all(len(line.encode()) < 2100 for line in text.splitlines())


@pytest.mark.parametrize("name", [EVIL, "with\nerror: lines\n", LONG[:4000]], ids=["steering", "lines", "long"])
def test_names_of_models_reach_a_terminal_escaped_and_shortened(name: str, tmp_path: pathlib.Path) -> None:
    hostile(tmp_path / "a.onnx", name)
    shapes = ["--shapes", f"x{name}=1x4:2x4:4x4"]
    told = [tenon("build", tmp_path / "a.onnx", status=1), tenon("build", tmp_path / "a.onnx", *shapes, "-v")]
    for command in (["run"], ["verify", "-v"], ["inspect"], ["inspect", "--decisions"], ["bench", "--seconds", "0.01"]):
        told.append(tenon(command[0], tmp_path / "a.plan", *command[1:]))
    told.append(tenon("inspect", tmp_path / "a.onnx"))
    told.append(tenon("run", tmp_path / "a.plan", "--shapes", f"x{name}=9x4", status=1))
    told.append(tenon("run", tmp_path / "a.plan", "--shapes", "z=9x4", status=2))
    hostile(tmp_path / "b.onnx", name, "Unknown")
    told.append(tenon("build", tmp_path / "b.onnx", *shapes, status=1))
    for done in told:
        assert is_plain(done.stdout) and is_plain(done.stderr), (done.args, done.stdout, done.stderr)
        lines = done.stderr.splitlines()
        assert not [line for line in lines if line.startswith("error: lines")], done.stderr
    if name == EVIL:
        assert any("\\x1b[2J" in done.stdout for done in told) and any("\\x1b[2J" in done.stderr for done in told)
    if name.startswith("n"):
        assert any("bytes left out" in done.stdout for done in told)


def test_names_that_are_too_long_for_the_api_are_not_printed_as_a_whole(tmp_path: pathlib.Path) -> None:
    hostile(tmp_path / "a.onnx", LONG)
    hostile(tmp_path / "b.onnx", LONG, "Unknown")
    for path in ("a.onnx", "b.onnx"):
        done = tenon("build", tmp_path / path, "--shapes", "x=2x4", status=1)
        assert is_plain(done.stderr) and "bytes left out" in done.stderr and len(done.stderr) < 20_000, done.stderr


def test_a_trace_that_cannot_be_written_is_a_failure(plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for variable in ("TENON_TRACE", "TENON_PLUGIN_TRACE"):
        command = ["run", plan]
        if variable == "TENON_PLUGIN_TRACE":
            command = ["plugin", "check", "stock", "--creator", "InstanceNormalization_TRT:1", "--in-process"]
            command += ["--fields", "epsilon=0.001,scales=1:2:3,bias=0:1:2", "--shapes", "1x3x4x4", "--no-empty"]
        clean = subprocess.run([PROGRAM, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE)
        assert clean.returncode == 0, clean.stdout + clean.stderr
        for target, why in (("/dev/full", "No space left"), (str(tmp_path / "no" / "file"), "No such file")):
            done = tenon(*command, status=1, **{variable: target})
            assert done.stdout.splitlines()[-1] == clean.stdout.splitlines()[-1]  # The work was done all the same.
            (line,) = [line for line in done.stderr.splitlines() if variable in line]
            assert target in line and why in line


def gathered(path: pathlib.Path, table: int = 10) -> None:
    ends = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4]),
    ]
    weights = helper.make_tensor("table", TensorProto.FLOAT, [table, 4], np.ones(4 * table, np.float32))
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["y"], "lookup")], "lookups", ends[:1], ends[1:], [weights]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_indices_out_of_range_are_told_by_verify_and_by_a_knob(tmp_path: pathlib.Path) -> None:
    gathered(tmp_path / "a.onnx")
    lookups = tmp_path / "a.plan"
    tenon("build", tmp_path / "a.onnx", "--shapes", "ids=1:4:8", "--quiet")
    wanted = "layer 'lookup', tensor 'ids'"
    for ids, bad in (([0, 9, -10, 3], None), ([3, 10, 77], (1, 10)), ([0, 0, 0, -11], (3, -11))):
        np.save(tmp_path / "ids.npy", np.array(ids, np.int64))
        given = ["--input", f"ids={tmp_path / 'ids.npy'}"]
        report = json.loads(tenon("verify", lookups, *given, "--json").stdout)
        assert report["ok"], "0 is what the API wants"
        found = [(each["index"], each["value"], each["extent"]) for each in report["indices_out_of_range"]]
        assert found == ([] if bad is None else [(*bad, 10)])
        lines = [line for line in tenon("verify", lookups, *given).stdout.splitlines() if "out of range" in line]
        assert len(lines) == len(found) and all(wanted in line for line in lines)
        assert tenon("run", lookups, *given).stderr == "", "in silence without the knob"
        said = tenon("run", lookups, *given, TENON_CHECK_INDICES="1").stderr.splitlines()
        assert len(said) == len(found)
        for line in said:
            assert line.startswith("warning: [" + wanted + "]"), line
            assert f"index {bad[1]} at position {bad[0]}" in line and "extent 10" in line, line


def packed_attention(path: pathlib.Path) -> None:
    """Two sequences in seven rows of queries, and as many in six rows of keys."""
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network()
    rows = [network.add_input(name, trt.float32, (count, 2, 8)) for name, count in (("q", 7), ("k", 6), ("v", 6))]
    attention = network.add_attention(*rows, trt.AttentionNormalizationOp.SOFTMAX, False)
    attention.query_form = attention.key_value_form = trt.AttentionIOForm.PACKED_NHD
    attention.query_lengths = network.add_input("starts", trt.int32, (3,))
    attention.key_value_lengths = network.add_input("key_starts", trt.int64, (3,))
    attention.name = "heads"
    attention.get_output(0).name = "y"
    network.mark_output(attention.get_output(0))
    path.write_bytes(bytes(builder.build_serialized_network(network, builder.create_builder_config())))


def recurrent(path: pathlib.Path) -> None:
    """Two sequences of at most four steps."""
    weights = [
        helper.make_tensor(name, TensorProto.FLOAT, extents, np.ones(np.prod(extents), np.float32))
        for name, extents in (("w", [1, 3, 5]), ("r", [1, 3, 3]))
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 2, 5]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, [2]),
    ]
    node = helper.make_node("RNN", ["x", "w", "r", "", "lengths"], ["y"], "cells", hidden_size=3)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 1, 2, 3])
    graph = helper.make_graph([node], "recurrent", inputs, [y], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path.with_suffix(".onnx")
    )
    tenon("build", path.with_suffix(".onnx"), "-o", path, "--quiet")


@pytest.mark.parametrize(
    ("build", "given", "layer", "bad"),
    [
        (packed_attention, {"starts": [0, 3, 7], "key_starts": [0, 2, 5]}, "heads", None),
        (packed_attention, {"starts": [0, 9, 7], "key_starts": [0, 2, 6]}, "heads", ("starts", 1, 9, 7)),
        (packed_attention, {"starts": [0, 3, 2], "key_starts": [0, 2, 6]}, "heads", ("starts", 2, 2, 7)),
        (packed_attention, {"starts": [0, 3, 7], "key_starts": [-1, 2, 6]}, "heads", ("key_starts", 0, -1, 6)),
        (recurrent, {"lengths": [0, 4]}, "cells", None),
        (recurrent, {"lengths": [4, 5]}, "cells", ("lengths", 1, 5, 4)),
        (recurrent, {"lengths": [-2, 4]}, "cells", ("lengths", 0, -2, 4)),
    ],
)
def test_lengths_and_starts_of_sequences_that_no_rows_have_are_told(
    build: Callable[[pathlib.Path], None],
    given: dict[str, list[int]],
    layer: str,
    bad: tuple[str, int, int, int] | None,
    tmp_path: pathlib.Path,
) -> None:
    plan = tmp_path / "a.plan"
    build(plan)
    arguments: list[object] = []
    for name, values in given.items():
        np.save(tmp_path / f"{name}.npy", np.array(values, np.int64 if name == "key_starts" else np.int32))
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    report = json.loads(tenon("verify", plan, *arguments, "--seed", 1, "--json").stdout)
    assert report["ok"], "they count as the nearest that can be"
    found = [(each["tensor"], each["index"], each["value"], each["extent"]) for each in report["indices_out_of_range"]]
    assert found == ([] if bad is None else [bad])
    lines = [line for line in tenon("verify", plan, *arguments, "--seed", 1).stdout.splitlines() if "out of" in line]
    told = [] if bad is None else [f"layer '{layer}', tensor '{bad[0]}': {bad[2]} at position {bad[1]}: "]
    assert len(lines) == len(told) and all(text in line for text, line in zip(told, lines, strict=True)), lines
    assert tenon("run", plan, *arguments, "--seed", 1).stderr == "", "in silence without the knob"
    said = tenon("run", plan, *arguments, "--seed", 1, TENON_CHECK_INDICES="1").stderr.splitlines()
    assert len(said) == len(told)
    for line in said:
        assert line.startswith(f"warning: [layer '{layer}', tensor '{bad[0]}'] the sequence "), line
        assert f"{bad[2]} at position {bad[1]} is out of range" in line and f"{bad[3]} rows" in line, line


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["biuld"], "'build'"),
        (["inspekt", "x"], "'inspect'"),
        (["ver"], "'verify'"),
        (["build", "MODEL", "--shape", "x=1"], "'--shapes'"),
        (["bench", "PLAN", "--second", "3"], "'--seconds'"),
        (["run", "PLAN", "--ouputs", "o"], "'--outputs'"),
        (["run", "PLAN", "--thread", "2"], "'--threads'"),
        (["plugin", "chekc", "p.so"], "'check'"),
        (["plugin", "lst"], "'list'"),
        (["frobnicate"], None),
        (["run", "PLAN", "--xyzzy"], None),
    ],
)
def test_mistyped_words_get_a_suggestion(
    words: list[str],
    meant: str | None,
    model: pathlib.Path,
    plan: pathlib.Path,
) -> None:
    places = {"MODEL": str(model), "PLAN": str(plan)}
    (line,) = tenon(*[places.get(word, word) for word in words], status=2).stderr.splitlines()
    assert line.startswith("tenon: there is no ") and next(w for w in reversed(words) if w in line)
    assert (f"Did you mean {meant}?" in line) if meant else "Did you mean" not in line, line


@pytest.mark.parametrize("command", ["run", "bench", "verify"])
def test_an_input_that_takes_more_memory_than_there_is_is_named_with_its_size(
    command: str, tmp_path: pathlib.Path
) -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("given", "made")]
    graph = helper.make_graph([helper.make_node("Relu", ["given"], ["made"])], "wide", ends[:1], ends[1:])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "wide.onnx"
    )
    tenon("build", tmp_path / "wide.onnx", "--shapes", f"given=1:8:{1 << 60}", "--quiet")
    said = tenon(command, tmp_path / "wide.plan", "--shapes", f"given={1 << 42}", status=1).stderr
    assert "given" in said and "bad_alloc" not in said, said
    bytes_of = (1 << 42) * (8 if command == "verify" else 4)  # verify computes in double.
    assert str(bytes_of) in said, said


@pytest.mark.parametrize(("seconds", "runs"), [("0.000000001", "1 run: "), ("0.3", " runs: min")])
def test_bench_tells_what_its_runs_bear(seconds: str, runs: str, plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for _ in range(10 if runs == " runs: min" else 1):  # A machine may stand still in some attempts.
        text = tenon("bench", plan, "--seconds", seconds).stdout
        if "99%" in text:
            break
    figures = json.loads(tenon("bench", plan, "--seconds", seconds, "--json").stdout)
    assert runs in text, text
    assert ("99%" in text) == ("median" in text) == (seconds == "0.3")
    assert (figures["p99_ms"] is None) == (figures["runs"] < 100) and figures["max_ms"] >= figures["median_ms"]


@pytest.mark.parametrize(("command", "label"), [("verify", "Comparing steps"), ("bench", "Measuring")])
def test_verify_and_bench_show_how_far_they_are(command: str, label: str, tmp_path: pathlib.Path) -> None:
    save(tmp_path / "deep.onnx", layers=30, width=256)
    tenon("build", tmp_path / "deep.onnx", "--shapes", "x=64x256", "--quiet")
    more = ["--seconds", "1"] if command == "bench" else []
    for _ in range(10 if command == "bench" else 1):  # A machine may stand still in the last run of some attempts.
        terminal = OnTerminal([command, str(tmp_path / "deep.plan"), *more])
        for _ in terminal.pieces_until_closed():
            pass
        assert terminal.process.wait(timeout=PATIENCE) == 0
        shares = [int(share) for share in re.findall(re.escape(label) + r"[^\[]*\[[# ]*\] *(\d+)%", terminal.text)]
        assert shares == sorted(shares) and terminal.text.endswith("\r\x1b[K"), terminal.text  # The line is free again.
        if len(shares) > 5 and shares[-1] > 80:
            break
    assert len(shares) > 5 and shares[-1] > 80, terminal.text
    done = tenon(command, tmp_path / "deep.plan", *more)
    assert done.stderr == "", "nothing in a pipe"


@pytest.mark.parametrize(
    "command",
    [["build"], ["run"], ["bench"], ["inspect"], ["verify"], ["knobs"], ["devices"], ["api"], ["plugin"]]
    + [["plugin", name] for name in ("check", "list", "trace")],
    ids=" ".join,
)
def test_examples_in_a_help_are_of_the_command_itself(command: list[str]) -> None:
    text = tenon(*command, "--help").stdout
    examples = [line.strip() for line in text.splitlines() if re.match(r"\s+(TENON_\w+=\S+ )?tenon ", line)]
    assert examples, text
    for example in examples:
        assert re.search(r"\btenon " + " ".join(command) + r"\b", example), example


def test_a_shape_that_does_not_fit_names_the_axis(plan: pathlib.Path) -> None:
    said = tenon("run", plan, "--shapes", "x=3x9", status=1).stderr
    assert "[3x9] does not fit [-1x8]: axis 1 has extent 8, not 9" in said
    said = tenon("run", plan, "--shapes", "x=17x8", status=1).stderr
    assert "is outside profile 0" in said and "see axis 0" in said
