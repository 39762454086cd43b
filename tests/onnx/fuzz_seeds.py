"""Models that fuzzing starts from: small forms of real graphs, and the cases of the onnx package."""

import pathlib

import numpy as np
import onnx
from onnx import numpy_helper, parser

LARGEST = 6000  # Bytes of a model; what is larger makes a round slow and says little more.

# Inputs called w… become initializers.
GRAPHS = {
    "residual": """
<ir_version: 8, opset_import: ["" : 14]>
g (float[n,3,8,8] x, float[4,3,3,3] w1, float[4] w2, float[4,4,3,3] w3, float[4] w4, float[4] w5, float[4] w6,
   float[4] w7, float[4] w8, float[4,5] w9) => (float[n,5] y)
{
    a = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w1, w2)
    b = Relu (a)
    c = Conv <pads = [1,1,1,1]> (b, w3, w4)
    d = BatchNormalization (c, w5, w6, w7, w8)
    e = Add (d, b)
    f = HardSwish (e)
    h = GlobalAveragePool (f)
    i = Flatten (h)
    j = MatMul (i, w9)
    y = Softmax (j)
}""",
    "quantized": """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3,8,8] x, int8[4,3,3,3] wa, float[4] wb) => (float[1,4,8,8] y)
<float s = {0.05}, int8 z = {0}, float t = {0.02}>
{
    a = QuantizeLinear (x, s, z)
    b = DequantizeLinear (a, s, z)
    c = DequantizeLinear (wa, t, z)
    d = Conv <pads = [1,1,1,1]> (b, c, wb)
    e = Relu (d)
    f = QuantizeLinear (e, s, z)
    y = DequantizeLinear (f, s, z)
}""",
    "quantized in the run": """
<ir_version: 8, opset_import: ["" : 18]>
g (float[n,8] x, int8[8,4] wa, int8[4] wb) => (float[n,4] y)
<float s = {0.01}>
{
    q, t, z = DynamicQuantizeLinear (x)
    a = MatMulInteger (q, wa, z, wb)
    b = Cast <to = 1> (a)
    c = Mul (t, s)
    y = Mul (b, c)
}""",
    "attention": """
<ir_version: 8, opset_import: ["" : 17]>
g (int64[n,t] ids, float[10,8] wt, float[8] ws, float[8] wb, float[8,8] wq, float[8,8] wk, float[8,8] wv)
    => (float[n,t,8] y)
<int64[1] zero = {0}, int64[1] one = {1}, int64 i0 = {0}, int64 i1 = {1}, int64[1] two = {2}, int64[1] rest = {-1},
 float root = {2.0}>
{
    a = Gather (wt, ids)
    b = LayerNormalization (a, ws, wb)
    s = Shape (ids)
    n0 = Gather (s, i0)
    t0 = Gather (s, i1)
    n1 = Unsqueeze (n0, zero)
    t1 = Unsqueeze (t0, zero)
    split = Concat <axis = 0> (n1, t1, two, rest)
    joined = Concat <axis = 0> (n1, t1, rest)
    q0 = MatMul (b, wq)
    q1 = Reshape (q0, split)
    q = Transpose <perm = [0,2,1,3]> (q1)
    k0 = MatMul (b, wk)
    k1 = Reshape (k0, split)
    k = Transpose <perm = [0,2,3,1]> (k1)
    v0 = MatMul (b, wv)
    v1 = Reshape (v0, split)
    v = Transpose <perm = [0,2,1,3]> (v1)
    m0 = MatMul (q, k)
    m1 = Div (m0, root)
    m2 = Softmax <axis = -1> (m1)
    m3 = MatMul (m2, v)
    m4 = Transpose <perm = [0,2,1,3]> (m3)
    m5 = Reshape (m4, joined)
    y = Add (m5, a)
}""",
    "detector": """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,6,4] boxes, float[1,2,6] scores) => (int64[k,3] kept, float[1,2,3] best, int64[1,2,3] where)
<int64 most = {4}, float iou = {0.5}, float least = {0.1}, int64[1] three = {3}>
{
    b = Sigmoid (boxes)
    kept = NonMaxSuppression (b, scores, most, iou, least)
    best, where = TopK (scores, three)
}""",
    "upsampling": """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,2,h,w] x, float[3,2,3,3] wa, float[3,2,2,2] wb) => (float[1,4,p,q] y)
<float[4] scales = {1.0,1.0,2.0,2.0}, int64[8] pads = {0,0,1,1,0,0,1,1}, int64[1] from = {1}, int64[1] to = {-1},
 int64[1] axis = {2}, float[0] none = {}>
{
    a = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x)
    b = Pad <mode = "reflect"> (a, pads)
    c = Conv (b, wa)
    d = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (a, none, scales)
    e = ConvTranspose <strides = [2,2]> (c, wb)
    f = Concat <axis = 1> (d, e)
    y = Clip (f)
}""",
    "recurrent": """
<ir_version: 8, opset_import: ["" : 14]>
g (float[t,1,3] x, float[1,16,3] w1, float[1,16,4] w2, float[1,32] w3, float[1,12,4] w4, float[1,12,4] w5)
    => (float[t,1,1,4] y, float[1,1,4] h)
<int64[1] one = {1}>
{
    a, b, c = LSTM <hidden_size = 4> (x, w1, w2, w3)
    d = Squeeze (a, one)
    y, h = GRU <hidden_size = 4, linear_before_reset = 1> (d, w4, w5)
}""",
    "control": """
<ir_version: 8, opset_import: ["" : 16]>
g (float[2,3] x, bool flag, int64 trips) => (float[2,3] y, float[2,3] z, float[k,2,3] all)
<float[2,3] wa = {1,2,3,4,5,6}, bool yes = {1}, float one = {1.0}>
{
    y = If (flag) <then_branch = g1 () => (float[2,3] p) { p = Add (x, wa) },
                   else_branch = g2 () => (float[2,3] q) { t = Mul (x, wa) q = Relu (t) }>
    z, all = Loop (trips, yes, y) <body = b (int64 i, bool go, float[2,3] s) => (bool on, float[2,3] r, float[2,3] o)
        { on = Identity (go) r = Add (s, one) o = Mul (r, x) }>
}""",
    "functions": """
<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[n,4] x) => (float[n,4] y)
{
    a = own.scaled <factor = 3.0> (x)
    y = own.nested <by = 0.5> (a, x)
}
<domain: "own", opset_import: ["" : 18]>
scaled <factor: float = 2.0> (x) => (y)
{
    f = Constant <value_float: float = @factor> ()
    y = Mul (x, f)
}
<domain: "own", opset_import: ["" : 18, "own" : 1]>
nested <by> (a, b) => (x)
{
    t = own.scaled <factor: float = @by> (a)
    x = Add (t, b)
}""",
    "drawn": """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4] x) => (float[n,4] y, int32[n,3] z, float[2,1,1] w)
{
    a = RandomNormal <shape = [4], seed = 1.0> ()
    b = RandomUniform <shape = [2,4,3], seed = 2.0, low = 0.5> ()
    c = RandomNormalLike <seed = 3.0> (x)
    d = Add (c, a)
    y = Add (d, x)
    z = Multinomial <sample_size = 3, seed = 4.0> (x)
    w = GlobalLpPool <p = 3> (b)
}""",
    "own_layers": """
<ir_version: 10, opset_import: ["" : 26]>
g (float[n,4,4] x, float[n,4,4] z, int64[4] size, float[m,2,3] theta, float from, float to)
    => (float[n] d, float[u,4,4] y, int64[k] i, float[u4] flat, float[n,4,4] rest, int32[n,4,4] bits,
        float[a,b,c,2] grid, float[r] steps)
<float step = {0.5}>
{
    d = Det (x)
    y, f, i, counts = Unique <axis = 0> (x)
    flat = Unique <sorted = 0> (z)
    rest = Mod <fmod = 1> (x, z)
    bits = BitCast <to = 6> (rest)
    grid = AffineGrid <align_corners = 1> (theta, size)
    steps = Range (from, to, step)
}""",
    "run_time_shapes": """
<ir_version: 8, opset_import: ["" : 17]>
g (float[a,b] x, int64[2] shape, int64 from, int64 to, bool[a,b] mask) => (float[c,d] y, int64[k] r, int64[2,m] n)
<int64 step = {1}, int64[1] s1 = {0}, int64[1] s2 = {9}, int64[1] axis = {1}, int64[2] tiles = {2,1}>
{
    p = Reshape (x, shape)
    q = Slice (p, s1, s2, axis)
    y = Tile (q, tiles)
    r = Range (from, to, step)
    n = NonZero (mask)
}""",
}


