"""Matrix products of bert_base (128 tokens) and bert_large (384) with bias and GELU, beside cuBLASLt."""

import torch
from convolution import Layer, channels_last
from kernels import Activation
from replay import microseconds_at_least, side_by_side

# Tokens, channels in and out, GELU.
SHAPES = [
    (128, 768, 768, False), (128, 768, 2304, False), (128, 768, 3072, True), (128, 3072, 768, False),
    (384, 1024, 1024, False), (384, 1024, 3072, False), (384, 1024, 4096, True), (384, 4096, 1024, False),
]  # fmt: skip


def measure(tokens: int, inputs: int, outputs: int, gelu: bool) -> str:
    x = channels_last(1, inputs, tokens, 1)
    w = channels_last(outputs, inputs, 1, 1, scale=inputs**-0.5)
    bias = torch.randn(outputs, device="cuda").half()
    activation = Activation.GELU if gelu else Activation.NONE
    layer = Layer(x, w, bias, channels_last(1, outputs, tokens, 1), activation=activation)
    fault = layer.tune()
    rows, filters = x[0, :, :, 0].T.contiguous(), w[:, :, 0, 0].T
    times = side_by_side(
        {
            "plain": lambda: layer.run(False),
            "dependent": layer.run,
            "library": (lambda: torch._addmm_activation(bias, rows, filters, use_gelu=True))
            if gelu
            else (lambda: torch.addmm(bias, rows, filters)),
        },
        100,
        20,
    )
    limit = microseconds_at_least(
        2.0 * tokens * inputs * outputs, 2.0 * (tokens * (inputs + outputs) + inputs * outputs)
    )
    return (
        f"matmul,{inputs}-{outputs}{' gelu' if gelu else ''},{tokens},-,1,{times['library']:.2f},"
        f"{times['plain']:.2f} ({times['dependent']:.2f}),{limit:.2f},{limit / times['plain']:.2f},"
        f"{times['library'] / times['plain']:.1f},-,{layer.best_of_kinds()},{fault}"
    )


def rows() -> list[tuple]:
    return [(measure, *shape) for shape in SHAPES]
