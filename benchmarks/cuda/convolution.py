"""Convolutions of resnet50 at batch 1 beside cuDNN, and the choice of a tile by time."""

import dataclasses

import torch
from kernels import Activation, Convolution, Source, blocked, call, padded_bias, permuted
from replay import microseconds_at_least, quick, side_by_side, wrong

# Channels in and out, size, kernel, stride, residual.
LAYERS = [
    (64, 64, 56, 1, 1, False), (64, 64, 56, 3, 1, False), (64, 256, 56, 1, 1, True), (256, 64, 56, 1, 1, False),
    (256, 128, 56, 1, 1, False), (128, 128, 56, 3, 2, False), (128, 512, 28, 1, 1, True), (512, 128, 28, 1, 1, False),
    (128, 128, 28, 3, 1, False), (512, 256, 28, 1, 1, False), (256, 256, 28, 3, 2, False), (256, 1024, 14, 1, 1, True),
    (1024, 256, 14, 1, 1, False), (256, 256, 14, 3, 1, False), (1024, 512, 14, 1, 1, False),
    (512, 512, 14, 3, 2, False), (512, 2048, 7, 1, 1, True), (2048, 512, 7, 1, 1, False), (512, 512, 7, 3, 1, False),
]  # fmt: skip

# Rows and columns of tenonConvolution's tiles; pixels of tenonBoxConvolution's.
TILES = [(32, 64), (32, 64), (64, 32), (64, 64), (64, 64)]
BOXES = (32, 40, 56, 64, 112)


