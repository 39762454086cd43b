"""Plugins as Python functions (rules N)."""

import gc
import itertools
import subprocess
import sys
from typing import Any, List, Tuple  # noqa: UP035  (both spellings are taken)

import numpy as np
import numpy.typing as npt
import pytest
import small
import tensorrt as trt
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


@trtp.register("tests::two_sizes")
def two_sizes(x: trtp.TensorDesc) -> Tuple[trtp.TensorDesc, trtp.TensorDesc, trtp.TensorDesc]:  # noqa: UP006
    longer = x.like()
    longer.shape_expr[0] = longer.shape_expr[0] * 2 + 1
    longer.shape_expr[-1] += 3
    return x.like(), longer, x.like()


@trtp.impl("tests::two_sizes")
def two_sizes_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor, ...], stream: int) -> None:
    for output in outputs:
        np.asarray(output)[...] = np.asarray(x).sum()


def engine_of(network: trt.INetworkDefinition, builder: trt.Builder, shapes: tuple | None = None) -> trt.ICudaEngine:
    config = builder.create_builder_config()
    if shapes is not None:
        profile = builder.create_optimization_profile()
        profile.set_shape("x", *shapes)
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def test_extents_of_what_is_like_an_input_are_its_own():
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    layer = network.add_plugin(trtp.op.tests.two_sizes(network.add_input("x", trt.float32, (-1, 4))))
    for i in range(3):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    context = engine_of(network, builder, ((1, 4), (2, 4), (5, 4))).create_execution_context()
    assert context.set_input_shape("x", (3, 4))
    shapes = [tuple(context.get_tensor_shape(f"y{i}")) for i in range(3)]
    assert shapes == [(3, 4), (7, 7), (3, 4)]
    addresses = {"x": np.ones((3, 4), np.float32)} | {f"y{i}": np.empty(shapes[i], np.float32) for i in range(3)}
    for name, array in addresses.items():
        assert context.set_tensor_address(name, array)
    assert context.execute_async_v3(0)
    assert all((addresses[f"y{i}"] == 12).all() for i in range(3))


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

    for bad in ["name", "::name", "trt::name", "tensorrt::x", "std::x", "a.b::c", "a::b.c", "a::b::c", "a::", ""]:
        with pytest.raises(ValueError):
            trtp.register(bad)(describe)
    with pytest.raises(ValueError, match="registered already"):
        trtp.register("tests::circ_pad")(describe)
    assert trtp.register("tests::fine")(describe) is describe
    assert trt.get_plugin_registry().get_creator("fine", "1", "tests").name == "fine"
    with pytest.raises(AttributeError, match="nobody"):
        trtp.op.nobody.fine  # noqa: B018
    with pytest.raises(AttributeError, match="tests::nothing"):
        trtp.op.tests.nothing  # noqa: B018


def test_N2_N3_signatures_are_checked() -> None:
    def unannotated(x) -> trtp.TensorDesc: ...
    def default(x: trtp.TensorDesc, a: int = 3) -> trtp.TensorDesc: ...
    def late(a: int, x: trtp.TensorDesc) -> trtp.TensorDesc: ...
    def forbidden(x: trtp.TensorDesc, stream: int) -> trtp.TensorDesc: ...
    def forbidden_outputs(x: trtp.TensorDesc, outputs: int) -> trtp.TensorDesc: ...
    def forbidden_tactic(x: trtp.TensorDesc, tactic: int) -> trtp.TensorDesc: ...
    def odd(x: trtp.TensorDesc, a: dict) -> trtp.TensorDesc: ...
    def untyped(x: trtp.TensorDesc, a: np.ndarray) -> trtp.TensorDesc: ...
    def any_array(x: trtp.TensorDesc, a: npt.NDArray[Any]) -> trtp.TensorDesc: ...
    def complex_array(x: trtp.TensorDesc, a: npt.NDArray[np.complex64]) -> trtp.TensorDesc: ...
    def several(*x: trtp.TensorDesc) -> trtp.TensorDesc: ...
    def named(x: trtp.TensorDesc, **a: int) -> trtp.TensorDesc: ...
    def keyword_tensor(x: trtp.TensorDesc, *, y: trtp.TensorDesc) -> trtp.TensorDesc: ...
    def inputless(a: int) -> trtp.TensorDesc: ...
    def nothing(x: trtp.TensorDesc) -> None: ...
    def wrong(x: trtp.TensorDesc) -> tuple[int, int]: ...
    def resultless(x: trtp.TensorDesc): ...

    bad = [unannotated, default, late, forbidden, forbidden_outputs, forbidden_tactic, odd, untyped, any_array]
    bad += [complex_array, several, named, keyword_tensor, inputless, nothing, wrong, resultless]
    for function in bad:
        with pytest.raises(ValueError, match=function.__name__):
            trtp.register(f"tests::{function.__name__}")(function)
        assert trt.get_plugin_registry().get_creator(function.__name__, "1", "tests") is None


