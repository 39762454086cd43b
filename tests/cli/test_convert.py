"""tenon convert: what other programs read of a plan."""

import pathlib
import re

import numpy as np
import onnx
import pytest
import tensorrt as trt
from onnx import TensorProto, helper, numpy_helper
from test_cli import RANGE, OnTerminal, save, tenon

WIDTH = 24


def attributes(node: onnx.NodeProto) -> dict[str, object]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def converted(path: pathlib.Path, target: pathlib.Path, *options: object) -> onnx.ModelProto:
    tenon("convert", path, "-o", target, *options, "--quiet")
    model = onnx.load(target)
    onnx.checker.check_model(model)
    return model


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, np.ndarray]]:
    """Two convolutions, one with an activation, and a product; and their weights."""
    rng = np.random.default_rng(8)
    weights = {
        "first": rng.standard_normal((WIDTH, 3, 3, 3)).astype(np.float32),
        "second": rng.standard_normal((WIDTH, WIDTH, 1, 1)).astype(np.float32),
        "last": rng.standard_normal((WIDTH, 10)).astype(np.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["pixels", "first"], ["a"], name="conv/1", strides=[2, 2], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["a"], ["b"], name="relu/1"),
            helper.make_node("Conv", ["b", "second"], ["c"], name="conv/2"),
            helper.make_node("GlobalAveragePool", ["c"], ["d"], name="mean"),
            helper.make_node("Flatten", ["d"], ["e"], name="flat"),
            helper.make_node("MatMul", ["e", "last"], ["classes"], name="classifier"),
        ],
        "pictures",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    path = tmp_path_factory.mktemp("convert") / "pictures.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    tenon("build", path, "--shapes", "pixels=1x3x16x16:2x3x16x16:4x3x16x16", "--quiet")
    return path.with_suffix(".plan"), weights


def test_nodes_are_named_after_the_layers_of_the_user(
    pictures: tuple[pathlib.Path, dict[str, np.ndarray]], tmp_path: pathlib.Path
) -> None:
    model = converted(pictures[0], tmp_path / "shown.onnx")
    assert [value.name for value in model.graph.input] == ["pixels"]
    assert [value.name for value in model.graph.output] == ["classes"]
    assert all(node.domain == "tenon" for node in model.graph.node) and not model.graph.initializer
    (fused,) = [node for node in model.graph.node if "conv/1" in node.name]
    facts = attributes(fused)
    assert fused.op_type == "Convolution" and facts["origins"] == [b"conv/1", b"relu/1"]
    assert facts["KernelSizeNd"] == [3, 3] and facts["StrideNd"] == [2, 2] and facts["NbOutputMaps"] == WIDTH
    assert facts["kernel"].startswith(b"convolution/") and facts["estimated_us"] > 0
    assert any(text.startswith(b"first: ") and b"24x3x3x3" in text for text in facts["weights"])
    origins = {name for node in model.graph.node for name in attributes(node).get("origins", [])}
    assert {b"conv/1", b"relu/1", b"conv/2", b"mean", b"classifier"} <= origins


def test_tensors_have_types_and_shapes(
    pictures: tuple[pathlib.Path, dict[str, np.ndarray]], tmp_path: pathlib.Path
) -> None:
    graph = converted(pictures[0], tmp_path / "shown.onnx").graph
    known = {value.name: value.type.tensor_type for value in [*graph.input, *graph.value_info, *graph.output]}
    made = [name for node in graph.node for name in node.output]
    assert len(made) == len(set(made)) and set(made) <= known.keys()
    assert all(known[name].elem_type == TensorProto.FLOAT for name in made)
    shapes = {tuple(d.dim_param or d.dim_value for d in known[name].shape.dim) for name in made}
    batch = next(shape[0] for shape in shapes if shape[1:] == (WIDTH, 8, 8))
    assert isinstance(batch, str)
    assert known["classes"].shape.dim[1].dim_value == 10


def test_weights_are_those_of_the_model(
    pictures: tuple[pathlib.Path, dict[str, np.ndarray]], tmp_path: pathlib.Path
) -> None:
    path, weights = pictures
    graph = converted(path, tmp_path / "whole.onnx", "--weights").graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name, want in weights.items():
        found = [value for key, value in stored.items() if name in key]
        assert len(found) == 1, (name, list(stored))
        np.testing.assert_array_equal(found[0].reshape(want.shape), want)
    read = {name for node in graph.node for name in node.input}
    assert stored.keys() <= read


