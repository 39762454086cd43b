"""Rules T, X6 and S12 in Python: profilers, debug listeners, inspectors, and the trace that TENON_TRACE asks for."""

import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import onnx
import onnxruntime
import pytest
import small
import tensorrt as trt
from host_streams import Stream
from onnx import helper, numpy_helper

LOGGER = trt.Logger(trt.Logger.ERROR)
VERBOSITIES = [trt.ProfilingVerbosity.NONE, trt.ProfilingVerbosity.LAYER_NAMES_ONLY, trt.ProfilingVerbosity.DETAILED]


@pytest.fixture(autouse=True)
def print_what_callbacks_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As outside of pytest, which would make warnings of them."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)


class Times(trt.IProfiler):
    def __init__(self) -> None:
        trt.IProfiler.__init__(self)
        self.reports: list[tuple[str, float]] = []

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        self.reports.append((layer_name, ms))


class Listener(trt.IDebugListener):
    def __init__(self) -> None:
        trt.IDebugListener.__init__(self)
        self.told: list[tuple[str, np.ndarray]] = []
        self.arguments: list[tuple] = []
        self.raises = False

    def process_debug_tensor(self, addr, location, type, shape, name, stream) -> bool:
        count = trt.volume(shape)
        values = np.ctypeslib.as_array(ctypes.cast(addr, ctypes.POINTER(ctypes.c_float)), (count,)).reshape(shape)
        self.told.append((name, values.copy()))
        self.arguments.append((location, type, tuple(shape), stream))
        if self.raises:
            raise ValueError("not today")
        return False  # Ignored, as in the original bindings.


def build(
    verbosity: trt.ProfilingVerbosity = trt.ProfilingVerbosity.LAYER_NAMES_ONLY,
    profiles: int = 1,
    mark: bool = False,
    unfused: bool = False,
    logger: trt.ILogger = LOGGER,
) -> trt.ICudaEngine:
    builder = trt.Builder(logger)
    network = small.network(builder)
    config = small.config(builder, profiles)
    config.profiling_verbosity = verbosity
    product = network.get_layer(1)
    product.name, product.metadata = "product", "seen in detail"
    product.get_output(0).name = "product_out"
    if mark:
        assert network.mark_debug(product.get_output(0)) and network.is_debug_tensor(product.get_output(0))
    if unfused:
        assert network.mark_unfused_tensors_as_debug_tensors()
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    assert engine is not None
    return engine


class Run:
    """A context with its arrays."""

    def __init__(self, engine: trt.ICudaEngine, batch: int = 3) -> None:
        self.context = engine.create_execution_context()
        self.x = small.inputs(batch)
        self.y = np.empty((batch, 4), np.float32)
        assert self.context.set_input_shape("x", self.x.shape)
        assert self.context.set_tensor_address("x", self.x) and self.context.set_tensor_address("y", self.y)

    def __call__(self) -> np.ndarray:
        assert self.context.execute_async_v3(0)
        return self.y


# ---- profilers


def test_T1_a_profiler_hears_of_each_layer_once_per_run() -> None:
    engine = build()
    run, times = Run(engine), Times()
    assert run.context.profiler is None and run.context.enqueue_emits_profile is True
    run.context.profiler = times
    assert run.context.profiler is times
    np.testing.assert_allclose(run(), small.want(run.x), 1e-4, 1e-5)
    assert len(times.reports) == engine.num_layers
    assert all(isinstance(name, str) and ms >= 0 for name, ms in times.reports)
    assert any("product" in name for name, _ in times.reports)
    assert run.context.execute_v2([run.x.ctypes.data, run.y.ctypes.data])
    assert len(times.reports) == 2 * engine.num_layers