def test_N2_N6_attributes_of_every_type_reach_the_implementation() -> None:
    kinds = [np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.bool_]
    seen: dict[str, Any] = {}

    @trtp.register("tests::every")
    def every(
        x: trtp.TensorDesc, i: int, f: float, b: bool, s: str, raw: bytes, a0: npt.NDArray[np.int8],
        a1: npt.NDArray[np.int16], a2: npt.NDArray[np.int32], a3: npt.NDArray[np.int64], a4: npt.NDArray[np.float16],
        a5: npt.NDArray[np.float32], *, a6: npt.NDArray[np.float64], a7: npt.NDArray[np.bool_],
    ) -> trtp.TensorDesc:  # fmt: skip
        return x.like()

    @trtp.impl("tests::every")
    def every_impl(x, i, f, b, s, raw, a0, a1, a2, a3, a4, a5, a6, a7, outputs, stream) -> None:
        seen.update(i=i, f=f, b=b, s=s, raw=raw, a0=a0, a1=a1, a2=a2, a3=a3, a4=a4, a5=a5, a6=a6, a7=a7)
        np.asarray(outputs[0])[...] = np.asarray(x)

    random = np.random.default_rng(9)
    given: dict[str, Any] = {"i": -(2**40), "f": 0.1, "b": True, "s": "grüß", "raw": b"\x00\xff"}
    given |= {f"a{n}": (random.standard_normal(n) * 20).astype(kind) for n, kind in enumerate(kinds)}
    engine = one(lambda x: trtp.op.tests.every(x, **given), (2, 3))
    pads.run(engine.create_execution_context(), np.ones((2, 3), np.float32))
    assert set(seen) == set(given)
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            assert seen[name].dtype == value.dtype
            np.testing.assert_array_equal(seen[name], value)
        else:
            assert type(seen[name]) is type(value) and seen[name] == value


def test_N2_arrays_without_a_type_need_lazy_registration() -> None:
    @trtp.register("tests::lazy", lazy_register=True)
    def lazy(x: trtp.TensorDesc, a: np.ndarray) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("tests::lazy")
    def lazy_impl(x: trtp.Tensor, a: np.ndarray, outputs: tuple[trtp.Tensor], stream: int) -> None:
        np.asarray(outputs[0])[...] = np.asarray(x) + a

    assert trt.get_plugin_registry().get_creator("lazy", "1", "tests") is None
    engine = one(lambda x: trtp.op.tests.lazy(x, a=np.array([1, 2, 3], np.int16)), (2, 3))
    assert trt.get_plugin_registry().get_creator("lazy", "1", "tests") is not None
    x = np.random.default_rng(8).standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), x + np.array([1, 2, 3], np.float32))
    with pytest.raises(ValueError, match="int16"):
        one(lambda x: trtp.op.tests.lazy(x, a=np.array([1.5])), (2, 3))


