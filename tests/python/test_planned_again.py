"""A plan with a custom layer on a device that it holds no program for: the layer's creator makes it again."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import small
import tensorrt as trt

SHAPE = (1, 3, 2, 2)
# Runs the plan argv[1] on the device of TENON_DEVICE, and stores what it gives in argv[2].
RUN = """
import pathlib, sys
import numpy as np
import tensorrt as trt
trt.init_libnvinfer_plugins(trt.Logger(trt.Logger.WARNING), "")
runtime = trt.Runtime(trt.Logger(trt.Logger.WARNING))
context = runtime.deserialize_cuda_engine(pathlib.Path(sys.argv[1]).read_bytes()).create_execution_context()
x, y = np.linspace(-2, 2, 12, dtype=np.float32), np.empty(12, np.float32)
assert context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data)
assert context.execute_async_v3(0)
np.save(sys.argv[2], y)
"""


def build() -> bytes:
    logger = trt.Logger(trt.Logger.WARNING)
    trt.init_libnvinfer_plugins(logger, "")
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    creator = trt.get_plugin_registry().get_creator("InstanceNormalization_TRT", "3", "")
    fields = {"epsilon": [1e-5], "scales": [1, 2, 3], "bias": [0.1, 0.2, 0.3]}
    collection = trt.PluginFieldCollection(
        [
            trt.PluginField(name, np.array(values, np.float32), trt.PluginFieldType.FLOAT32)
            for name, values in fields.items()
        ]
    )
    plugin = creator.create_plugin("normalize", collection, trt.TensorRTPhase.BUILD)
    layer = network.add_plugin_v3([network.add_input("x", trt.float32, SHAPE)], [], plugin)
    output = network.add_activation(layer.get_output(0), trt.ActivationType.RELU).get_output(0)
    output.name = "y"
    network.mark_output(output)
    return bytes(builder.build_serialized_network(network, builder.create_builder_config()))


def run_on(device: str, plan: pathlib.Path) -> tuple[np.ndarray, str]:
    """What the plan gives in a process of its own, and what that said."""
    result = plan.with_suffix(f".{device}.npy")
    env = os.environ | {"TENON_DEVICE": device, "TENON_LOG": "info"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, plan, result], env=env, capture_output=True, text=True, timeout=small.PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return np.load(result), done.stderr


def test_a_custom_layer_is_made_again_for_another_device(tmp_path: pathlib.Path) -> None:
    plan = tmp_path / "normalize.plan"
    plan.write_bytes(build())
    want, loaded = run_on("cpu", plan)
    got, planned = run_on("ref", plan)
    assert "planned again" not in loaded
    assert "programs for 'cpu' and none for device 'ref'" in planned
    assert want.any()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
