"""Decorated plugins that are compiled into the plan (rules N6, N7 and N12; the code section of plans)."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import weakref

import circ_pad_aot
import numpy as np
import onnx
import onnx.helper
import pytest
import small
import tenon
import tensorrt as trt
import tensorrt.plugin as trtp
import test_plugins as pads

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build")) / "bin" / "tenon"
BEFORE, AFTER = np.array([2, 0], np.int32), np.array([1, 3], np.int32)
Kernel = tuple[str | bytes, str | bytes, trtp.KernelLaunchParams, trtp.SymIntExprs]

circ_pad_aot.register("aot_only", jit=False, aot=True)
circ_pad_aot.register("jit_only", jit=True, aot=False)
circ_pad_aot.register("both", jit=True, aot=True)

#: y[i] = x[i] + a[0], through the launch's numbers, which it writes behind the sums.
ADD = """
void add(struct tenon_launch const* launch, void const* const* inputs, void* const* outputs, int32_t const* a)
{
    float const* x = inputs[0];
    float* y = outputs[0];
    float* numbers = outputs[1];
    unsigned char* shared = launch->shared;
    for (uint32_t i = 0; i < launch->grid[0]; ++i)
        y[i] = x[i] + (float) a[0];
    for (uint64_t i = 0; i < launch->shared_bytes; ++i)
        shared[i] = 1;
    for (int i = 0; i < 3; ++i)
    {
        numbers[i] = (float) launch->grid[i];
        numbers[3 + i] = (float) launch->block[i];
    }
    numbers[6] = (float) launch->shared_bytes;
    numbers[7] = (float) a[1];
}
"""


def plan_of(
    use, kind: trt.DataType = trt.float32, logger: trt.ILogger = pads.LOGGER, flags: int = 0, aot: bool | None = None
) -> trt.IHostMemory | None:
    """A plan with one plugin on x[-1, 2, -1, 6]; `use` makes the call."""
    builder = trt.Builder(logger)
    network = builder.create_network(flags)
    x = network.add_input("x", kind, (-1, 2, -1, 6))
    layer = network.add_plugin(use(x)) if aot is None else network.add_plugin(use(x), aot=aot)
    if layer is None:
        return None
    for i in range(layer.num_outputs):
        layer.get_output(i).name = "yz"[i]
        network.mark_output(layer.get_output(i))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 2, 5, 6), (2, 2, 5, 6), (4, 2, 9, 6))
    config.add_optimization_profile(profile)
    return builder.build_serialized_network(network, config)


def pad(name: str):
    return lambda x: getattr(trtp.op.pads, name)(x, before=BEFORE, after=AFTER)


def load(plan: trt.IHostMemory | bytes, logger: trt.ILogger = pads.LOGGER, allowed: bool = True):
    runtime = trt.Runtime(logger)
    assert runtime.engine_host_code_allowed is False
    runtime.engine_host_code_allowed = allowed
    return runtime.deserialize_cuda_engine(plan)


def data(kind: type = np.float32, shape: tuple[int, ...] = (3, 2, 7, 6)) -> np.ndarray:
    return np.random.default_rng(4).integers(-100, 100, shape).astype(kind)


def like(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


def define(plugin_id: str, source: object, launch: object = None, arguments: object = None, name: object = "add"):
    """A plugin of one input and two outputs whose kernel comes from `source`."""

    @trtp.register(plugin_id)
    def describe(x: trtp.TensorDesc) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
        return x.like(), trtp.from_shape_expr((8,), trt.float32)

    @trtp.aot_impl(plugin_id)
    def kernel(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc, trtp.TensorDesc], tactic: int) -> Kernel:
        given = launch(x) if callable(launch) else launch or trtp.KernelLaunchParams()
        extra = arguments(x) if callable(arguments) else arguments or trtp.SymIntExprs(0)
        return name, source, given, extra

    return lambda x: getattr(trtp.op.kernels, plugin_id.partition("::")[2])(x)


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_N12_C_source_runs_in_the_plan(kind: type) -> None:
    plan = plan_of(pad("aot_only"), trt.float32 if kind is np.float32 else trt.int32)
    assert plan is not None
    contexts = [load(plan).create_execution_context() for _ in range(2)]
    for number, shape in enumerate([(1, 2, 5, 6), (4, 2, 9, 6), (3, 2, 7, 6)]):
        x = data(kind, shape)
        np.testing.assert_array_equal(pads.run(contexts[number % 2], x), pads.circ_pad(x, (2, 0), (1, 3)))


def test_N12_the_plan_needs_no_python_code(tmp_path: pathlib.Path) -> None:
    x = data()
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "pad.plan").write_bytes(plan_of(pad("aot_only")))
    program = (
        "import sys, numpy as np, tensorrt as trt\n"
        "runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR)); runtime.engine_host_code_allowed = True\n"
        "engine = runtime.deserialize_cuda_engine(open('pad.plan', 'rb').read())\n"
        "context = engine.create_execution_context(); x = np.load('x.npy')\n"
        "context.set_input_shape('x', x.shape); y = np.empty(tuple(context.get_tensor_shape('y')), x.dtype)\n"
        "context.set_tensor_address('x', x); context.set_tensor_address('y', y)\n"
        "assert context.execute_async_v3(0) and 'tenon.plugin' not in sys.modules\n"
        "np.save('y.npy', y)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), pads.circ_pad(x, (2, 0), (1, 3)))
    # The program has no Python in it.
    command = [PROGRAM, "run", "pad.plan", "--input", "x=x.npy", "--outputs", "out"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode != 0 and "setEngineHostCodeAllowed" in refused.stderr
    assert "'pad.plan' could not be loaded: it carries code of plugins, which runs only with --allow-code" in (
        refused.stderr
    )
    subprocess.run([*command, "--allow-code"], cwd=tmp_path, check=True, capture_output=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out/y.npy"), pads.circ_pad(x, (2, 0), (1, 3)))


def test_code_of_plans_is_loaded_only_when_allowed() -> None:
    logger = small.Recorder()
    plan = plan_of(pad("aot_only"))
    assert load(plan, logger, allowed=False) is None
    for part in ["setEngineHostCodeAllowed(true)", "'aot_only' version '1' namespace 'pads'", "kernel 'circ_pad_32'"]:
        assert part in logger.errors()
    assert load(plan, logger) is not None


def test_inspection_lists_the_code(tmp_path: pathlib.Path) -> None:
    plan = bytes(plan_of(pad("aot_only")))
    (code,) = json.loads(json.dumps(tenon.inspect(plan)))["code"]
    assert code["name"] == "plugin 'aot_only' version '1' namespace 'pads', kernel 'circ_pad_32'"
    start = plan.index(b"\x7fELF")
    assert hashlib.sha256(plan[start : start + code["bytes"]]).hexdigest() == code["sha256"]
    assert tenon.inspect(plan)["plugins"] == [], "no creator is needed"
    (tmp_path / "pad.plan").write_bytes(plan)
    text = subprocess.run([PROGRAM, "inspect", tmp_path / "pad.plan"], capture_output=True, text=True, check=True)
    assert f"code carried: {code['name']}, {code['bytes']} bytes, SHA-256 {code['sha256']}" in text.stdout
    assert (
        "code" in tenon.inspect(bytes(plan_of(pad("jit_only"))))
        and not tenon.inspect(bytes(plan_of(pad("jit_only"))))["code"]
    )


def test_equal_code_stands_once_and_plans_come_out_the_same() -> None:
    def twice() -> bytes:
        builder = trt.Builder(pads.LOGGER)
        network = builder.create_network(0)
        x = network.add_input("x", trt.float32, (1, 2, 5, 6))
        first = network.add_plugin(pad("aot_only")(x)).get_output(0)
        network.mark_output(network.add_plugin(pad("aot_only")(first)).get_output(0))
        return bytes(builder.build_serialized_network(network, builder.create_builder_config()))

    plan = twice()
    assert len(tenon.inspect(plan)["code"]) == 1
    assert plan == twice()


def test_N12_a_shared_object_is_taken_as_it_is(tmp_path: pathlib.Path) -> None:
    source, path = tmp_path / "add.c", tmp_path / "add.so"
    source.write_text(f'#include "{ROOT}/include/tenon/plugin_kernel.h"\n' + ADD)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
    use = define(
        "kernels::object",
        path.read_bytes(),
        lambda x: trtp.KernelLaunchParams(x.shape_expr.numel(), 2, 3, 4, 5, 6, shared_mem=x.shape_expr[0] * 16),
        lambda x: trtp.SymIntExprs.from_tuple([trtp.SymInt32(7), trtp.cdiv(x.shape_expr[2], 2)]),
        b"add",
    )
    plan = plan_of(use)
    (code,) = tenon.inspect(bytes(plan))["code"]
    assert code["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    context = load(plan).create_execution_context()
    for shape in [(3, 2, 7, 6), (1, 2, 5, 6)]:  # Launch and arguments follow from the shapes at hand.
        x, y, z = data(shape=shape), np.empty(shape, np.float32), np.empty(8, np.float32)
        assert context.set_input_shape("x", shape)
        for name, array in {"x": x, "y": y, "z": z}.items():
            context.set_tensor_address(name, array)
        assert context.execute_async_v3(0)
        np.testing.assert_array_equal(y, x + 7)
        assert list(z) == [x.size, 2, 3, 4, 5, 6, 16 * shape[0], -(-shape[2] // 2)]


def answering(answer: object):
    def kernel(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int) -> Kernel:
        return answer

    return kernel


def test_N12_wrong_types_are_type_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[type] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: raised.append(info.exc_type))
    launch, none = trtp.KernelLaunchParams(), trtp.SymIntExprs(0)
    wrong = trtp.SymExprs.from_tuple([trtp.SymInt8(1)])
    answers = {
        "name": (3, ADD, launch, none),
        "code": ("add", 4.5, launch, none),
        "launch": ("add", ADD, (1, 2), none),
        "arguments": ("add", ADD, launch, [1]),
        "argument": ("add", ADD, launch, wrong),
        "three": ("add", ADD, launch),
    }
    for name, answer in answers.items():
        trtp.register(f"wrong::{name}")(circ_pad_aot.describe)
        trtp.aot_impl(f"wrong::{name}")(answering(answer))
        assert plan_of(lambda x, name=name: getattr(trtp.op.wrong, name)(x, before=BEFORE, after=AFTER)) is None
        assert raised.pop() is TypeError, name
    for bad in [1.5, "1", None, True]:
        with pytest.raises(TypeError, match="grid_x"):
            trtp.KernelLaunchParams(bad)
    with pytest.raises(AttributeError):
        launch.grid = 3
    launch.block_y = trtp.SymInt32(4)
    assert launch.block_y.constant_value() == 4 and launch.shared_mem.constant_value() == 0


def test_N4_N12_the_result_must_be_annotated() -> None:
    trtp.register("wrong::hints")(circ_pad_aot.describe)

    def nothing(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int): ...
    def short(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int) -> tuple[str, str]: ...
    def other(
        x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int
    ) -> tuple[str, bytes, trtp.KernelLaunchParams, int]: ...
    def untimed(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc]) -> Kernel: ...
    def streaming(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], stream: int) -> Kernel: ...

    for function in [nothing, short, other, untimed, streaming]:
        with pytest.raises(ValueError, match=function.__name__):
            trtp.aot_impl("wrong::hints")(function)
    with pytest.raises(ValueError, match="not registered"):
        trtp.aot_impl("wrong::nobody")


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("ptx", "//\n// Generated\n//\n.version 8.4\n.target sm_90\n", "for CUDA devices.*device 'cpu'"),
        ("target", b"  .target sm_90\n", "for CUDA devices.*device 'cpu'"),
        ("broken", "void add(\n", "does not compile: .*cc ended with 1: .*kernel.c"),
        ("elsewhere", "void other(void) {}\n", "exports no function 'add'"),
        ("binary", b"\x01\x00\x02", "neither C source nor a shared object"),
        ("elf", b"\x7fELF" + bytes(100), "no shared object for this machine"),
        ("empty", "", "gave no code"),
    ],
)
def test_N12_code_that_cannot_run_is_refused(name: str, code: str | bytes, reason: str) -> None:
    logger = small.Recorder()
    assert plan_of(define(f"kernels::{name}", code), logger=logger) is None
    errors = logger.errors().replace("\n", " ")
    assert f"'{name}' version '1' namespace 'kernels'" in errors
    assert re.search(reason, errors), errors


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6])
def test_N12_part_of_a_shared_object_is_refused(part: float, tmp_path: pathlib.Path) -> None:
    source, path = tmp_path / "add.c", tmp_path / "add.so"
    source.write_text(f'#include "{ROOT}/include/tenon/plugin_kernel.h"\n' + ADD)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
    whole = path.read_bytes()
    logger = small.Recorder()
    name = f"part{int(100 * part)}"
    assert plan_of(define(f"kernels::{name}", whole[: int(part * len(whole))]), logger=logger) is None
    assert "not the whole of one" in logger.errors()


def test_compilers(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O9")
    logger = small.Recorder()
    assert plan_of(pad("aot_only"), logger=logger) is None
    assert "no C compiler here (tried no-such-compiler)" in logger.errors() and "'aot_only'" in logger.errors()
    script = tmp_path / "mycc"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\nexec {shutil.which("cc")} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", f"{script} -DEXTRA")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert plan_of(pad("aot_only")) is not None
    words = (tmp_path / "words").read_text().split()
    assert words[0] == "-DEXTRA" and {"-O2", "-shared", "-fPIC"} <= set(words)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mycc", "words"], "the folder is taken away"
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    logger = small.Recorder()
    assert plan_of(pad("aot_only"), logger=logger) is None
    assert "tried cc, gcc, clang" in logger.errors()


def test_code_that_was_changed_is_refused_by_name() -> None:
    plan = bytearray(plan_of(pad("aot_only")))
    name = tenon.inspect(bytes(plan))["code"][0]["name"]
    at = plan.index(b"\x7fELF") + 200
    plan[at] ^= 1
    logger = small.Recorder()
    assert load(bytes(plan), logger) is None
    assert (
        "code" in logger.errors()
    )  # The section's checksum; the entry's own is tested where sections are sealed again.
    assert name


def test_N7_strict_beats_preference_and_one_implementation_needs_none() -> None:
    aot_flag = 1 << int(trt.NetworkDefinitionCreationFlag.PREFER_AOT_PYTHON_PLUGINS)
    jit_flag = 1 << int(trt.NetworkDefinitionCreationFlag.PREFER_JIT_PYTHON_PLUGINS)

    def has_code(name: str, **options: object) -> bool:
        plan = plan_of(pad(name), **options)
        x = data()
        np.testing.assert_array_equal(
            pads.run(load(plan).create_execution_context(), x), pads.circ_pad(x, (2, 0), (1, 3))
        )
        return bool(tenon.inspect(bytes(plan))["code"])

    with pytest.raises(ValueError, match="PREFER_JIT_PYTHON_PLUGINS or PREFER_AOT_PYTHON_PLUGINS"):
        plan_of(pad("both"))
    with pytest.raises(ValueError, match="PREFER_JIT_PYTHON_PLUGINS or PREFER_AOT_PYTHON_PLUGINS"):
        plan_of(pad("both"), flags=aot_flag | jit_flag)
    assert has_code("both", flags=aot_flag) and not has_code("both", flags=jit_flag)
    assert has_code("both", flags=jit_flag, aot=True) and not has_code("both", flags=aot_flag, aot=False)
    assert has_code("both", aot=True) and not has_code("both", aot=False)
    for flags in [0, aot_flag, jit_flag]:
        assert has_code("aot_only", flags=flags) and not has_code("jit_only", flags=flags)
    with pytest.raises(ValueError, match="no just-in-time implementation"):
        plan_of(pad("aot_only"), aot=False)
    with pytest.raises(ValueError, match="no ahead-of-time implementation"):
        plan_of(pad("jit_only"), aot=True)


def test_N7_quick_creators_and_requests() -> None:
    creator = trt.get_plugin_registry().get_creator("both", "1", "pads")
    assert isinstance(creator, trt.IPluginCreatorV3Quick)
    assert (creator.name, creator.plugin_version, creator.plugin_namespace) == ("both", "1", "pads")
    fields = trt.PluginFieldCollection(
        [
            trt.PluginField(name, array, trt.PluginFieldType.INT32)
            for name, array in [("before", BEFORE), ("after", AFTER)]
        ]
    )
    Request, phase = trt.QuickPluginCreationRequest, trt.TensorRTPhase.BUILD
    for request, kind in [
        (Request.PREFER_JIT, trt.IPluginV3QuickRuntime),
        (Request.STRICT_JIT, trt.IPluginV3QuickRuntime),
        (Request.PREFER_AOT, trt.IPluginV3QuickAOTBuild),
        (Request.STRICT_AOT, trt.IPluginV3QuickAOTBuild),
    ]:
        plugin = creator.create_plugin("pad", "pads", fields, phase, request)
        assert isinstance(plugin, kind)
        core = plugin.get_capability_interface(trt.PluginCapabilityType.CORE)
        assert isinstance(core, trt.IPluginV3QuickCore) and core.plugin_name == "both" and core.plugin_version == "1"
    builder = trt.Builder(pads.LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (1, 2, 5, 6))
    parts = trtp.op.pads.both(x, before=BEFORE, after=AFTER)(Request.STRICT_JIT)
    assert parts[0] == [x] and parts[1] == [] and isinstance(parts[2], trt.IPluginV3)
    layer = network.add_plugin(parts)
    assert isinstance(layer, trt.IPluginV3Layer) and layer.plugin.plugin_name == "both"
    with pytest.raises(ValueError):
        network.add_plugin(3)


def test_N6_compiled_plugins_store_no_attributes() -> None:
    plan = plan_of(pad("aot_only"))
    steps = tenon.inspect(bytes(plan))["programs"][0]["steps"]
    assert [each["kernel"] for each in steps] == ["compiled_plugin"]
    other = plan_of(lambda x: trtp.op.pads.aot_only(x, before=BEFORE[::-1].copy(), after=AFTER))
    # What `before` was is in the code's arguments alone: nothing of the name is in the plan.
    assert b"before" not in bytes(plan) and bytes(plan) != bytes(other)


def test_aliased_outputs_of_compiled_plugins() -> None:
    @trtp.register("kernels::bump")
    def bump(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.aliased()

    @trtp.aot_impl("kernels::bump")
    def bump_kernel(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int) -> Kernel:
        source = (
            "void bump(struct tenon_launch const* launch, void const* const* in, void* const* out, int32_t const* a)"
            "{ float* y = out[0]; for (int32_t i = 0; i < a[0] && in[0] == out[0]; ++i) y[i] += 1; (void) launch; }"
        )
        count = trtp.SymIntExprs.from_tuple([trtp.SymInt32(x.shape_expr.numel())])
        return "bump", source, trtp.KernelLaunchParams(), count

    builder = trt.Builder(pads.LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    layer = network.add_plugin(trtp.op.kernels.bump(x))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
    engine = load(builder.build_serialized_network(network, config))
    given = data(shape=(2, 3))
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), given.copy()), given + 1)


def test_tactics_of_compiled_plugins() -> None:
    seen = []

    @trtp.register("kernels::tuned")
    def tuned(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.autotune("kernels::tuned")
    def tuned_autotune(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc]) -> list[trtp.AutoTuneCombination]:
        return [trtp.AutoTuneCombination("FP32, FP32", "LINEAR", [4, 2])]

    @trtp.aot_impl("kernels::tuned")
    def tuned_kernel(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int) -> Kernel:
        seen.append((tactic, x.dtype, x.format, tuple(x.shape.max)))
        source = (
            f"#define TACTIC {tactic}\nvoid scale(struct tenon_launch const* launch, void const* const* in, "
            "void* const* out, int32_t const* a)\n{ for (int32_t i = 0; i < a[0]; ++i) "
            "((float*) out[0])[i] = TACTIC * ((float const*) in[0])[i]; (void) launch; }\n"
        )
        count = trtp.SymIntExprs.from_tuple([trtp.SymInt32(x.shape_expr.numel())])
        return "scale", source, trtp.KernelLaunchParams(), count

    engine = load(plan_of(lambda x: trtp.op.kernels.tuned(x)))
    x = data()
    np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), 4 * x)
    assert seen == [(4, trt.float32, trt.TensorFormat.LINEAR, (4, 2, 9, 6))]


def loaded_kernels() -> int:
    return pathlib.Path("/proc/self/maps").read_text().count("memfd:tenon-kernel")


def test_code_is_unloaded_with_the_last_that_runs_it() -> None:
    gc.collect()  # What earlier tests left does not go meanwhile.
    before = loaded_kernels()
    engine = load(plan_of(pad("aot_only")))
    assert loaded_kernels() > before, "what the build has loaded is gone again, the engine's is there"
    context = engine.create_execution_context()
    gone = weakref.ref(engine)
    del engine
    x = data()
    np.testing.assert_array_equal(pads.run(context, x), pads.circ_pad(x, (2, 0), (1, 3)))
    assert loaded_kernels() > before
    del context
    assert gone() is None
    assert loaded_kernels() == before


def test_code_of_engines_is_kept_apart() -> None:
    def times(factor: int) -> trt.IHostMemory:
        trtp.register(f"kernels::times_{factor}")(like)

        @trtp.aot_impl(f"kernels::times_{factor}")
        def kernel(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int) -> Kernel:
            source = (
                "static int calls = 0;\n"
                "void same_name(struct tenon_launch const* launch, void const* const* in, void* const* out, "
                "int32_t const* a)\n{ ++calls; (void) launch; for (int32_t i = 0; i < a[0]; ++i) "
                f"((float*) out[0])[i] = {factor} * ((float const*) in[0])[i] + calls; }}\n"
            )
            count = trtp.SymIntExprs.from_tuple([trtp.SymInt32(x.shape_expr.numel())])
            return "same_name", source, trtp.KernelLaunchParams(), count

        return plan_of(lambda x: getattr(trtp.op.kernels, f"times_{factor}")(x))

    x = data()
    engines = {factor: load(times(factor)) for factor in (2, 3)}
    again = load(engines[2].serialize())
    for factor, engine in engines.items():
        context = engine.create_execution_context()
        np.testing.assert_array_equal(pads.run(context, x), factor * x + 1)
        np.testing.assert_array_equal(pads.run(context, x), factor * x + 2)
    np.testing.assert_array_equal(pads.run(again.create_execution_context(), x), 2 * x + 1)
    context = None
    del engines[2], again
    later = load(times(5))
    np.testing.assert_array_equal(pads.run(later.create_execution_context(), x), 5 * x + 1)
    np.testing.assert_array_equal(pads.run(engines[3].create_execution_context(), x), 3 * x + 3)


def test_a_launch_without_threads_runs_nothing() -> None:
    @trtp.register("kernels::empty_grid")
    def empty_grid(x: trtp.TensorDesc) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
        count = trtp.size_tensor(x.shape_expr[0], x.shape_expr[0])
        return trtp.from_shape_expr((count.expr(),), trt.float32), count

    @trtp.aot_impl("kernels::empty_grid")
    def kernel(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc, trtp.TensorDesc], tactic: int) -> Kernel:
        source = (
            "void crash(struct tenon_launch const* l, void const* const* in, void* const* out, int32_t const* a)"
            "{ *(volatile int*) 0 = 1; (void) l; (void) in; (void) out; (void) a; }"
        )
        return "crash", source, trtp.KernelLaunchParams(grid_y=x.shape_expr[0] // 100), trtp.SymIntExprs(0)

    plan = plan_of(lambda x: trtp.op.kernels.empty_grid(x))
    context = load(plan).create_execution_context()
    x, y, z = data(), np.empty(8, np.float32), np.full((), 7, np.int32)
    assert context.set_input_shape("x", x.shape)
    for name, array in {"x": x, "y": y, "z": z}.items():
        assert context.set_tensor_address(name, array)
    assert context.execute_async_v3(0)
    assert int(z) == 0


def parsed(network: trt.INetworkDefinition, op: str) -> bool:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    widths = {"before": BEFORE.tolist(), "after": AFTER.tolist()}
    node = helper.make_node(op, ["x"], ["y"], name="pad", domain="other", plugin_namespace="pads", **widths)
    value = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [value("x", kind, [1, 2, 5, 6])], [value("y", kind, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("other", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    return trt.OnnxParser(network, pads.LOGGER).parse(model)


@pytest.mark.parametrize("flag", ["PREFER_AOT_PYTHON_PLUGINS", "PREFER_JIT_PYTHON_PLUGINS", None])
def test_N7_nodes_of_models_follow_the_networks_flag(flag: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: raised.append(str(info.exc_value)))
    builder = trt.Builder(pads.LOGGER)
    network = builder.create_network(0 if flag is None else 1 << int(getattr(trt.NetworkDefinitionCreationFlag, flag)))
    assert parsed(network, "both") == (flag is not None)
    if flag is None:
        assert "PREFER_JIT_PYTHON_PLUGINS or PREFER_AOT_PYTHON_PLUGINS" in raised[0]
        return
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert bool(tenon.inspect(bytes(plan))["code"]) == ("AOT" in flag)
    x = data(shape=(1, 2, 5, 6))
    np.testing.assert_array_equal(pads.run(load(plan).create_execution_context(), x), pads.circ_pad(x, (2, 0), (1, 3)))


@pytest.mark.parametrize("aot", [False, True])
def test_the_example_of_the_documentation_runs(aot: bool) -> None:
    text = (ROOT / "docs/PLUGINS.md").read_text()
    blocks = [each for each in re.findall(r"```python\n(.*?)```", text, re.S) if "example::scale" in each]
    assert len(blocks) == 2
    program = "\n".join(blocks).replace("layer = network.add_plugin", "# ").replace("example", f"example{aot}")
    scope: dict[str, object] = {}
    exec(program, scope)  # noqa: S102
    plan = plan_of(lambda x: getattr(trtp.op, f"example{aot}").scale(x, factor=2.5), aot=aot)
    x = data()
    np.testing.assert_array_equal(pads.run(load(plan).create_execution_context(), x), x * np.float32(2.5))