def test_T1_times_add_up_to_the_total() -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    at = network.add_input("x", trt.float32, (384, 384))
    weights = network.add_constant((384, 384), np.random.default_rng(3).standard_normal((384, 384), np.float32) / 20)
    for _ in range(12):
        product = network.add_matrix_multiply(
            at, trt.MatrixOperation.NONE, weights.get_output(0), trt.MatrixOperation.NONE
        )
        at = network.add_activation(product.get_output(0), trt.ActivationType.TANH).get_output(0)
    at.name = "y"
    network.mark_output(at)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    runtime = trt.Runtime(LOGGER)
    runtime.max_threads = 1  # With many, this work would be little beside what a run does otherwise.
    context = runtime.deserialize_cuda_engine(plan).create_execution_context()
    x, y, times = (
        np.random.default_rng(4).standard_normal((384, 384), np.float32),
        np.empty((384, 384), np.float32),
        Times(),
    )
    context.set_tensor_address("x", x), context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    context.profiler = times
    shares = []
    while len(shares) < 5 or (len(shares) < 200 and max(shares) <= 0.6):  # Other programs take part of some runs.
        times.reports.clear()
        start = time.perf_counter()
        assert context.execute_async_v3(0)
        wall = (time.perf_counter() - start) * 1000
        total = sum(ms for _, ms in times.reports)
        assert 0 < total <= wall * 1.001 + 0.01
        shares.append(total / wall)
    assert max(shares) > 0.6


def test_T2_report_to_profiler_delivers_what_enqueue_kept() -> None:
    engine = build(logger=(logger := small.Recorder()))
    run, times = Run(engine), Times()
    assert run.context.report_to_profiler() is False  # No profiler.
    run.context.profiler = times
    assert run.context.report_to_profiler() is True and times.reports == []  # Each enqueue would report by itself.
    run.context.enqueue_emits_profile = False
    assert run.context.enqueue_emits_profile is False
    assert run.context.report_to_profiler() is False  # No run yet.
    assert logger.errors().count("reportToProfiler") == 2
    for launches in (1, 2):
        np.testing.assert_allclose(run(), small.want(run.x), 1e-4, 1e-5)
        assert len(times.reports) == (launches - 1) * engine.num_layers
        assert run.context.report_to_profiler() is True
        assert len(times.reports) == launches * engine.num_layers


def test_T2_a_profiler_that_is_told_later_leaves_runs_asynchronous() -> None:
    engine = build()
    run, times, stream = Run(engine), Times(), Stream()
    run.context.profiler = times
    run.context.enqueue_emits_profile = False
    run.y[:] = np.nan
    gate = stream.hold()
    assert run.context.execute_async_v3(stream.handle)
    assert not stream.is_idle() and np.isnan(run.y).all() and times.reports == []
    threading.Timer(0.05, gate.set).start()
    assert run.context.report_to_profiler() is True  # Waits for the run, without the interpreter.
    assert len(times.reports) == engine.num_layers
    np.testing.assert_allclose(run.y, small.want(run.x), 1e-4, 1e-5)
    assert stream.synchronize() == 0
    stream.close()


def test_T2_a_captured_run_is_reported_after_each_launch() -> None:
    engine = build()
    run, times, stream = Run(engine), Times(), Stream()
    run.context.profiler = times
    run.context.enqueue_emits_profile = False
    run()
    times.reports.clear()
    stream.capture()
    assert run.context.execute_async_v3(stream.handle)
    assert run.context.report_to_profiler() is False  # In capture mode.
    graph = stream.end_capture()
    assert run.context.report_to_profiler() is False and times.reports == []  # Nothing has run.
    for launches in (1, 2):
        run.y[:] = np.nan
        graph.launch(stream)
        assert stream.synchronize() == 0
        np.testing.assert_allclose(run.y, small.want(run.x), 1e-4, 1e-5)
        assert run.context.report_to_profiler() is True
        assert len(times.reports) == launches * engine.num_layers
    graph.close()
    stream.close()


def test_T3_layers_have_numbers_where_the_plan_has_no_names() -> None:
    engine = build(trt.ProfilingVerbosity.NONE)
    run, times = Run(engine), Times()
    run.context.profiler = times
    run()
    assert [name for name, _ in times.reports] == [str(i) for i in range(engine.num_layers)]