def test_N3_the_result_sets_the_number_of_outputs() -> None:
    @trtp.register("tests::three")
    def three(x: trtp.TensorDesc) -> Tuple[trtp.TensorDesc, trtp.TensorDesc, trtp.TensorDesc]:  # noqa: UP006
        return x.like(), trtp.from_shape_expr((2, x.shape_expr[0]), trt.int32), x.like()

    @trtp.impl("tests::three")
    def three_impl(x: trtp.Tensor, outputs: Tuple[trtp.Tensor, trtp.Tensor], stream: int) -> None:  # noqa: UP006
        pass

    network = trt.Builder(LOGGER).create_network(0)
    layer = network.add_plugin(trtp.op.tests.three(network.add_input("x", trt.float32, (5, 3))))
    assert layer.num_outputs == 3
    shapes = [(tuple(layer.get_output(i).shape), layer.get_output(i).dtype) for i in range(3)]
    assert shapes == [((5, 3), trt.float32), ((2, 5), trt.int32), ((5, 3), trt.float32)]


def test_N4_implementations_fit_their_registration() -> None:
    for decorator in [trtp.impl, trtp.autotune, trtp.aot_impl]:
        with pytest.raises(ValueError, match="not registered"):
            decorator("tests::nobody")

    @trtp.register("tests::two")
    def two(x: trtp.TensorDesc, a: int, b: float) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
        return x.like(), x.like()

    def other(y: trtp.Tensor, outputs: tuple, stream: int) -> None: ...
    def reordered(x: trtp.Tensor, b: float, a: int, outputs: tuple, stream: int) -> None: ...
    def unknown(x: trtp.Tensor, c: int, outputs: tuple, stream: int) -> None: ...
    def endless(x: trtp.Tensor, a: int) -> None: ...
    def early(x: trtp.Tensor, outputs: tuple, a: int, stream: int) -> None: ...
    def swapped(x: trtp.Tensor, outputs: tuple, tactic: int, stream: int) -> None: ...
    def result(x: trtp.Tensor, outputs: tuple, stream: int) -> int: ...
    def mistyped(x: trtp.Tensor, a: float, outputs: tuple, stream: int) -> None: ...
    def described(x: trtp.TensorDesc, outputs: tuple, stream: int) -> None: ...
    def listed(x: trtp.Tensor, outputs: tuple[int], stream: int) -> None: ...
    def streamed(x: trtp.Tensor, outputs: tuple, stream: str) -> None: ...

    bad = [other, reordered, unknown, endless, early, swapped, result, mistyped, described, listed, streamed]
    for function in bad:
        with pytest.raises(ValueError, match=function.__name__):
            trtp.impl("tests::two")(function)

    def tuned(x: trtp.TensorDesc, outputs: tuple, tactic: int) -> list[trtp.AutoTuneCombination]: ...
    def tensors(x: trtp.Tensor, outputs: tuple) -> list[trtp.AutoTuneCombination]: ...
    def number(x: trtp.TensorDesc, outputs: tuple) -> int: ...

    for function in [tuned, tensors, number]:
        with pytest.raises(ValueError, match=function.__name__):
            trtp.autotune("tests::two")(function)

    @trtp.impl("tests::two")
    def fine(x: trtp.Tensor, b: float, outputs: Tuple[trtp.Tensor, ...], stream: int, tactic: int): ...  # noqa: UP006

    @trtp.autotune("tests::two")
    def also(
        x: trtp.TensorDesc,
        a: int,
        outputs: Tuple[trtp.TensorDesc],  # noqa: UP006
    ) -> List[trtp.AutoTuneCombination]:  # noqa: UP006
        ...

    with pytest.raises(ValueError, match="already"):
        trtp.impl("tests::two")(fine)
    with pytest.raises(ValueError, match="already"):
        trtp.autotune("tests::two")(also)


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
        ((x,), {"before": [1, 1], "after": pair}),
        ((x,), {"before": pair.reshape(1, 2), "after": pair}),
        ((x,), {"before": pair}),
        ((), {"before": pair, "after": pair}),
    ]:
        with pytest.raises(ValueError):
            op(*arguments, **attributes)
    inputs, shape_inputs, plugin = op(x, before=pair, after=pair)()
    assert inputs == [x] and shape_inputs == [] and isinstance(plugin, trt.IPluginV3)


