"""Lifetimes, `with`, values and severities as Python sees them."""

import copy
import enum
import gc
import pickle
import sys
import warnings
import weakref

import numpy as np
import pytest
import small
import tenon
import tensorrt as trt


def test_tensorrt_hands_out_the_objects_of_tenon() -> None:
    assert trt.Builder is tenon.Builder and trt.DataType is tenon.DataType
    assert trt.__version__ == "10.16.0" and tenon.__version__ == "0.1.0"
    assert sys.modules["tensorrt.tensorrt"] is trt


@pytest.mark.parametrize(
    "kind", ["logger", "engine", "context", "runtime", "host memory", "builder", "network", "parser", "config"]
)
def test_X1_with_warns_and_frees_nothing(kind: str) -> None:
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = small.network(builder)
    engine = small.engine(logger)
    thing = {
        "logger": logger,
        "engine": engine,
        "context": engine.create_execution_context(),
        "runtime": trt.Runtime(logger),
        "host memory": small.plan(logger),
        "builder": builder,
        "network": network,
        "parser": trt.OnnxParser(network, logger),
        "config": builder.create_builder_config(),
    }[kind]
    with pytest.warns(DeprecationWarning, match="frees nothing"), thing as entered:
        assert entered is thing
    assert USES[kind](thing), "no longer usable behind the block"
    with pytest.raises(KeyError), warnings.catch_warnings():  # An exception goes on, and frees nothing either.
        warnings.simplefilter("ignore")
        with thing:
            raise KeyError(kind)
    assert USES[kind](thing)


def runs(context: trt.IExecutionContext) -> bool:
    x, y = small.inputs(), np.empty((3, 4), np.float32)
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    return context.execute_async_v3(0) and np.allclose(y, small.want(x), atol=1e-5)


def builds(builder: trt.Builder, network: trt.INetworkDefinition, config: trt.IBuilderConfig) -> bool:
    plan = builder.build_serialized_network(network, config)
    return plan is not None and plan.nbytes > 0


#: What each kind of object is for.
USES = {
    "logger": lambda logger: builds(made := trt.Builder(logger), small.network(made), small.config(made)),
    "engine": lambda engine: np.allclose(small.run(engine, x := small.inputs(2)), small.want(x), atol=1e-5),
    "context": runs,
    "runtime": lambda runtime: runs(
        runtime.deserialize_cuda_engine(small.plan(trt.Logger(trt.Logger.ERROR))).create_execution_context()
    ),
    "host memory": lambda plan: len(bytes(plan)) == plan.nbytes > 0,
    "builder": lambda builder: builds(builder, small.network(builder), small.config(builder)),
    "network": lambda network: network.num_layers == 3 and network.get_output(0).name == "y",
    "parser": lambda parser: not parser.parse(b"no model") and parser.num_errors > 0,
    "config": lambda config: config.set_flag(trt.BuilderFlag.TF32) is None and config.get_flag(trt.BuilderFlag.TF32),
}


def test_X1_children_keep_their_parents() -> None:
    logger = small.Recorder()
    alive = weakref.ref(logger)
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    layer = network.get_layer(1)
    plan = builder.build_serialized_network(network, config)
    del builder, network, config, logger
    gc.collect()
    assert layer.get_output(0).shape == (-1, 4)  # The layer keeps the network.
    context = trt.Runtime(alive()).deserialize_cuda_engine(plan).create_execution_context()
    del layer, plan
    gc.collect()
    assert alive() is not None  # The context keeps engine, runtime and logger.
    x, y = small.inputs(), np.empty((3, 4), np.float32)
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    del context
    gc.collect()
    assert alive() is None  # And nothing keeps them for ever.


def test_X1_networks_and_parsers_are_freed_in_either_order() -> None:
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    for first in ("network", "parser"):
        network = builder.create_network()
        parser = trt.OnnxParser(network, logger)
        gone = weakref.ref(network), weakref.ref(parser)
        if first == "network":
            del network
            gc.collect()
            assert gone[0]() is not None  # The parser keeps it.
            assert not parser.parse(b"no model")
            del parser
        else:
            del parser
            gc.collect()
            assert network.num_layers == 0
            del network
        gc.collect()
        assert gone[0]() is None and gone[1]() is None


def test_weights_live_as_long_as_the_network_needs_them() -> None:
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (1, 3, 8, 8))
    kernel = np.random.default_rng(3).standard_normal((4, 3, 3, 3), np.float32)
    layer = network.add_convolution_nd(x, 4, (3, 3), np.zeros((4, 3, 3, 3), np.float32))
    layer.kernel = kernel.copy()  # Nobody but the network holds this array.
    network.mark_output(layer.get_output(0))
    del layer
    gc.collect()
    np.random.default_rng(9).standard_normal(1 << 16)  # Would take the freed memory.
    np.testing.assert_array_equal(small.layer(network, 0, trt.IConvolutionLayer).kernel, kernel.reshape(-1))


