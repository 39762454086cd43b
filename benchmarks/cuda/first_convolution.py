"""First convolutions, three channels, beside cuDNN."""

import torch
from kernels import Activation, FirstConvolution, call, permuted
from replay import microseconds_at_least, quick, side_by_side, wrong


def packed(weights: torch.Tensor) -> torch.Tensor:
    """Filters [out, 3, k, k] in the order of device/first_convolution.cuh."""
    out, kernel = weights.shape[0], weights.shape[2]
    shift = kernel // 2 % 2
    row = -(-(kernel * 3 + shift) // 8) * 8
    lined = torch.zeros(out, kernel, row, dtype=weights.dtype, device=weights.device)
    lined[:, :, shift : shift + kernel * 3] = weights.permute(0, 2, 3, 1).reshape(out, kernel, kernel * 3)
    chunks = -(-kernel * row // 16) * 16
    flat = torch.zeros(out, chunks, dtype=weights.dtype, device=weights.device)
    flat[:, : kernel * row] = lined.reshape(out, kernel * row)
    return permuted(flat)[:out].reshape(out, -1, 8).permute(1, 0, 2).contiguous()


def measure(kernel: int, channels: int, batch: int) -> str:
    size, out, padding = 224, 112, kernel // 2
    x = torch.randn(batch, 3, size, size, device="cuda").half().to(memory_format=torch.channels_last)
    w = (torch.randn(channels, 3, kernel, kernel, device="cuda") / (kernel * 1.7)).half()
    bias = torch.randn(channels, device="cuda")
    y = torch.full((batch, channels, out, out), float("nan"), dtype=torch.half, device="cuda")
    y = y.to(memory_format=torch.channels_last)
    weights = packed(w)
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count

    def ours(shape: int) -> None:
        problem = FirstConvolution(x.data_ptr(), weights.data_ptr(), bias.data_ptr(), y.data_ptr(), batch,
            size, size, out, out, Activation.RELU)  # fmt: skip
        call("tenonFirstConvolution", problem, kernel, channels, shape, multiprocessors, 0)

    with torch.backends.cudnn.flags(enabled=False):
        expected = torch.nn.functional.conv2d(x.float(), w.float(), bias, 2, padding).relu()
    best, taken, fault, sweep = 0, float("inf"), "", []
    for shape in range(4):
        y.fill_(float("nan"))
        ours(shape)
        bad = wrong(y, expected)
        fault = fault or (bad and f"{shape}: {bad}")
        time = quick(lambda shape=shape: ours(shape), 20 if batch == 1 else 10)
        sweep.append(f"{time:.1f}")
        best, taken = (shape, time) if time < taken else (best, taken)
    half_bias = bias.half()
    w = w.to(memory_format=torch.channels_last)
    whole = torch.cat([x.flatten(), y.flatten()])
    half = whole.numel() // 2
    times = side_by_side(
        {
            "ours": lambda: ours(best),
            "cudnn": lambda: torch.cudnn_convolution_relu(x, w, half_bias, [2, 2], [padding] * 2, [1, 1], 1),
            "copy": lambda: whole[:half].copy_(whole[half : 2 * half]),
        },
        100 if batch == 1 else 10,
        20,
    )
    limit = microseconds_at_least(2.0 * y.numel() * kernel * kernel * 3, 2.0 * (x.numel() + y.numel() + w.numel()))
    return (
        f"first,3-{channels},{size},{kernel}x{kernel}/2,{batch},{times['cudnn']:.2f},{times['ours']:.2f},{limit:.2f},"
        f"{limit / times['ours']:.2f},{times['cudnn'] / times['ours']:.1f},{times['copy']:.2f},"
        f"{best} of {' '.join(sweep)},{fault}"
    )


def rows() -> list[tuple]:
    return [(measure, kernel, channels, batch) for batch in (1, 128) for kernel, channels in ((7, 64), (3, 32))]
