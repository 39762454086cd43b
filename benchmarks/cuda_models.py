#!/usr/bin/env python3
"""Whole networks on one GPU beside PyTorch: device time of a run, float16, random weights of the same architecture.

Tenon: the project's models by trtexec under --fp16, built twice (the second build finds what the first kept on disk)
and loaded by a process of its own; the plan's runs are timed by the Python module (PYTHONPATH=BUILD/python).
bert_large is cuda_quantized.py's encoder without a mask; what tests/models has no graph of is exported by PyTorch.
PyTorch: torchvision's and transformers' networks, channels last for images, eager in a CUDA graph and torch.compile
in each of --modes; what max-autotune does not finish in --autotune-limit seconds a row has no time.
Builds have the releases of CUDA's libraries that PyTorch brings, as the process that times them has: a library's
kernels are chosen by their places among its proposals.
Random data; times are of bursts of runs that wait for each other alone. A row is (model, batch, sequence length).
`limit` is the physical limit of its layers in ms (physical_limit.py), `share` how much of it Tenon reaches.
PyTorch's rows are prepared side by side by processes of their own, and timed one after the other when all are ready:
who prepares shares --lock, who times has it alone, as compilers' trials beside a row had made it half as slow again.

    cuda_models.py BUILD MODELS [--rows resnet50:1,bert_base:1x128] [--engines tenon,torch] [--json FILE]
                   [--modes reduce-overhead,max-autotune]
"""

import argparse
import fcntl
import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import physical_limit

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROWS = (
    "resnet50:1,resnet50:8,resnet50:128,mobilenet_v2:1,mobilenet_v2:128,efficientnet_b0:1,efficientnet_b0:128,"
    "vit_b_16:1,vit_b_16:64,bert_base:1x128,bert_base:32x128,bert_large:1x384,bert_large:32x384"
)
IMAGE = 224
# What the times of a mode of torch.compile are called.
MODES = {"reduce-overhead": "compile", "max-autotune": "autotune"}
BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}


def extents(row: str) -> tuple[str, int, int]:
    name, _, shape = row.partition(":")
    batch, _, length = (shape or "1").partition("x")
    return name, int(batch), int(length or 128)


def is_text(name: str) -> bool:
    return name.startswith("bert")


def shapes(row: str) -> str:
    """As trtexec's flags give them."""
    name, batch, length = extents(row)
    if name == "bert_large":
        return f"input_ids:{batch}x{length}"
    if is_text(name):
        return f"input_ids:{batch}x{length},attention_mask:{batch}x{length}"
    return f"input:{batch}x3x{IMAGE}x{IMAGE}"


def inputs(row: str) -> dict[str, tuple[int, ...]]:
    given = (each.split(":") for each in shapes(row).split(","))
    return {name: tuple(map(int, shape.split("x"))) for name, shape in given}


def graph(row: str, models: pathlib.Path) -> pathlib.Path:
    """The network's ONNX file, made where it is missing."""
    sys.path.insert(0, str(ROOT / "tests" / "models"))
    import materialize
    import onnx

    name, _, length = extents(row)
    if name in materialize.graph_names():
        return materialize.materialize(name, models)
    path = models / (f"{name}.{length}.onnx" if is_text(name) else f"{name}.onnx")
    if path.exists():
        return path
    if is_text(name):
        import cuda_quantized

        onnx.save(cuda_quantized.Encoder(BERT_LARGE["num_hidden_layers"], length).model(length), path)
        return path
    import torch

    model = image_network(name)
    names = {"input_names": ["input"], "output_names": ["output"]}
    batches = {"dynamic_axes": {"input": {0: "N"}, "output": {0: "N"}}}
    torch.onnx.export(
        model, torch.randn(2, 3, IMAGE, IMAGE), str(path), dynamo=False, opset_version=17, **names, **batches
    )
    return path


def library_path() -> str:
    """LD_LIBRARY_PATH with PyTorch's cuBLASLt, cuDNN and NVRTC in front, where it brings some."""
    torch = importlib.util.find_spec("torch")
    packages = pathlib.Path(torch.origin).parents[1] / "nvidia" if torch and torch.origin else pathlib.Path("/nowhere")
    found = [str(folder) for folder in sorted(packages.glob("*/lib"))]
    return ":".join([*found, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])


def trtexec(build: pathlib.Path, arguments: list[str], limit: int, log: pathlib.Path) -> str:
    """What it printed; empty when it took too long or failed."""
    command = [str(build / "bin" / "trtexec"), *arguments]
    environment = os.environ | {
        "TENON_DEVICE": os.environ.get("TENON_DEVICE", "cuda"),
        "LD_LIBRARY_PATH": library_path(),
    }
    with log.open("a") as out:
        out.write(" ".join(command) + "\n")
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return ""
    with log.open("a") as out:
        out.write(done.stdout + done.stderr)
    return done.stdout if done.returncode == 0 else ""


