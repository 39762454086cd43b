"""Plugins as Python functions (rules N)."""

import gc
import subprocess
import sys
import warnings

import numpy as np
import numpy.typing as npt
import pytest
import tensorrt as trt

with warnings.catch_warnings(record=True) as CAUGHT:
    warnings.simplefilter("always")
    import tensorrt.plugin as trtp

import test_plugins as pads

LOGGER = trt.Logger(trt.Logger.ERROR)


@trtp.register("tests::circ_pad")
def circ_pad(x: trtp.TensorDesc, before: npt.NDArray[np.int32], after: npt.NDArray[np.int32]) -> trtp.TensorDesc:
    exprs = trtp.ShapeExprs.from_tuple(x.shape_expr)
    for i in range(2):
        exprs[len(exprs) - 2 + i] = exprs[len(exprs) - 2 + i] + int(before[i]) + int(after[i])
    return trtp.from_shape_expr(exprs, x.dtype)


@trtp.impl("tests::circ_pad")
def circ_pad_impl(
    x: trtp.Tensor,
    before: npt.NDArray[np.int32],
    after: npt.NDArray[np.int32],
    outputs: tuple[trtp.Tensor],
    stream: int,
) -> None:
    np.asarray(outputs[0])[...] = pads.circ_pad(np.asarray(x), tuple(before), tuple(after))


