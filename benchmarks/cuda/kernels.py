"""The kernels of libtenon_cuda_benchmarks.so as functions on PyTorch tensors (FP16, channels last)."""

import ctypes
import enum
import os
import pathlib

import torch

FOLDER = os.environ.get("TENON_CUDA_BENCHMARKS", str(pathlib.Path(__file__).resolve().parent / "build"))
LIBRARY = ctypes.CDLL(f"{FOLDER}/libtenon_cuda_benchmarks.so")
Pointer = ctypes.c_void_p
Int = ctypes.c_int


class Activation(enum.IntEnum):
    NONE = 0
    RELU = 1
    RELU6 = 2
    SILU = 3
    GELU = 4


class Depthwise(ctypes.Structure):
    _fields_ = [(n, Pointer) for n in ("input", "weights", "bias", "output")] + [
        (n, Int) for n in ("height", "width", "channels", "out_height", "out_width", "padding", "rows", "activation")
    ]


class FirstConvolution(ctypes.Structure):
    _fields_ = [(n, Pointer) for n in ("input", "weights", "bias", "output")] + [
        (n, Int) for n in ("batch", "height", "width", "out_height", "out_width", "activation")
    ]


class Source(ctypes.Structure):
    _fields_ = [("data", Pointer)] + [(n, Int) for n in ("height", "width", "channels", "kernel", "stride", "padding")]


class Convolution(ctypes.Structure):
    _fields_ = (
        [("sources", Source * 2)]
        + [(n, Pointer) for n in ("weights", "bias", "residual", "output")]
        + [(n, Int) for n in ("batch", "out_height", "out_width", "out_channels", "pixels", "slices", "activation")]
        + [("early", ctypes.c_bool)]
    )


class Pooling(ctypes.Structure):
    _fields_ = [(n, Pointer) for n in ("input", "output")] + [
        (n, Int) for n in ("batch", "height", "width", "channels", "out_height", "out_width")
    ]


def call(name: str, problem: ctypes.Structure, *arguments: int) -> None:
    """Launch on PyTorch's current stream."""
    stream = Pointer(torch.cuda.current_stream().cuda_stream)
    error = getattr(LIBRARY, name)(ctypes.byref(problem), *map(Int, arguments), stream)
    if error:
        raise RuntimeError(f"{name}{arguments}: CUDA error {error}")


def permuted(weights: torch.Tensor) -> torch.Tensor:
    """Filters [channels out, products] in the order of device/convolution_problem.cuh, padded to 64."""
    padded = torch.zeros(-(-weights.shape[0] // 64) * 64, weights.shape[1], dtype=weights.dtype, device=weights.device)
    padded[: weights.shape[0]] = weights
    row = torch.arange(padded.shape[0], device=weights.device)
    channel = row // 32 * 32 + row % 8 // 2 * 8 + row % 32 // 8 * 2 + row % 2
    return padded[channel].contiguous()


def padded_bias(bias: torch.Tensor) -> torch.Tensor:
    padded = torch.zeros(-(-bias.shape[0] // 64) * 64, dtype=torch.float32, device=bias.device)
    padded[: bias.shape[0]] = bias
    return padded


def blocked(filters: torch.Tensor) -> torch.Tensor:
    """Filters [channels out, products] in the order of device/warpgroup_convolution.cuh, padded to 64."""
    padded = torch.zeros(-(-filters.shape[0] // 64) * 64, filters.shape[1], dtype=filters.dtype, device=filters.device)
    padded[: filters.shape[0]] = filters
    row = torch.arange(padded.shape[0], device=filters.device)
    channel = row // 16 * 16 + row % 8 * 2 + row % 16 // 8
    tiles = padded[channel].reshape(-1, 64, filters.shape[1] // 64, 8, 8)
    return tiles.permute(0, 2, 3, 1, 4).contiguous()
