"""Single operators against ONNX Runtime, through one plan with a dynamic profile and several shapes."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from running import check_equal, plan_of, run

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL


@dataclasses.dataclass
class Case:
    """A node; `inputs`: per run, the shapes of the inputs that are not constants; a -1 in `declared` is dynamic."""

    op: str
    declared: list[tuple]
    runs: list[list[tuple]]
    attributes: dict = dataclasses.field(default_factory=dict)
    constants: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)  # By position among the inputs.
    opset: int = 18
    types: list[int] | None = None
    outputs: int = 1
    low: float = -2.0
    high: float = 2.0
    note: str = ""

    def __str__(self) -> str:
        text = "-".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.op}-{self.opset}-{self.note or text or len(self.declared)}"

    def model(self) -> onnx.ModelProto:
        names, infos, constants = [], [], []
        dynamic = iter(enumerate(self.declared))
        for i in range(len(self.declared) + len(self.constants)):
            if i in self.constants:
                array = self.constants[i]
                names.append(f"c{i}" if array is not None else "")
                if array is not None:
                    constants.append(numpy_helper.from_array(array, f"c{i}"))
                continue
            k, shape = next(dynamic)
            names.append(f"x{k}")
            dims = [f"d{k}_{j}" if extent == -1 else extent for j, extent in enumerate(shape)]
            infos.append(helper.make_tensor_value_info(f"x{k}", self.type_of(k), dims))
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, results, name=self.op, **self.attributes)
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph([node], "g", infos, outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)

    def type_of(self, i: int) -> int:
        return self.types[i] if self.types else FLOAT

    def feeds(self) -> list[dict[str, np.ndarray]]:
        random = np.random.default_rng(len(self.op) + self.opset)
        return [
            {f"x{i}": self.array(random, shape, self.type_of(i)) for i, shape in enumerate(shapes)}
            for shapes in self.runs
        ]

    def array(self, random: np.random.Generator, shape: tuple, kind: int) -> np.ndarray:
        if kind == FLOAT:
            return random.uniform(self.low, self.high, shape).astype(np.float32)
        if kind == BOOL:
            return random.integers(0, 2, shape).astype(bool)
        return random.integers(int(self.low), int(self.high) + 1, shape, helper.tensor_dtype_to_np_dtype(kind))


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).standard_normal(shape).astype(np.float32)


def ints(*elements: int) -> np.ndarray:
    return np.array(elements, np.int64)


def unary(op: str, low: float = -2.0, high: float = 2.0, opset: int = 18, **attributes) -> Case:
    return Case(op, [(-1, 3)], [[(2, 3)], [(5, 3)]], attributes, low=low, high=high, opset=opset)


def binary(op: str, types: list[int] | None = None, low: float = -3.0, high: float = 3.0, **more) -> Case:
    return Case(
        op, [(-1, 3, 4), (3, 1)], [[(2, 3, 4), (3, 1)], [(1, 3, 4), (3, 1)]], types=types, low=low, high=high, **more
    )


UNARY = [
    *(
        unary(op)
        for op in "Abs Atan Ceil Cos Erf Exp Floor Neg Relu Round Sigmoid Sign Sin Softplus Softsign Tanh".split()
    ),
    *(
        unary(op)
        for op in "Asinh Cosh Sinh Tan Identity Elu Selu LeakyRelu HardSigmoid HardSwish ThresholdedRelu".split()
    ),
    *(unary(op, 0.1, 3.0) for op in "Log Sqrt Reciprocal".split()),
    *(unary(op, -0.9, 0.9) for op in "Acos Asin Atanh".split()),
    unary("Acosh", 1.1, 4.0),
    unary("Mish"),
    unary("Celu", alpha=0.7),
    unary("Gelu", opset=20),
    unary("Gelu", opset=20, approximate="tanh"),
    unary("Shrink", lambd=0.6, bias=0.3),
    unary("LeakyRelu", alpha=0.3),
    unary("Softmax", axis=0),
    unary("LogSoftmax", axis=-1),
    unary("Hardmax", axis=1),
    unary("Cast", to=INT32),
    unary("Cast", to=BOOL),
    unary("Clip", opset=6, min=-0.5, max=1.0),
]

ELEMENTWISE = [
    *(binary(op) for op in "Add Sub Mul Div Max Min Sum Mean PRelu".split()),
    *(binary(op) for op in "Equal Greater Less GreaterOrEqual LessOrEqual".split()),
    *(binary(op, [INT64, INT64], -9, 9) for op in "Add Sub Mul Equal Less Max".split()),
    *(binary(op, [BOOL, BOOL]) for op in "And Or Xor Equal".split()),
    binary("Pow", low=0.2, high=2.0),
    binary("Mod", attributes={"fmod": 1}, low=1.0, high=9.0),
    Case("Mod", [(-1, 3)], [[(2, 3)], [(4, 3)]], constants={1: ints(4, -3, 7)}, types=[INT64], low=-20, high=20),
    Case("Div", [(-1, 3)], [[(2, 3)], [(4, 3)]], constants={1: ints(4, -3, 7)}, types=[INT64], low=-20, high=20),
    Case("Pow", [(-1, 3)], [[(2, 3)], [(4, 3)]], constants={1: np.array(3.0, np.float32)}),
    Case(
        "Where", [(-1, 1), (3,), (-1, 3)], [[(2, 1), (3,), (2, 3)], [(5, 1), (3,), (5, 3)]], types=[BOOL, FLOAT, FLOAT]
    ),
    Case("Not", [(-1, 2)], [[(3, 2)]], types=[BOOL]),
    Case("Clip", [(-1, 3)], [[(2, 3)]], constants={1: np.array(-0.5, np.float32), 2: np.array(1.0, np.float32)}),
    Case("Clip", [(-1, 3)], [[(2, 3)]], constants={1: None, 2: np.array(0.25, np.float32)}, note="no-min"),
    Case("Clip", [(-1, 3)], [[(2, 3)]], constants={1: ints(-1)[0], 2: ints(2)[0]}, types=[INT64], low=-9, high=9),
]

NCHW = [(-1, 4, -1, -1)]
IMAGES = [[(1, 4, 9, 11)], [(3, 4, 12, 8)]]
WINDOWS = [
    Case("Conv", NCHW, IMAGES, {"pads": [1, 1, 1, 1]}, {1: floats(6, 4, 3, 3), 2: floats(6)}),
    Case("Conv", NCHW, IMAGES, {"strides": [2, 1], "dilations": [1, 2], "group": 2}, {1: floats(6, 2, 3, 3)}),
    Case("Conv", NCHW, IMAGES, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {1: floats(4, 4, 3, 3)}),
    Case("Conv", NCHW, IMAGES, {"auto_pad": "SAME_LOWER"}, {1: floats(4, 4, 2, 2)}),
    Case("Conv", [(-1, 4, -1)], [[(1, 4, 9)], [(2, 4, 20)]], {"pads": [1, 0]}, {1: floats(5, 4, 3), 2: floats(5)}),
    Case("Conv", [(1, 2, 5, 6, 7)], [[(1, 2, 5, 6, 7)]], {"pads": [1] * 6}, {1: floats(3, 2, 3, 3, 3)}),
    Case("Conv", [(-1, 4, 8, 8), (6, 4, 3, 3)], [[(2, 4, 8, 8), (6, 4, 3, 3)]], {}, note="kernel-is-a-tensor"),
    Case("ConvTranspose", NCHW, IMAGES, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, {1: floats(4, 3, 3, 3),
         2: floats(3)}),
    Case("ConvTranspose", NCHW, IMAGES, {"strides": [2, 2], "output_padding": [1, 1]}, {1: floats(4, 3, 2, 2)}),
    Case("ConvTranspose", NCHW, IMAGES, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {1: floats(4, 3, 3, 3)}),
    Case("ConvTranspose", [(-1, 4, -1)], [[(1, 4, 9)]], {"strides": [3], "group": 2}, {1: floats(4, 2, 4)}),
    Case("MaxPool", NCHW, IMAGES, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    Case("MaxPool", NCHW, IMAGES, {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    Case("MaxPool", [(-1, 4, -1)], [[(2, 4, 9)]], {"kernel_shape": [3]}),
    Case("AveragePool", NCHW, IMAGES, {"kernel_shape": [3, 2], "strides": [3, 2]}),
    Case("AveragePool", NCHW, IMAGES, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Case("AveragePool", NCHW, IMAGES, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, note="padding-not-counted"),
    Case("GlobalAveragePool", NCHW, IMAGES),
    Case("GlobalMaxPool", NCHW, IMAGES),
    Case("LRN", NCHW, IMAGES, {"size": 3, "alpha": 0.1}),
    Case("Resize", NCHW, IMAGES, {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
         "nearest_mode": "floor"},
         {1: None, 2: np.array([1, 1, 2, 2], np.float32)}),
    Case("Resize", NCHW, IMAGES, {"mode": "linear"}, {1: None, 2: np.array([1, 1, 2, 1.5], np.float32)}),
    Case("Resize", [(2, 4, -1, -1)], [[(2, 4, 9, 11)]], {"mode": "linear",
         "coordinate_transformation_mode": "align_corners"},
         {1: None, 2: None, 3: ints(2, 4, 7, 20)}, note="sizes"),
    Case("Resize", NCHW, IMAGES, {"mode": "cubic"}, {1: None, 2: np.array([1, 1, 2, 2], np.float32)}),
    Case("Upsample", NCHW, IMAGES, {"mode": "nearest"}, {1: np.array([1, 1, 2, 3], np.float32)}, opset=9),
    Case("DepthToSpace", [(-1, 8, -1, 3)], [[(1, 8, 2, 3)], [(2, 8, 5, 3)]], {"blocksize": 2}),
    Case("DepthToSpace", [(-1, 8, -1, 3)], [[(1, 8, 2, 3)]], {"blocksize": 2, "mode": "CRD"}),
    Case("SpaceToDepth", [(-1, 2, -1, 6)], [[(1, 2, 4, 6)], [(2, 2, 8, 6)]], {"blocksize": 2}),
]  # fmt: skip

MATRICES = [
    Case("MatMul", [(-1, 3, 5), (5, 4)], [[(2, 3, 5), (5, 4)]]),
    Case("MatMul", [(-1, 5)], [[(2, 5)], [(7, 5)]], constants={1: floats(5, 4)}),
    Case("MatMul", [(2, -1, 3, 5), (-1, 5, 4)], [[(2, 6, 3, 5), (6, 5, 4)], [(2, 1, 3, 5), (3, 5, 4)]]),
    Case("MatMul", [(5,), (-1, 5, 4)], [[(5,), (3, 5, 4)]], note="vector-matrix"),
    Case("MatMul", [(-1, 3, 5), (5,)], [[(2, 3, 5), (5,)]], note="matrix-vector"),
    Case("MatMul", [(5,), (5,)], [[(5,), (5,)]], note="vector-vector"),
    Case("Gemm", [(-1, 5)], [[(2, 5)], [(7, 5)]], {"transB": 1}, {1: floats(4, 5), 2: floats(4)}),
    Case("Gemm", [(5, -1)], [[(5, 2)]], {"transA": 1, "alpha": 0.5, "beta": 2.0}, {1: floats(5, 4), 2: floats(1, 4)}),
]

BATCH = [floats(4), floats(4), floats(4), np.abs(floats(4)) + 0.5]
NORMS = [
    Case("BatchNormalization", NCHW, IMAGES, {"epsilon": 1e-3}, dict(enumerate(BATCH, 1))),
    Case("BatchNormalization", [(-1, 4)], [[(3, 4)]], {}, dict(enumerate(BATCH, 1)), note="rank-2"),
    Case("InstanceNormalization", NCHW, IMAGES, {"epsilon": 1e-3}, {1: floats(4), 2: floats(4)}),
    Case("LayerNormalization", [(-1, 3, 8)], [[(2, 3, 8)], [(4, 3, 8)]], {}, {1: floats(8), 2: floats(8)}),
    Case("LayerNormalization", [(-1, 3, 8)], [[(2, 3, 8)]], {"axis": 1}, {1: floats(3, 8)}),
    Case("LayerNormalization", [(-1, 3, 8)], [[(2, 3, 8)]], {}, {1: floats(8), 2: floats(8)}, outputs=3,
         note="statistics"),
    Case("GroupNormalization", NCHW, IMAGES, {"num_groups": 2}, {1: floats(4), 2: floats(4)}, opset=21),
    Case("MeanVarianceNormalization", NCHW, IMAGES),
    Case("LpNormalization", [(-1, 5)], [[(3, 5)]], {"axis": 1, "p": 2}),
    Case("Softmax", [(2, -1, 4)], [[(2, 3, 4)], [(2, 5, 4)]], {"axis": 1}, opset=11),
    Case("LogSoftmax", [(2, -1, 4)], [[(2, 3, 4)]], {"axis": 1}, opset=11),
    *(Case(op, [(-1, 3, 4)], [[(2, 3, 4)], [(5, 3, 4)]], {"axes": [1], "keepdims": 0}, opset=11, low=0.2)
      for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                 "ReduceProd", "ReduceSum")),
    Case("ReduceMean", [(-1, 3, 4)], [[(2, 3, 4)]], {}, {1: ints(-1, 1)}),
    Case("ReduceSum", [(-1, 3, 4)], [[(2, 3, 4)]], {"keepdims": 0}, note="all-axes"),
    Case("ReduceSumSquare", [(-1, 3, 4)], [[(2, 3, 4)]], {}, {1: ints(0)}),
]  # fmt: skip

SHAPES = [
    Case("Reshape", [(-1, 3, 4)], [[(2, 3, 4)], [(5, 3, 4)]], {}, {1: ints(0, -1)}),
    Case("Reshape", [(-1, 3, 4)], [[(2, 3, 4)]], {}, {1: ints(-1, 6)}),
    *(Case("Flatten", [(-1, 3, -1, 4)], [[(2, 3, 5, 4)], [(1, 3, 2, 4)]], {"axis": axis}) for axis in (0, 1, 2, 3,
         4, -1)),
    Case("Transpose", [(-1, 3, 4)], [[(2, 3, 4)]], {"perm": [2, 0, 1]}),
    Case("Transpose", [(-1, 3, 4)], [[(2, 3, 4)]], note="reverse"),
    Case("Squeeze", [(-1, 1, 4)], [[(2, 1, 4)]], {}, {1: ints(1)}),
    Case("Squeeze", [(-1, 1, 4)], [[(2, 1, 4)]], {"axes": [-2]}, opset=11),
    Case("Unsqueeze", [(-1, 4)], [[(2, 4)]], {}, {1: ints(0, -1)}),
    Case("Shape", [(-1, 3, -1)], [[(2, 3, 4)], [(5, 3, 1)]]),
    Case("Shape", [(-1, 3, -1)], [[(2, 3, 4)]], {"start": 1, "end": -1}),
    Case("Size", [(-1, 3, -1)], [[(2, 3, 4)], [(5, 3, 1)]]),
    Case("Concat", [(-1, 3), (-1, 3)], [[(2, 3), (4, 3)], [(1, 3), (1, 3)]], {"axis": 0}),
    Case("Concat", [(2, 3), (2, 1)], [[(2, 3), (2, 1)]], {"axis": -1}),
    Case("Slice", [(-1, 6)], [[(4, 6)], [(9, 6)]], {}, {1: ints(1, -4), 2: ints(2**63 - 1, -1), 3: ints(0, 1),
         4: ints(1, 2)}),
    Case("Slice", [(-1, 6)], [[(4, 6)], [(9, 6)]], {}, {1: ints(-1), 2: ints(-(2**63) + 1), 3: ints(0), 4: ints(-1)}),
    Case("Slice", [(-1, 6)], [[(4, 6)], [(2, 6)]], {}, {1: ints(-3), 2: ints(100), 3: ints(0)},
         note="beyond-both-ends"),
    Case("Slice", [(-1, 6)], [[(4, 6)]], {"starts": [1, 1], "ends": [3, 5], "axes": [0, 1]}, opset=9),
    Case("Split", [(-1, 7)], [[(2, 7)]], {"axis": 1}, {1: ints(2, 4, 1)}, outputs=3),
    Case("Split", [(-1, 6)], [[(2, 6)]], {"axis": 1}, opset=11, outputs=3),
    Case("Split", [(-1, 7)], [[(2, 7)]], {"axis": 1, "num_outputs": 3}, outputs=3),
    Case("Expand", [(-1, 1)], [[(2, 1)], [(1, 1)]], {}, {1: ints(3, 1, 4)}),
    Case("Expand", [(3, 1)], [[(3, 1)]], {}, {1: ints(2, 3, 6)}),
    Case("Tile", [(-1, 3)], [[(2, 3)], [(4, 3)]], {}, {1: ints(2, 3)}),
    Case("Pad", NCHW, IMAGES, {}, {1: ints(0, 0, 1, 2, 0, 0, 3, 0), 2: np.array(1.5, np.float32)}),
    Case("Pad", NCHW, IMAGES, {"mode": "reflect"}, {1: ints(0, 0, 1, 2, 0, 0, 3, 0)}),
    Case("Pad", NCHW, IMAGES, {"mode": "edge"}, {1: ints(0, 1, 1, 2, 0, 0, 3, 0)}),
    Case("Pad", NCHW, IMAGES, {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "value": 2.5}, opset=10),
    Case("Trilu", [(-1, 4, -1)], [[(2, 4, 5)], [(1, 4, 3)]]),
    Case("Trilu", [(-1, 4, -1)], [[(2, 4, 5)]], {"upper": 0}, {1: ints(1)[0]}),
    Case("ConstantOfShape", [], [[]], {"value": helper.make_tensor("v", FLOAT, [1], [1.25])}, {0: ints(2, 3)}),
]  # fmt: skip

PICKS = [
    Case("Gather", [(-1, 6)], [[(4, 6)], [(7, 6)]], {"axis": 1}, {1: np.array([[0, 5], [-1, 2]], np.int64)}),
    Case("Gather", [(6, -1), (-1,)], [[(6, 4), (3,)], [(6, 2), (8,)]], types=[FLOAT, INT64], low=0, high=5),
    Case("GatherElements", [(3, 4), (2, 4)], [[(3, 4), (2, 4)]], {"axis": 0}, types=[FLOAT, INT64], low=0, high=2),
    Case("GatherND", [(3, 4, -1)], [[(3, 4, 5)]], {}, {1: np.array([[0, 1], [2, 3]], np.int64)}),
    Case(
        "ScatterElements",
        [(3, 4), (2, 4)],
        [[(3, 4), (2, 4)]],
        {"axis": 0},
        {1: np.array([[0, 1, 2, 0], [1, 2, 0, 1]])},
    ),
    Case("ScatterND", [(5, -1), (2, -1)], [[(5, 3), (2, 3)]], {}, {1: np.array([[1], [4]], np.int64)}),
    Case("TopK", [(-1, 9)], [[(3, 9)], [(5, 9)]], {}, {1: ints(4)}, outputs=2),
    Case("TopK", [(-1, 9)], [[(3, 9)]], {"largest": 0, "axis": -1}, {1: ints(4)}, outputs=2),
    Case("ArgMax", [(-1, 9)], [[(3, 9)]], {"axis": 1, "keepdims": 0}),
    Case("ArgMin", [(4, -1)], [[(4, 3)]], {"axis": 0}),
    Case("CumSum", [(-1, 5)], [[(3, 5)]], {}, {1: ints(1)[0]}),
    Case("CumSum", [(-1, 5)], [[(3, 5)]], {"exclusive": 1, "reverse": 1}, {1: ints(0)[0]}),
    Case(
        "OneHot",
        [(-1,)],
        [[(4,)]],
        {},
        {1: ints(5)[0], 2: np.array([0.5, 2.0], np.float32)},
        types=[INT64],
        low=0,
        high=4,
    ),
    Case("NonZero", [(-1, 4)], [[(3, 4)]], types=[BOOL]),
    Case("IsNaN", [(-1, 3)], [[(2, 3)]]),
    Case("EyeLike", [(3, 4)], [[(3, 4)]], {"k": 1}),
]


# Accepted by the importer, refused by the engine: an entry goes when its layer is there.
LATER = [
    Case("Einsum", [(-1, 3, 4), (2, 4, 5)], [[(2, 3, 4), (2, 4, 5)]], {"equation": "bij,bjk->bik"}),
]


@pytest.mark.xfail(reason="the engine has no Einsum layer yet", strict=True)
@pytest.mark.parametrize("case", LATER, ids=str)
def test_operator_whose_layer_is_not_there_yet(case: Case) -> None:
    test_operator(case)


@pytest.mark.parametrize("case", UNARY + ELEMENTWISE + WINDOWS + MATRICES + NORMS + SHAPES + PICKS, ids=str)
def test_operator(case: Case) -> None:
    model = case.model()
    feeds = case.feeds()
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feed, found in zip(feeds, run(plan_of(model, feeds), feeds), strict=True):
        for name, expected in zip([info.name for info in session.get_outputs()], session.run(None, feed), strict=True):
            check_equal(found[name], np.asarray(expected), f"{case} {[x.shape for x in feed.values()]} {name}")


def graph_model(nodes, inputs, outputs, initializers=(), opset: int = 17) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    arrays = [numpy_helper.from_array(array, name) for name, array in initializers]
    graph = helper.make_graph(nodes, "g", infos, results, arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def shape_arithmetic() -> onnx.ModelProto:
    """What exporters write for x.view(b, -1, 2), expand to [b, 3, ...], arange(seq) and a mask of ones."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "i0"], ["b"]),
        helper.make_node("Gather", ["s", "i1"], ["n"]),
        helper.make_node("Unsqueeze", ["b", "zero"], ["b1"]),
        helper.make_node("Concat", ["b1", "rest"], ["view"], axis=0),
        helper.make_node("Reshape", ["x", "view"], ["pairs"]),
        helper.make_node("Range", ["i0", "n", "i1"], ["positions"]),
        helper.make_node("Cast", ["positions"], ["steps"], to=FLOAT),
        helper.make_node("Add", ["x", "steps"], ["shifted"]),
        helper.make_node("ConstantOfShape", ["three"], ["ones"], value=helper.make_tensor("v", INT64, [1], [1])),
        helper.make_node("Mul", ["ones", "minus"], ["open"]),
        helper.make_node("Unsqueeze", ["n", "zero"], ["n1"]),
        helper.make_node("Concat", ["b1", "two", "n1"], ["wanted"], axis=0),
        helper.make_node("Equal", ["wanted", "open"], ["isopen"]),
        helper.make_node("Where", ["isopen", "ones", "wanted"], ["target"]),
        helper.make_node("Unsqueeze", ["shifted", "one"], ["wide"]),
        helper.make_node("Expand", ["wide", "target"], ["y"]),
        helper.make_node("Slice", ["steps", "zero", "b1"], ["first"]),
    ]
    numbers = {"i0": 0, "i1": 1, "minus": -1}
    lists = {"zero": [0], "one": [1], "two": [2], "three": [3], "rest": [-1, 2]}
    constants = [(name, np.array(value, np.int64)) for name, value in (numbers | lists).items()]
    return graph_model(nodes, [("x", FLOAT, ["b", "n"])], ["y", "pairs", "first"], constants)


def test_shape_arithmetic_of_exporters() -> None:
    model = shape_arithmetic()
    feeds = [{"x": floats(*shape)} for shape in ((2, 6), (1, 4), (3, 8))]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feed, found in zip(feeds, run(plan_of(model, feeds), feeds), strict=True):
        for name, expected in zip(("y", "pairs", "first"), session.run(["y", "pairs", "first"], feed), strict=True):
            check_equal(found[name], expected, f"{name} at {feed['x'].shape}")
