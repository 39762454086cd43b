"""PyTorch's times for the kernels that `tools/cuda_test` measures: microseconds per call by name, as JSON.

Device time of replays of a CUDA graph with many calls, the median of ten, on random data.
"""

import functools
import json
import statistics
import sys

import torch
import torch.nn.functional as F

CALLS = 20
CONVOLUTIONS = [(64, 64, 3, 56), (64, 256, 1, 56), (512, 128, 1, 28), (256, 256, 3, 14), (512, 2048, 1, 7)]
DEPTHWISE = [
    (32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (192, 28, 3, 1), (384, 14, 3, 1), (576, 14, 3, 1),
    (960, 7, 3, 1), (480, 14, 5, 1), (1152, 7, 5, 1),
]  # fmt: skip
ATTENTIONS = [
    (1, 12, 128, 64), (32, 12, 128, 64), (1, 16, 384, 64), (32, 16, 384, 64), (1, 12, 197, 64), (64, 12, 197, 64),
    (1, 32, 2048, 128),
]  # fmt: skip
# Channels in and out, window, stride, extent, whether a residual is added.
RESNET50 = [
    (3, 64, 7, 2, 224, False),
    (64, 64, 1, 1, 56, False),
    (64, 64, 3, 1, 56, False),
    (64, 256, 1, 1, 56, True),
    (256, 64, 1, 1, 56, False),
    (256, 128, 1, 1, 56, False),
    (128, 128, 3, 2, 56, False),
    (128, 512, 1, 1, 28, True),
    (512, 128, 1, 1, 28, False),
    (128, 128, 3, 1, 28, False),
    (256, 256, 3, 1, 14, False),
    (256, 1024, 1, 1, 14, True),
    (1024, 256, 1, 1, 14, False),
    (512, 512, 3, 1, 7, False),
    (512, 2048, 1, 1, 7, True),
    (2048, 512, 1, 1, 7, False),
]
BERT_SIZES = [(768, 768), (2304, 768), (3072, 768), (768, 3072), (1024, 1024), (4096, 1024), (1024, 4096)]
PRODUCTS = [(128, 768, 768), (128, 3072, 768), (1024, 1024, 1024), (4096, 768, 3072), (12288, 3072, 1024)]


def device_time(call) -> float:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = []
    for _ in range(12):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / CALLS)
    return statistics.median(times[2:])


def random_half(*extents: int) -> torch.Tensor:
    return torch.randn(*extents, device="cuda", dtype=torch.float16)