def test_X2_a_profiler_that_raises_or_answers_nothing_fails_no_run(capfd: pytest.CaptureFixture) -> None:
    class Broken(trt.IProfiler):
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            raise ValueError("broken profiler")

    class Empty(trt.IProfiler):
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)

    run = Run(build())
    for profiler, said in ((Broken(), "broken profiler"), (Empty(), "report_layer_time")):
        run.context.profiler = profiler
        np.testing.assert_allclose(run(), small.want(run.x), 1e-4, 1e-5)
        assert said in capfd.readouterr().err


def test_T1_the_standard_profiler_prints() -> None:
    printed = small.script(
        "import small, tensorrt as trt\n"
        "engine = small.engine(trt.Logger())\n"
        "context = engine.create_execution_context()\n"
        "x = small.inputs(); y = __import__('numpy').empty((3, 4), 'float32')\n"
        "context.set_input_shape('x', x.shape)\n"
        "context.set_tensor_address('x', x), context.set_tensor_address('y', y)\n"
        "context.profiler = trt.Profiler()\n"
        "assert isinstance(context.profiler, trt.IProfiler)\n"
        "assert context.execute_async_v3(0)\n"
        "print('layers:', engine.num_layers)\n"
    )
    lines = printed.stdout.splitlines()
    assert printed.returncode == 0, printed.stderr
    count = int(next(line for line in lines if line.startswith("layers:")).split()[1])
    assert sum(line.endswith(" ms") for line in lines) == count


def test_X6_a_context_keeps_its_profiler_and_its_listener() -> None:
    run = Run(build(mark=True))
    profiler, listener = Times(), Listener()
    kept = [weakref.ref(profiler), weakref.ref(listener)]
    run.context.profiler = profiler
    assert run.context.set_debug_listener(listener) and run.context.set_all_tensors_debug_state(True)
    del profiler, listener
    gc.collect()
    run()
    assert all(reference() is not None for reference in kept)
    assert kept[0]().reports and kept[1]().told
    del run
    gc.collect()
    assert not any(reference() is not None for reference in kept)


def test_T4_nvtx_verbosity_may_not_exceed_the_builds() -> None:
    for built, verbosity in enumerate(VERBOSITIES):
        engine = build(verbosity)
        context = engine.create_execution_context()
        assert context.nvtx_verbosity == engine.profiling_verbosity == verbosity
        inspector = engine.create_engine_inspector()
        before = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
        for wanted, each in enumerate(VERBOSITIES):
            held = context.nvtx_verbosity
            if wanted <= built:
                context.nvtx_verbosity = each
            else:
                with pytest.raises(RuntimeError, match="nvtx_verbosity"):
                    context.nvtx_verbosity = each
            assert context.nvtx_verbosity == (each if wanted <= built else held)
        # Not the inspector's business.
        assert inspector.get_engine_information(trt.LayerInformationFormat.JSON) == before


def test_S12_debug_sync_logs_layers_of_execute_v2_only() -> None:
    logger = small.Recorder()
    engine = build(logger=logger)
    run = Run(engine)
    assert run.context.debug_sync is False
    run.context.debug_sync = True
    assert run.context.debug_sync is True
    heard = lambda: sum("ran in" in text for _, text in logger.lines)  # noqa: E731
    run()
    assert heard() == 0
    assert run.context.execute_v2([run.x.ctypes.data, run.y.ctypes.data])
    assert heard() == engine.num_layers


def test_S10_persistent_cache_limit_is_kept() -> None:
    context = build().create_execution_context()
    assert context.persistent_cache_limit == 0
    context.persistent_cache_limit = 1 << 20
    assert context.persistent_cache_limit == 1 << 20


# ---- debug tensors


def test_T8_a_debug_tensor_is_told_while_its_state_is_on() -> None:
    engine = build(mark=True)
    assert engine.is_debug_tensor("product_out") and not engine.is_debug_tensor("y")
    run, listener = Run(engine), Listener()
    assert run.context.get_debug_listener() is None
    assert run.context.set_debug_listener(listener)
    assert run.context.get_debug_listener() is listener
    run()
    assert listener.told == [] and run.context.get_debug_state("product_out") is False
    assert run.context.set_tensor_debug_state("product_out", True) is True
    assert run.context.get_debug_state("product_out") is True
    np.testing.assert_allclose(run(), small.want(run.x), 1e-4, 1e-5)
    [(name, values)] = listener.told
    assert name == "product_out"
    np.testing.assert_allclose(values, run.x @ small.WEIGHTS, 1e-4, 1e-5)
    assert listener.arguments == [(trt.TensorLocation.DEVICE, trt.float32, (3, 4), 0)]
    assert run.context.set_tensor_debug_state("y", True) is False  # Not marked.
    assert run.context.set_all_tensors_debug_state(False)
    run()
    assert len(listener.told) == 1


