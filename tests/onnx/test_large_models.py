"""Models whose weights are above 2 GB: in external files, behind 4 GB of one, and in the model itself.

The files are sparse: zeros but for rows of random numbers at both ends and in the middle, which a size or offset of 32
bits would miss.
"""

import pathlib

import numpy as np
import onnx
import pytest
import tensorrt as trt
from onnx import helper, numpy_helper
from running import LOGGER, Refused

UINT8, FLOAT, INT64 = onnx.TensorProto.UINT8, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
GB = 2**30
WIDTH = 1024
ROWS = 2**21 + 4096  # Of WIDTH bytes: more elements than 31 bits count.
NEEDED = 6 * GB  # Of memory: the plan, and the pages of the table and of the plan's file.


def available_memory() -> int:
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


class Table:
    """uint8 [ROWS, WIDTH], zeros but for some rows."""

    def __init__(self, seed: int, rows: int = ROWS):
        draw = np.random.default_rng(seed)
        self.shape = (rows, WIDTH)
        self.ids = np.array([0, 1, rows // 2 + 77, rows - 2, rows - 1])
        self.rows = draw.integers(1, 100, (len(self.ids), WIDTH), np.uint8)

    @property
    def size(self) -> int:
        return self.shape[0] * WIDTH

    def write(self, file: pathlib.Path, offset: int) -> None:
        with file.open("r+b" if file.exists() else "w+b") as out:
            for at, row in zip(self.ids, self.rows, strict=True):
                out.seek(offset + int(at) * WIDTH)
                out.write(row.tobytes())


def external(name: str, kind: int, shape: tuple[int, ...], file: str, offset: int, length: int) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=kind, dims=shape, data_location=onnx.TensorProto.EXTERNAL)
    for key, value in {"location": file, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def model_of(nodes: list[onnx.NodeProto], inputs: dict[str, tuple], initializers: list) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()]
    ends = [onnx.ValueInfoProto(name=name) for node in nodes for name in node.output if name.startswith("y")]
    graph = helper.make_graph(nodes, "large", infos, ends, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def parsed(file: pathlib.Path) -> tuple[trt.Builder, trt.INetworkDefinition, trt.OnnxParser]:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    if not parser.parse_from_file(str(file)):
        raise Refused("; ".join(parser.get_error(i).desc() for i in range(parser.num_errors)))
    return builder, network, parser


def write_sparsely(file: pathlib.Path, data: memoryview) -> None:
    """The same bytes; blocks of zeros take no room."""
    block = 2**20
    with file.open("wb") as out:
        out.truncate(len(data))
        for at in range(0, len(data), block):
            part = np.frombuffer(data[at : at + block], np.uint8)
            if part.any():
                out.seek(at)
                out.write(part)


class Reader(trt.IStreamReader):
    def __init__(self, file: pathlib.Path):
        trt.IStreamReader.__init__(self)
        self.file = file.open("rb")

    def read(self, size: int) -> bytes:
        return self.file.read(size)


def result_of(engine: trt.ICudaEngine, feed: dict[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    context, y = engine.create_execution_context(), np.full(shape, np.nan, np.float32)
    for name, array in feed.items():
        context.set_input_shape(name, array.shape)
        context.set_tensor_address(name, array.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(0)
    return y


@pytest.mark.skipif(available_memory() < NEEDED, reason=f"{NEEDED // GB} GB of memory are needed")
def test_a_table_of_more_than_2_gb_behind_4_gb_of_a_file_goes_through_a_plan_of_that_size(
    tmp_path: pathlib.Path,
) -> None:
    table, offset = Table(1), 5 * GB + 64
    matrix = np.random.default_rng(2).standard_normal((WIDTH, 8), np.float32)
    table.write(tmp_path / "table.bin", offset)
    with (tmp_path / "matrix.bin").open("wb") as out:
        out.seek(4 * GB + 4096)
        out.write(matrix.tobytes())
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Cast", ["rows"], ["x"], to=FLOAT),
        helper.make_node("MatMul", ["x", "matrix"], ["y"]),
    ]
    weights = [
        external("table", UINT8, table.shape, "table.bin", offset, table.size),
        external("matrix", FLOAT, matrix.shape, "matrix.bin", 4 * GB + 4096, matrix.nbytes),
    ]
    onnx.save(model_of(nodes, {"ids": (INT64, ["n"])}, weights), tmp_path / "model.onnx")
    builder, network, _parser = parsed(tmp_path / "model.onnx")
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape("ids", (1,), (len(table.ids),), (len(table.ids),))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None and plan.nbytes > table.size > 2 * GB
    write_sparsely(tmp_path / "model.plan", memoryview(plan))
    del plan
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(Reader(tmp_path / "model.plan"))
    assert engine is not None
    y = result_of(engine, {"ids": table.ids}, (len(table.ids), 8))
    np.testing.assert_allclose(y, table.rows.astype(np.float32) @ matrix, rtol=1e-4, atol=1e-2)


def picked(tables: list[Table]) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Rows of each table."""
    nodes = [helper.make_node("Gather", [f"table{i}", f"ids{i}"], [f"y{i or ''}"]) for i in range(len(tables))]
    return nodes, [numpy_helper.from_array(table.ids, f"ids{i}") for i, table in enumerate(tables)]


def check_constants(file: pathlib.Path, tables: list[Table]) -> None:
    """What the network's constants are, which stay in the file's pages."""
    _builder, network, _parser = parsed(file)
    large = []
    for layer in (network.get_layer(i) for i in range(network.num_layers)):
        if layer.type == trt.LayerType.CONSTANT and np.prod(tuple(layer.get_output(0).shape)) > 2**20:
            layer.__class__ = trt.IConstantLayer
            large.append(layer)
    assert len(large) == len(tables)
    for layer, table in zip(large, tables, strict=True):
        found = np.asarray(layer.weights).reshape(table.shape)
        np.testing.assert_array_equal(found[table.ids], table.rows)
        assert not found[2].any() and not found[-3].any()


def test_several_files_of_together_more_than_2_gb(tmp_path: pathlib.Path) -> None:
    tables = [Table(seed, ROWS // 2) for seed in (4, 5, 6)]
    nodes, weights = picked(tables)
    for i, table in enumerate(tables):
        table.write(tmp_path / f"{i}.bin", i * 4096)
        weights.append(external(f"table{i}", UINT8, table.shape, f"{i}.bin", i * 4096, table.size))
    onnx.save(model_of(nodes, {}, weights), tmp_path / "model.onnx")
    check_constants(tmp_path / "model.onnx", tables)


def varint(number: int) -> bytes:
    low = number & 127
    return bytes([low]) if number < 128 else bytes([low | 128]) + varint(number >> 7)


def field(number: int, length: int) -> bytes:
    """What stands in front of so many bytes of a message."""
    return varint(number << 3 | 2) + varint(length)


def test_a_model_file_of_more_than_2_gb_which_protobuf_itself_refuses(tmp_path: pathlib.Path) -> None:
    table = Table(7)
    nodes, weights = picked([table])
    model = model_of(nodes, {}, weights)
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    tensor = onnx.TensorProto(name="table0", data_type=UINT8, dims=table.shape).SerializeToString()
    tensor += field(onnx.TensorProto.RAW_DATA_FIELD_NUMBER, table.size)
    front = field(onnx.GraphProto.INITIALIZER_FIELD_NUMBER, len(tensor) + table.size) + tensor
    whole = field(onnx.ModelProto.GRAPH_FIELD_NUMBER, len(graph) + len(front) + table.size)
    head = model.SerializeToString() + whole + graph + front
    (tmp_path / "model.onnx").write_bytes(head)
    table.write(tmp_path / "model.onnx", len(head))
    check_constants(tmp_path / "model.onnx", [table])
