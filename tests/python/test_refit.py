"""Refitting from Python: by name, by layer and role, from ONNX models, while other threads run."""

import gc
import pathlib
import threading

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as on
import pytest
import small
import tensorrt as trt
from fake_gpu import needs_fake_gpu, on_fake_gpu

LOGGER = small.Recorder()


def values(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def model(seed: int, lacks: str = "") -> bytes:
    """Convolution, batch normalization and a product: their weights fold into each other."""
    weights = {
        "conv.weight": values(seed, 4, 3, 3, 3),
        "bn.scale": values(seed + 1, 4),
        "bn.bias": values(seed + 2, 4),
        "bn.mean": values(seed + 3, 4),
        "bn.variance": np.abs(values(seed + 4, 4)) + 0.1,
        "fc.weight": values(seed + 5, 4 * 36, 5),
        "fc.bias": values(seed + 6, 5),
        "half": np.array(0.5, np.float32),
    }
    nodes = [
        oh.make_node("Conv", ["x", "conv.weight"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        oh.make_node("BatchNormalization", ["c", "bn.scale", "bn.bias", "bn.mean", "bn.variance"], ["n"], name="bn"),
        oh.make_node("Relu", ["n"], ["r"], name="relu"),
        oh.make_node("Flatten", ["r"], ["f"], name="flat"),
        oh.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["g"], name="fc"),
        oh.make_node("Mul", ["g", "half"], ["y"], name="half of it"),
    ]
    if lacks:
        nodes[4].input.pop()
        weights.pop(lacks)
    graph = oh.make_graph(
        nodes,
        "g",
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 3, 6, 6])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 5])],
        [on.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8).SerializeToString()


def plan(data: bytes, *flags: trt.BuilderFlag, size: int = 6) -> trt.IHostMemory:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(data), LOGGER.errors()
    config = builder.create_builder_config()
    for flag in flags:
        config.set_flag(flag)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", *((batch, 3, size, size) for batch in (1, 2, 4)))
    config.add_optimization_profile(profile)
    made = builder.build_serialized_network(network, config)
    assert made is not None, LOGGER.errors()
    return made


def engine(data: bytes, *flags: trt.BuilderFlag, size: int = 6) -> trt.ICudaEngine:
    loaded = trt.Runtime(LOGGER).deserialize_cuda_engine(plan(data, *flags, size=size))
    assert loaded is not None, LOGGER.errors()
    return loaded


def run(which: trt.ICudaEngine | trt.IExecutionContext) -> np.ndarray:
    context = which.create_execution_context() if isinstance(which, trt.ICudaEngine) else which
    x, y = values(99, 3, 3, 6, 6), np.empty((3, 5), np.float32)
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0), LOGGER.errors()
    return y


def test_W13_an_engine_refitted_from_a_model_is_the_one_that_would_be_built_anew() -> None:
    refittable = engine(model(1), trt.BuilderFlag.REFIT)
    assert refittable.refittable
    context = refittable.create_execution_context()
    before = run(context)
    np.testing.assert_array_equal(before, run(engine(model(1))))
    refitter = trt.Refitter(refittable, LOGGER)
    assert {"conv.weight", "fc.weight", "fc.bias", "half"} <= set(refitter.get_all_weights())
    names, roles = refitter.get_all()
    assert len(names) == len(roles) >= 6 and trt.WeightsRole.KERNEL in roles
    parser = trt.OnnxParserRefitter(refitter, LOGGER)
    assert parser.refit_from_bytes(model(50)), LOGGER.errors()
    del parser
    gc.collect()  # The refitter keeps what it reads.
    assert refitter.get_missing_weights() == [] and refitter.get_missing() == ([], [])
    np.testing.assert_array_equal(run(context), before)
    assert refitter.refit_cuda_engine(), LOGGER.errors()
    fresh = run(engine(model(50), trt.BuilderFlag.REFIT))
    np.testing.assert_array_equal(run(context), fresh)
    np.testing.assert_array_equal(run(engine(model(50))), fresh)
    assert not np.array_equal(fresh, before)