def real_graphs() -> list[tuple[str, bytes]]:
    numbers = np.random.default_rng(11)
    made = []
    for name, text in GRAPHS.items():
        model = parser.parse_model(text)
        for info in [info for info in model.graph.input if info.name.startswith("w")]:
            kind = info.type.tensor_type
            array = numbers.uniform(0.1, 1, [dim.dim_value for dim in kind.shape.dim]).astype(np.float32)
            if kind.elem_type == onnx.TensorProto.INT8:
                array = (array * 100).astype(np.int8)
            model.graph.initializer.append(numpy_helper.from_array(array, info.name))
            model.graph.input.remove(info)
        made.append((name, model.SerializeToString()))
    return made


def package_cases() -> list[tuple[str, bytes]]:
    """Models of the package's cases; small operands that the case gives as inputs are known in every second one."""
    from test_node_tests import CASES, data_of, with_initializers

    made = []
    for name, case in CASES.items():
        if case.url is not None:
            continue  # Whole networks, small only as files.
        if case.model_dir is not None and (pathlib.Path(case.model_dir) / "model.onnx").stat().st_size > LARGEST:
            continue
        model, inputs, _ = data_of(case)
        pairs = zip(model.graph.input, inputs, strict=False)
        feed = {info.name: numpy_helper.to_array(one) for info, one in pairs if isinstance(one, onnx.TensorProto)}
        try:
            with_initializers(name, model, feed)
        except (TypeError, ValueError):
            continue  # Types that NumPy has no form for.
        if model.ByteSize() <= LARGEST:
            made.append((name, model.SerializeToString()))
    return made


