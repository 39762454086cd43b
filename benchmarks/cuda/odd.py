"""Every kernel on sizes that fit no tile, results only: also what compute-sanitizer should look at."""

import torch
from convolution import Layer, channels_last
from depthwise import matrix, scalar
from first_convolution import packed
from kernels import Activation, Depthwise, FirstConvolution, call
from replay import wrong


def empty(*shape: int) -> torch.Tensor:
    return torch.full(shape, float("nan"), dtype=torch.half, device="cuda").to(memory_format=torch.channels_last)


def plain(*arguments, groups: int = 1) -> torch.Tensor:
    x, w, bias, stride, padding = arguments
    with torch.backends.cudnn.flags(enabled=False):
        return torch.nn.functional.conv2d(x.float(), w.float(), bias.float(), stride, padding, 1, groups)


def convolutions(kernel: int, stride: int) -> str:
    height, width, out = 11, 13, (-(-11 // stride), -(-13 // stride))
    x, z = channels_last(2, 128, height, width), channels_last(2, 72, *out)
    w, bias = channels_last(72, 128, kernel, kernel, scale=0.1 / kernel), torch.randn(72, device="cuda").half()
    layer = Layer(x, w, bias, empty(2, 72, *out), stride, kernel // 2, z)
    expected, faults = layer.reference(), []
    for how in layer.candidates():
        layer.how = how
        layer.y.fill_(float("nan"))
        layer.run()
        faults += [f"{how} {bad}" for bad in [wrong(layer.y, expected)] if bad]
    return f"odd convolution {kernel}x{kernel}/{stride}: {len(layer.candidates())} candidates, wrong: {faults}"


def depthwise(kernel: int, stride: int) -> str:
    height, width, channels = 13, 19, 48
    out = (-(-height // stride), -(-width // stride))
    x, y = channels_last(2, channels, height, width), empty(2, channels, *out)
    w, bias = channels_last(channels, 1, kernel, kernel, scale=1 / kernel), torch.randn(channels, device="cuda")
    taps = w[:, 0].permute(1, 2, 0).contiguous()
    expected, faults = torch.nn.functional.silu(plain(x, w, bias, stride, kernel // 2, groups=channels)), []
    tried = scalar(channels, out[0], 1, kernel) + matrix(channels, out[0], 1)
    for kind, *how in tried:
        y.fill_(float("nan"))
        problem = Depthwise(x.data_ptr(), taps.data_ptr(), bias.data_ptr(), y.data_ptr(), height, width, channels,
            *out, kernel // 2, how[2], Activation.SILU)  # fmt: skip
        if kind == "matrix":
            call("tenonDepthwiseMatrix", problem, 2, kernel, stride, *how, 0)
        else:
            columns, vector, _, lanes, strips = how
            call("tenonDepthwise", problem, 2, kernel, stride, kind == "sliding", columns, vector, lanes, strips, 0)
        faults += [f"{kind} {how} {bad}" for bad in [wrong(y, expected)] if bad]
    return f"odd depthwise {kernel}x{kernel}/{stride}: {len(tried)} candidates, wrong: {faults}"


def first(kernel: int, channels: int) -> str:
    x, y = channels_last(2, 3, 27, 40), empty(2, channels, 14, 20)
    w, bias = channels_last(channels, 3, kernel, kernel, scale=0.1), torch.randn(channels, device="cuda")
    weights, expected, faults = packed(w), plain(x, w, bias, 2, kernel // 2).relu(), []
    for shape in range(4):
        y.fill_(float("nan"))
        problem = FirstConvolution(x.data_ptr(), weights.data_ptr(), bias.data_ptr(), y.data_ptr(), 2, 27, 40, 14, 20,
            Activation.RELU)  # fmt: skip
        call("tenonFirstConvolution", problem, kernel, channels, shape, 3, 0)
        faults += [f"{shape} {bad}" for bad in [wrong(y, expected)] if bad]
    return f"odd first convolution {kernel}x{kernel}: 4 shapes, wrong: {faults}"


def rows() -> list[tuple]:
    windows = [(3, 1), (3, 2), (5, 1), (5, 2)]
    return (
        [(convolutions, kernel, stride) for kernel, stride in ((1, 1), (1, 2), (3, 1), (3, 2))]
        + [(depthwise, *window) for window in windows]
        + [(first, 7, 64), (first, 3, 32)]
    )
