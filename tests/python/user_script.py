"""A TensorRT 10 user's script: ONNX to engine file, engine file to results. Only the buffers are NumPy's.

user_script.py MODEL.onnx ENGINE_FILE INPUTS.npz OUTPUTS.npz
"""

import os
import sys

import numpy as np
import tensorrt as trt

TRT_LOGGER = trt.Logger(trt.Logger.WARNING)
EXPLICIT_BATCH = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)


def build_engine(onnx_file_path, engine_file_path, shapes):
    with (
        trt.Builder(TRT_LOGGER) as builder,
        builder.create_network(EXPLICIT_BATCH) as network,
        builder.create_builder_config() as config,
        trt.OnnxParser(network, TRT_LOGGER) as parser,
        trt.Runtime(TRT_LOGGER) as runtime,
    ):
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)
        with open(onnx_file_path, "rb") as model:
            if not parser.parse(model.read()):
                for error in range(parser.num_errors):
                    print(parser.get_error(error), file=sys.stderr)
                return None

        profile = builder.create_optimization_profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            print("input", tensor.name, tensor.shape, tensor.dtype)
            if -1 in tuple(tensor.shape):
                opt = shapes[tensor.name]
                low = tuple(1 if extent == -1 else extent for extent in tensor.shape)
                high = tuple(2 * opt[k] if extent == -1 else extent for k, extent in enumerate(tensor.shape))
                profile.set_shape(tensor.name, min=low, opt=opt, max=high)
        config.add_optimization_profile(profile)

        plan = builder.build_serialized_network(network, config)
        if plan is None:
            return None
        with open(engine_file_path, "wb") as f:
            f.write(plan)
        return runtime.deserialize_cuda_engine(plan)


def load_engine(engine_file_path):
    with open(engine_file_path, "rb") as f, trt.Runtime(TRT_LOGGER) as runtime:
        return runtime.deserialize_cuda_engine(f.read())


def do_inference(engine, feed, stream_handle):
    context = engine.create_execution_context()
    buffers = {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            low, opt, high = engine.get_tensor_profile_shape(name, 0)
            assert all(a <= b <= c for a, b, c in zip(low, feed[name].shape, high, strict=True))
            assert context.set_input_shape(name, feed[name].shape)
            buffers[name] = np.ascontiguousarray(feed[name].astype(trt.nptype(engine.get_tensor_dtype(name))))
    assert context.infer_shapes() == []
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT:
            shape = context.get_tensor_shape(name)
            size = trt.volume(shape)
            buffers[name] = np.empty(size, dtype=trt.nptype(engine.get_tensor_dtype(name))).reshape(tuple(shape))
        context.set_tensor_address(name, buffers[name].ctypes.data)
    assert context.execute_async_v3(stream_handle=stream_handle)
    return {name: array for name, array in buffers.items() if name not in feed}


def main():
    onnx_file_path, engine_file_path, inputs_path, outputs_path = sys.argv[1:]
    feed = dict(np.load(inputs_path))
    if not os.path.exists(engine_file_path):
        engine = build_engine(onnx_file_path, engine_file_path, {name: data.shape for name, data in feed.items()})
    else:
        engine = load_engine(engine_file_path)
    if engine is None:
        sys.exit(1)
    np.savez(outputs_path, **do_inference(engine, feed, stream_handle=0))


if __name__ == "__main__":
    main()
