"""A custom layer as a Triton kernel: called in every run, or compiled into the plan. Run it: TENON_DEVICE=cuda"""

import sys

import tensorrt.plugin as trtp
import torch
import triton
import triton.language as tl

from layers import plan_of, run

SHIFT = 0.25
BLOCK = 128


@triton.jit
def square(x_ptr, count, y_ptr, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count)
    tl.store(y_ptr + at, x * x + SHIFT, mask=at < count)


@trtp.register("examples::triton_square")
def described(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("examples::triton_square")
def called(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        inp, out = torch.as_tensor(x, device="cuda"), torch.as_tensor(outputs[0], device="cuda")
        square[(triton.cdiv(x.numel(), BLOCK),)](inp, x.numel(), out, SHIFT=SHIFT, BLOCK=BLOCK)


@trtp.aot_impl("examples::triton_square")
def compiled(
    x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int
) -> tuple[str | bytes, str | bytes, trtp.KernelLaunchParams, trtp.SymExprs]:
    source = triton.compiler.ASTSource(
        fn=square,
        signature={"x_ptr": "*fp32", "count": "i32", "y_ptr": "*fp32", "SHIFT": "constexpr", "BLOCK": "constexpr"},
        constexprs={"SHIFT": SHIFT, "BLOCK": BLOCK},
    )
    kernel = triton.compile(source)
    count = x.shape_expr.numel()
    launch = trtp.KernelLaunchParams(
        grid_x=trtp.cdiv(count, BLOCK), block_x=kernel.metadata.num_warps * 32, shared_mem=kernel.metadata.shared
    )
    arguments = trtp.SymIntExprs.from_tuple([trtp.SymInt32(count)])
    return kernel.metadata.name, kernel.asm["ptx"], launch, arguments


def added(aot: bool):
    return lambda network, x: network.add_plugin(trtp.op.examples.triton_square(x), aot=aot)


if __name__ == "__main__":
    for aot in (False, True) if len(sys.argv) < 2 else (sys.argv[1] == "aot",):
        print("compiled into the plan" if aot else "called in every run")
        run(plan_of(added(aot)), SHIFT, torch)
