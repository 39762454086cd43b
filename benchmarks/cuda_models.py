#!/usr/bin/env python3
"""Whole networks on one GPU beside PyTorch: device time of a run, float16, random weights of the same architecture.

Tenon: `trtexec --fp16 --useCudaGraph` of the project's models. PyTorch: the same architecture from torchvision or
transformers, channels last for images, eager in a CUDA graph and `torch.compile(mode="reduce-overhead")`. Random data.
A row is (model, batch, sequence length); a process of its own per row and engine, one after the other.

    cuda_models.py BUILD [--rows resnet50:1,bert_base:1x128] [--no-compile] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
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


def tenon(build: pathlib.Path, models: pathlib.Path, row: str) -> dict[str, object]:
    name, batch, length = extents(row)
    with tempfile.TemporaryDirectory() as folder:
        times = pathlib.Path(folder) / "times.json"
        command = [
            str(build / "bin/trtexec"),
            f"--onnx={models / name}.onnx",
            "--fp16",
            "--useCudaGraph",
            "--noDataTransfers",
            "--duration=1",
            f"--exportTimes={times}",
        ]
        given = shapes(name, batch, length)
        command += [f"--{kind}Shapes={given}" for kind in ("min", "opt", "max")] + [f"--shapes={given}"]
        started = time.time()
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | {"TENON_DEVICE": "cuda"}, check=False
        )
        if done.returncode != 0:
            return {"error": (done.stdout + done.stderr).strip()[-400:]}
        spent = time.time() - started
        runs = [each["computeMs"] for each in json.loads(times.read_text()) if "computeMs" in each]
    built = re.search(r"Engine built in ([0-9.]+)", done.stdout)
    return {"ms": statistics.median(runs), "build_s": float(built[1]) if built else spent}


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


def apart(row: str, engine: str) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", engine, "--rows", row, "."]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        return json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError) as error:
        return {"error": f"{type(error).__name__}: {done.stderr[-200:] if 'done' in locals() else ''}"}


def shown(result: dict[str, object]) -> str:
    return f"{result['ms'] * 1e3:9.1f}" if "ms" in result else f"{'-':>9}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(torch_row(options.rows, options.one == "compile")))
        return
    models = options.models or options.build / "models"
    rows = []
    print(f"{'microseconds':<20} {'tenon':>9} {'eager':>9} {'compile':>9}  build s (tenon, compile)")
    for row in options.rows.split(","):
        result = {"row": row, "tenon": tenon(options.build, models, row), "eager": apart(row, "eager")}
        result["compile"] = {} if options.no_compile else apart(row, "compile")
        rows.append(result)
        times = " ".join(shown(result[engine]) for engine in ("tenon", "eager", "compile"))
        builds = ", ".join(f"{result[engine].get('build_s', 0):.1f}" for engine in ("tenon", "compile"))
        print(f"{row:<20} {times}  {builds}", flush=True)
        for engine in ("tenon", "eager", "compile"):
            if "error" in result[engine]:
                print(f"    {engine}: {result[engine]['error']}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
