"""Each flag of the enumerations of 8.6, 9.3 and 10.16 works, has no effect for a reason, or fails by name: a row each,
as docs/FLAGS.md says. What works is shown here, or by the test that is named."""

import collections.abc
import json
import pathlib
import re

import numpy as np
import pytest
import tensorrt as trt
from fake_gpu import needs_fake_gpu, on_fake_gpu

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "tools" / "api"
GENERATOR = np.random.default_rng(3)
KERNEL = GENERATOR.standard_normal((4, 3, 3, 3)).astype(np.float32)
Change = collections.abc.Callable[[trt.IBuilderConfig, trt.INetworkDefinition], object]


class Log(trt.ILogger):
    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.lines: list[tuple[trt.ILogger.Severity, str]] = []

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        self.lines.append((severity, msg))

    def of(self, severity: trt.ILogger.Severity) -> list[str]:
        return [text for level, text in self.lines if level == severity]


def build(change: Change, creation: int = 0) -> tuple[bytes | None, Log]:
    """The plan of a convolution, as `change(config, network)` makes it, and what was said."""
    log = Log()
    builder = trt.Builder(log)
    network = builder.create_network(creation)
    x = network.add_input("x", trt.float32, (1, 3, 8, 8))
    layer = network.add_convolution_nd(x, 4, (3, 3), KERNEL)
    layer.name = "conv"
    network.set_weights_name(layer.kernel, "kernel")
    relu = network.add_activation(layer.get_output(0), trt.ActivationType.RELU)
    relu.get_output(0).name = "y"
    network.mark_output(relu.get_output(0))
    config = builder.create_builder_config()
    change(config, network)
    plan = builder.build_serialized_network(network, config)
    return None if plan is None else bytes(plan), log


def engine(plan: bytes | None) -> trt.ICudaEngine:
    assert plan is not None
    return trt.Runtime(Log()).deserialize_cuda_engine(plan)


def flagged(*names: str, more: Change = lambda config, network: None) -> tuple[bytes | None, Log]:
    def change(config: trt.IBuilderConfig, network: trt.INetworkDefinition) -> None:
        for name in names:
            config.set_flag(getattr(trt.BuilderFlag, name))
        more(config, network)

    return build(change)


class NothingSelected(trt.IAlgorithmSelector):
    def __init__(self) -> None:
        trt.IAlgorithmSelector.__init__(self)

    def select_algorithms(self, context: trt.IAlgorithmContext, choices: list[trt.IAlgorithm]) -> list[int]:
        return []

    def report_algorithms(self, contexts: list[trt.IAlgorithmContext], choices: list[trt.IAlgorithm]) -> None:
        pass


def rounds(name: str) -> None:
    """Faster machines round, others say that they do not."""
    plan, log = flagged(name)
    warned = [text for text in log.of(trt.ILogger.WARNING) if f"k{name}" in text]
    assert plan is not None and len(warned) == (plan == PLAIN)


def int8() -> None:
    def ranges(config: trt.IBuilderConfig, network: trt.INetworkDefinition) -> None:
        for tensor in (network.get_input(0), network.get_layer(0).get_output(0), network.get_output(0)):
            tensor.dynamic_range = (-4, 4)

    assert flagged("INT8", more=ranges)[0] != flagged(more=ranges)[0]
    assert len([text for text in flagged("INT8")[1].of(trt.ILogger.WARNING) if "kINT8" in text]) == 1


def fallback() -> None:
    def to_dla(config: trt.IBuilderConfig, network: trt.INetworkDefinition) -> None:
        config.default_device_type = trt.DeviceType.DLA

    assert flagged(more=to_dla)[0] is None and flagged("GPU_FALLBACK", more=to_dla)[0] is not None


def refits(name: str) -> None:
    made = engine(flagged(name, more=lambda config, network: network.mark_weights_refittable("kernel"))[0])
    assert made.refittable and "kernel" in trt.Refitter(made, Log()).get_all_weights()
    assert not engine(PLAIN).refittable


def strips(name: str) -> None:
    plan = flagged(name)[0]
    assert plan is not None and len(plan) < len(flagged("REFIT")[0] or b"")
    assert engine(plan).refittable


def rejects(name: str) -> None:
    selector = NothingSelected()

    def with_selector(config: trt.IBuilderConfig, network: trt.INetworkDefinition) -> None:
        config.algorithm_selector = selector

    assert flagged(more=with_selector)[0] == PLAIN and flagged(name, more=with_selector)[0] is None


def obeys() -> None:
    def int32(config: trt.IBuilderConfig, network: trt.INetworkDefinition) -> None:
        network.get_layer(0).precision = trt.int32

    plan, log = flagged("OBEY_PRECISION_CONSTRAINTS", more=int32)
    assert plan is None and "kOBEY_PRECISION_CONSTRAINTS" in log.of(trt.ILogger.ERROR)[0]
    assert flagged("PREFER_PRECISION_CONSTRAINTS", more=int32)[0] is not None


