# A tutorial of the TensorRT 10 era: cuda-python's runtime, named tensors, execute_async_v3.
import argparse
import ctypes

import numpy as np
import tensorrt as trt
from cuda import cuda, cudart


def check_cuda_err(err):
    if isinstance(err, cuda.CUresult):
        if err != cuda.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"Cuda Error: {err}")
    if isinstance(err, cudart.cudaError_t):
        if err != cudart.cudaError_t.cudaSuccess:
            raise RuntimeError(f"Cuda Runtime Error: {err}")
    else:
        raise RuntimeError(f"Unknown error type: {err}")


def cuda_call(call):
    err, res = call[0], call[1:]
    check_cuda_err(err)
    if len(res) == 1:
        res = res[0]
    return res


class HostDeviceMem:
    """Pair of host and device memory, where the host memory is wrapped in a numpy array"""

    def __init__(self, size, dtype):
        dtype = np.dtype(dtype)
        nbytes = size * dtype.itemsize
        host_mem = cuda_call(cudart.cudaMallocHost(nbytes))
        pointer_type = ctypes.POINTER(np.ctypeslib.as_ctypes_type(dtype))
        self._host = np.ctypeslib.as_array(ctypes.cast(host_mem, pointer_type), (size,))
        self._device = cuda_call(cudart.cudaMalloc(nbytes))
        self._nbytes = nbytes

    @property
    def host(self):
        return self._host

    @host.setter
    def host(self, data):
        if data.size > self.host.size:
            raise ValueError(f"Tried to fit an array of size {data.size} into host memory of size {self.host.size}")
        np.copyto(self.host[: data.size], data.flat, casting="safe")

    @property
    def device(self):
        return self._device

    @property
    def nbytes(self):
        return self._nbytes

    def free(self):
        cuda_call(cudart.cudaFree(self.device))
        cuda_call(cudart.cudaFreeHost(self.host.ctypes.data))


def allocate_buffers(engine, context):
    inputs, outputs = {}, {}
    stream = cuda_call(cudart.cudaStreamCreate())
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        shape = context.get_tensor_shape(name)
        if any(extent < 0 for extent in shape):
            raise ValueError(f"Tensor {name} has a dynamic shape")
        mem = HostDeviceMem(trt.volume(shape), trt.nptype(engine.get_tensor_dtype(name)))
        context.set_tensor_address(name, int(mem.device))
        (inputs if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT else outputs)[name] = mem
    return inputs, outputs, stream


def do_inference(context, inputs, outputs, stream):
    kind = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
    for mem in inputs.values():
        cuda_call(cudart.cudaMemcpyAsync(mem.device, mem.host, mem.nbytes, kind, stream))
    if not context.execute_async_v3(stream_handle=stream):
        raise RuntimeError("Inference failed")
    kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost
    for mem in outputs.values():
        cuda_call(cudart.cudaMemcpyAsync(mem.host, mem.device, mem.nbytes, kind, stream))
    cuda_call(cudart.cudaStreamSynchronize(stream))
    return {name: mem.host for name, mem in outputs.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("image")
    parser.add_argument("result")
    args = parser.parse_args()

    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(args.model):
        raise RuntimeError(parser.get_error(0).desc())
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()

    inputs, outputs, stream = allocate_buffers(engine, context)
    next(iter(inputs.values())).host = np.load(args.image)
    results = do_inference(context, inputs, outputs, stream)
    np.save(args.result, next(iter(results.values())))

    for mem in [*inputs.values(), *outputs.values()]:
        mem.free()
    cuda_call(cudart.cudaStreamDestroy(stream))


if __name__ == "__main__":
    main()