def resnet50_calls(batch: int) -> dict[str, object]:
    """Each distinct convolution with bias and ReLU, as PyTorch's own fused calls of cuDNN where it has them."""
    calls = {}
    for inputs, outputs, window, stride, extent, adds in RESNET50:
        last = torch.channels_last
        image = random_half(batch, inputs, extent, extent).to(memory_format=last)
        kernel = random_half(outputs, inputs, window, window).to(memory_format=last)
        bias = random_half(outputs)
        ends = ((stride,) * 2, (window // 2,) * 2, (1, 1), 1)
        name = f"resnet50 b{batch} {inputs}-{outputs} {window}x{window} /{stride} {extent}{' add' if adds else ''}"
        if adds:
            residual = random_half(batch, outputs, extent // stride, extent // stride).to(memory_format=last)
            calls[name] = functools.partial(torch.cudnn_convolution_add_relu, image, kernel, residual, 1.0, bias, *ends)
        else:
            calls[name] = functools.partial(torch.cudnn_convolution_relu, image, kernel, bias, *ends)
    return calls


def bert_calls() -> dict[str, object]:
    calls = {}
    for rows in (128, 384, 4096, 12288):
        for columns, depth in BERT_SIZES:
            left, right, bias = random_half(rows, depth), random_half(depth, columns), random_half(columns)
            if columns > depth and columns != 2304:

                def call(left=left, right=right, bias=bias):
                    return F.gelu(torch.addmm(bias, left, right))

                calls[f"bert {rows}x{columns}x{depth} bias gelu"] = call
            else:
                calls[f"bert {rows}x{columns}x{depth} bias"] = functools.partial(torch.addmm, bias, left, right)
    return calls


def library_calls() -> dict[str, object]:
    torch.backends.cudnn.benchmark = True
    calls = bert_calls()
    for batch in (1, 8, 128):
        calls |= resnet50_calls(batch)
    return calls


def kernel_calls() -> dict[str, object]:
    torch.backends.cudnn.benchmark = True

    def random(*extents: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
        return torch.randn(*extents, device="cuda", dtype=dtype)

    tokens, scale, bias = random(12288, 1024), random(1024), random(1024)
    scores, queries, keys = random(384, 128, 128), random(384, 128, 64), random(384, 64, 128)
    tall, down, thin = random(4096, 3072), random(3072, 768), random(768)
    wide_a, wide_b = random(1024, 1024, dtype=torch.float32), random(1024, 1024, dtype=torch.float32)
    calls = {
        "gelu 12288x1024 f16": lambda: F.gelu(tokens),
        "softmax 12288x1024 f16": lambda: F.softmax(tokens, dim=1),
        "layer norm 12288x1024 f16": lambda: F.layer_norm(tokens, (1024,), scale, bias),
        "softmax 32x12x128x128 f16": lambda: F.softmax(scores, dim=2),
        "product 4096x768x3072 bias f16": lambda: torch.addmm(thin, tall, down),
        "products 384 x 128x128x64 f16": lambda: torch.bmm(queries, keys),
        "product 1024x1024x1024 f32": lambda: wide_a @ wide_b,
    }
    for rows, columns, depth in PRODUCTS:
        left, right = random(rows, depth), random(depth, columns)
        calls[f"product {rows}x{columns}x{depth} f16"] = functools.partial(torch.matmul, left, right)
    for batch in (1, 8):
        for inputs, outputs, window, extent in CONVOLUTIONS:
            image = random(batch, inputs, extent, extent).to(memory_format=torch.channels_last)
            kernel = random(outputs, inputs, window, window).to(memory_format=torch.channels_last)
            name = f"convolution {inputs}-{outputs} {window}x{window} {extent} b{batch} f16"
            calls[name] = functools.partial(F.conv2d, image, kernel, random(outputs), padding=window // 2)
    for batch in (1, 128):
        rows = [("depthwise", c, c, size, window, stride) for c, size, window, stride in DEPTHWISE]
        rows += [("first convolution", 3, 64, 224, 7, 2), ("first convolution", 3, 32, 224, 3, 2)]
        for kind, inputs, outputs, size, window, stride in rows:
            groups = inputs if kind == "depthwise" else 1
            image = random(batch, inputs, size, size).to(memory_format=torch.channels_last)
            kernel = random(outputs, inputs // groups, window, window).to(memory_format=torch.channels_last)
            name = f"{kind} {inputs}-{outputs} {size} {window}x{window}/{stride} b{batch} f16"
            calls[name] = functools.partial(
                torch.cudnn_convolution_relu, image, kernel, random(outputs), [stride] * 2, [window // 2] * 2,
                [1, 1], groups
            )  # fmt: skip
    return calls | attention_calls()


def attention_calls() -> dict[str, object]:
    calls = {}
    for shape in ATTENTIONS:
        q, k, v = random_half(*shape), random_half(*shape), random_half(*shape)
        calls["attention " + "x".join(map(str, shape)) + " f16"] = functools.partial(
            F.scaled_dot_product_attention, q, k, v, scale=0.125
        )
    return calls


def main() -> None:
    suites = {"kernels": kernel_calls, "libraries": library_calls, "attention": attention_calls}
    print(json.dumps({name: device_time(call) for name, call in suites[sys.argv[1]]().items()}))


if __name__ == "__main__":
    main()