def version_compatible() -> None:
    log = Log()
    builder = trt.Builder(log)
    network, config = builder.create_network(), builder.create_builder_config()
    network.mark_output(network.add_identity(network.add_input("x", trt.float32, (3,))).get_output(0))
    assert builder.build_engine_with_config(network, config) is not None
    config.set_flag(trt.BuilderFlag.VERSION_COMPATIBLE)
    assert builder.build_engine_with_config(network, config) is None
    assert "VERSION_COMPATIBLE" in log.of(trt.ILogger.ERROR)[0]


def workspace() -> None:
    plan, log = build(lambda config, network: config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 20))
    assert plan == PLAIN and any("kWORKSPACE" in text for text in log.of(trt.ILogger.INFO))


def strongly_typed() -> None:
    typed = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    refused = Log()
    network = trt.Builder(refused).create_network(typed)
    layer = network.add_identity(network.add_input("x", trt.float32, (3,)))
    layer.precision = trt.float16
    assert "strongly typed" in "\n".join(refused.of(trt.ILogger.ERROR))


def explicit_batch() -> None:
    builder = trt.Builder(Log())
    builder.max_batch_size = 4
    flag = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    assert builder.create_network().has_implicit_batch_dimension
    assert not builder.create_network(flag).has_implicit_batch_dimension


def excludes_weights() -> None:
    made = engine(flagged("REFIT")[0])
    config = made.create_serialization_config()
    whole = len(made.serialize_with_config(config))
    config.set_flag(trt.SerializationFlag.EXCLUDE_WEIGHTS)
    assert len(made.serialize_with_config(config)) < whole


def includes_refit() -> None:
    made = engine(flagged("STRIP_PLAN")[0])
    refitter = trt.Refitter(made, Log())
    refitter.set_named_weights("kernel", KERNEL)
    assert refitter.refit_cuda_engine()
    config = made.create_serialization_config()
    assert not engine(bytes(made.serialize_with_config(config))).refittable
    config.set_flag(trt.SerializationFlag.INCLUDE_REFIT)
    assert engine(bytes(made.serialize_with_config(config))).refittable


def excludes_runtime() -> None:
    made = engine(PLAIN)
    config = made.create_serialization_config()
    before = bytes(made.serialize_with_config(config))
    config.set_flag(trt.SerializationFlag.EXCLUDE_LEAN_RUNTIME)
    assert bytes(made.serialize_with_config(config)) == before


def parses(name: str) -> None:
    """A model is the same network with and without the flag."""
    import onnx.parser

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, 4] x, float[2] s, float[2] b) => (float[1, 2, 4] y)'
        "{ y = InstanceNormalization (x, s, b) }"
    ).SerializeToString()
    plans = []
    for is_set in (False, True):
        log = Log()
        builder = trt.Builder(log)
        network = builder.create_network()
        parser = trt.OnnxParser(network, log)
        (parser.set_flag if is_set else parser.clear_flag)(getattr(trt.OnnxParserFlag, name))
        assert parser.parse(model), log.lines
        plans.append(bytes(builder.build_serialized_network(network, builder.create_builder_config())))
        assert log.of(trt.ILogger.WARNING) == []
    assert plans[0] == plans[1]


PLAIN = build(lambda config, network: None)[0]
SAME, WARNED, FAILS = "same plan, no word", "same plan, one warning", "no plan, named"
Proof = (
    str | collections.abc.Callable[[], None]
)  # What shows it: one of the above, a test by file and name, a function.