def seconds(pattern: str, text: str) -> float | None:
    found = re.search(pattern + r" in ([0-9.]+) sec", text)
    return float(found[1]) if found else None


def tenon_row(row: str, options: argparse.Namespace) -> dict[str, object]:
    model = graph(row, options.models)
    stem = row.replace(":", ".")
    plan, log = options.models / f"{stem}.plan", options.models / f"{stem}.log"
    log.unlink(missing_ok=True)
    given = shapes(row)
    profile = [f"--{which}Shapes={given}" for which in ("min", "opt", "max")]
    build = [f"--onnx={model}", "--fp16", *profile, f"--saveEngine={plan}", "--skipInference"]
    result: dict[str, object] = {"limit": physical_limit.limit_ms(model, inputs(row))}
    for which in ("cold_s", "again_s"):
        result[which] = seconds("Engine built", trtexec(options.build, build, options.limit, log))
        if result[which] is None:
            return result | {"error": f"no engine in {options.limit} s: {log}"}
    run = [f"--loadEngine={plan}", f"--shapes={given}", "--noDataTransfers", "--warmUp=100", "--duration=0.5"]
    run += ["--iterations=20", "--dumpProfile", "--separateProfileRun"]
    text = trtexec(options.build, run, options.limit, log)
    result["load_s"] = seconds("Engine deserialized", text)
    median = re.search(r"GPU Compute Time:.*?median = ([0-9.]+) ms", text)
    result["trtexec_ms"] = float(median[1]) if median else None
    try:
        result |= apart("tenon", row, options, options.limit)
        return result | {"share": result["limit"] / result["ms"]}
    except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError) as error:
        return result | {"error": repr(error)}


def timed_plan(row: str, models: pathlib.Path) -> dict[str, object]:
    """Device time of the plan that tenon_row has built."""
    import tensorrt as trt
    import torch

    name, batch, length = extents(row)
    engine = trt.Runtime(trt.Logger(trt.Logger.WARNING)).deserialize_cuda_engine(
        (models / f"{row.replace(':', '.')}.plan").read_bytes()
    )
    context = engine.create_execution_context()
    arrays, types = [], {trt.float32: torch.float32, trt.int32: torch.int32, trt.int64: torch.int64}
    tensors = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    for tensor in tensors:
        if engine.get_tensor_mode(tensor) == trt.TensorIOMode.INPUT:
            context.set_input_shape(tensor, (batch, length) if is_text(name) else (batch, 3, IMAGE, IMAGE))
    for tensor in tensors:
        given, dtype = tuple(context.get_tensor_shape(tensor)), types[engine.get_tensor_dtype(tensor)]
        if dtype == torch.float32:
            arrays.append(torch.randn(given, device="cuda"))
        else:
            arrays.append(torch.randint(0, 30000 if "ids" in tensor else 2, given, device="cuda", dtype=dtype))
        context.set_tensor_address(tensor, arrays[-1].data_ptr())
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):

        def call() -> None:
            assert context.execute_async_v3(stream.cuda_stream)

        return {"ms": device_time(call)}


