"""Single operators against ONNX Runtime, through one plan with a dynamic profile and several shapes."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorrt as trt
from onnx import TensorProto, helper, numpy_helper
from running import LOGGER, Refused, check_equal, plan_of, run

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
UINT8 = TensorProto.UINT8


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
    arrays: list[list[np.ndarray]] | None = None  # What the inputs hold, where random numbers of `runs` would not do.

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
        if self.arrays is not None:
            return [{f"x{i}": array for i, array in enumerate(run)} for run in self.arrays]
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


def singles(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def unary(op: str, low: float = -2.0, high: float = 2.0, opset: int = 18, **attributes) -> Case:
    return Case(op, [(-1, 3)], [[(2, 3)], [(5, 3)]], attributes, low=low, high=high, opset=opset)


def binary(op: str, types: list[int] | None = None, low: float = -3.0, high: float = 3.0, **more) -> Case:
    return Case(
        op, [(-1, 3, 4), (3, 1)], [[(2, 3, 4), (3, 1)], [(1, 3, 4), (3, 1)]], types=types, low=low, high=high, **more
    )


def exactly(op: str, *runs: list[np.ndarray], note: str = "", dynamic: list[tuple] | None = None, **more) -> list[Case]:
    """The first run through a static plan, and all of them through one whose extents are dynamic, all unless given."""
    types = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in runs[0]]
    static = [array.shape for array in runs[0]]
    dynamic = dynamic or [(-1,) * array.ndim for array in runs[0]]
    return [
        Case(op, static, [], types=types, arrays=[runs[0]], note=f"{note}-static", **more),
        Case(op, dynamic, [], types=types, arrays=list(runs), note=f"{note}-dynamic", **more),
    ]


def sized(op: str, *shapes: tuple, note: str = "", **more) -> list[Case]:
    return exactly(op, *([floats(*shape)] for shape in shapes), note=note, **more)


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
    Case("Mod", [(-1, 3)], [[(2, 3)], [(4, 3)]], {"fmod": 1}, {1: ints(4, -3, 7)}, types=[INT64], low=-20, high=20),
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
    *(
        Case("ConvTranspose", [(1, 4, 5, 6)], [[(1, 4, 5, 6)]], {"auto_pad": pad, "strides": [2, 3],
             "output_shape": shape, "output_padding": [1, 2]}, {1: floats(4, 3, 3, 4)}, note=f"{pad}-{shape}")
        for pad in ("NOTSET", "SAME_UPPER", "SAME_LOWER")
        for shape in ([9, 18], [10, 17], [12, 21])
    ),
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
    Case("LayerNormalization", [(7,)], [[(7,)]], {}, {1: floats(7), 2: floats(7)}, note="one-axis", outputs=3),
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
    *(
        Case(op, [(-1, 300)], [[(3, 300)]], {"axis": 1, "keepdims": 0}, types=[UINT8], low=0, high=255, note="uint8")
        for op in ("ArgMax", "ArgMin")
    ),
    Case("TopK", [(-1, 300)], [[(3, 300)]], {}, {1: ints(9)}, types=[UINT8], low=0, high=255, note="uint8", outputs=2),
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


INF = float("inf")
WINDOWS_BEHIND = [
    *sized("MaxPool", (1, 2, 4, 4), (1, 2, 5, 7), note="ceil-k1s2",
           attributes={"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1}),
    *sized("MaxPool", (1, 2, 5, 4), (2, 2, 4, 5), note="ceil-one-axis",
           attributes={"kernel_shape": [2, 1], "strides": [2, 2], "ceil_mode": 1}),
    *sized("MaxPool", (1, 2, 9), (1, 2, 8), note="ceil-rank-3",
           attributes={"kernel_shape": [2], "strides": [4], "pads": [1, 1], "ceil_mode": 1}),
    *sized("MaxPool", (1, 2, 7, 8), (1, 2, 8, 7), (1, 2, 9, 9), note="ceil-padded",
           attributes={"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
    *sized("AveragePool", (1, 2, 6, 6), (1, 2, 7, 8), note="ceil-k2s3", opset=19,
           attributes={"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}),
    *sized("AveragePool", (1, 2, 7, 8), (1, 2, 8, 5), note="ceil-padding-counts", opset=19,
           attributes={"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0], "ceil_mode": 1,
                       "count_include_pad": 1}),
    *sized("MaxPool", (1, 2, 7, 8), (1, 2, 8, 5), note="ceil-same-upper",
           attributes={"kernel_shape": [2, 2], "strides": [3, 3], "auto_pad": "SAME_UPPER", "ceil_mode": 1}),
]  # fmt: skip

LIMITS = [
    *exactly("Clip", [floats(2, 3)], [floats(4, 3)], note="crossed",
             constants={1: np.array(0.75, np.float32), 2: np.array(-0.25, np.float32)}),
    *exactly("Clip", [np.arange(6, dtype=np.int64).reshape(2, 3)], note="crossed-integers",
             constants={1: ints(4)[0], 2: ints(2)[0]}),
    *exactly("Clip", [floats(2, 3), np.array(0.75, np.float32), np.array(-0.25, np.float32)], note="crossed-tensors"),
    *exactly("ReduceLogSumExp",
             [np.array([[-INF, -INF, -INF], [INF, 1, 2], [INF, -INF, 0], [1, 2, 3], [-INF, 0, 1]], np.float32)],
             [np.array([[-INF, -INF], [INF, 100], [100, 101]], np.float32)],
             note="infinite", constants={1: ints(1)}, attributes={"keepdims": 0}),
    *exactly("ReduceMax", [np.arange(200, 224, dtype=np.uint8).reshape(4, 3, 2)], [np.ones((1, 5, 2), np.uint8)],
             note="uint8", constants={1: ints(-2)}, attributes={"keepdims": 0}),
    *exactly("OneHot", [ints(-5, -4, -3, -1, 0, 2, 3, 7)], [ints(-5, 1)], note="beyond-both-ends",
             constants={1: ints(3)[0], 2: singles(0.5, 2.0)}),
    *exactly("OneHot", [singles(-5, -3, 0, 2, 3)], [singles(-1)], note="float-indices", attributes={"axis": 0},
             constants={1: ints(3)[0], 2: ints(7, 9)}),
    *exactly("Expand", [floats(1, 2), ints(0, 2)], [floats(3, 2), ints(3, 1)], [floats(1, 2), ints(4, 2)],
             [floats(0, 2), ints(1, 2)], note="to-nothing", dynamic=[(-1, 2), (2,)]),
    *sized("Expand", (1, 2), (0, 2), constants={1: ints(0, 2)}, note="to-constant-nothing"),
    *sized("Expand", (1, 2), (3, 2), constants={1: ints(3, 1)}, note="to-constant"),
    Case("ConstantOfShape", [], [[]], {"value": helper.make_tensor("v", INT64, [1], [2**63 - 1])}, {0: ints(2, 3)},
         note="largest"),
    *exactly("ConstantOfShape", [ints(2, 3)], [ints(4, 1)], note="largest-at-run-time", dynamic=[(2,)],
             attributes={"value": helper.make_tensor("v", INT64, [1], [2**63 - 1])}),
    *(Case("Range", [], [[]], {}, dict(enumerate(np.array(limits, kind))), note=f"{np.dtype(kind).name}-{limits}")
      for limits in ((-7, 40, 3), (5, -9000, -1), (3, 20000, 2), (4, 4, 1))
      for kind in (np.int64, np.int32, np.float32)),
    Case("Range", [], [[]], {}, dict(enumerate(singles(0.1, 1200.0, 0.2))), note="fractions"),
    *sized("Slice", (0, 5), (3, 5), (1, 5), note="backwards-from-nothing",
           constants={1: ints(-1, 4), 2: ints(-9, 0), 3: ints(0, 1), 4: ints(-1, -2)}),
    *sized("Slice", (0, 5), (3, 5), note="all-backwards-from-nothing",
           constants={1: ints(0), 2: ints(-(2**63)), 3: ints(0), 4: ints(-2)}),
    Case("Hardmax", [(2, 0, 3)], [[(2, 0, 3)]], {"axis": 1}, note="of-nothing"),
    *(Case("Hardmax", [(-1, -1, 3)], [[(2, 3, 3)], [(2, 0, 3)], [(0, 2, 3)], [(0, 0, 3)]], {"axis": axis}, opset=opset,
           note=f"of-nothing-at-run-time-{axis}") for axis in (0, 1, 2) for opset in (11, 13)),
    *exactly("Slice", [floats(4, 3), ints(-(2**63)), ints(2**63 - 1)], [floats(5, 3), ints(1), ints(-(2**63))],
             note="far-bounds", dynamic=[(-1, 3), (1,), (1,)], constants={3: ints(0), 4: ints(1)}),
    *exactly("Slice", [floats(4, 3), ints(2**63 - 1), ints(-(2**63))], [floats(5, 3), ints(-(2**63)), ints(-1)],
             note="far-bounds-backwards", dynamic=[(-1, 3), (1,), (1,)], constants={3: ints(0), 4: ints(-1)}),
    *exactly("Slice", [floats(4, 3), ints(0, 1), ints(3, -1)], [floats(5, 3), ints(-2, -3), ints(9, 3)],
             note="from-and-to-tensors", dynamic=[(-1, 3), (2,), (2,)]),
    *exactly("Slice", [floats(4, 3), ints(-1, 1), ints(-9, -3)], [floats(5, 3), ints(2, -1), ints(-5, 0)],
             note="backwards-to-tensors", dynamic=[(-1, 3), (2,), (2,)], constants={3: ints(0, 1), 4: ints(-2, -1)}),
    *exactly("Slice", [floats(1, 3), ints(0), ints(-2)], note="backwards-from-one", dynamic=[(-1, 3), (1,), (1,)],
             constants={3: ints(0), 4: ints(-1)}),
    *exactly("Gemm", [floats(2, 0), floats(0, 4), floats(4)], [floats(2, 3), floats(3, 4), floats(4)],
             note="sums-of-nothing"),
    *exactly("Gemm", [floats(0, 2), floats(4, 0)], [floats(3, 2), floats(4, 3)], note="sums-of-nothing-turned",
             attributes={"transA": 1, "transB": 1}),
    *exactly("MatMul", [floats(2, 3, 0), floats(0, 4)], [floats(2, 3, 2), floats(2, 4)], note="sums-of-nothing"),
    *sized("Trilu", (2, 5000), (3, 4500), note="long"),
    *sized("Hardmax", (5000,), (4500,), note="long", attributes={"axis": 0}),
]  # fmt: skip


CASES = UNARY + ELEMENTWISE + WINDOWS + WINDOWS_BEHIND + MATRICES + NORMS + SHAPES + PICKS + LIMITS


@pytest.mark.parametrize("case", CASES, ids=str)
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


def scaled_sizes() -> onnx.ModelProto:
    """What exporters write for interpolate(x, scale_factor=…) by sizes, and a part whose extents an input scales."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "two", "four"], ["hw"]),
        helper.make_node("Slice", ["s", "zero", "two"], ["nc"]),
        helper.make_node("Cast", ["hw"], ["real"], to=FLOAT),
        helper.make_node("Mul", ["real", "factors"], ["scaled"]),
        helper.make_node("Floor", ["scaled"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["size"], to=INT64),
        helper.make_node("Concat", ["nc", "size"], ["sizes"], axis=0),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest"),
        helper.make_node("Mul", ["real", "given"], ["wanted"]),
        helper.make_node("Sqrt", ["wanted"], ["roots"]),
        helper.make_node("Ceil", ["roots"], ["up"]),
        helper.make_node("Cast", ["up"], ["ends"], to=INT64),
        helper.make_node("Slice", ["x", "zeros", "ends", "axes"], ["part"]),
    ]
    lists = {"zero": [0], "two": [2], "four": [4], "zeros": [0, 0], "axes": [2, 3]}
    constants = [(name, np.array(value, np.int64)) for name, value in lists.items()]
    constants.append(("factors", np.array([0.5, 1.7], np.float32)))
    return graph_model(
        nodes, [("x", FLOAT, [1, 2, "h", "w"]), ("given", FLOAT, [2])], ["y", "part", "scaled"], constants
    )


