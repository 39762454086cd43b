"""The program `trtexec`: the lines that public scripts look for, exports, inputs, shapes, ways to run."""

import fcntl
import json
import pathlib
import re
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
import tensorrt as trt
from onnx import TensorProto, helper
from test_cli import PATIENCE, OnTerminal, clean, interrupt_when, save
from trtexec import SHORT, TRTEXEC, all_text, trtexec

NUMBER = r"(\d+\.\d+)"
FOUR = f"min = {NUMBER} ms, max = {NUMBER} ms, mean = {NUMBER} ms, median = {NUMBER} ms"
TAILS = "".join(rf", percentile\({part}%\) = {NUMBER} ms" for part in (90, 95, 99))
STAMP = r"^\[\d{2}/\d{2}/\d{4}-\d{2}:\d{2}:\d{2}\] \[I\] "


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A plan of 1 to 16 rows of 8."""
    folder = tmp_path_factory.mktemp("trtexec")
    save(folder / "small.onnx", layers=2)
    shapes = ["--minShapes=x:1x8", "--optShapes=x:4x8", "--maxShapes=x:16x8"]
    done = trtexec(
        f"--onnx={folder / 'small.onnx'}", *shapes, f"--saveEngine={folder / 'small.plan'}", "--skipInference"
    )
    assert re.search(rf"Engine built in {NUMBER} sec", done.stdout) and "Skipped inference phase" in done.stdout
    assert (folder / "small.plan").stat().st_size > 0
    return folder / "small.plan"


def float_lists(text: str, name: str) -> list[float]:
    """min, max, mean, median, 90%, 95%, 99% of a line of the summary, as scripts read it."""
    (found,) = re.findall(STAMP + re.escape(name) + ": " + FOUR + TAILS + "$", text, re.MULTILINE)
    return [float(value) for value in found]


def test_the_summary_is_what_scripts_look_for(engine: pathlib.Path) -> None:
    text = trtexec(f"--loadEngine={engine}", *SHORT, "--iterations=200").stdout
    rows = {name: float_lists(text, name) for name in ("Latency", "Enqueue Time", "H2D Latency", "GPU Compute Time")}
    rows["D2H Latency"] = float_lists(text, "D2H Latency")
    for least, most, mean, median, *tails in rows.values():
        assert least <= median <= tails[0] <= tails[1] <= tails[2] <= most and least <= mean <= most
    (qps,) = re.findall(STAMP + rf"Throughput: {NUMBER} qps$", text, re.MULTILINE)
    (walltime,) = re.findall(STAMP + rf"Total Host Walltime: {NUMBER} s$", text, re.MULTILINE)
    (compute,) = re.findall(STAMP + rf"Total GPU Compute Time: {NUMBER} s$", text, re.MULTILINE)
    (queries,) = re.findall(STAMP + rf"Timing trace has (\d+) queries over {NUMBER} s$", text, re.MULTILINE)
    assert int(queries[0]) >= 200
    # Which is told to 10 us: of a few milliseconds, where the machine has stood still during the warm-up, that is much.
    assert float(qps) * float(walltime) == pytest.approx(int(queries[0]), rel=1e-3, abs=1e-5 * float(qps))
    assert float(compute) == pytest.approx(rows["GPU Compute Time"][2] * int(queries[0]) / 1000, rel=1e-2, abs=1e-4)
    # Shell scripts take fields of the line by number: the sixteenth is the mean.
    (line,) = [line for line in text.splitlines() if re.search("GPU.* mean.*ms$", line) and "percentile" in line]
    assert float(line.split()[15]) == rows["GPU Compute Time"][2]
    averages = re.findall(
        STAMP + rf"Average on 10 runs - GPU latency: {NUMBER} ms - Host latency: {NUMBER} ms \(enqueue {NUMBER} ms\)$",
        text,
        re.MULTILINE,
    )
    assert len(averages) == int(queries[0]) // 10
    assert re.search(rf"Engine deserialized in {NUMBER} sec", text) and "Warmup completed" in text


def in_python(engine: pathlib.Path, x: np.ndarray) -> np.ndarray:
    runtime = trt.Runtime(trt.Logger(trt.Logger.WARNING))
    loaded = runtime.deserialize_cuda_engine(engine.read_bytes())
    context = loaded.create_execution_context()
    assert context.set_input_shape("x", x.shape)
    y = np.empty(tuple(context.get_tensor_shape("y")), np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(0)
    return y


@pytest.mark.parametrize(
    "way",
    [
        [],
        ["--exposeDMA"],
        ["--useManagedMemory"],
        ["--noDataTransfers"],
        ["--useCudaGraph"],
        ["--infStreams=2", "--threads"],
    ]
    + [["--allocationStrategy=runtime"], ["--allocationStrategy=profile"], ["--useSpinWait"], ["--asyncFileReader"]]
    + [["--infStreams=2"], ["--useCudaGraph", "--exposeDMA"], ["--idleTime=1", "--sleepTime=5"]],
    ids=" ".join,
)
def test_every_way_to_run_gives_what_python_gives(way: list[str], engine: pathlib.Path, tmp_path: pathlib.Path) -> None:
    x = np.random.default_rng(5).standard_normal((3, 8), np.float32)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    given = ["--shapes=x:3x8", f"--loadInputs='x':{tmp_path / 'x.bin'}", f"--exportOutput={tmp_path / 'out.json'}"]
    done = trtexec(f"--loadEngine={engine}", *given, *SHORT, *way)
    assert "Using given values for input x" in done.stdout and "[E]" not in done.stderr
    (output,) = json.loads((tmp_path / "out.json").read_text())
    assert (output["name"], output["dimensions"]) == ("y", "3x8")
    got = np.array(output["values"], np.float32).reshape(3, 8)
    np.testing.assert_array_equal(got, in_python(engine, x))
    assert len(set(output["values"])) > 5


def test_inputs_are_checked(engine: pathlib.Path, tmp_path: pathlib.Path) -> None:
    x = np.random.default_rng(6).standard_normal((2, 8), np.float32)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "short.bin").write_bytes(x.tobytes()[:-1])
    load = [f"--loadEngine={engine}", *SHORT]
    trtexec(*load, f"--loadInputs=x:{tmp_path / 'x.npy'}", f"--exportOutput={tmp_path / 'out.json'}")
    (output,) = json.loads((tmp_path / "out.json").read_text())
    assert output["dimensions"] == "2x8"  # A .npy file has its shape.
    np.testing.assert_array_equal(np.array(output["values"], np.float32).reshape(2, 8), in_python(engine, x))
    for words, said in (
        ([f"--loadInputs=x:{tmp_path / 'short.bin'}", "--shapes=x:2x8"], "of shape 2x8 takes 64 bytes; '"),
        ([f"--loadInputs=z:{tmp_path / 'x.npy'}"], "the engine has no input 'z'; it has 'x'"),
        (["--loadInputs=x:/nowhere"], "cannot read '/nowhere'"),
        (["--shapes=z:2x8"], "the engine has no input 'z'; it has 'x'"),
        (["--shapes=x:17x8"], "is outside profile 0"),
        (["--shapes=x:2x7"], "axis 1 has extent 8, not 7"),
    ):
        assert said in trtexec(*load, *words, status=1).stderr


def test_times_are_exported(engine: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = trtexec(f"--loadEngine={engine}", *SHORT, "--iterations=50", f"--exportTimes={tmp_path / 'times.json'}")
    times = json.loads((tmp_path / "times.json").read_text())
    assert f"Timing trace has {len(times)} queries" in done.stdout and len(times) >= 50
    for each in times:
        for start, end, span in (("H2d", "H2d", "h2dMs"), ("Compute", "Compute", "computeMs"), ("D2h", "D2h", "d2hMs")):
            assert each[f"end{end}Ms"] - each[f"start{start}Ms"] == pytest.approx(each[span], abs=1e-9)
        assert each["latencyMs"] == pytest.approx(each["h2dMs"] + each["computeMs"] + each["d2hMs"], abs=1e-9)
        assert 5 <= each["startEnqMs"] <= each["endEnqMs"]
    starts = [each["startComputeMs"] for each in times]
    assert starts == sorted(starts)
    median = np.median([each["computeMs"] for each in times])
    assert median == pytest.approx(float_lists(done.stdout, "GPU Compute Time")[3], abs=2e-5)


def test_profiles_and_layers_are_exported(engine: pathlib.Path, tmp_path: pathlib.Path) -> None:
    exports = [f"--exportProfile={tmp_path / 'profile.json'}", f"--exportLayerInfo={tmp_path / 'layers.json'}"]
    watched = trtexec(f"--loadEngine={engine}", *SHORT, *exports, "--dumpProfile", "--dumpLayerInfo").stdout
    assert "Throughput" not in watched and "Times of whole queries are not reported" in watched
    count, *layers = json.loads((tmp_path / "profile.json").read_text())
    assert f"=== Profile ({count['count']} iterations ) ===" in watched and count["count"] > 1
    assert sum(layer["percentage"] for layer in layers) == pytest.approx(100)
    for layer in layers:
        assert layer["timeMs"] == pytest.approx(layer["averageMs"] * count["count"], rel=1e-6)
        assert layer["medianMs"] > 0
        assert re.search(rf"{re.escape(layer['name'])} +\d+\.\d\d +{NUMBER} +{NUMBER} +\d+\.\d$", watched, re.MULTILINE)
    info = json.loads((tmp_path / "layers.json").read_text())
    assert len(info["Layers"]) == len(layers) == 2 and set(info["Bindings"]) == {"x", "y"}
    apart = trtexec(f"--loadEngine={engine}", *SHORT, "--dumpProfile", "--separateProfileRun").stdout
    assert apart.index("Throughput: ") < apart.index("=== Profile (")


def test_outputs_are_dumped(engine: pathlib.Path, tmp_path: pathlib.Path) -> None:
    x = np.random.default_rng(7).standard_normal((2, 8), np.float32)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    words = ["--shapes=x:2x8", "--loadInputs=x:x.bin", "--dumpOutput", "--dumpRawBindingsToFile"]
    text = trtexec(f"--loadEngine={engine}", *SHORT, *words, cwd=tmp_path).stdout
    want = in_python(engine, x)
    assert (tmp_path / "x.input.2.8.fp32.raw").read_bytes() == x.tobytes()
    assert (tmp_path / "y.output.2.8.fp32.raw").read_bytes() == want.tobytes()
    values = text.split("y: (2x8)\n")[1].splitlines()[0].split()
    np.testing.assert_array_equal(np.array(values, np.float32), want.reshape(-1))


def test_profiles_of_shapes(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "m.onnx")
    build = [f"--onnx={tmp_path / 'm.onnx'}", *SHORT, "--dumpOptimizationProfile"]
    two = ["--profile=0", "--minShapes=x:1x8", "--optShapes=x:2x8", "--maxShapes=x:4x8"]
    two += ["--profile=1", "--optShapes=*:8x8", "--useProfile=1"]
    text = trtexec(*build, *two).stdout
    assert "Optimization Profile 0: input x: min=1x8, opt=2x8, max=4x8" in text
    assert "Optimization Profile 1: input x: min=8x8, opt=8x8, max=8x8" in text
    assert "Input binding for x with dimensions 8x8 is created." in text
    assert "min=3x8, opt=3x8, max=3x8" in trtexec(*build, "--shapes=x:3x8").stdout
    alone = trtexec(*build, "--minShapes=x:2x8", "--maxShapes=x:6x8").stdout
    assert "min=2x8, opt=6x8, max=6x8" in alone
    none = trtexec(*build)
    assert "min=1x8, opt=1x8, max=1x8" in none.stdout and "'x' of shape -1x8 is given no shape" in none.stderr
    for words, said in (
        (["--profile=0", "--profile=0"], "each once"),
        (["--profile=1", "--optShapes=x:1x8"], "profile 0 has no shapes"),
        (["--optShapes=x:1x8", "--profile=0"], "--optShapes stands outside of a profile"),
        (["--optShapes=x:1x8", "--optShapes=x:2x8"], "--optShapes stands outside of a profile"),
        (["--optShapes=x:1xa"], "'a' is not an extent"),
        (["--optShapes=x1x8"], "'x1x8' is not name:value"),
        (["--optShapes='x:1x8"], "an opening quote"),
        (["--optShapes=z:1x8"], "the model has no input 'z'; it has 'x'"),
        (["--optShapes=x:1x9"], "(1,9) in optimization profile 0"),
        (["--useProfile=3", "--optShapes=x:1x8"], "--useProfile=3: the engine has profiles 0 to 0"),
    ):
        assert said in all_text(trtexec(*build, *words, status=1)), words


def test_values_of_shape_tensors(tmp_path: pathlib.Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])
    shape = helper.make_tensor_value_info("to", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "to"], ["y"])], "reshaped", [x, shape], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "s.onnx")
    shapes = ["--minShapes=to:1x1", "--optShapes=to:3x4", "--maxShapes=to:12x12"]
    build = [f"--onnx={tmp_path / 's.onnx'}", *SHORT, *shapes, f"--exportOutput={tmp_path / 'out.json'}"]
    for words, want in (([], "3x4"), (["--shapes=to:6x2"], "6x2")):
        trtexec(*build, *words)
        (output,) = json.loads((tmp_path / "out.json").read_text())
        assert output["dimensions"] == want and len(output["values"]) == 12


def test_debug_tensors_are_saved(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "m.onnx", layers=2)
    build = [f"--onnx={tmp_path / 'm.onnx'}", "--shapes=x:2x8", "--markDebug=r0,m1", *SHORT]
    trtexec(*build, "--saveDebugTensors=r0:relu.bin", "--saveAllDebugTensors=summary,numpy,string,raw", cwd=tmp_path)
    kept = np.load(tmp_path / "r0.npy")
    assert kept.shape == (2, 8) and kept.min() >= 0
    for name in ("relu.bin", "r0.raw"):
        np.testing.assert_array_equal(np.fromfile(tmp_path / name, np.float32).reshape(2, 8), kept)
    np.testing.assert_allclose(np.loadtxt(tmp_path / "r0.str", np.float32), kept, rtol=1e-6)
    summary = {each["name"]: each for each in json.loads((tmp_path / "debug_tensors_summary.json").read_text())}
    assert {"r0", "m1"} <= set(summary) and summary["r0"]["max"] == pytest.approx(float(kept.max()))
    said = trtexec(*build, "--saveDebugTensors=x:nothing.bin", status=1, cwd=tmp_path).stderr
    assert "the engine has no debug tensor 'x'" in said
    assert "the network has no tensor 'q'" in trtexec(*build[:2], "--markDebug=q", status=1).stderr


def test_timing_caches_are_read_and_written(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "m.onnx")
    build = [f"--onnx={tmp_path / 'm.onnx'}", "--shapes=x:2x8", "--skipInference"]
    cache = f"--timingCacheFile={tmp_path / 'times.cache'}"
    first = trtexec(*build, cache, "--builderOptimizationLevel=4").stdout
    size = (tmp_path / "times.cache").stat().st_size
    assert "The timing cache begins empty" in first and f"Saved {size} bytes of timing cache" in first
    assert f"Loaded {size} bytes of timing cache" in trtexec(*build, cache, "--builderOptimizationLevel=4").stdout
    (tmp_path / "times.cache").write_bytes(b"nonsense")
    assert "--timingCacheFile was refused" in trtexec(*build, cache, status=1).stderr


def timed_build(folder: pathlib.Path, width: int) -> list[str]:
    save(folder / f"{width}.onnx", layers=1, width=width)
    words = [f"--onnx={folder / f'{width}.onnx'}", f"--shapes=x:2x{width}", "--skipInference"]
    return [*words, f"--timingCacheFile={folder / 'times.cache'}", "--builderOptimizationLevel=4"]


def test_two_programs_that_share_a_timing_cache_keep_the_times_of_both(tmp_path: pathlib.Path) -> None:
    builds = [timed_build(tmp_path, width) for width in (8, 16)]
    running = []
    with open(tmp_path / "times.cache.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Neither writes before both have read.
        for number, build in enumerate(builds):
            out = (tmp_path / f"{number}.log").open("w")
            running.append(subprocess.Popen([str(TRTEXEC), *build], stdout=out, stderr=out, env=clean()))
        for number in range(2):
            log = tmp_path / f"{number}.log"
            end = time.monotonic() + PATIENCE
            while "The timing cache begins empty" not in log.read_text() and time.monotonic() < end:
                assert running[number].poll() is None, log.read_text()
                time.sleep(0.01)
    assert [process.wait(PATIENCE) for process in running] == [0, 0]
    for build in builds:
        trtexec(*build, "--errorOnTimingCacheMiss")
    trtexec(*timed_build(tmp_path, 24), "--errorOnTimingCacheMiss", status=1)
    assert not list(tmp_path.glob("*.part"))


def test_a_timing_cache_that_another_program_holds_is_written_after_a_while(tmp_path: pathlib.Path) -> None:
    with open(tmp_path / "times.cache.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = trtexec(*timed_build(tmp_path, 8)).stderr
        assert "Another program has the lock" in said and "times.cache.lock, for more than 5 s" in said
    trtexec(*timed_build(tmp_path, 8), "--errorOnTimingCacheMiss")


def test_how_long_it_runs(engine: pathlib.Path) -> None:
    load = [f"--loadEngine={engine}", "--warmUp=0", "--duration=0"]
    (queries,) = re.findall(r"Timing trace has (\d+) queries", trtexec(*load, "--iterations=7").stdout)
    assert int(queries) == 7
    few = trtexec(*load, "--iterations=7", "--percentile=50,99.5")
    assert "percentile(50%) = " in few.stdout and "percentile(99.5%) = " in few.stdout
    assert "7 queries are too few for percentile(99.5%)" in few.stderr and "percentile(50%)" not in few.stderr
    lanes = trtexec(*load, "--iterations=5", "--infStreams=3", "--avgRuns=5").stdout
    assert "Timing trace has 15 queries" in lanes and lanes.count("Average on 5 runs") == 3
    counts = []
    while len(counts) < 10 and max(counts, default=0) < 10:  # A machine may stand still in some attempts.
        text = trtexec(*load[:2], "--duration=0.3").stdout
        ((count, seconds),) = re.findall(r"has (\d+) queries over ([\d.]+) s", text)
        assert float(seconds) >= 0.25
        counts.append(int(count))
    assert counts[-1] >= 10, counts


def test_measuring_shows_how_far_it_is(engine: pathlib.Path) -> None:
    command = [f"--loadEngine={engine}", "--shapes=x:4x8", "--warmUp=5", "--duration=0.5"]
    terminal = OnTerminal([*command, "--infStreams=2", "--threads"], TRTEXEC)
    for _ in terminal.pieces_until_closed():
        pass
    assert terminal.process.wait() == 0, terminal.text
    assert re.search(r"Measuring \d+/\d+ +\[[# ]{30}\] +\d+%  about [\d.]+ s left", terminal.text), terminal.text
    assert "Measuring" not in all_text(trtexec(*command)), "nothing in a pipe"


def test_loading_is_timed(engine: pathlib.Path) -> None:
    text = trtexec(f"--loadEngine={engine}", "--timeDeserialize").stdout
    assert re.search(rf"in 20 iterations, average time = {NUMBER}, first time = {NUMBER}\.", text)
    assert "Starting inference" not in text


def test_ctrl_c_ends_it(engine: pathlib.Path, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as out:
        command = [str(TRTEXEC), f"--loadEngine={engine}", "--duration=-1"]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            interrupt_when(process, lambda: "Starting inference" in log.read_text())
            assert process.wait(timeout=PATIENCE) == 128 + signal.SIGINT
        finally:
            process.kill()
    assert "trtexec: interrupted" in log.read_text() and "PASSED" not in log.read_text()


def test_help_and_no_word_at_all() -> None:
    for words in (["--help"], ["-h"], []):
        text = trtexec(*words).stdout
        titles = ["Model Options", "Build Options", "System Options", "Inference Options", "Reporting Options"]
        assert re.findall(r"^=== (.*) ===$", text, re.MULTILINE) == [*titles, "Options of Releases before 10", "Help"]


def test_passwords_stay_out_of_the_log() -> None:
    done = subprocess.run(
        [str(TRTEXEC), "--remoteAutoTuningConfig=ssh://me:secret@host:22?a=b"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "secret" not in done.stdout + done.stderr and "ssh://me:***@host" in done.stdout
