"""resnet50 at batch 1: all layers in one CUDA graph, ours with programmatic edges beside fused calls of cuDNN."""

from collections.abc import Callable

import torch
from convolution import Layer, channels_last
from first_convolution import packed
from kernels import Activation, FirstConvolution, Pooling, call
from replay import quick, side_by_side

STAGES = [(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)]
ONES = ([1, 1], [0, 0], [1, 1], 1)


def empty(*shape: int) -> torch.Tensor:
    return torch.full(shape, float("nan"), dtype=torch.half, device="cuda").to(memory_format=torch.channels_last)


def filters(outputs: int, inputs: int, kernel: int, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    deviation = scale * (2.0 / (inputs * kernel * kernel)) ** 0.5
    return channels_last(outputs, inputs, kernel, kernel, scale=deviation), torch.randn(
        outputs, device="cuda"
    ).half() / 8


class ResNet50:
    """Random weights, batch norm folded, FP16."""

    def __init__(self) -> None:
        self.x = channels_last(1, 3, 224, 224)
        self.first = filters(64, 3, 7)
        self.blocks = []
        inputs = 64
        for width, count, size in STAGES:
            for block in range(count):
                stride = 2 if block == 0 and width > 64 else 1
                self.blocks.append({
                    "reduce": filters(width, inputs, 1), "spatial": filters(width, width, 3),
                    "expand": filters(width * 4, width, 1, 0.25), "stride": stride, "size": size,
                    "project": filters(width * 4, inputs, 1, 0.7) if block == 0 else None,
                })  # fmt: skip
                if block == 0:
                    self.blocks[-1]["bias"] = self.blocks[-1]["expand"][1] + self.blocks[-1]["project"][1]
                inputs = width * 4
        self.last = filters(1000, 2048, 1)

    def run(self, cudnn: bool) -> torch.Tensor:
        """The network in FP16 by fused calls of cuDNN, or in FP32 by PyTorch's own plain kernels."""
        relu, add_relu = (
            (torch.cudnn_convolution_relu, torch.cudnn_convolution_add_relu) if cudnn else (plain, plain_add)
        )
        x = self.x if cudnn else self.x.float()
        y = relu(x, *self.first, [2, 2], [3, 3], [1, 1], 1)
        y = torch.nn.functional.max_pool2d(y, 3, 2, 1)
        for b in self.blocks:
            z = y
            stride = [b["stride"]] * 2
            inner = relu(y, *b["reduce"], *ONES)
            inner = relu(inner, *b["spatial"], stride, [1, 1], [1, 1], 1)
            w, bias = b["expand"]
            if b["project"]:
                project, _ = b["project"]
                z = (torch.cudnn_convolution(y, project, [0, 0], stride, [1, 1], 1, True, True, False) if cudnn
                     else torch.nn.functional.conv2d(y, project.float(), None, stride))  # fmt: skip
                bias = b["bias"]
            y = add_relu(inner, w, z, 1.0, bias, *ONES)
        y = torch.nn.functional.adaptive_avg_pool2d(y, 1).flatten(1)
        w, bias = self.last
        w = w.flatten(1)
        return torch.addmm(bias, y, w.T) if cudnn else torch.addmm(bias.float(), y, w.float().T)


def plain(x, w, bias, stride, padding, dilation, groups):
    return torch.nn.functional.conv2d(x, w.float(), bias.float(), stride, padding).relu()


def plain_add(x, w, z, alpha, bias, stride, padding, dilation, groups):
    return (torch.nn.functional.conv2d(x, w.float(), bias.float(), stride, padding) + z).relu()


class Ours:
    """The same network as a list of launches."""

    def __init__(self, net: ResNet50) -> None:
        self.launches: list[Callable[[bool], None]] = []
        self.layers: list[Layer] = []
        self.keep: list[torch.Tensor] = []
        self.shape = 0
        y = self.start(net)
        for b in net.blocks:
            y = self.block(y, b)
        self.output = self.end(y, net)

    def pool(self, name: str, x: torch.Tensor, y: torch.Tensor) -> None:
        problem = Pooling(x.data_ptr(), y.data_ptr(), 1, x.shape[2], x.shape[3], x.shape[1], y.shape[2], y.shape[3])
        self.keep += [x, y]
        self.launches.append(lambda dependent: call(name, problem, dependent))

    def start(self, net: ResNet50) -> torch.Tensor:
        w, bias = packed(net.first[0]), net.first[1].float()
        y, pooled = empty(1, 64, 112, 112), empty(1, 64, 56, 56)
        self.keep += [w, bias]
        problem = FirstConvolution(net.x.data_ptr(), w.data_ptr(), bias.data_ptr(), y.data_ptr(), 1, 224, 224, 112, 112,
            Activation.RELU)  # fmt: skip

        def launch(dependent: bool) -> None:
            call("tenonFirstConvolution", problem, 7, 64, self.shape, 132, dependent)

        self.launches.append(launch)
        self.pool("tenonMaxPool", y, pooled)
        return pooled

    def add(self, layer: Layer) -> torch.Tensor:
        self.layers.append(layer)
        self.launches.append(layer.run)
        return layer.y

    def block(self, x: torch.Tensor, b: dict) -> torch.Tensor:
        width, size = b["reduce"][0].shape[0], b["size"]
        inner = self.add(Layer(x, *b["reduce"], empty(1, width, x.shape[2], x.shape[3])))
        inner = self.add(Layer(inner, *b["spatial"], empty(1, width, size, size), b["stride"], 1))
        w, bias = b["expand"]
        y = empty(1, width * 4, size, size)
        if not b["project"]:
            return self.add(Layer(inner, w, bias, y, residual=x))
        project, _ = b["project"]
        return self.add(Layer(inner, w, b["bias"], y, second=x, second_w=project, second_stride=b["stride"]))

    def end(self, x: torch.Tensor, net: ResNet50) -> torch.Tensor:
        pooled = empty(1, 2048, 1, 1)
        self.pool("tenonAveragePool", x, pooled)
        return self.add(Layer(pooled, *net.last, empty(1, 1000, 1, 1), activation=Activation.NONE))

    def tune(self) -> list[str]:
        """One choice for each kind of layer; what was chosen, with its time alone."""
        chosen: dict[tuple, tuple] = {}
        lines = []
        self.run(False)  # Real values in all tensors.
        self.shape = min(range(4), key=self.first_time)
        for layer in self.layers:
            kind = (layer.x.shape, layer.w.shape, layer.stride, layer.second is None, layer.residual is None)
            if kind not in chosen:
                fault = layer.tune()
                chosen[kind] = layer.how
                second = "" if layer.second is None else " +projection"
                lines.append(f"{list(layer.x.shape)} {list(layer.w.shape)}{second}: {layer.best_of_kinds()} {fault}")
            layer.how = chosen[kind]
        return lines

    def first_time(self, shape: int) -> float:
        self.shape = shape
        return quick(lambda: self.launches[0](True), 20)

    def run(self, dependent: bool, early: bool = True) -> None:
        for layer in self.layers:
            layer.problem.early = early
            if layer.flat:
                layer.flat.early = early
        for launch in self.launches:
            launch(dependent)


def measure() -> str:
    net = ResNet50()
    with torch.backends.cudnn.flags(enabled=False):
        expected = net.run(False)
    ours = Ours(net)
    lines = ours.tune()
    poison = [layer.y for layer in ours.layers]
    for y in poison:
        y.fill_(float("nan"))
    ours.run(True)
    error = float((ours.output.flatten() - expected.flatten()).norm() / expected.norm())
    library = float((net.run(True).flatten() - expected.flatten()).norm() / expected.norm())
    times = side_by_side(
        {
            "cudnn": lambda: net.run(True),
            "plain edges": lambda: ours.run(False),
            "programmatic edges": lambda: ours.run(True),
            "programmatic edges, late": lambda: ours.run(True, False),
        },
        1,
        200,
    )
    lines += [f"resnet50 b1, {name}: {time:.1f} us" for name, time in times.items()]
    lines.append(f"{len(ours.launches)} launches, error {error:.2e}, cuDNN's {library:.2e}")
    return "\n".join(lines)


def rows() -> list[tuple]:
    return [(measure,)]