def test_T8_what_a_listener_answers_or_raises_is_ignored(capfd: pytest.CaptureFixture) -> None:
    run, listener = Run(build(mark=True)), Listener()
    run.context.set_debug_listener(listener)
    run.context.set_all_tensors_debug_state(True)
    listener.raises = True
    np.testing.assert_allclose(run(), small.want(run.x), 1e-4, 1e-5)
    assert len(listener.told) == 1 and "not today" in capfd.readouterr().err


def test_T9_none_clears_the_listener() -> None:
    run, listener = Run(build(mark=True)), Listener()
    run.context.set_debug_listener(listener)
    run.context.set_all_tensors_debug_state(True)
    assert run.context.set_debug_listener(None)
    assert run.context.get_debug_listener() is None
    run()
    assert listener.told == []


def test_T8_unfused_tensors() -> None:
    engine = build(trt.ProfilingVerbosity.DETAILED, unfused=True)
    run, listener = Run(engine), Listener()
    run.context.set_debug_listener(listener)
    assert run.context.unfused_tensors_debug_state is False
    run.context.unfused_tensors_debug_state = True
    assert run.context.unfused_tensors_debug_state is True
    run()
    text = engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
    assert listener.told and all(json.dumps(name) in text for name, _ in listener.told)
    np.testing.assert_allclose(dict(listener.told)["y"], small.want(run.x), 1e-4, 1e-5)


# ---- inspectors


def test_T5_inspectors_speak_as_the_build_was_told_to() -> None:
    for verbosity in VERBOSITIES:
        engine = build(verbosity)
        inspector = engine.create_engine_inspector()
        whole = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
        lines = inspector.get_engine_information(trt.LayerInformationFormat.ONELINE)
        first = inspector.get_layer_information(0, trt.LayerInformationFormat.ONELINE)
        assert whole["Bindings"] == ["x", "y"]
        if verbosity == trt.ProfilingVerbosity.NONE:
            assert whole["Layers"] == [] and lines == first == ""
            continue
        assert len(whole["Layers"]) == len(lines.splitlines()) == engine.num_layers
        assert lines.splitlines()[0] == first and "product" in lines
        isDetailed = verbosity == trt.ProfilingVerbosity.DETAILED
        assert all(isinstance(layer, dict if isDetailed else str) for layer in whole["Layers"])
        assert ("seen in detail" in lines) == isDetailed  # C9.


def dimensions(inspector: trt.EngineInspector, name: str) -> list:
    layers = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))["Layers"]
    return [t["Dimensions"] for layer in layers for t in layer["Inputs"] + layer["Outputs"] if t["Name"] == name]


def test_T5_with_a_context_dims_are_concrete() -> None:
    engine = build(trt.ProfilingVerbosity.DETAILED)
    inspector = engine.create_engine_inspector()
    assert inspector.execution_context is None
    assert dimensions(inspector, "x") == [[-1, 8]]
    run = Run(engine)
    inspector.execution_context = run.context
    assert inspector.execution_context is run.context
    assert dimensions(inspector, "x") == [[3, 8]] and dimensions(inspector, "y") == [[3, 4]]
    inspector.execution_context = None
    assert dimensions(inspector, "y") == [[-1, 4]]


def test_P8_profiles_are_tagged() -> None:
    engine = build(profiles=2)
    layers = json.loads(engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON))[
        "Layers"
    ]
    assert len(layers) == 2 * engine.num_layers
    assert [name.rpartition(" [")[2] for name in layers] == ["profile 0]"] * engine.num_layers + [
        "profile 1]"
    ] * engine.num_layers