def test_D2_sizes_that_go_through_floats() -> None:
    model = scaled_sizes()
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = [
        {"x": floats(1, 2, *extents), "given": np.array(given, np.float32)}
        for extents, given in [
            ((7, 9), (0.3, 1.1)),
            ((4, 4), (0.9, 2.25)),
            ((11, 3), (1.0, 0.1)),
            ((8, 10), (3.5, 1.9)),
        ]
    ]
    names = ("y", "part", "scaled")
    for feed, found in zip(feeds, run(plan_of(model, feeds), feeds), strict=True):
        for name, expected in zip(names, session.run(names, feed), strict=True):
            check_equal(found[name], expected, f"{name} at {feed['x'].shape}")


@pytest.mark.parametrize("opset, kind", [(9, np.float32), (12, np.bool_)], ids=str)
def test_masks_of_dropout_keep_all(opset: int, kind: type) -> None:
    """Up to opset 9 a mask has its input's type; many old networks name it, and read it never."""
    node = helper.make_node("Dropout", ["x"], ["y", "mask"], **({"ratio": 0.5} if opset == 9 else {}))
    model = graph_model([node], [("x", FLOAT, ["n", 3])], ["y", "mask"], opset=opset)
    feed = {"x": floats(2, 3)}
    (found,) = run(plan_of(model, [feed]), [feed])
    np.testing.assert_array_equal(found["y"], feed["x"])
    assert found["mask"].dtype == kind and found["mask"].shape == (2, 3) and found["mask"].all()


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (0, 2)], ids=str)
@pytest.mark.parametrize("known", [False, True], ids=["tensor", "constant"])
def test_expand_from_an_extent_that_does_not_fit_fails_in_the_run(shape: tuple, known: bool) -> None:
    constants = [("s", ints(*shape))] if known else []
    inputs = [("x", FLOAT, ["a", "b"])] + ([] if known else [("s", INT64, [2])])
    model = graph_model([helper.make_node("Expand", ["x", "s"], ["y"])], inputs, ["y"], constants)
    fits, other = ({"x": floats(*x), "s": ints(*shape)} for x in ((1, 1), (3, 2)))
    plan = plan_of(model, [fits, other])
    (found,) = run(plan, [fits])
    np.testing.assert_array_equal(found["y"], np.broadcast_to(fits["x"], shape))
    if shape != (3, 4):
        with pytest.raises(Refused):
            run(plan, [other])