def test_N6_only_what_the_implementation_names_is_stored() -> None:
    seen = {}

    @trtp.register("tests::stored")
    def stored(x: trtp.TensorDesc, used: float, text: str, unused: int) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("tests::stored")
    def stored_impl(x: trtp.Tensor, used: float, text: str, outputs: tuple, stream: int) -> None:
        seen["text"] = text
        np.asarray(outputs[0])[...] = np.asarray(x) * used

    def use(x: trt.ITensor):
        return trtp.op.tests.stored(x, used=2.5, text="grüß", unused=7)

    x = trt.Builder(LOGGER).create_network(0).add_input("x", trt.float32, (2, 3))
    fields = use(x)()[2].get_fields_to_serialize()
    assert [field.name for field in fields] == ["used", "text"]
    engine = one(use, (2, 3))
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
    for bad in ["LINEAR|HWC, LINEAR*HWC|CHW2", "LINEAR, NCHW", "LINEAR, LINEAR, LINEAR"]:
        with pytest.raises(ValueError):
            trtp.AutoTuneCombination("FP32, FP32", bad)._expanded(2)


def test_N9_words_positions_and_tactics_of_combinations() -> None:
    made = trtp.AutoTuneCombination()
    assert made.pos(0, "BF16|INT8", "LINEAR*HWC") is None
    made.pos([1, 2], "FLOAT|INT64")
    assert made.tactics([3, 1]) is None
    wanted = [
        ([(first, layout), (second, trt.TensorFormat.LINEAR), (second, trt.TensorFormat.LINEAR)], [3, 1])
        for (first, second), layout in itertools.product(
            [(trt.bfloat16, trt.float32), (trt.int8, trt.int64)], [trt.TensorFormat.LINEAR, trt.TensorFormat.HWC]
        )
    ]
    assert made._expanded(3) == wanted and made.combinations == wanted
    assert made.io_types == {0: "BF16|INT8", 1: "FLOAT|INT64", 2: "FLOAT|INT64"}
    assert made.layouts == {0: "LINEAR*HWC", 1: "LINEAR", 2: "LINEAR"}
    with pytest.raises(ValueError, match="set already"):
        made.pos(2, "FP32")
    with pytest.raises(ValueError, match="the plugin has 2"):
        made._expanded(2)
    for bad in [[0], [-1], [1.5]]:
        with pytest.raises(ValueError, match="positive"):
            made.tactics(bad)
        with pytest.raises(ValueError, match="positive"):
            trtp.AutoTuneCombination("FP32", tactics=bad)
    for layouts in ["HWC", "HWC, HWC"]:  # One entry stands for all.
        both = trtp.AutoTuneCombination("FP32, FP32", layouts)._expanded(2)
        assert [format for _, format in both[0][0]] == [trt.TensorFormat.HWC] * 2


def test_N8_without_autotune_types_are_those_declared() -> None:
    asked = []

    @trtp.register("tests::declared")
    def declared(x: trtp.TensorDesc, y: trtp.TensorDesc) -> trtp.TensorDesc:
        return trtp.from_shape_expr(x.shape_expr, trt.int32)

    @trtp.impl("tests::declared")
    def declared_impl(x: trtp.Tensor, y: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int, tactic: int) -> None:
        asked.append((x.dtype, y.dtype, outputs[0].dtype, x.format, outputs[0].format, tactic))
        np.asarray(outputs[0])[...] = np.asarray(x).astype(np.int32) + np.asarray(y)

    logger = small.Recorder()
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (1, 2, 3, 4))
    y = network.add_input("z", trt.int32, (1, 2, 3, 4))
    layer = network.add_plugin(trtp.op.tests.declared(x, y))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.FP16)  # Reduced types are not the declared ones.
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    random = np.random.default_rng(12)
    a = random.integers(-9, 9, (1, 2, 3, 4)).astype(np.float32)
    b, made = random.integers(-9, 9, a.shape).astype(np.int32), np.empty(a.shape, np.int32)
    for name, array in {"x": a, "z": b, "y": made}.items():
        context.set_tensor_address(name, array)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(made, a.astype(np.int32) + b)
    linear = trt.TensorFormat.LINEAR
    assert asked == [(trt.float32, trt.int32, trt.int32, linear, linear, 0)]


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