def test_T6_a_layer_that_is_not_there() -> None:
    logger = small.Recorder()
    inspector = build(logger=logger).create_engine_inspector()
    assert inspector.get_layer_information(99, trt.LayerInformationFormat.JSON) is None
    assert inspector.get_layer_information(-1, trt.LayerInformationFormat.ONELINE) is None
    assert logger.errors().count("there is no layer") == 2


def test_B1_an_inspector_has_a_recorder_of_its_own() -> None:
    class Errors(trt.IErrorRecorder):
        def __init__(self) -> None:
            trt.IErrorRecorder.__init__(self)
            self.codes: list[trt.ErrorCodeTRT] = []

        def num_errors(self) -> int:
            return len(self.codes)

        def get_error_code(self, index: int) -> trt.ErrorCodeTRT:
            return self.codes[index]

        def get_error_desc(self, index: int) -> str:
            return ""

        def has_overflowed(self) -> bool:
            return False

        def clear(self) -> None:
            self.codes.clear()

        def report_error(self, code: trt.ErrorCodeTRT, desc: str) -> bool:
            self.codes.append(code)
            return False

    inspector, errors = build().create_engine_inspector(), Errors()
    assert inspector.error_recorder is None
    inspector.error_recorder = errors
    assert inspector.error_recorder is errors
    assert inspector.get_layer_information(99, trt.LayerInformationFormat.JSON) is None
    assert errors.codes == [trt.ErrorCodeTRT.INVALID_ARGUMENT]
    inspector.error_recorder = None


# ---- traces

RUNS = """
import sys, numpy as np, small, tensorrt as trt
sys.path.insert(0, {here!r})
import test_watch
engine = test_watch.build(trt.ProfilingVerbosity.{built})
for name in ("first", "second"):
    run = test_watch.Run(engine)
    run.context.name = name
    run.context.nvtx_verbosity = trt.ProfilingVerbosity.{wanted}
    run()
    run()
print("layers", engine.num_layers, flush=True)
"""


def traced(path, built: str, wanted: str) -> tuple[list[dict], int]:
    text = RUNS.format(built=built, wanted=wanted, here=os.path.dirname(__file__))
    done = small.script(text, TENON_TRACE=str(path))
    assert done.returncode == 0, done.stderr
    events = json.loads(path.read_text())
    return [event for event in events if event["ph"] == "X"], int(done.stdout.split()[-1])


def test_T4_a_trace_shows_builds_and_runs_with_contexts_and_threads(tmp_path) -> None:
    events, layers = traced(tmp_path / "trace.json", "LAYER_NAMES_ONLY", "LAYER_NAMES_ONLY")
    steps = [event for event in events if event["cat"] == "layer"]
    assert len(steps) == 4 * layers and len([e for e in events if e["cat"] == "run"]) == 4
    assert {event["args"]["context"] for event in steps} == {"first", "second"}
    assert all("inputs" not in event["args"] for event in steps)
    assert {"Building Engine", "Optimizing", "Choosing kernels"} <= {e["name"] for e in events if e["cat"] == "build"}
    assert all(e["dur"] >= 0 and e["ts"] > 0 and isinstance(e["tid"], int) and e["pid"] > 0 for e in events)
    for run in (e for e in events if e["cat"] == "run"):  # Steps lie within their run.
        within = [e for e in steps if run["ts"] - 1 <= e["ts"] and e["ts"] + e["dur"] <= run["ts"] + run["dur"] + 1]
        assert len(within) == layers


def test_T4_in_detail_a_trace_shows_shapes_and_with_none_nothing(tmp_path) -> None:
    events, _ = traced(tmp_path / "detailed.json", "DETAILED", "DETAILED")
    steps = [event["args"] for event in events if event["cat"] == "layer"]
    assert any("x float32[3x8]" in args["inputs"] for args in steps)
    assert any("y float32[3x4]" in args["outputs"] for args in steps)
    events, _ = traced(tmp_path / "none.json", "DETAILED", "NONE")
    assert {event["cat"] for event in events} <= {"build", "load"}
    events, _ = traced(tmp_path / "silent.json", "NONE", "NONE")
    assert not [event for event in events if event["cat"] in ("build", "layer", "run")]