def parsed(model: onnx.ModelProto):
    network = trt.Builder(LOGGER).create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    if not parser.parse(model.SerializeToString()):
        raise Refused("; ".join(parser.get_error(i).desc() for i in range(parser.num_errors)))
    return network


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float32], ids=lambda kind: kind.__name__)
def test_long_ranges_are_layers_and_no_memory_of_the_importer(kind: type) -> None:
    constants = dict(zip("abc", np.array([0, 2**28 - 1, 1], kind), strict=True))
    network = parsed(graph_model([helper.make_node("Range", list("abc"), ["y"])], [], ["y"], constants.items()))
    assert trt.LayerType.FILL in [network.get_layer(i).type for i in range(network.num_layers)]


@pytest.mark.parametrize("op", ["Trilu", "Hardmax"])
def test_long_positions_are_layers_and_no_memory_of_the_importer(op: str) -> None:
    network = parsed(graph_model([helper.make_node(op, ["x"], ["y"])], [("x", FLOAT, [1, 2**27])], ["y"]))
    assert trt.LayerType.FILL in [network.get_layer(i).type for i in range(network.num_layers)]


@pytest.mark.parametrize("attribute, value", [("mode", "trilinear"), ("padding_mode", "reflect")])
def test_unknown_modes_of_grid_sample_are_refused_by_name(attribute: str, value: str) -> None:
    node = helper.make_node("GridSample", ["x", "g"], ["y"], **{attribute: value})
    model = graph_model([node], [("x", FLOAT, [1, 1, 4, 4]), ("g", FLOAT, [1, 2, 2, 2])], ["y"])
    with pytest.raises(Refused, match=f"{attribute} '{value}'"):
        parsed(model)