LENT = [trt.float32, trt.float16, trt.bfloat16, trt.int8, trt.int32, trt.int64]


def lent(kind: trt.DataType, look) -> tuple[np.ndarray, np.ndarray]:
    """Runs `look(x, outputs[0])` inside of an impl on 2 x 3 elements; the bytes of input and output after the run."""
    name = f"tests::lent_{next(NUMBERS)}"

    @trtp.register(name)
    def register(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    caught: list[BaseException] = []

    @trtp.impl(name)
    def impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        try:
            look(x, outputs[0])
        except BaseException as error:
            caught.append(error)
            raise

    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    call = getattr(trtp.op.tests, name.split("::")[1])
    layer = network.add_plugin(call(network.add_input("x", kind, (2, 3))))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    context = engine_of(network, builder).create_execution_context()
    size = 6 * kind.itemsize
    x = np.random.default_rng(5).integers(0, 100, size, np.uint8)
    y = np.full(size, 255, np.uint8)
    assert context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data)
    done = context.execute_async_v3(0)
    if caught:
        raise caught[0]
    assert done
    np.testing.assert_array_equal(x, np.random.default_rng(5).integers(0, 100, size, np.uint8), "N11: inputs are kept")
    return x, y


NUMBERS = itertools.count()


@pytest.mark.parametrize("kind", [each for each in LENT if each != trt.bfloat16], ids=str)
def test_N11_tensors_are_buffers(kind: trt.DataType) -> None:
    def look(x: trtp.Tensor, y: trtp.Tensor) -> None:
        seen, made = memoryview(x), memoryview(y)
        assert seen.readonly and not made.readonly
        assert seen.shape == made.shape == (2, 3) and np.dtype(made.format) == trt.nptype(kind)
        assert np.frombuffer(x, np.uint8).ctypes.data == x.data_ptr and not np.frombuffer(x, np.uint8).flags.writeable
        assert np.asarray(x).ctypes.data == x.data_ptr and not np.asarray(x).flags.writeable
        assert bytes(x) == np.asarray(x).tobytes()
        with pytest.raises((BufferError, TypeError)):
            (np.ctypeslib.ctypes.c_char * x.numel()).from_buffer(x)  # Wants memory that can be written.
        np.frombuffer(y, np.uint8)[...] = np.frombuffer(x, np.uint8)

    x, y = lent(kind, look)
    np.testing.assert_array_equal(x, y)


def test_N11_types_without_a_format_are_no_buffers() -> None:
    def look(x: trtp.Tensor, y: trtp.Tensor) -> None:
        for of_numpy in (memoryview, np.frombuffer):
            with pytest.raises(BufferError, match="BF16"):
                of_numpy(x)
        with pytest.raises(ValueError, match="BF16"):
            np.asarray(x)

    lent(trt.bfloat16, look)


@pytest.mark.parametrize("kind", [each for each in LENT if each != trt.bfloat16], ids=str)
def test_N11_numpy_views_tensors_through_dlpack(kind: trt.DataType) -> None:
    def look(x: trtp.Tensor, y: trtp.Tensor) -> None:
        seen, made, own = np.from_dlpack(x), np.from_dlpack(y), np.from_dlpack(y, copy=True)
        assert seen.ctypes.data == x.data_ptr and not seen.flags.writeable
        assert made.ctypes.data == y.data_ptr and made.flags.writeable
        assert made.dtype == trt.nptype(kind) and made.shape == (2, 3)
        own[...] = 0  # A copy is the caller's.
        assert (np.frombuffer(y, np.uint8) == 255).all()
        made[...] = seen

    x, y = lent(kind, look)
    np.testing.assert_array_equal(x, y)


def capsule_name(capsule: object) -> str:
    """PyCapsule prints itself with its name."""
    return repr(capsule).split('"')[1]