def contrib_cases() -> list[tuple[str, bytes]]:
    """What exporters and quantizers write beside the standard's operators, static and dynamic."""
    from test_contrib import ONES, One, bytes_, floats, scale, zero

    # These are tested in other ways than beside ONNX Runtime.
    mean = One("QLinearReduceMean", [bytes_(3, 4, 5), scale(0.02), zero(120), scale(0.015), zero(100)],
               {"axes": [0, 2], "keepdims": 0}, known=(1, 2, 3, 4))  # fmt: skip
    lstm = One("DynamicQuantizeLSTM",
               [floats(3, 2, 4), bytes_(1, 4, 16), bytes_(1, 4, 16), floats(1, 32), None, None, None, None,
                floats(1, 16), bytes_(1, 16), floats(1), bytes_(1)],
               {"hidden_size": 4}, known=(1, 2, 3, 8, 9, 10, 11), outputs=("y", "h", "c"))  # fmt: skip
    coarse = [One("MatMulNBits", [floats(3, 40), bytes_(6, blocks, bytes_of), floats(6 * blocks), points],
                  {"K": 40, "N": 6, "bits": bits, "block_size": block}, known=(1, 2, 3))
              for block, blocks, bits, bytes_of, points in (
                  (64, 1, 4, 32, bytes_(6)), (16, 3, 2, 4, bytes_(6)), (40, 1, 8, 40, bytes_(6)),
                  (16, 3, 4, 8, floats(18)))]  # fmt: skip
    ones = [*ONES, mean, lstm, *coarse]
    models = [(str(one), one.model(dynamic).SerializeToString()) for one in ones for dynamic in (False, True)]
    return [(name, model) for name, model in models if len(model) <= LARGEST]


def all_seeds() -> list[tuple[str, bytes]]:
    """The real graphs come several times, so that they are not lost among the cases of single operators."""
    return real_graphs() * 25 + contrib_cases() * 4 + package_cases()