@pytest.mark.parametrize("power", [0, 3])
def test_norms_that_the_operator_does_not_have_are_refused(power: int) -> None:
    node = helper.make_node("LpNormalization", ["x"], ["y"], p=power)
    with pytest.raises(Refused, match=f"LpNormalization with p = {power}; 1 and 2 are there"):
        parsed(graph_model([node], [("x", FLOAT, [2, 3])], ["y"]))


@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("directions", [1, 2])
def test_recurrences_read_as_layers_of_their_class(op: str, gates: int, directions: int) -> None:
    """Public tools set a layer's class by its type and read every attribute that the class has."""
    node = helper.make_node(
        op, ["x", "w", "r", "", "n"], ["y"], hidden_size=5, direction="bidirectional" if directions == 2 else "forward"
    )
    weights = {
        "w": np.random.default_rng(3).standard_normal((directions, gates * 5, 3)).astype(np.float32),
        "r": np.random.default_rng(4).standard_normal((directions, gates * 5, 5)).astype(np.float32),
    }
    inputs = [("x", FLOAT, [7, "batch", 3]), ("n", TensorProto.INT32, ["batch"])]
    network = parsed(graph_model([node], inputs, ["y"], weights.items()))
    layers = [layer for layer in network if layer.type == trt.LayerType.RNN_V2]
    assert len(layers) == 1
    layers[0].__class__ = trt.IRNNv2Layer
    layer = layers[0]
    assert (layer.num_layers, layer.hidden_size, layer.max_seq_length, layer.data_length) == (1, 5, 7, 3)
    assert layer.op == getattr(trt.RNNOperation, {"RNN": "TANH"}.get(op, op))
    wanted = trt.RNNDirection.BIDIRECTION if directions == 2 else trt.RNNDirection.UNIDIRECTION
    assert layer.direction == wanted and layer.input_mode == trt.RNNInputMode.LINEAR
    assert layer.seq_lengths.name == "n" and layer.hidden_state is None and layer.cell_state is None


