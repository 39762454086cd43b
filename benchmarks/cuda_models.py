#!/usr/bin/env python3
"""Whole networks on one GPU beside PyTorch: device time of a run, float16, random weights of the same architecture.

Tenon: the project's models under BuilderFlag.FP16, by its Python module (PYTHONPATH=BUILD/python). PyTorch: the same
architecture from torchvision or transformers, channels last for images, eager in a CUDA graph and
`torch.compile(mode="reduce-overhead")`. Random data; times are of bursts of runs that wait for each other alone.
A row is (model, batch, sequence length); a process of its own per row and engine, one after the other.

    cuda_models.py MODELS [--rows resnet50:1,bert_base:1x128] [--no-compile] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROWS = "resnet50:1,resnet50:8,mobilenet_v2:1,vit_b_16:1,bert_base:1x128"
IMAGE = 224


def extents(row: str) -> tuple[str, int, int]:
    name, _, shape = row.partition(":")
    batch, _, length = (shape or "1").partition("x")
    return name, int(batch), int(length or 128)


def is_text(name: str) -> bool:
    return name.startswith("bert")


def shapes(name: str, batch: int, length: int) -> str:
    if is_text(name):
        return f"input_ids:{batch}x{length},attention_mask:{batch}x{length}"
    return f"input:{batch}x3x{IMAGE}x{IMAGE}"


def tenon_row(models: pathlib.Path, row: str) -> dict[str, object]:
    import tensorrt as trt
    import torch

    name, batch, length = extents(row)
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    net = builder.create_network()
    parser = trt.OnnxParser(net, logger)
    if not parser.parse_from_file(str(models / f"{name}.onnx")):
        raise SystemExit(1)
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    config.set_flag(trt.BuilderFlag.FP16)
    shape = (batch, length) if is_text(name) else (batch, 3, IMAGE, IMAGE)
    for i in range(net.num_inputs):
        profile.set_shape(net.get_input(i).name, shape, shape, shape)
    config.add_optimization_profile(profile)
    started = time.time()
    plan = builder.build_serialized_network(net, config)
    built = time.time() - started
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    arrays, types = [], {trt.float32: torch.float32, trt.int32: torch.int32, trt.int64: torch.int64}
    for i in range(engine.num_io_tensors):
        tensor = engine.get_tensor_name(i)
        if engine.get_tensor_mode(tensor) == trt.TensorIOMode.INPUT:
            context.set_input_shape(tensor, shape)
    for i in range(engine.num_io_tensors):
        tensor = engine.get_tensor_name(i)
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

        return {"ms": device_time(call), "build_s": built}


def network(name: str) -> object:
    import torch

    if is_text(name):
        from transformers import BertConfig, BertModel

        return BertModel(BertConfig()).eval().half().cuda()
    import torchvision

    made = getattr(torchvision.models, name)(weights=None).eval().half().cuda()
    return made.to(memory_format=torch.channels_last)


def torch_row(row: str, is_compiled: bool) -> dict[str, object]:
    import torch

    name, batch, length = extents(row)
    model = network(name)
    if is_text(name):
        given: tuple[object, ...] = (torch.randint(0, 30000, (batch, length), device="cuda"),)
    else:
        image = torch.randn(batch, 3, IMAGE, IMAGE, device="cuda", dtype=torch.float16)
        given = (image.to(memory_format=torch.channels_last),)
    started = time.time()
    with torch.no_grad():
        if is_compiled:
            run = torch.compile(model, mode="reduce-overhead")
            for _ in range(3):
                run(*given)
            torch.cuda.synchronize()

            def call() -> None:
                run(*given)
        else:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(3):
                    model(*given)
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                model(*given)
            call = graph.replay
        prepared = time.time() - started
        return {"ms": device_time(call), "build_s": prepared}


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


def apart(row: str, engine: str, models: pathlib.Path) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", engine, "--rows", row, str(models)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=180, env=os.environ | {"TENON_DEVICE": "cuda"}, check=False
        )
        return json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError) as error:
        return {"error": f"{type(error).__name__}: {done.stderr[-200:] if 'done' in locals() else ''}"}


def shown(result: dict[str, object]) -> str:
    return f"{result['ms'] * 1e3:9.1f}" if "ms" in result else f"{'-':>9}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=pathlib.Path, help="folder of materialized models")
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one == "tenon":
        print(json.dumps(tenon_row(options.models, options.rows)))
        return
    if options.one:
        print(json.dumps(torch_row(options.rows, options.one == "compile")))
        return
    rows = []
    engines = ("tenon", "eager", "compile")
    print(f"{'microseconds':<20} {'tenon':>9} {'eager':>9} {'compile':>9}  build s (tenon, compile)")
    for row in options.rows.split(","):
        chosen = engines[: 2 if options.no_compile else 3]
        result = {engine: apart(row, engine, options.models) if engine in chosen else {} for engine in engines}
        rows.append(result | {"row": row})
        times = " ".join(shown(result[engine]) for engine in engines)
        builds = ", ".join(f"{result[engine].get('build_s', 0):.1f}" for engine in ("tenon", "compile"))
        print(f"{row:<20} {times}  {builds}", flush=True)
        for engine in engines:
            if "error" in result[engine]:
                print(f"    {engine}: {result[engine]['error']}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
