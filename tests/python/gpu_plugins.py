"""A program of test_gpu_plugins.py, which runs it under TENON_DEVICE=cuda: gpu_plugins.py WHAT"""

from __future__ import annotations

import sys

import gpu_memory
import numpy as np
import small
import tenon as trt
import tenon.plugin as trtp

LOGGER = trt.Logger(trt.Logger.WARNING)
seen: list[dict] = []


@trtp.register("gpu::copied")
def copied(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("gpu::copied")
def copied_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
    out = outputs[0]
    interface = x.__cuda_array_interface__
    assert interface["data"][0] == x.data_ptr and interface["shape"] == tuple(x.shape), interface
    assert interface["typestr"] == "<f4" and interface["strides"] is None
    assert x.__dlpack_device__() == out.__dlpack_device__() == (2, 0)
    for consumer in (None, stream, -1, 1):
        assert "dltensor" in repr(out.__dlpack__(stream=consumer))
    assert "dltensor_versioned" in repr(x.__dlpack__(stream=stream, max_version=(1, 0), dl_device=(2, 0)))
    for wrong in (
        lambda: np.asarray(memoryview(x)),
        lambda: x.__dlpack__(copy=True),
        lambda: x.__dlpack__(dl_device=(1, 0)),
    ):
        try:
            wrong()
        except BufferError:
            continue
        raise AssertionError("memory of the GPU was lent to the host")
    assert not hasattr(x, "__array_interface__")
    gpu_memory.copy(out.data_ptr, x.data_ptr, 4 * x.numel(), stream)
    seen.append({"stream": stream})


def context_of(add):
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (-1, 5))
    layer = network.add_unary(add(network, x).get_output(0), trt.UnaryOperation.NEG)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape("x", (1, 5), (4, 5), (32, 5))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()


def run(context, rows: int, stream: int) -> None:
    values = np.random.default_rng(rows).standard_normal((rows, 5)).astype(np.float32)
    x, y = gpu_memory.GpuArray(values), gpu_memory.GpuArray(np.full_like(values, np.nan))
    assert context.set_input_shape("x", values.shape)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert context.execute_async_v3(stream)
    np.testing.assert_array_equal(y.read(stream), -values)


def decorated() -> None:
    context = context_of(lambda network, x: network.add_plugin(trtp.op.gpu.copied(x)))
    stream = gpu_memory.stream()
    for rows in (4, 1, 32, 4, 4):
        run(context, rows, stream)
    assert seen[-1]["stream"] == stream and len(seen) >= 5


def arrays() -> None:
    context = context_of(lambda network, x: network.add_activation(x, trt.ActivationType.CLIP))
    values = np.zeros((4, 5), np.float32)
    assert context.set_input_shape("x", (4, 5))
    for wrong, error in (
        (gpu_memory.GpuArray(values.astype(np.float64)), TypeError),
        (gpu_memory.GpuArray(values, strides=(4, 16)), TypeError),
    ):
        try:
            context.set_tensor_address("x", wrong)
        except error:
            continue
        raise AssertionError("it was taken")
    assert context.set_tensor_address("y", gpu_memory.GpuArray(values))
    assert context.set_tensor_address("x", gpu_memory.GpuArray(values[:2]))
    try:
        context.execute_async_v3(gpu_memory.stream())
    except ValueError as small:
        assert "holds 40 bytes; the tensor needs 80" in str(small), small
    else:
        raise AssertionError("an array that is too small was taken")
    assert not context.set_tensor_address("x", values), "memory of the host is refused"


def engines() -> None:
    """Networks run with arrays of the GPU's; those that come again are graphs."""
    log = small.Recorder()
    for network in (small.network, small.chain):
        made = small.load(log, network)
        for batch in (3, 16, 1, 3, 3, 3):
            x = small.inputs(batch, seed=batch)
            np.testing.assert_allclose(small.run(made, x), small.want(x), rtol=1e-4, atol=1e-5)
    assert not log.errors()


if __name__ == "__main__":
    gpu_memory.use()
    globals()[sys.argv[1]]()
    print("done")