def test_weights_that_are_none_are_an_array_without_elements() -> None:
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (1, 3, 8, 8))
    layer = network.add_convolution_nd(x, 4, (3, 3), np.ones((4, 3, 3, 3), np.float32))
    for none in (layer.bias, trt.Weights().numpy(), trt.Weights(trt.float32).numpy()):
        assert none.shape == (0,) and none.dtype == np.float32
    assert trt.Weights(trt.int8).numpy().dtype == np.int8
    for bare in (trt.Weights(trt.bfloat16), trt.Weights(trt.float32, 0, 4)):  # No type of NumPy's, a prototype.
        assert bare.numpy() is bare
    layer.bias = layer.bias
    network.mark_output(layer.get_output(0))
    assert builder.build_serialized_network(network, builder.create_builder_config()) is not None


def test_X8_volume_nptype_itemsize() -> None:
    assert trt.volume((2, 3, 4)) == 24 and trt.volume([]) == 1 and trt.volume(iter((5, 0))) == 0
    types = {
        trt.float32: np.float32,
        trt.float16: np.float16,
        trt.int8: np.int8,
        trt.int32: np.int32,
        trt.int64: np.int64,
        trt.bool: np.bool_,
        trt.uint8: np.uint8,
    }
    for ours, numpys in types.items():
        assert trt.nptype(ours) is numpys
        assert ours.itemsize == np.dtype(numpys).itemsize
    for kind in (trt.fp8, trt.bfloat16, trt.int4, trt.fp4):
        with pytest.raises(TypeError, match=kind.name):
            trt.nptype(kind)
    assert trt.int4.itemsize == 0.5 and trt.fp4.itemsize == 0.5
    assert trt.bfloat16.itemsize == 2 and trt.fp8.itemsize == 1


def test_X9_severities_on_both_loggers() -> None:
    assert trt.Logger.Severity is trt.ILogger.Severity
    for name in ("INTERNAL_ERROR", "ERROR", "WARNING", "INFO", "VERBOSE"):
        member = getattr(trt.ILogger.Severity, name)
        assert getattr(trt.Logger, name) is member and getattr(trt.ILogger, name) is member
    assert trt.Logger().min_severity == trt.Logger.WARNING


def test_A3_more_than_eight_extents_are_refused() -> None:
    assert tuple(trt.Dims(range(8))) == tuple(range(8))
    with pytest.raises(ValueError, match="9 extents"):
        trt.Dims(range(9))
    with pytest.raises((ValueError, TypeError)):
        trt.Builder(trt.Logger()).create_network().add_input("x", trt.float32, (1,) * 9)


def test_length_of_invalid_dims_raises() -> None:
    invalid = trt.Dims()
    assert invalid.nbDims == -1
    with pytest.raises(ValueError, match="invalid"):
        len(invalid)


def test_dims_behave_like_tuples() -> None:
    dims = trt.Dims((4, 5, 6))
    assert dims == (4, 5, 6) and dims == [4, 5, 6] and dims != (4, 5)
    assert dims[-1] == 6 and dims[1:] == (5, 6) and str(dims) == "(4, 5, 6)"
    dims[0] = 1 << 40  # Extents are 64 bits wide.
    assert list(dims) == [1 << 40, 5, 6]
    with pytest.raises(IndexError):
        dims[3]
    assert trt.DimsHW(3, 2).h == 3 and trt.Dims4(1, 2, 3, 4) == (1, 2, 3, 4)


def test_enumerations_are_no_integers() -> None:
    assert int(trt.DataType.INT64) == 8 and range(20)[trt.DataType.INT64] == 8
    assert 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH) == 1
    assert trt.DataType(3) is trt.int32 and trt.DataType.__members__["FLOAT"] is trt.float32
    assert trt.DataType.HALF != 1 and not isinstance(trt.DataType.HALF, int)
    assert trt.ActivationType.RELU != trt.LayerType.CONVOLUTION
    assert int(trt.ActivationType.RELU) == int(trt.LayerType.CONVOLUTION)
    assert trt.DataType.HALF not in [1, 1.0, trt.TensorFormat(1)] and trt.DataType.HALF in [1, trt.float16]
    names = {trt.DataType.HALF: "half", trt.TensorFormat(1): "format", 1: "one"}
    assert len(names) == 3 and names[trt.float16] == "half"
    for value in ("DataType", 99):
        with pytest.raises(ValueError):
            trt.DataType(value)


@pytest.mark.parametrize(
    "member", [trt.float16, trt.Logger.WARNING, trt.BuilderFlag.TF32, trt.LayerType.FULLY_CONNECTED]
)
def test_enumerations_can_be_pickled(member: enum.Enum) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(member, protocol)) is member
    assert copy.deepcopy({member: [member]}) == {member: [member]}