def test_a_model_is_built_first(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    graph = converted(model, tmp_path / "shown.onnx", "--shapes", RANGE).graph
    assert attributes(graph.node[0])["origins"] == [b"product0", b"relu0"]


def test_a_step_that_has_no_layer_has_a_name_too(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tenon("build", model, "--shapes", RANGE, "--quiet", "-o", tmp_path / "m.plan", TENON_FUSION="off")
    names = [node.name for node in converted(tmp_path / "m.plan", tmp_path / "shown.onnx").graph.node]
    assert len(names) == len(set(names)) >= 2


def test_what_is_converted_is_not_written_over(plan: pathlib.Path) -> None:
    before = plan.read_bytes()
    assert "a file of its own" in tenon("convert", plan, "-o", plan, status=2).stderr
    assert plan.read_bytes() == before


def test_what_is_no_plan_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "odd.plan").write_bytes(b"something else")
    done = tenon("convert", tmp_path / "odd.plan", "-o", tmp_path / "shown.onnx", status=1)
    assert "not a plan" in done.stderr and not (tmp_path / "shown.onnx").exists()


def test_a_report_says_where_the_time_went(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = tenon("build", model, "-o", tmp_path / "m.plan", "--shapes", RANGE, "--report").stdout
    phases = [line.split("s  ", 1)[1] for line in re.findall(r"^ +[0-9.]+ s  .+$", text, re.M)]
    assert {"Reading the model", "Building Engine", "Building kernels"} <= set(phases)
    assert len(phases) == len(set(phases)), "a phase that comes again has one row"
    for words in ("Reading the model", "Optimizing", "Building kernels", "layers became", "kernels on", "decisions:"):
        assert words in text, text
    assert "fuse" in text and "profile 0" in text
    assert "--report" in tenon("build", model, "-o", "/dev/stdout", "--shapes", RANGE, "--report", status=2).stderr


@pytest.mark.parametrize(
    ("command", "phase"),
    [
        (["build", "MODEL", "--shapes", "SHAPES"], r"Building kernels \d+/\d+"),
        (["verify", "MODEL", "--shapes", "SHAPES"], r"Comparing steps \d+/\d+"),
        (["verify", "MODEL", "--against", "onnxruntime", "--shapes", "SHAPES"], r"Comparing nodes \d+/\d+"),
        (["bench", "MODEL", "--shapes", "SHAPES", "--seconds", "0.5"], r"Measuring runs \d+/\d+"),
        (["inspect", "MODEL", "--html", "/dev/null", "--profile", "--shapes", "SHAPES"], r"Timing steps, run \d+/\d+"),
        (
            ["plugin", "check", "stock", "--creator", "InstanceNormalization_TRT:3", "--fields", "FIELDS"],
            r"InstanceNormalization_TRT: \w+ \d+/\d+",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_what_takes_long_shows_phase_count_and_rest(command: list[str], phase: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "deep.onnx"
    save(path, layers=20, width=256)
    words = {"MODEL": str(path), "SHAPES": "x=1x256:8x256:64x256", "FIELDS": "scales=1:2:3,bias=0:1:2"}
    terminal = OnTerminal([words.get(word, word) for word in command])
    for _ in terminal.pieces_until_closed():
        pass
    assert terminal.process.wait() == 0, terminal.text
    assert re.search(phase + r" +\[[# ]{30}\] +\d+%  about [\d.]+ s left", terminal.text), terminal.text
    assert terminal.text.endswith("\r\x1b[K")


def product_of(
    weights: list[onnx.TensorProto], nodes: list[onnx.NodeProto], opset: int, version: int
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=version)


@pytest.mark.parametrize(
    "kind, number, version",
    [(trt.fp4, TensorProto.FLOAT4E2M1, 11), (trt.fp8, TensorProto.FLOAT8E4M3FN, 10), (trt.int8, TensorProto.INT8, 10)],
)
def test_the_version_is_one_that_has_the_types(
    kind: trt.DataType, number: int, version: int, tmp_path: pathlib.Path
) -> None:
    """Of a network whose input is of that type."""
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    scale = network.add_constant((), np.float32([0.5])).get_output(0)
    y = network.add_dequantize(network.add_input("x", kind, (4, 8)), scale, trt.float32).get_output(0)
    y.name = "y"
    network.mark_output(y)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    (tmp_path / "few.plan").write_bytes(bytes(plan))
    model = converted(tmp_path / "few.plan", tmp_path / "shown.onnx")
    assert model.graph.input[0].type.tensor_type.elem_type == number and model.ir_version == version


def test_a_weight_that_several_read_is_written_once(tmp_path: pathlib.Path) -> None:
    weight = np.random.default_rng(10).standard_normal((8, 8)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])]
    onnx.save(product_of([numpy_helper.from_array(weight, "w")], nodes, 17, 8), tmp_path / "twice.onnx")
    tenon("build", tmp_path / "twice.onnx", "--quiet")
    initializers = converted(tmp_path / "twice.plan", tmp_path / "shown.onnx", "--weights").graph.initializer
    assert len(initializers) >= 1 and len({tensor.raw_data for tensor in initializers}) == len(initializers)
    np.testing.assert_array_equal(numpy_helper.to_array(initializers[0]), weight)


def test_it_says_what_it_wrote_in_a_unit_that_fits(
    pictures: tuple[pathlib.Path, dict[str, np.ndarray]], tmp_path: pathlib.Path
) -> None:
    target = tmp_path / "shown.onnx"
    said = tenon("convert", pictures[0], "-o", target).stdout
    size, unit = re.fullmatch(rf"{target}: ([\d.]+) (B|KiB)\n", said).groups()
    scale = {"B": 1, "KiB": 1024}[unit]
    assert float(size) == pytest.approx(target.stat().st_size / scale, abs=0.051)