ROWS: dict[str, dict[str, tuple[str, Proof]]] = {
    "BuilderFlag": {
        "FP16": ("works", lambda: rounds("FP16")),
        "BF16": ("works", lambda: rounds("BF16")),
        "INT8": ("works", int8),
        "FP8": ("no effect", WARNED),
        "INT4": ("no effect", WARNED),
        "FP4": ("no effect", WARNED),
        "DEBUG": ("no effect", SAME),
        "GPU_FALLBACK": ("works", fallback),
        "STRICT_TYPES": ("works", lambda: rejects("STRICT_TYPES")),
        "REFIT": ("works", lambda: refits("REFIT")),
        "REFIT_IDENTICAL": ("works", lambda: refits("REFIT_IDENTICAL")),
        "REFIT_INDIVIDUAL": ("works", lambda: refits("REFIT_INDIVIDUAL")),
        "STRIP_PLAN": ("works", lambda: strips("STRIP_PLAN")),
        "WEIGHTLESS": ("works", lambda: strips("WEIGHTLESS")),
        "DISABLE_TIMING_CACHE": (
            "works",
            "tests/api/timing_cache_test.cpp: H6_aBuildWithWhatIsKnownMeasuresNothingAndGivesTheSamePlan",
        ),
        "TF32": ("no effect", SAME),
        "SPARSE_WEIGHTS": ("no effect", SAME),
        "SAFETY_SCOPE": ("fails", FAILS),
        "OBEY_PRECISION_CONSTRAINTS": ("works", obeys),
        "PREFER_PRECISION_CONSTRAINTS": ("works", "tests/api/precision_test.cpp: C17_preferWarnsAndFallsBack"),
        "DIRECT_IO": ("works", "tests/api/formats_test.cpp: directIORefusesAFormatThatNoKernelTakes"),
        "REJECT_EMPTY_ALGORITHMS": ("works", lambda: rejects("REJECT_EMPTY_ALGORITHMS")),
        "ENABLE_TACTIC_HEURISTIC": ("no effect", SAME),
        "VERSION_COMPATIBLE": ("works", version_compatible),
        "EXCLUDE_LEAN_RUNTIME": ("no effect", SAME),
        "ERROR_ON_TIMING_CACHE_MISS": (
            "works",
            "tests/api/timing_cache_test.cpp: H6_aBuildWithWhatIsKnownMeasuresNothingAndGivesTheSamePlan",
        ),
        "DISABLE_COMPILATION_CACHE": ("no effect", SAME),
        "WEIGHT_STREAMING": ("works", "tests/python/test_weight_streaming.py: test_memory_follows_the_budget"),
        "STRICT_NANS": ("no effect", SAME),
        "MONITOR_MEMORY": ("no effect", WARNED),
        "EDITABLE_TIMING_CACHE": ("works", "tests/api/timing_cache_test.cpp: H4_aBuildObeysAnEditedTime"),
        "DISTRIBUTIVE_INDEPENDENCE": (
            "works",
            "tests/python/test_batch_independence.py: test_an_entry_does_not_depend_on_the_others",
        ),
    },
    "QuantizationFlag": {"CALIBRATE_BEFORE_FUSION": ("no effect", SAME)},
    "PreviewFeature": {
        "FASTER_DYNAMIC_SHAPES_0805": ("no effect", SAME),
        "DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805": ("no effect", SAME),
        "PROFILE_SHARING_0806": ("no effect", SAME),
        "ALIASED_PLUGIN_IO_10_03": ("works", "tests/python/test_aot.py: ALIASED_PLUGIN_IO_10_03"),
        "RUNTIME_ACTIVATION_RESIZE_10_10": ("no effect", SAME),
        "MULTIDEVICE_RUNTIME_10_16": ("no effect", SAME),
    },
    "NetworkDefinitionCreationFlag": {
        "EXPLICIT_BATCH": ("works", explicit_batch),
        "EXPLICIT_PRECISION": ("no effect", SAME),
        "STRONGLY_TYPED": ("works", strongly_typed),
        "PREFER_JIT_PYTHON_PLUGINS": ("works", "tests/python/test_aot.py: PREFER_JIT_PYTHON_PLUGINS"),
        "PREFER_AOT_PYTHON_PLUGINS": ("works", "tests/python/test_aot.py: PREFER_AOT_PYTHON_PLUGINS"),
    },
    "MemoryPoolType": {
        "WORKSPACE": ("works", workspace),
        "DLA_MANAGED_SRAM": ("no effect", WARNED),
        "DLA_LOCAL_DRAM": ("no effect", WARNED),
        "DLA_GLOBAL_DRAM": ("no effect", WARNED),
        "TACTIC_DRAM": ("no effect", WARNED),
        "TACTIC_SHARED_MEMORY": ("no effect", WARNED),
    },
    "TacticSource": {
        name: ("no effect", SAME)
        for name in ("CUBLAS", "CUBLAS_LT", "CUDNN", "EDGE_MASK_CONVOLUTIONS", "JIT_CONVOLUTIONS")
    },
    "SerializationFlag": {
        "EXCLUDE_WEIGHTS": ("works", excludes_weights),
        "EXCLUDE_LEAN_RUNTIME": ("no effect", excludes_runtime),
        "INCLUDE_REFIT": ("works", includes_refit),
    },
    "OnnxParserFlag": {
        "NATIVE_INSTANCENORM": ("no effect", lambda: parses("NATIVE_INSTANCENORM")),
        "ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA": (
            "no effect",
            lambda: parses("ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA"),
        ),
        "REPORT_CAPABILITY_DLA": ("no effect", lambda: parses("REPORT_CAPABILITY_DLA")),
        "ENABLE_PLUGIN_OVERRIDE": ("works", "tests/onnx/test_onnx_plugins.py: ENABLE_PLUGIN_OVERRIDE"),
        "ADJUST_FOR_DLA": ("no effect", lambda: parses("ADJUST_FOR_DLA")),
    },
    "TempfileControlFlag": {
        "ALLOW_IN_MEMORY_FILES": ("works", "tests/python/test_runtime_options.py: test_O5_temporary_files"),
        "ALLOW_TEMPORARY_FILES": ("works", "tests/python/test_runtime_options.py: test_O5_temporary_files"),
    },
}

