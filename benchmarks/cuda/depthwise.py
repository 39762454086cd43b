"""Depthwise convolutions of mobilenet_v2 and efficientnet_b0 beside cuDNN."""

import torch
from kernels import Activation, Depthwise, call
from replay import microseconds_at_least, quick, side_by_side, wrong

# Channels, size, kernel, stride.
LAYERS = [
    (32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2), (192, 28, 3, 1), (192, 28, 3, 2),
    (240, 28, 3, 2), (384, 14, 3, 1), (480, 14, 3, 1), (576, 14, 3, 1), (576, 14, 3, 2), (960, 7, 3, 1),
    (1152, 7, 3, 1), (144, 56, 5, 2), (240, 28, 5, 1), (480, 14, 5, 1), (672, 14, 5, 1), (672, 14, 5, 2),
    (1152, 7, 5, 1),
]  # fmt: skip


def scalar(channels: int, out: int, batch: int, kernel: int) -> list[tuple]:
    """Columns, channels and rows of a thread's strip, lanes and strips of a block."""
    shapes = [("window", c, v, 1) for c in (1, 2) for v in (2, 4)] if batch == 1 else []
    downs = (2, 4) if batch == 1 else (4, 7, 14, 28)
    vectors = (2, 4) if kernel == 3 else (2,)
    shapes += [
        ("sliding", c, v, r) for c in (2, 4, 7) for v in vectors for r in downs if r <= out and not (c == 7 and v == 4)
    ]
    found = []
    for kind, columns, vector, rows in shapes:
        count = channels // vector
        lanes = {max(n for n in range(1, limit + 1) if count % n == 0) for limit in (16, 32, 64)}
        for threads in (64, 128):
            found += [(kind, columns, vector, rows, n, threads // n) for n in lanes if n <= threads]
    return found


def matrix(channels: int, out: int, batch: int) -> list[tuple]:
    """Slices of eight channels, columns in eights and rows of a block."""
    slices = [n for n in (2, 3, 4, 6, 8) if channels // 8 % n == 0]
    downs = [r for r in ((2, 4) if batch == 1 else (4, 8, 14, 16, 28)) if r <= out + 1]
    blocks = [(n, c) for n in slices for c in (1, 2, 4) if n * c <= 8 and c * 8 < out + 8]
    return [("matrix", *block, rows) for block in blocks for rows in downs]


def measure(channels: int, size: int, kernel: int, stride: int, batch: int) -> str:
    padding, out = kernel // 2, -(-size // stride)
    x = torch.randn(batch, channels, size, size, device="cuda").half().to(memory_format=torch.channels_last)
    w = (torch.randn(channels, 1, kernel, kernel, device="cuda") / kernel).half()
    bias = torch.randn(channels, device="cuda")
    y = torch.full((batch, channels, out, out), float("nan"), dtype=torch.half, device="cuda")
    y = y.to(memory_format=torch.channels_last)
    packed = w[:, 0].permute(1, 2, 0).contiguous()

    def ours(kind: str, *how: int) -> None:
        problem = Depthwise(x.data_ptr(), packed.data_ptr(), bias.data_ptr(), y.data_ptr(), size, size, channels,
            out, out, padding, 0 if kind == "matrix" else how[2], Activation.RELU)  # fmt: skip
        if kind == "matrix":
            call("tenonDepthwiseMatrix", problem, batch, kernel, stride, *how, 0)
            return
        columns, vector, _, lanes, strips = how
        call("tenonDepthwise", problem, batch, kernel, stride, kind == "sliding", columns, vector, lanes, strips, 0)

    with torch.backends.cudnn.flags(enabled=False):
        expected = torch.nn.functional.conv2d(x.float(), w.float(), bias, stride, padding, 1, channels).relu()
    copies, fault = (20 if batch == 1 else 10), ""
    times: dict[tuple, float] = {}
    for how in scalar(channels, out, batch, kernel) + matrix(channels, out, batch):
        if batch == 1:
            y.fill_(float("nan"))
            ours(*how)
            bad = wrong(y, expected)
            fault = fault or (bad and f"{how}: {bad}")
        times[how] = quick(lambda how=how: ours(*how), copies, 5)
    kinds = [min((how for how in times if how[0] == kind), key=times.get) for kind in sorted({how[0] for how in times})]
    best = min(kinds, key=times.get)
    found = "; ".join(f"{' '.join(map(str, how))}: {times[how]:.2f}" for how in kinds)
    for how in kinds:
        y.fill_(float("nan"))
        ours(*how)
        bad = wrong(y, expected)
        fault = fault or (bad and f"{how}: {bad}")
    del expected
    whole = torch.cat([x.flatten(), y.flatten()])
    half = whole.numel() // 2
    half_bias, w = bias.half(), w.to(memory_format=torch.channels_last)
    times = side_by_side(
        {
            "ours": lambda: ours(*best),
            "cudnn": lambda: torch.cudnn_convolution_relu(
                x, w, half_bias, [stride] * 2, [padding] * 2, [1, 1], channels
            ),
            "copy": lambda: whole[:half].copy_(whole[half : 2 * half]),
        },
        100 if batch == 1 else 10,
        20 if batch == 1 else 10,
    )
    limit = microseconds_at_least(2.0 * y.numel() * kernel * kernel, 2.0 * (x.numel() + y.numel() + w.numel()))
    return (
        f"depthwise,{channels},{size},{kernel}x{kernel}/{stride},{batch},{times['cudnn']:.2f},{times['ours']:.2f},"
        f"{limit:.2f},{limit / times['ours']:.2f},{times['cudnn'] / times['ours']:.1f},"
        f"{times['copy']:.2f},{found},{fault}"
    )


def rows() -> list[tuple]:
    return [(measure, *layer, batch) for batch in (1, 128) for layer in LAYERS]