@pytest.mark.parametrize("kind", LENT, ids=str)
def test_N11_capsules_of_either_form(kind: trt.DataType) -> None:
    def look(x: trtp.Tensor, y: trtp.Tensor) -> None:
        assert x.__dlpack_device__() == (1, 0)
        assert capsule_name(x.__dlpack__()) == capsule_name(y.__dlpack__(max_version=(0, 8))) == "dltensor"
        assert capsule_name(x.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
        assert capsule_name(y.__dlpack__(max_version=(2, 3), copy=True, dl_device=(1, 0))) == "dltensor_versioned"
        with pytest.raises(BufferError, match="read-only"):
            x.__dlpack__(copy=False)  # The older form cannot say so, and a copy is not wanted.
        with pytest.raises(BufferError, match="host memory"):
            x.__dlpack__(dl_device=(2, 0))

    lent(kind, look)


class Older:
    """A tensor as consumers of before DLPack 1.0 ask for it."""

    def __init__(self, tensor: trtp.Tensor) -> None:
        self.tensor = tensor

    def __dlpack__(self, **arguments: object) -> object:
        return self.tensor.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


def test_N11_consumers_that_know_no_read_only_memory_get_a_copy_of_inputs() -> None:
    def look(x: trtp.Tensor, y: trtp.Tensor) -> None:
        copy, shared = np.from_dlpack(Older(x)), np.from_dlpack(Older(y))
        assert copy.ctypes.data != x.data_ptr and shared.ctypes.data == y.data_ptr
        np.testing.assert_array_equal(copy, np.asarray(x))
        kept.append(copy)

    kept: list[np.ndarray] = []
    x, _ = lent(trt.float32, look)
    gc.collect()
    np.testing.assert_array_equal(kept[0].reshape(-1), x.view(np.float32), "a copy outlives the call")


@pytest.mark.parametrize("kind", LENT, ids=str)
def test_N11_pytorch_views_tensors(kind: trt.DataType) -> None:
    torch = pytest.importorskip("torch", reason="no PyTorch here that could view tensors")

    def look(x: trtp.Tensor, y: trtp.Tensor) -> None:
        made = torch.from_dlpack(y)
        assert made.data_ptr() == y.data_ptr and tuple(made.shape) == (2, 3)
        assert str(made.dtype) == f"torch.{'bfloat16' if kind == trt.bfloat16 else trt.nptype(kind).__name__}"
        made.copy_(torch.from_dlpack(x))

    x, y = lent(kind, look)
    np.testing.assert_array_equal(x, y)


def test_N11_views_under_other_shapes_end_with_the_call_and_stay_inside() -> None:
    kept = []

    @trtp.register("tests::reshaped")
    def reshaped(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("tests::reshaped")
    def reshaped_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        kept.extend([x.aliased((6,)), outputs[0].aliased((3, 2)), outputs[0].aliased((5,)).aliased((6,))])
        for tensor in (x, outputs[0], kept[1]):
            with pytest.raises(ValueError, match="has 7 elements, and the tensor .* has 6"):
                tensor.aliased((7,))
        np.asarray(kept[1])[...] = np.asarray(x.aliased((3, 2)))

    engine = one(lambda x: trtp.op.tests.reshaped(x), (2, 3))
    x = np.random.default_rng(41).standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), x)
    for tensor in kept:
        with pytest.raises(RuntimeError, match="lent for one call"):
            np.asarray(tensor)
        with pytest.raises(RuntimeError, match="lent for one call"):
            tensor.aliased((2,))


def test_aliased_outputs_share_memory() -> None:
    @trtp.register("tests::bump")
    def bump(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.aliased()

    @trtp.impl("tests::bump")
    def bump_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        assert outputs[0].is_aliased and outputs[0].data_ptr == x.data_ptr
        np.asarray(outputs[0])[...] += 1

    logger = small.Recorder()
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    layer = network.add_plugin(trtp.op.tests.bump(x))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    assert builder.build_serialized_network(network, config) is None, "the function would work in other memory"
    said = logger.errors()
    assert "output 0 of plugin 'bump'" in said and "kALIASED_PLUGIN_IO_10_03 must be on" in said
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


def test_N10_shape_inputs_are_not_supported(capfd: pytest.CaptureFixture[str]) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 2, 5, 6))
    more = network.add_input("more", trt.int32, (2,))
    pair = np.array([1, 1], np.int32)
    inputs, _, plugin = trtp.op.tests.circ_pad(x, before=pair, after=pair)()
    layer = network.add_plugin((inputs, [more], plugin))
    assert layer.get_output(0).shape.nbDims == -1
    assert "takes no shape inputs" in capfd.readouterr().err