#: How the flag is given to a build; its networks are made with those of the creation.
GIVEN: dict[str, collections.abc.Callable[[trt.IBuilderConfig, object], object]] = {
    "BuilderFlag": lambda config, flag: config.set_flag(flag),
    "QuantizationFlag": lambda config, flag: config.set_quantization_flag(flag),
    "PreviewFeature": lambda config, flag: config.set_preview_feature(flag, True),
    "MemoryPoolType": lambda config, flag: config.set_memory_pool_limit(flag, 1 << 20),
    "TacticSource": lambda config, flag: config.set_tactic_sources(1 << int(flag)),
    "NetworkDefinitionCreationFlag": lambda config, flag: None,
}


def members(enumeration: str) -> set[str]:
    """Of every generation whose table there is; 11.1 adds none to these."""
    found: set[str] = set()
    for version in ("8.6.1", "9.3.0", "10.16"):
        table = json.loads((TABLES / f"python-{version}.json").read_text())
        for each in table["modules"][0]["classes"]:
            if each["name"] == enumeration:
                found |= {member["name"] for member in each["enum_members"]}
    return found


@pytest.mark.parametrize("enumeration", ROWS)
def test_there_is_a_row_for_each_member_and_the_documentation_says_the_same(enumeration: str) -> None:
    assert set(ROWS[enumeration]) == members(enumeration)
    text = (ROOT / "docs" / "FLAGS.md").read_text().split(f"## {enumeration}\n")[1].split("\n## ")[0]
    said = dict(re.findall(r"^\| ([A-Z0-9_]+) \| ([a-z ]+) \|", text, re.M))
    assert said == {name: kind for name, (kind, _) in ROWS[enumeration].items()}
    for name, (kind, proof) in ROWS[enumeration].items():
        assert kind != "no effect" or re.search(rf"^\| {name} \| no effect \| .{{5}}", text, re.M), f"{name}: why?"
        if kind == "no effect" and isinstance(proof, str):
            chapter = text.split(f"| {name} |")[1].split("\n")[0]
            assert ("†" in chapter or "likewise" in chapter) == (proof == WARNED) or enumeration == "TacticSource"


@pytest.mark.parametrize(("enumeration", "name"), [(kind, name) for kind, rows in ROWS.items() for name in rows])
def test_a_flag_does_what_its_row_says(enumeration: str, name: str) -> None:
    _, proof = ROWS[enumeration][name]
    if callable(proof):
        return proof()
    if proof not in (SAME, WARNED, FAILS):
        file, test = proof.split(": ")
        assert test in (ROOT / file).read_text()
        return None
    flag = getattr(getattr(trt, enumeration), name)
    creation = 1 << int(flag) if enumeration == "NetworkDefinitionCreationFlag" else 0
    plan, log = build(lambda config, network: GIVEN[enumeration](config, flag), creation)
    named = [text for text in log.of(trt.ILogger.WARNING) if f"k{name}" in text]
    if proof == FAILS:
        assert plan is None and any(f"k{name}" in text for text in log.of(trt.ILogger.ERROR))
    else:
        assert plan == PLAIN and len(log.of(trt.ILogger.WARNING)) == len(named) == (proof == WARNED)
    return None


@needs_fake_gpu
def test_libraries_of_a_gpu_are_left_out_where_sources_do_not_name_them() -> None:
    script = """
import os
os.environ["TENON_TACTICS"] = "estimate"  # The fake driver's times mean nothing.
import numpy as np
import tensorrt as trt
logger = trt.Logger(trt.Logger.ERROR)
CUBLAS, LT, CUDNN = (1 << int(getattr(trt.TacticSource, name)) for name in ("CUBLAS", "CUBLAS_LT", "CUDNN"))
for sources in (None, CUBLAS, LT, CUDNN, LT | CUDNN, 0):
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    x = network.add_input("x", trt.float32, (64, 64))
    w = network.add_constant((64, 64), np.eye(64, dtype=np.float32)).get_output(0)
    none = trt.MatrixOperation.NONE
    network.mark_output(network.add_matrix_multiply(x, none, w, none).get_output(0))
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    if sources is not None:
        assert config.set_tactic_sources(sources) and config.get_tactic_sources() == sources
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    text = engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
    print("cublaslt" in text, end=" ")
"""
    assert on_fake_gpu(script).split() == ["True", "True", "True", "False", "True", "False"]