def test_W13_a_model_that_lacks_weights_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    refitter = trt.Refitter(engine(model(1), trt.BuilderFlag.REFIT), LOGGER)
    parser = trt.OnnxParserRefitter(refitter, LOGGER)
    assert not parser.refit_from_bytes(model(1, lacks="fc.bias"))
    assert parser.num_errors == 1 and "'fc.bias'" in parser.get_error(0).desc()
    parser.clear_errors()
    assert parser.num_errors == 0 and not parser.refit_from_bytes(b"no model") and parser.num_errors >= 1
    path = tmp_path / "model.onnx"
    path.write_bytes(model(1))
    assert not parser.refit_from_file(str(tmp_path / "nobody.onnx")) and parser.refit_from_file(str(path))


def test_W9_initializers_in_place_of_those_of_the_model() -> None:
    refittable = engine(model(1), trt.BuilderFlag.REFIT)
    refitter = trt.Refitter(refittable, LOGGER)
    parser = trt.OnnxParserRefitter(refitter, LOGGER)
    bias = values(77, 5)
    assert not parser.refit_model_proto() and not parser.load_initializer("fc.bias", bias.ctypes.data, bias.nbytes)
    assert parser.load_model_proto(model(1)) and not parser.load_model_proto(model(1))
    assert not parser.load_initializer("fc.bias", bias.ctypes.data, 3)
    assert parser.load_initializer("fc.bias", bias.ctypes.data, bias.nbytes), LOGGER.errors()
    before = run(refittable)
    assert parser.refit_model_proto() and refitter.refit_cuda_engine(), LOGGER.errors()
    np.testing.assert_allclose(run(refittable) - before, np.tile(0.5 * (bias - values(7, 5)), (3, 1)), atol=1e-4)


def test_U4_U5_names_and_arrays() -> None:
    refittable = engine(model(1), trt.BuilderFlag.REFIT)
    refitter = trt.Refitter(refittable, LOGGER)
    assert refitter.logger is LOGGER and refitter.weights_validation and refitter.max_threads == 1
    prototype = refitter.get_weights_prototype("fc.weight")
    assert (prototype.dtype, prototype.size) == (trt.float32, 4 * 36 * 5)
    assert refitter.get_weights_prototype("nobody").size == -1
    assert refitter.set_named_weights("conv.weight", values(5, 4, 3, 3, 3))
    gc.collect()  # The array is kept.
    assert refitter.get_weights_location("conv.weight") == trt.TensorLocation.HOST
    assert len(refitter.get_missing_weights()) == 2 and not refitter.refit_cuda_engine()
    assert refitter.unset_named_weights("conv.weight") and not refitter.unset_named_weights("conv.weight")
    assert not refitter.set_named_weights("conv.weight", values(5, 4))
    assert not refitter.set_named_weights("nobody", values(5, 4))
    assert refitter.get_tensors_with_dynamic_range() == []
    assert refitter.set_named_weights("fc.weight", values(6, 144, 5), trt.TensorLocation.HOST)
    assert refitter.set_named_weights("fc.bias", values(7, 5))
    assert refitter.refit_cuda_engine_async(0), LOGGER.errors()


def test_G13_a_stripped_plan_takes_its_weights_from_the_model() -> None:
    stripped = plan(model(1), trt.BuilderFlag.STRIP_PLAN)
    assert len(stripped) < len(plan(model(1), trt.BuilderFlag.REFIT))
    loaded = trt.Runtime(LOGGER).deserialize_cuda_engine(stripped)
    assert loaded.get_engine_stat(trt.EngineStat.STRIPPED_WEIGHTS_SIZE) > 4 * (108 + 720)
    refitter = trt.Refitter(loaded, LOGGER)
    assert {"conv.weight", "fc.weight", "fc.bias"} <= set(refitter.get_missing_weights())
    assert trt.OnnxParserRefitter(refitter, LOGGER).refit_from_bytes(model(1))
    assert refitter.refit_cuda_engine(), LOGGER.errors()
    np.testing.assert_array_equal(run(loaded), run(engine(model(1))))
    again = trt.Runtime(LOGGER).deserialize_cuda_engine(loaded.serialize())
    np.testing.assert_array_equal(run(again), run(loaded))