def engine_of(network: trt.INetworkDefinition, builder: trt.Builder, shapes: tuple | None = None) -> trt.ICudaEngine:
    config = builder.create_builder_config()
    if shapes is not None:
        profile = builder.create_optimization_profile()
        profile.set_shape("x", *shapes)
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def one(use, shape: tuple[int, ...], kind: trt.DataType = trt.float32, shapes: tuple | None = None):
    """An engine of one plugin on one input; `use` makes the call from the input."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", kind, shape)
    layer = network.add_plugin(use(x))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    return engine_of(network, builder, shapes)


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_contract_of_the_decorated_plugin(kind: type) -> None:
    before, after = np.array([2, 0], np.int32), np.array([1, 3], np.int32)
    engine = one(
        lambda x: trtp.op.tests.circ_pad(x, before=before, after=after),
        (-1, 2, -1, 6),
        trt.float32 if kind is np.float32 else trt.int32,
        ((1, 2, 5, 6), (2, 2, 5, 6), (4, 2, 9, 6)),
    )
    contexts = [engine.create_execution_context() for _ in range(2)]
    random = np.random.default_rng(1)
    for number, shape in enumerate([(1, 2, 5, 6), (4, 2, 9, 6), (3, 2, 7, 6)]):
        x = random.integers(-100, 100, shape).astype(kind)
        np.testing.assert_array_equal(pads.run(contexts[number % 2], x), pads.circ_pad(x, (2, 0), (1, 3)))


def test_N1_ids_are_checked() -> None:
    def describe(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    for bad in ["name", "::name", "trt::name", "tensorrt::x", "std::x", "a.b::c", "a::b.c", "a::b::c"]:
        with pytest.raises(ValueError):
            trtp.register(bad)(describe)
    with pytest.raises(ValueError, match="registered already"):
        trtp.register("tests::circ_pad")(describe)


def test_N2_N3_signatures_are_checked() -> None:
    def unannotated(x) -> trtp.TensorDesc: ...
    def default(x: trtp.TensorDesc, a: int = 3) -> trtp.TensorDesc: ...
    def late(a: int, x: trtp.TensorDesc) -> trtp.TensorDesc: ...
    def forbidden(x: trtp.TensorDesc, stream: int) -> trtp.TensorDesc: ...
    def odd(x: trtp.TensorDesc, a: dict) -> trtp.TensorDesc: ...
    def untyped(x: trtp.TensorDesc, a: np.ndarray) -> trtp.TensorDesc: ...
    def nothing(x: trtp.TensorDesc) -> None: ...
    def wrong(x: trtp.TensorDesc) -> tuple[int, int]: ...

    for function in [unannotated, default, late, forbidden, odd, untyped, nothing, wrong]:
        with pytest.raises(ValueError, match=function.__name__):
            trtp.register(f"tests::{function.__name__}")(function)


def test_N4_implementations_fit_their_registration() -> None:
    with pytest.raises(ValueError, match="not registered"):
        trtp.impl("tests::nobody")

    @trtp.register("tests::two")
    def two(x: trtp.TensorDesc, a: int, b: float) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
        return x.like(), x.like()

    def other(y: trtp.Tensor, outputs: tuple, stream: int) -> None: ...
    def reordered(x: trtp.Tensor, b: float, a: int, outputs: tuple, stream: int) -> None: ...
    def unknown(x: trtp.Tensor, c: int, outputs: tuple, stream: int) -> None: ...
    def endless(x: trtp.Tensor, a: int) -> None: ...
    def result(x: trtp.Tensor, outputs: tuple, stream: int) -> int: ...

    for function in [other, reordered, unknown, endless, result]:
        with pytest.raises(ValueError, match=function.__name__):
            trtp.impl("tests::two")(function)


def test_N5_calls_are_checked() -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    pair = np.array([1, 1], np.int32)
    op = trtp.op.tests.circ_pad
    for arguments, attributes in [
        ((3,), {"before": pair, "after": pair}),
        ((x, x), {"before": pair, "after": pair}),
        ((x,), {"before": pair, "after": pair, "more": 1}),
        ((x,), {"after": pair, "before": pair}),
        ((x,), {"before": pair.astype(np.int64), "after": pair}),
        ((x,), {"before": pair}),
    ]:
        with pytest.raises(ValueError):
            op(*arguments, **attributes)


def test_N6_only_what_the_implementation_names_is_stored() -> None:
    seen = {}

    @trtp.register("tests::stored")
    def stored(x: trtp.TensorDesc, used: float, text: str, unused: int) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("tests::stored")
    def stored_impl(x: trtp.Tensor, used: float, text: str, outputs: tuple, stream: int) -> None:
        seen["text"] = text
        np.asarray(outputs[0])[...] = np.asarray(x) * used

    engine = one(lambda x: trtp.op.tests.stored(x, used=2.5, text="grüß", unused=7), (2, 3))
    x = np.random.default_rng(2).standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), x * np.float32(2.5))
    assert seen == {"text": "grüß"}


def test_N7_a_plugin_without_an_implementation_is_refused() -> None:
    @trtp.register("tests::bare")
    def bare(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    with pytest.raises(ValueError, match="has no implementation"):
        one(lambda x: trtp.op.tests.bare(x), (2, 3))
    assert trt.get_plugin_registry().get_creator("bare", "1", "tests") is not None


def test_N9_combinations_are_expanded() -> None:
    four = trtp.AutoTuneCombination("FP32|FP16, FP32|FP16, FP32*FP16", "LINEAR")._expanded(3)
    kinds = [[kind.name for kind, _ in ports] for ports, _ in four]
    assert kinds == [
        ["FLOAT", "FLOAT", "FLOAT"],
        ["FLOAT", "FLOAT", "HALF"],
        ["HALF", "HALF", "FLOAT"],
        ["HALF", "HALF", "HALF"],
    ]
    for bad in ["FP32|FP16, FP32*FP16|INT8", "FP32|FP16, FP32|FP16|INT8", "FP31, FP32"]:
        with pytest.raises(ValueError):
            trtp.AutoTuneCombination(bad)._expanded(2)


def test_N8_N9_autotune_and_tactics() -> None:
    seen = []

    @trtp.register("tests::tuned")
    def tuned(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.autotune("tests::tuned")
    def tuned_autotune(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc]) -> list[trtp.AutoTuneCombination]:
        assert tuple(x.shape.max) == (8, 3)
        return [trtp.AutoTuneCombination("FP32, FP32", "LINEAR", [4, 2])]

    @trtp.impl("tests::tuned")
    def tuned_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int, tactic: int) -> None:
        seen.append(tactic)
        np.asarray(outputs[0])[...] = -np.asarray(x)

    engine = one(lambda x: trtp.op.tests.tuned(x), (-1, 3), trt.float32, ((1, 3), (2, 3), (8, 3)))
    x = np.random.default_rng(3).standard_normal((5, 3)).astype(np.float32)
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), -x)
    assert seen == [4]


def test_N11_inputs_are_read_only_and_views_end_with_the_call() -> None:
    kept = []

    @trtp.register("tests::views")
    def views(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("tests::views")
    def views_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        kept.append(x)
        assert not np.asarray(x).flags.writeable and np.asarray(outputs[0]).flags.writeable
        assert x.dtype == trt.float32 and tuple(x.shape) == (2, 3) and x.strides == (3, 1) and x.ndim == 2
        assert np.from_dlpack(outputs[0]).ctypes.data == outputs[0].data_ptr
        np.from_dlpack(x)
        np.asarray(outputs[0])[...] = np.asarray(x)

    engine = one(lambda x: trtp.op.tests.views(x), (2, 3))
    x = np.random.default_rng(4).standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), x)
    with pytest.raises(RuntimeError, match="lent for one call"):
        _ = kept[0].data_ptr
    gc.collect()


def test_aliased_outputs_share_memory() -> None:
    @trtp.register("tests::bump")
    def bump(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.aliased()

    @trtp.impl("tests::bump")
    def bump_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        assert outputs[0].is_aliased and outputs[0].data_ptr == x.data_ptr
        np.asarray(outputs[0])[...] += 1

    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    layer = network.add_plugin(trtp.op.tests.bump(x))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    data = np.random.default_rng(5).standard_normal((2, 3)).astype(np.float32)
    before = data.copy()
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), data), before + 1)
    np.testing.assert_array_equal(data, before)


def test_size_tensors() -> None:
    @trtp.register("tests::positive")
    def positive(x: trtp.TensorDesc) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
        most = x.shape_expr.numel()
        count = trtp.size_tensor(opt=most // 2, upper_bound=most)
        return trtp.from_shape_expr((count.expr(),), x.dtype), count

    @trtp.impl("tests::positive")
    def positive_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor, trtp.Tensor], stream: int) -> None:
        values = np.asarray(x)
        found = values[values > 0]
        np.asarray(outputs[0].aliased((len(found),)))[...] = found
        np.asarray(outputs[1])[...] = len(found)

    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (40,))
    layer = network.add_plugin(trtp.op.tests.positive(x))
    layer.get_output(0).name, layer.get_output(1).name = "y", "count"
    for i in range(2):
        network.mark_output(layer.get_output(i))
    engine = engine_of(network, builder)
    context = engine.create_execution_context()
    data = np.random.default_rng(6).standard_normal(40).astype(np.float32)
    y, count = np.empty(40, np.float32), np.empty((), np.int32)
    for name, array in {"x": data, "y": y, "count": count}.items():
        context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(y[: int(count)], data[data > 0])


def test_N12_ahead_of_time_says_that_it_is_not_there() -> None:
    with pytest.raises(NotImplementedError, match="aot_impl"):
        trtp.aot_impl("tests::circ_pad")


def test_N13_importing_warns_once() -> None:
    program = "import warnings\nwith warnings.catch_warnings(record=True) as caught:\n"
    program += "    warnings.simplefilter('always')\n    import tensorrt.plugin, tensorrt.plugin\n"
    program += "print(sum('experimental' in str(each.message) for each in caught))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_N14_symbolic_arithmetic() -> None:
    one_, two = trtp.ShapeExpr(7), trtp.ShapeExpr(2)
    values = [one_ + two, one_ - two, one_ * two, one_ // two, trtp.cdiv(one_, two), trtp.max(one_, 2)]
    values += [trtp.min(one_, two), one_ == two, two < one_, 3 + one_, 20 - one_]
    assert [each.constant_value() for each in values] == [9, 5, 14, 3, 4, 7, 2, 0, 1, 10, 13]
    assert bool(two < one_)
    found = {}

    @trtp.register("tests::asking")
    def asking(x: trtp.TensorDesc) -> trtp.TensorDesc:
        if x.shape_expr[0].is_fake:
            return x.like()
        found["constant"] = [each.is_constant for each in x.shape_expr]
        try:
            bool(x.shape_expr[0] == 3)
        except RuntimeError:
            found["raised"] = True
        return trtp.from_shape_expr((x.shape_expr.numel(), trtp.cdiv(x.shape_expr[0], 2)), x.dtype)

    @trtp.impl("tests::asking")
    def asking_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        np.asarray(outputs[0])[...] = 1

    engine = one(lambda x: trtp.op.tests.asking(x), (-1, 4), trt.float32, ((1, 4), (2, 4), (8, 4)))
    assert found == {"constant": [False, True], "raised": True}
    x = np.ones((5, 4), np.float32)
    assert pads.run(engine.create_execution_context(), x).shape == (20, 3)
