"""Classifies a picture with an ONNX network: classify.py mobilenet_v2.onnx picture.png"""

import os
import sys

import numpy as np
import tensorrt as trt
from PIL import Image

os.environ["TENON_DEVICE"] = (
    os.environ.get("TENON_DEVICE") or "cpu"
)  # Arrays are its memory, also where there is a GPU.
if len(sys.argv) != 3:
    sys.exit("usage: classify.py NETWORK.onnx PICTURE")
logger = trt.Logger(trt.Logger.WARNING)
builder = trt.Builder(logger)
network = builder.create_network()
parser = trt.OnnxParser(network, logger)
if not parser.parse_from_file(sys.argv[1]):
    sys.exit("\n".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
config, profile = builder.create_builder_config(), builder.create_optimization_profile()
profile.set_shape("input", (1, 3, 224, 224), (1, 3, 224, 224), (8, 3, 224, 224))
config.add_optimization_profile(profile)
plan = builder.build_serialized_network(network, config)

engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
context = engine.create_execution_context()
picture = np.asarray(Image.open(sys.argv[2]).convert("RGB").resize((224, 224)), np.float32) / 127.5 - 1
batch, scores = np.ascontiguousarray(picture.transpose(2, 0, 1)[None]), np.empty((1, 1000), np.float32)
context.set_input_shape("input", batch.shape)
context.set_tensor_address("input", batch.ctypes.data)
context.set_tensor_address("output", scores.ctypes.data)
if not context.execute_async_v3(0):
    sys.exit("the run failed")
for number in np.argsort(-scores[0])[:5]:
    print(f"class {number}: {scores[0, number]:.3f}")