def test_U3_runs_of_other_threads_see_one_state_or_the_other() -> None:
    refittable = engine(model(1), trt.BuilderFlag.REFIT)
    states = [run(refittable), run(engine(model(50)))]
    wrong, is_over = [], threading.Event()

    def work() -> None:
        context = refittable.create_execution_context()
        while not is_over.is_set():
            got = run(context)
            if not any(np.array_equal(got, state) for state in states):
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    refitter = trt.Refitter(refittable, LOGGER)
    for turn in range(10):
        parser = trt.OnnxParserRefitter(refitter, LOGGER)
        assert parser.refit_from_bytes(model([50, 1][turn % 2]))
        assert refitter.refit_cuda_engine(), LOGGER.errors()
    is_over.set()
    for thread in threads:
        thread.join(small.PATIENCE)
    assert not wrong
    np.testing.assert_array_equal(run(refittable), states[0])


def test_U9_engines_that_were_not_built_for_it_have_no_refitter() -> None:
    with pytest.raises(RuntimeError, match="no refitter"):
        trt.Refitter(engine(model(1)), LOGGER)


def entry() -> bytes:
    """Patches of images as rows behind two tokens, positions added: one constant comes of all their weights."""
    arrays = {
        "patch.weight": values(1, 16, 3, 16, 16).astype(np.float16),
        "patch.bias": values(2, 16).astype(np.float16),
        "tokens": values(3, 1, 2, 16).astype(np.float16),
        "positions": values(4, 1, 6, 16).astype(np.float16),
        "rows": np.array([0, 16, 4]),
        "rest": np.array([2, 16]),
    }
    nodes = [
        oh.make_node("Conv", ["x", "patch.weight", "patch.bias"], ["p"], strides=[16, 16]),
        oh.make_node("Reshape", ["p", "rows"], ["q"]),
        oh.make_node("Transpose", ["q"], ["r"], perm=[0, 2, 1]),
        oh.make_node("Shape", ["x"], ["batch"], end=1),
        oh.make_node("Concat", ["batch", "rest"], ["size"], axis=0),
        oh.make_node("Expand", ["tokens", "size"], ["front"]),
        oh.make_node("Concat", ["front", "r"], ["t"], axis=1),
        oh.make_node("Add", ["t", "positions"], ["y"]),
    ]
    graph = oh.make_graph(
        nodes,
        "g",
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, ["batch", 3, 32, 32])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT16, ["batch", 6, 16])],
        [on.from_array(array, name) for name, array in arrays.items()],
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8).SerializeToString()


@needs_fake_gpu
def test_U3_G13_tokens_that_stand_in_a_table_of_rows_are_refitted() -> None:
    script = """
import numpy as np
import tensorrt as trt
from test_refit import LOGGER, engine, entry

loaded = engine(entry(), trt.BuilderFlag.REFIT, size=32)
refitter = trt.Refitter(loaded, LOGGER)
assert refitter.set_named_weights("tokens", np.ones((1, 2, 16), np.float16))
print(sorted(refitter.get_missing_weights()))
stripped = engine(entry(), trt.BuilderFlag.STRIP_PLAN, size=32)
print(sorted(trt.Refitter(stripped, LOGGER).get_missing_weights()))
print(any(text.endswith("] fuse: fuse-patch-embedding") for _, text in LOGGER.lines))
"""
    others = ["patch.bias", "patch.weight", "positions"]
    assert on_fake_gpu(script).splitlines() == [str(others), str([*others, "tokens"]), "True"]