def test_N13_importing_warns_once() -> None:
    program = "import tensorrt.plugin, tenon.plugin, tensorrt.plugin"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.count("experimental") == 1 and "[W]" in done.stderr, done.stderr


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


def test_N14_nothing_is_divided_by_zero() -> None:
    four, none = trtp.SymInt32(4), trtp.SymInt32(0)
    for divide in (lambda: four // none, lambda: four // 0, lambda: 4 // none, lambda: trtp.cdiv(four, 0)):
        with pytest.raises(ZeroDivisionError, match="an extent is divided by 0"):
            divide()
    assert (trtp.cdiv(trtp.SymInt32(-7), 2).constant_value(), (trtp.SymInt32(-7) // 2).constant_value()) == (-3, -4)


def test_N14_expressions_of_which_nothing_is_known() -> None:
    fake = trtp.ShapeExprs(2, _is_dummy=True)[0]
    assert fake.is_fake and not fake.is_size_tensor
    for unknown in [fake, fake + 1, trtp.cdiv(fake, 2), trtp.max(3, fake), fake == 2, fake * fake]:
        assert unknown.is_fake
        for ask in [lambda e: e.is_constant, lambda e: e.constant_value(), bool]:
            with pytest.raises(RuntimeError):
                ask(unknown)
    for function in [trtp.cdiv, trtp.max, trtp.min]:
        with pytest.raises(ValueError, match="are ints"):
            function(1, 2)
    with pytest.raises(ValueError):
        trtp.ShapeExprs(trt.Dims.MAX_DIMS + 1)
    with pytest.raises(ValueError):
        trtp.ShapeExprs.from_tuple(range(trt.Dims.MAX_DIMS + 1))
    exprs = trtp.ShapeExprs.from_tuple([2, trtp.ShapeExpr(3)])
    assert exprs.numel().constant_value() == 6 and len(exprs) == 2
    with pytest.raises(IndexError):
        exprs[2] = 4
    with pytest.raises(ValueError):
        exprs[0] = "4"
    assert isinstance(exprs[0], trtp.ShapeExpr) and isinstance(exprs[0], trtp.SymInt32)
    assert not isinstance(trtp.SymInt8(3), trtp.SymInt32) and trtp.SymInt16(7).constant_value() == 7
    for kind, value in [(trtp.SymInt8, 128), (trtp.SymInt16, 2**15), (trtp.SymInt32, 2**31)]:
        with pytest.raises(ValueError, match="does not fit"):
            kind(value)


def test_N14_nothing_is_computed_from_size_tensors() -> None:
    raised = []

    @trtp.register("tests::sized")
    def sized(x: trtp.TensorDesc) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
        count = trtp.size_tensor(x.shape_expr[0], x.shape_expr[0] * 2)
        extent = count.expr()
        for compute in [lambda: extent + 1, lambda: 2 * extent, lambda: trtp.max(x.shape_expr[0], extent)]:
            with pytest.raises(ValueError, match="nothing can be computed"):
                compute()
        with pytest.raises(ValueError, match="another size tensor"):
            trtp.size_tensor(extent, x.shape_expr[0])
        with pytest.raises(ValueError, match="index"):
            count.index  # noqa: B018  # Known when it has been returned.
        raised.append((extent.is_size_tensor, extent.is_constant, count.is_size_tensor))
        return trtp.from_shape_expr((extent,), x.dtype), count

    @trtp.impl("tests::sized")
    def sized_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor, trtp.Tensor], stream: int) -> None: ...

    network = trt.Builder(LOGGER).create_network(0)
    with pytest.raises(ValueError, match="index"):
        trtp.size_tensor(1, 2).index  # noqa: B018
    layer = network.add_plugin(trtp.op.tests.sized(network.add_input("x", trt.float32, (5,))))
    assert layer is not None and layer.get_output(1).dtype == trt.int32
    assert raised and all(each == (True, False, True) for each in raised)


def test_descriptions_know_what_is_known_and_inputs_stay_as_they_are() -> None:
    checked = []

    @trtp.register("tests::reading")
    def reading(x: trtp.TensorDesc) -> trtp.TensorDesc:
        assert x.has_shape_expr and not x.has_shape and x.ndim == 2 and not x.is_aliased and not x.is_size_tensor
        for ask in ["shape", "format", "scale", "is_dynamic"]:
            with pytest.raises(ValueError):
                getattr(x, ask)
        with pytest.raises(ValueError):
            x.numel()
        aliased = x.aliased()
        assert aliased.get_aliased() is x and aliased.is_aliased and x.get_aliased() is None
        for fixed in [x, aliased]:
            with pytest.raises(ValueError, match="cannot be set"):
                fixed.dtype = trt.int32
        with pytest.raises(AttributeError):
            x.kind = 3
        made = x.like()
        made.dtype = trt.int32
        made.dtype = x.dtype
        made.shape_expr = trtp.ShapeExprs.from_tuple([x.shape_expr[1], x.shape_expr[0]])
        checked.append(made.ndim)
        return made

    @trtp.autotune("tests::reading")
    def reading_autotune(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc]) -> list[trtp.AutoTuneCombination]:
        assert x.has_shape and not x.has_shape_expr and x.is_dynamic and outputs[0].dtype == trt.float32
        assert (tuple(x.shape), x.shape.min, x.shape.opt, x.shape.max) == ((-1, 3), (1, 3), (2, 3), (8, 3))
        assert x.shape.is_dynamic and len(x.shape) == 2 and x.shape[1] == 3 and outputs[0].shape.max == (3, 8)
        with pytest.raises(ValueError):
            x.shape.numel()
        with pytest.raises(ValueError):
            x.shape_expr  # noqa: B018
        checked.append("autotune")
        return [trtp.AutoTuneCombination("FP32, FP32")]

    @trtp.impl("tests::reading")
    def reading_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        for name in ["data_ptr", "dtype", "format", "scale", "shape", "strides"]:
            with pytest.raises(ValueError, match="cannot be set"):
                setattr(x, name, getattr(x, name))
        with pytest.raises(AttributeError):
            x.kind = 3
        flat = x.aliased((x.numel(),))
        assert flat.data_ptr == x.data_ptr and flat.get_aliased() is x and flat.strides == (1,) and flat.ndim == 1
        np.asarray(outputs[0])[...] = np.asarray(flat).reshape(tuple(x.shape)).T
        checked.append("run")

    engine = one(lambda x: trtp.op.tests.reading(x), (-1, 3), trt.float32, ((1, 3), (2, 3), (8, 3)))
    x = np.random.default_rng(3).standard_normal((5, 3)).astype(np.float32)
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), x.T)
    assert {2, "autotune", "run"} == set(checked)


def test_an_exception_in_an_implementation_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: raised.append(str(info.exc_value)))

    @trtp.register("tests::raising")
    def raising(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("tests::raising")
    def raising_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        raise ValueError("an illegal value")

    context = one(lambda x: trtp.op.tests.raising(x), (2, 3)).create_execution_context()
    x, y = np.ones((2, 3), np.float32), np.empty((2, 3), np.float32)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert not context.execute_async_v3(0)
    assert raised == ["an illegal value"]


def test_channels_last_tensors_are_views_with_strides() -> None:
    @trtp.register("tests::channels_last")
    def channels_last(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.autotune("tests::channels_last")
    def formats(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc]) -> list[trtp.AutoTuneCombination]:
        return [trtp.AutoTuneCombination("FP32, FP32", "HWC, LINEAR")]

    @trtp.impl("tests::channels_last")
    def channels_last_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
        assert x.format == trt.TensorFormat.HWC and x.strides == (24, 1, 8, 2)
        np.asarray(outputs[0])[...] = 2 * np.asarray(x)

    engine = one(lambda x: trtp.op.tests.channels_last(x), (1, 2, 3, 4))
    x = np.random.default_rng(3).standard_normal((1, 2, 3, 4)).astype(np.float32)
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), 2 * x)