def test_T4_the_file_is_whole_while_the_process_runs_and_when_it_is_killed(tmp_path) -> None:
    path = tmp_path / "killed.json"
    text = RUNS.format(built="DETAILED", wanted="DETAILED", here=os.path.dirname(__file__)) + PAUSED
    search = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        env=os.environ | {"PYTHONPATH": search, "TENON_TRACE": str(path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline().startswith("layers")
        sizes = []
        end = time.monotonic() + small.PATIENCE
        while len(sizes) < 20 and time.monotonic() < end:
            process.send_signal(signal.SIGSTOP)  # A reader takes several calls, between which the file would grow.
            os.waitpid(process.pid, os.WUNTRACED)
            size = len(json.loads(path.read_text()))
            process.send_signal(signal.SIGCONT)
            if not sizes or size != sizes[-1]:
                sizes.append(size)
            time.sleep(0.01)
        assert len(sizes) == 20 and sizes == sorted(sizes)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(json.loads(path.read_text())) >= sizes[-1]


PAUSED = "import time\nwhile True:\n    run()\n    time.sleep(0.002)\n"  # The file stays one that a slow test can read.
CAPTURED = """
import ctypes, sys
sys.path.insert(0, {here!r})
import host_streams, tenon, test_watch
run = test_watch.Run(test_watch.build())
run()
calls = host_streams._library()
graph = ctypes.c_void_p()
with tenon.Stream() as stream:
    handle = ctypes.c_void_p(stream.handle)
    assert calls.tenonHostBeginCapture(handle, 2) == 0
    print(run.context.execute_async_v3(stream.handle))
    print(calls.tenonHostEndCapture(handle, ctypes.byref(graph)), bool(graph))
"""


def test_S8_T4_runs_are_captured_while_a_trace_is_written_and_stay_out_of_it(tmp_path) -> None:
    path = tmp_path / "trace.json"
    done = small.script(CAPTURED.format(here=os.path.dirname(__file__)), TENON_TRACE=str(path))
    assert done.stdout == "True\n0 True\n", (done.stdout, done.stderr)
    assert len([event for event in json.loads(path.read_text()) if event.get("cat") == "run"]) == 1


def test_a_trace_that_cannot_be_written_stops_nothing(tmp_path) -> None:
    text = RUNS.format(built="DETAILED", wanted="DETAILED", here=os.path.dirname(__file__))
    done = small.script(text, TENON_TRACE=str(tmp_path / "no" / "folder.json"))
    assert done.returncode == 0 and "folder.json" in done.stderr
    done = small.script(text, TENON_TRACE=str(tmp_path / "of-%p.json"))
    assert done.returncode == 0
    [file] = tmp_path.glob("of-*.json")
    assert json.loads(file.read_text())[0]["pid"] == int(file.stem.removeprefix("of-"))


# ---- debug tensors of a whole model


def model() -> onnx.ModelProto:
    """Convolutions with norms and a residual, an attention block, a normalization written out: all that rules fuse."""
    rng = np.random.default_rng(11)
    nodes, constants = [], []

    def constant(name: str, array: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(array, name))
        return name

    def weight(name: str, *shape: int) -> str:
        return constant(name, (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32))

    def add(kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    c1 = add("Conv", ["x", weight("w1", 16, 3, 3, 3)], "c1", pads=[1, 1, 1, 1])
    norm = [constant(f"n{i}", np.abs(rng.standard_normal(16)).astype(np.float32) + 0.5) for i in range(4)]
    r1 = add("Relu", [add("BatchNormalization", [c1, *norm], "bn")], "r1")
    c2 = add("Conv", [r1, weight("w2", 16, 16, 3, 3)], "c2", pads=[1, 1, 1, 1])
    r2 = add("Relu", [add("Add", [c2, r1], "residual")], "r2")
    flat = add("Reshape", [r2, constant("to_rows", np.array([0, 16, -1], np.int64))], "rows")
    rows = add("Transpose", [flat], "tokens", perm=[0, 2, 1])  # [n, 64, 16]
    mean = add("ReduceMean", [rows], "mean", axes=[-1])
    centred = add("Sub", [rows, mean], "centred")
    two = constant("two", np.float32(2))
    variance = add("ReduceMean", [add("Pow", [centred, two], "squares")], "variance", axes=[-1])
    shifted = add("Add", [variance, constant("epsilon", np.float32(1e-5))], "shifted")
    normal = add("Div", [centred, add("Sqrt", [shifted], "deviation")], "normal")
    parts = []
    for part in "qkv":
        product = add("MatMul", [normal, weight(f"w{part}", 16, 16)], f"{part}_product")
        parts.append(add("Add", [product, weight(f"b{part}", 16)], part))
    keys = add("Transpose", [parts[1]], "keys", perm=[0, 2, 1])
    scores = add("Mul", [add("MatMul", [parts[0], keys], "scores"), constant("scale", np.float32(0.25))], "scaled")
    heads = add("MatMul", [add("Softmax", [scores], "probabilities", axis=-1), parts[2]], "heads")
    summed = add("Add", [add("MatMul", [heads, weight("wo", 16, 16)], "projected"), rows], "summed")
    gate = add("Mul", [summed, add("Sigmoid", [summed], "gate")], "swish")
    add("Identity", [add("ReduceMean", [gate], "pooled", axes=[1], keepdims=0)], "y")
    graph = helper.make_graph(
        nodes,
        "watched",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 16])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("marked", ["all", "some", "one by one"])
def test_T8_every_tensor_of_a_model_is_what_onnx_runtime_computes(marked: str) -> None:
    proto = model()
    names = [node.output[0] for node in proto.graph.node]
    every = onnx.ModelProto()
    every.CopyFrom(proto)
    every.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names if name != "y")
    x = np.random.default_rng(12).standard_normal((2, 3, 8, 8), np.float32)
    session = onnxruntime.InferenceSession(every.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"x": x}), strict=True))
    sets = {"all": [names], "some": [names[::3], names[1::3]], "one by one": [[name] for name in names[::2]]}[marked]
    for chosen in sets:
        builder = trt.Builder(LOGGER)
        network = builder.create_network()
        assert trt.OnnxParser(network, LOGGER).parse(proto.SerializeToString())
        found = set()
        for layer in (network.get_layer(i) for i in range(network.num_layers)):
            for tensor in (layer.get_output(i) for i in range(layer.num_outputs)):
                if tensor.name in chosen:
                    assert network.mark_debug(tensor)
                    found.add(tensor.name)
        assert found == set(chosen)
        config = builder.create_builder_config()
        profile = builder.create_optimization_profile()
        profile.set_shape("x", (1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8))
        config.add_optimization_profile(profile)
        engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
        context, listener = engine.create_execution_context(), Listener()
        y = np.empty((2, 16), np.float32)
        assert context.set_input_shape("x", x.shape)
        assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
        assert context.set_debug_listener(listener) and context.set_all_tensors_debug_state(True)
        assert context.execute_async_v3(0)
        assert sorted(name for name, _ in listener.told) == sorted(chosen)
        for name, values in listener.told:
            np.testing.assert_allclose(values, wanted[name], 1e-3, 1e-4, err_msg=name)
        np.testing.assert_allclose(y, wanted["y"], 1e-3, 1e-4)


@pytest.mark.parametrize("path", ["/nowhere/libtool.so", "libm.so.6"])
def test_a_tool_that_cannot_be_attached_is_told_of(path: str) -> None:
    script = (
        "import tensorrt as trt\n"
        "logger = trt.Logger(trt.Logger.WARNING)\n"
        "print(trt.Builder(logger).create_network(0) is not None, trt.Runtime(logger) is not None)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"NVTX_INJECTION64_PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert process.stdout.endswith("True True\n")
    told = [line for line in (process.stdout + process.stderr).splitlines() if "NVTX_INJECTION64_PATH" in line]
    assert len(told) == 2, process.stderr
    assert all(f"the tool '{path}' is not attached: " in line for line in told)