def test_nan_of_any_payload_stays_nan_in_bfloat16() -> None:
    payloads = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000, 0x7F800001, 0x7F800000, 0x3FFFFFFF], np.uint32)
    nodes = [
        helper.make_node("Cast", ["c"], ["b"], to=TensorProto.BFLOAT16),
        helper.make_node("Cast", ["b"], ["f"], to=FLOAT),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    model = graph_model(nodes, [("x", FLOAT, [6])], ["y"], [("c", payloads.view(np.float32))])
    (found,) = run(plan_of(model, [{"x": floats(6)}]), [{"x": floats(6)}])
    expected = np.array([np.nan, np.nan, np.nan, np.nan, np.inf, 2.0], np.float32)
    np.testing.assert_allclose(found["y"], floats(6) + expected)


def test_bernoulli_draws_as_often_as_it_is_told() -> None:
    graph = helper.make_graph(
        [helper.make_node("Bernoulli", ["p"], ["y"], dtype=INT32)],
        "draws",
        [helper.make_tensor_value_info("p", FLOAT, ["n", 20000])],
        [helper.make_tensor_value_info("y", INT32, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=9)
    feed = {"p": np.array([0.0, 0.3, 0.8, 1.0], np.float32)[:, None].repeat(20000, 1)}
    (found,) = run(plan_of(model, [feed]), [feed])
    assert found["y"].dtype == np.int32 and set(np.unique(found["y"])) == {0, 1}
    means = found["y"].mean(1)
    assert means[0] == 0 and means[3] == 1
    np.testing.assert_allclose(means[1:3], [0.3, 0.8], atol=0.02)


def test_multinomial_draws_classes_as_often_as_it_is_told() -> None:
    graph = helper.make_graph(
        [helper.make_node("Multinomial", ["logits"], ["y"], sample_size=20000, dtype=TensorProto.INT64)],
        "draws",
        [helper.make_tensor_value_info("logits", FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=9)
    chances = np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]])
    with np.errstate(divide="ignore"):
        feed = {"logits": (np.log(chances) + 3).astype(np.float32)}
    (found,) = run(plan_of(model, [feed]), [feed])
    assert found["y"].dtype == np.int64 and found["y"].shape == (3, 20000)
    shares = np.stack([np.bincount(row, minlength=4) / 20000 for row in found["y"]])
    assert (shares[chances == 0] == 0).all()
    np.testing.assert_allclose(shares, chances, atol=0.02)


@pytest.mark.parametrize(
    ("image", "block", "attributes"),
    [
        ([9, 8], [3, 2], {}),
        ([9, 8], [3, 2], {"pads": [1, 0, 2, 1]}),
        ([9, 12], [3, 4], {"strides": [3, 4]}),
        ([11, 15], [3, 4], {"strides": [4, 5], "pads": [0, 1, 1, 0]}),
        ([10, 9], [3, 3], {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ([10, 9], [2, 3], {"strides": [1, 2], "dilations": [3, 2]}),
        ([11], [4], {"strides": [3]}),
        ([5, 4, 6], [2, 1, 3], {"strides": [1, 2, 2]}),
        ([20, 20], [9, 9], {"strides": [2, 3]}),
    ],
)
def test_col2im_adds_blocks_up(image: list[int], block: list[int], attributes: dict) -> None:
    rank = len(image)
    strides, dilations = attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank)
    pads = attributes.get("pads", [0] * 2 * rank)
    grid = [
        (image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)
    ]
    x = floats(2, 3 * int(np.prod(block)), int(np.prod(grid)))
    want = np.zeros((2, 3, *[image[i] + pads[i] + pads[rank + i] for i in range(rank)]), np.float32)
    blocks = x.reshape(2, 3, *block, *grid)
    for place in np.ndindex(*block):
        at = tuple(
            slice(place[i] * dilations[i], place[i] * dilations[i] + grid[i] * strides[i], strides[i])
            for i in range(rank)
        )
        want[(slice(None), slice(None), *at)] += blocks[(slice(None), slice(None), *place)]
    want = want[(slice(None), slice(None), *[slice(pads[i], pads[i] + image[i]) for i in range(rank)])]
    constants = [("image", np.array(image, np.int64)), ("block", np.array(block, np.int64))]
    nodes = [helper.make_node("Col2Im", ["x", "image", "block"], ["y"], **attributes)]
    model = graph_model(nodes, [("x", FLOAT, ["n", *x.shape[1:]])], ["y"], constants)
    (found,) = run(plan_of(model, [{"x": x}]), [{"x": x}])
    np.testing.assert_allclose(found["y"], want, atol=1e-5)


class Heard(trt.ILogger):
    """What is said of errors."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, message):
        if severity <= trt.ILogger.Severity.ERROR:
            self.errors.append(message)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_weights_quantized_by_scales_of_the_run(kind: type) -> None:
    """Of each channel, known only when it runs; nothing of that is an error, not even for a moment."""
    draw = np.random.default_rng(5)
    weights = draw.standard_normal((8, 4, 3, 3), np.float32)
    x = draw.standard_normal((2, 4, 6, 6), np.float32)
    scale = np.abs(draw.standard_normal(8, np.float32)) * np.float32(0.01) + np.float32(0.02)
    zero = np.full(8, 0 if kind is np.int8 else 128, kind)
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(zero, "z")]
    nodes = [
        helper.make_node("QuantizeLinear", ["w", "s", "z"], ["q"], axis=0),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=0),
        helper.make_node("Conv", ["x", "d"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info("x", FLOAT, x.shape), helper.make_tensor_value_info("s", FLOAT, [8])]
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name="y")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    heard = Heard()
    parsed = trt.Builder(heard).create_network(0)
    assert trt.OnnxParser(parsed, heard).parse(model.SerializeToString()) and heard.errors == []
    feed = {"x": x, "s": scale}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = run(plan_of(model, [feed]), [feed])
    check_equal(found["y"], session.run(None, feed)[0], "y")


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"])
def test_shifts_by_counts_of_the_run(kind: str, direction: str) -> None:
    """Each count that a type has, and some beyond: of those nothing is left but the sign."""
    bits, limits = np.iinfo(kind).bits, np.iinfo(kind)
    numbers = [limits.min, limits.min + 1, 0, 1, 77, limits.max - 1, limits.max, limits.max // 3]
    counts = [count for count in [*range(bits + 2), 90, -1] if limits.min <= count <= limits.max]
    x, by = np.meshgrid(np.array(numbers, object), np.array(counts, object))
    is_inside = (by >= 0) & (by < bits)
    places = np.where(is_inside, by, bits)
    wide = x << places if direction == "LEFT" else x >> places
    expected = np.vectorize(lambda value: wrapped(int(value), kind), otypes=[object])(wide)
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), list(x.shape))
             for name in ("x", "by", "y")]  # fmt: skip
    node = helper.make_node("BitShift", ["x", "by"], ["y"], direction=direction)
    graph = helper.make_graph([node], "g", infos[:2], infos[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    held = {"uint16": "int32", "int16": "int32", "uint32": "int64", "uint64": "int64"}.get(kind, kind)
    feed = {"x": as_held(x, held), "by": as_held(by, held)}
    (found,) = run(plan_of(model, [feed]), [feed])
    np.testing.assert_array_equal(found["y"], as_held(expected, held))


def wrapped(value: int, kind: str) -> int:
    bits = np.iinfo(kind).bits
    low = value & (1 << bits) - 1
    return low - (1 << bits) if np.dtype(kind).kind == "i" and low >> bits - 1 else low


def as_held(values: np.ndarray, kind: str) -> np.ndarray:
    """In the engine's type: of uint64 the same bits."""
    return np.vectorize(lambda value: wrapped(int(value), kind), otypes=[object])(values).astype(kind)