def test_flags_and_levels_are_ordered_and_combined_and_types_are_not() -> None:
    assert trt.Logger.ERROR < trt.Logger.WARNING <= 2 and 2 >= trt.Logger.WARNING > trt.Logger.ERROR
    assert trt.BuilderFlag.TF32 | 1 == 7 and 4 & trt.BuilderFlag.TF32 == 4 and ~trt.BuilderFlag.TF32 == -7
    assert max(trt.Logger.ERROR, trt.Logger.VERBOSE) is trt.Logger.VERBOSE
    for wrong in (lambda: trt.float32 < trt.float16, lambda: trt.float32 + 1, lambda: trt.Logger.ERROR < trt.float16):
        with pytest.raises(TypeError):
            wrong()


def test_a_layer_of_a_network_is_what_its_class_is_set_to() -> None:
    network = small.network(trt.Builder(trt.Logger(trt.Logger.ERROR)))
    assert [type(layer) for layer in network] == [trt.ILayer] * 3 and len(network) == 3
    layer = network[2]
    assert layer.type == trt.LayerType.ACTIVATION == network.get_layer(2).type and not hasattr(layer, "alpha")
    with pytest.raises(TypeError, match="is an IActivationLayer and cannot become an IConvolutionLayer"):
        layer.__class__ = trt.IConvolutionLayer
    for wrong in (int, trt.ITensor, "IActivationLayer", type("Own", (trt.IActivationLayer,), {})):
        with pytest.raises(TypeError):
            layer.__class__ = wrong
    layer.__class__ = trt.IActivationLayer
    assert layer.type == trt.ActivationType.RELU and layer.alpha == 0.0 and isinstance(layer, trt.ILayer)
    layer.type = trt.ActivationType.TANH
    layer.__class__ = trt.ILayer
    assert layer.type == trt.LayerType.ACTIVATION
    again = network[-1]
    again.__class__ = trt.IActivationLayer
    assert again.type == trt.ActivationType.TANH


def test_objects_and_members_stay_of_their_class() -> None:
    """What claimed another class of the library would be read as what it is not."""
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    network = small.network(builder)
    members = [trt.DataType.HALF, trt.BuilderFlag.TF32, trt.Logger.WARNING]
    objects = [builder, network, network.get_input(0), trt.Dims((1, 2)), builder.create_builder_config(), *members]
    for one in objects:
        for other in objects:
            if type(one) is not type(other):
                with pytest.raises(TypeError, match=f"^an? {type(one).__name__} cannot become an? "):
                    one.__class__ = type(other)
        with pytest.raises(TypeError, match="cannot become what is no class"):
            one.__class__ = "Builder"
        one.__class__ = type(one)
        assert one.__class__ is type(one) and isinstance(one, type(one))
    assert trt.DataType(1) is trt.DataType.HALF and str(trt.DataType.HALF) == "DataType.HALF"


def test_classes_of_users_may_take_each_others_place() -> None:
    class One(trt.ILogger):
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: trt.ILogger.Severity, message: str) -> None:
            raise AssertionError

    class Other(One):
        def log(self, severity: trt.ILogger.Severity, message: str) -> None:
            said.append(message)

    said: list[str] = []
    logger = One()
    logger.__class__ = Other
    assert trt.Runtime(logger).deserialize_cuda_engine(b"no plan") is None and said
    with pytest.raises(TypeError, match="an Other cannot become a Builder"):
        logger.__class__ = trt.Builder


def test_names_that_are_none_say_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'IAlgorithmSelektor'"):
        _ = trt.IAlgorithmSelektor


def test_guard_names_the_distribution_to_remove(tmp_path) -> None:
    folder = tmp_path / "tensorrt-10.16.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorrt\nVersion: 10.16.0\n")
    done = small.script(f"import sys; sys.path.append({str(tmp_path)!r}); import tensorrt")
    assert done.returncode != 0
    assert "ImportError" in done.stderr and "pip uninstall tensorrt," in done.stderr
    without = (  # As where tenon-tensorrt was never installed.
        "from importlib import metadata\n"
        "known = metadata.distribution\n"
        "def distribution(name):\n"
        "    if name == 'tenon-tensorrt':\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return known(name)\n"
        "metadata.distribution = distribution\n"
    )
    alone = small.script(
        f"{without}import sys; sys.path.append({str(tmp_path)!r}); import tenon; print(tenon.__version__)"
    )
    assert alone.stdout == "0.1.0\n"  # tenon alone does not mind.


def test_documentation_comes_from_the_headers() -> None:
    assert "Builds a plan" in trt.Builder.build_serialized_network.__doc__
    assert "name" in trt.ITensor.name.__doc__.lower()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trt.IExecutionContext.__doc__


def test_enumerations_print_their_names() -> None:
    assert str(trt.float32) == "DataType.FLOAT" and f"{trt.TensorIOMode.INPUT}" == "TensorIOMode.INPUT"
    assert str(trt.Logger.WARNING) == "Severity.WARNING" and repr(trt.float16) == "<DataType.HALF: 1>"
    assert f"{trt.BuilderFlag.FP16:d}" == "0" and int(trt.int8) == 2 and 1 << int(trt.BuilderFlag.TF32) == 64