@dataclasses.dataclass
class Layer:
    """A convolution with its tensors; a second source (kernel 1) joins the sums."""

    x: torch.Tensor
    w: torch.Tensor
    bias: torch.Tensor
    y: torch.Tensor
    stride: int = 1
    padding: int = 0
    residual: torch.Tensor | None = None
    second: torch.Tensor | None = None
    second_w: torch.Tensor | None = None
    second_stride: int = 1
    activation: Activation = Activation.RELU
    how: tuple = ("tile", 0, 1)

    def __post_init__(self) -> None:
        filters = self.w.permute(0, 2, 3, 1).reshape(self.w.shape[0], -1)
        if self.second_w is not None:
            filters = torch.cat([filters, self.second_w.reshape(self.w.shape[0], -1)], 1)
        self.tiled, self.blocks = permuted(filters), blocked(filters)
        self.float_bias = padded_bias(self.bias)
        batch, channels, height, width = self.y.shape
        sources = (Source * 2)(self._source(self.x, self.w.shape[2], self.stride, self.padding))
        if self.second is not None:
            sources[1] = self._source(self.second, 1, self.second_stride, 0)
        self.slices = filters.shape[1] // 64
        self.problem = Convolution(sources, self.tiled.data_ptr(), self.float_bias.data_ptr(),
            None if self.residual is None else self.residual.data_ptr(), self.y.data_ptr(), batch, height, width,
            channels, batch * height * width, self.slices, self.activation, True)  # fmt: skip

        self.flat: Convolution | None = None
        if self.w.shape[2] == 1 and self.stride == 1 and self.second is None:
            self.flat = Convolution.from_buffer_copy(self.problem)
            pixels = self.problem.pixels
            self.flat.batch, self.flat.out_height, self.flat.out_width = 1, 1, pixels
            self.flat.sources[0].height, self.flat.sources[0].width = 1, pixels

    @staticmethod
    def _source(x: torch.Tensor, kernel: int, stride: int, padding: int) -> Source:
        assert x.is_contiguous(memory_format=torch.channels_last) and x.shape[1] % 64 == 0
        return Source(x.data_ptr(), x.shape[2], x.shape[3], x.shape[1], kernel, stride, padding)

    def run(self, dependent: bool = True) -> None:
        kind, *numbers = self.how
        if kind == "tile":
            self.problem.weights = self.tiled.data_ptr()
            call("tenonConvolution", self.problem, *numbers, dependent)
        else:
            problem = self.flat or self.problem
            problem.weights = self.blocks.data_ptr()
            call("tenonBoxConvolution", problem, *numbers, dependent)

    def reference(self) -> torch.Tensor:
        with torch.backends.cudnn.flags(enabled=False):
            y = torch.nn.functional.conv2d(self.x.float(), self.w.float(), self.bias.float(), self.stride, self.padding)
            if self.second is not None:
                y += torch.nn.functional.conv2d(self.second.float(), self.second_w.float(), None, self.second_stride)
        if self.residual is not None:
            y += self.residual.float()
        if self.activation == Activation.GELU:
            return torch.nn.functional.gelu(y)
        return y.relu() if self.activation == Activation.RELU else y

    def candidates(self) -> list[tuple]:
        pixels, channels = self.problem.pixels, self.problem.out_channels
        clusters = [c for c in (1, 2, 4, 8) if c <= self.slices]

        def few(rows: int, columns: int, cluster: int) -> bool:
            return cluster == 1 or -(-pixels // rows) * -(-channels // columns) * cluster <= 400

        found = [("tile", t, c) for t, shape in enumerate(TILES) for c in clusters if few(*shape, c)]
        found += [("box", *b, c) for b in self.boxes() for c in clusters if few(b[1] * b[2], 64, c)]
        return found

    def boxes(self) -> list[tuple[int, int, int]]:
        """Columns of a product, width and height of the box of pixels in them."""
        if self.flat:
            return [(n, n, 1) for n in BOXES]
        height, width = self.y.shape[2:]
        widths = {w for w in (width, width // 2, width // 4) if w >= 7}
        found = [(n, w, min(n // w, height)) for n in BOXES for w in widths if w <= n]
        return [(n, w, h) for n, w, h in found if w * h > 0.75 * n]

    def tune(self, copies: int = 20) -> str:
        """Take the fastest candidate that is right; what is wrong with the first that is not."""
        expected = self.reference()
        fault = ""
        self.times: dict[tuple, float] = {}
        for how in self.candidates():
            self.how = how
            self.y.fill_(float("nan"))
            self.run()
            bad = wrong(self.y, expected)
            fault = fault or (bad and f"{how}: {bad}")
            self.times[how] = float("inf") if bad else quick(self.run, copies, 5)
        self.how = min(self.times, key=lambda how: self.times[how])
        return fault

    def best_of_kinds(self) -> str:
        kinds = sorted({how[0] for how in self.times})
        best = [min((how for how in self.times if how[0] == kind), key=lambda how: self.times[how]) for kind in kinds]
        return "; ".join(f"{' '.join(map(str, how))}: {self.times[how]:.2f}" for how in best)


def channels_last(*shape: int, scale: float = 1.0) -> torch.Tensor:
    return (torch.randn(*shape, device="cuda") * scale).half().to(memory_format=torch.channels_last)


def measure(inputs: int, outputs: int, size: int, kernel: int, stride: int, residual: bool, batch: int) -> str:
    padding, out = kernel // 2, -(-size // stride)
    x = channels_last(batch, inputs, size, size)
    w = channels_last(outputs, inputs, kernel, kernel, scale=(inputs * kernel * kernel) ** -0.5)
    z = channels_last(batch, outputs, out, out) if residual else None
    y = channels_last(batch, outputs, out, out)
    bias = torch.randn(outputs, device="cuda").half()
    layer = Layer(x, w, bias, y, stride, padding, z)
    fault = layer.tune(20 if batch == 1 else 4)
    how = ([stride] * 2, [padding] * 2, [1, 1], 1)
    times = side_by_side(
        {
            "plain": lambda: layer.run(False),
            "dependent": layer.run,
            "cudnn": (lambda: torch.cudnn_convolution_add_relu(x, w, z, 1.0, bias, *how))
            if residual
            else (lambda: torch.cudnn_convolution_relu(x, w, bias, *how)),
        },
        100 if batch == 1 else 4,
        20,
    )
    size_moved = 2.0 * (x.numel() // (stride * stride if kernel == 1 else 1) + w.numel() + y.numel() * (1 + residual))
    limit = microseconds_at_least(2.0 * y.numel() * inputs * kernel * kernel, size_moved)
    return (
        f"convolution,{inputs}-{outputs}{'+' if residual else ''},{size},{kernel}x{kernel}/{stride},{batch},"
        f"{times['cudnn']:.2f},{times['plain']:.2f} ({times['dependent']:.2f}),{limit:.2f},"
        f"{limit / times['plain']:.2f},{times['cudnn'] / times['plain']:.1f},"
        f"-,{layer.best_of_kinds()},{fault}"
    )


def rows() -> list[tuple]:
    return [(measure, *layer, 1) for layer in LAYERS]