def image_network(name: str) -> object:
    """torchvision's, with batch norms that know random images: without, values vanish in float16."""
    import torch
    import torchvision

    torch.manual_seed(1)
    model = getattr(torchvision.models, name)(weights=None)
    norms = [each for each in model.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    for each in norms:
        each.momentum = None  # The mean over all that it sees.
    if norms:
        with torch.no_grad():
            model.train()(torch.randn(8, 3, IMAGE, IMAGE))
    return model.eval()


def network(name: str) -> object:
    import torch

    if is_text(name):
        from transformers import BertConfig, BertModel

        return BertModel(BertConfig(**(BERT_LARGE if name == "bert_large" else {}))).eval().half().cuda()
    return image_network(name).half().cuda().to(memory_format=torch.channels_last)


def torch_row(row: str, mode: str, lock: pathlib.Path) -> dict[str, object]:
    busy = lock.open("w")
    fcntl.flock(busy, fcntl.LOCK_SH)
    import torch

    name, batch, length = extents(row)
    model = network(name)
    if is_text(name):
        given: tuple[object, ...] = (torch.randint(0, 30000, (batch, length), device="cuda"),)
    else:
        image = torch.randn(batch, 3, IMAGE, IMAGE, device="cuda", dtype=torch.float16)
        given = (image.to(memory_format=torch.channels_last),)
    result: dict[str, object] = {}
    word = MODES[mode]
    with torch.no_grad():
        eager = captured(lambda: model(*given))
        started = time.time()
        compiled = torch.compile(model, mode=mode)
        try:
            for _ in range(3):
                compiled(*given)
            torch.cuda.synchronize()
            result[f"{word}_s"] = time.time() - started
        except Exception as error:  # noqa: BLE001 (whatever the compiler raises, eager is still to be timed)
            result["error"] = repr(error)[:300]
        fcntl.flock(busy, fcntl.LOCK_UN)
        with busy:
            fcntl.flock(busy, fcntl.LOCK_EX)
            result["eager_ms"] = device_time(eager.replay)
            if f"{word}_s" in result:
                result[f"{word}_ms"] = device_time(lambda: compiled(*given))
    return result


def captured(call) -> object:
    """A CUDA graph of a call, behind three that find its kernels."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def device_time(call) -> float:
    """Milliseconds of one call, the median over ten bursts of calls that the GPU does without waiting for the host."""
    import torch

    for _ in range(10):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(10):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(20):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 20)
    return statistics.median(times)


def apart(engine: str, row: str, options: argparse.Namespace, limit: int, mode: str = "") -> dict[str, object]:
    command = [sys.executable, __file__, "--one", engine, "--rows", row, "--lock", str(options.lock)]
    command += ["--modes", mode] if mode else []
    command += [str(options.build), str(options.models)]
    log = options.models / f"{row.replace(':', '.')}.{engine}.err"
    environment = {"TENON_DEVICE": "cuda"} | os.environ
    if mode != "max-autotune":  # Of that one row after the other is prepared.
        environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    with log.open("w") as err:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=err, text=True, timeout=limit, env=environment, check=False
        )
    return json.loads(done.stdout.splitlines()[-1])


def torch_rows(mode: str, options: argparse.Namespace) -> dict[str, dict[str, object]]:
    """Side by side; of max-autotune, whose trials on the GPU decide, one after the other."""
    is_tuned = mode == "max-autotune"
    limit = options.autotune_limit if is_tuned else options.torch_limit

    def one(row: str) -> dict[str, object]:
        try:
            found = apart("torch", row, options, limit, mode)
        except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError) as error:
            found = {"error": f"{mode}: {error!r}"}
        print(f"{row} by PyTorch, {mode}: {json.dumps(found)}", file=sys.stderr, flush=True)
        return found

    rows = options.rows.split(",")
    with ThreadPoolExecutor(1 if is_tuned else len(rows)) as pool:
        return dict(zip(rows, pool.map(one, rows), strict=True))


def shown(value: object, factor: float = 1.0) -> str:
    return f"{value * factor:9.3f}" if isinstance(value, float) else f"{'-':>9}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder of a build")
    parser.add_argument("models", type=pathlib.Path, help="folder for models")
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--engines", default="torch,tenon")
    parser.add_argument(
        "--lock", type=pathlib.Path, help="file whose lock whoever times holds; default: MODELS/timing.lock"
    )
    parser.add_argument("--limit", type=int, default=180, help="seconds of a build")
    parser.add_argument("--torch-limit", type=int, default=600, help="seconds of PyTorch's rows")
    parser.add_argument(
        "--autotune-limit", type=int, default=600, help="seconds of one of PyTorch's rows by max-autotune"
    )
    parser.add_argument("--modes", default="reduce-overhead", help=f"of torch.compile: {', '.join(MODES)}")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.modes.split(",")) - set(MODES):
        parser.error(f"no such mode: {', '.join(sorted(unknown))}")
    options.models.mkdir(parents=True, exist_ok=True)
    options.lock = options.lock or options.models / "timing.lock"
    if options.one:
        is_ours = options.one == "tenon"
        made = (
            timed_plan(options.rows, options.models)
            if is_ours
            else torch_row(options.rows, options.modes, options.lock)
        )
        print(json.dumps(made))
        return
    engines = options.engines.split(",")
    modes = options.modes.split(",")
    theirs: dict[str, dict[str, object]] = {}
    for mode in modes if "torch" in engines else ():
        for row, times in torch_rows(mode, options).items():  # The first mode's time of eager runs stays.
            theirs[row] = times | theirs.get(row, {})
    columns = ["ms", "limit", "share", "eager_ms", *(f"{MODES[mode]}_ms" for mode in modes)]
    columns += ["cold_s", "again_s", "load_s", *(f"{MODES[mode]}_s" for mode in modes)]
    print(f"{'row':<20} " + " ".join(f"{column:>9}" for column in columns))
    rows = []
    for row in options.rows.split(","):
        ours = tenon_row(row, options) if "tenon" in engines else {}
        both = theirs.get(row, {}) | ours
        rows.append(both | {"row": row})
        print(f"{row:<20} " + " ".join(shown(both.get(column)) for column in columns), flush=True)
        for each in (theirs.get(row, {}), ours):
            if "error" in each:
                print(f"    {each['error']}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
