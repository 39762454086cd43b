#!/usr/bin/env python3
"""What a call of a custom layer costs over its own work: two inputs, one output, stream 0, one thread.

Chains of one and of many layers whose work is next to nothing; the difference over the number of layers is the cost.
"""

import argparse
import pathlib
import statistics
import sys
import time
import warnings

import numpy as np
import tensorrt as trt

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import tensorrt.plugin as trtp

LIBRARY = pathlib.Path(__file__).resolve().parents[1] / "build" / "lib" / "libtenon_idle_library.so"
LOGGER = trt.Logger(trt.Logger.ERROR)
LENGTH = 33
LIMITS = {"C++ V2DynamicExt": 0.5, "C++ V3": 0.5, "Python V2DynamicExt": 15.0, "Python V3": 15.0}


class PythonDynamic(trt.IPluginV2DynamicExt):
    def __init__(self):
        trt.IPluginV2DynamicExt.__init__(self)
        self.num_outputs = 1
        self.plugin_namespace = ""
        self.plugin_type = "BenchDynamic"
        self.plugin_version = "1"

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return inputs[0]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].type == trt.float32 and in_out[pos].format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inputs, outputs):
        pass

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        pass

    def clone(self):
        copy = PythonDynamic()
        copy.__dict__.update(self.__dict__)
        return copy

    def serialize(self):
        return b""


class DynamicCreator(trt.IPluginCreator):
    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name = "BenchDynamic"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection([])

    def create_plugin(self, name, field_collection):
        return PythonDynamic()

    def deserialize_plugin(self, name, data):
        return PythonDynamic()


class PythonV3(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self):
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.num_outputs = 1
        self.plugin_namespace = ""
        self.plugin_name = "BenchV3"
        self.plugin_version = "1"

    def get_capability_interface(self, type):
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        pass

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == trt.float32 and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        pass

    def attach_to_context(self, context):
        return self.clone()

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([])

    def set_tactic(self, tactic):
        pass

    def clone(self):
        copy = PythonV3()
        copy.__dict__.update(self.__dict__)
        return copy


class V3Creator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name = "BenchV3"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection([])

    def create_plugin(self, name, fields, phase):
        return PythonV3()


@trtp.register("bench::idle")
def idle(a: trtp.TensorDesc, b: trtp.TensorDesc) -> trtp.TensorDesc:
    return a.like()


@trtp.impl("bench::idle")
def idle_impl(a: trtp.Tensor, b: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:
    pass


def add_v2(name):
    def add(network, a, b):
        creator = trt.get_plugin_registry().get_creator(name, "1", "")
        return network.add_plugin_v2([a, b], creator.create_plugin(name, trt.PluginFieldCollection([])))

    return add


def add_v3(name):
    def add(network, a, b):
        creator = trt.get_plugin_registry().get_creator(name, "1", "")
        plugin = creator.create_plugin(name, trt.PluginFieldCollection([]), trt.TensorRTPhase.BUILD)
        return network.add_plugin_v3([a, b], [], plugin)

    return add


WAYS = {
    "C++ V2DynamicExt": add_v2("IdleDynamic"),
    "C++ V3": add_v3("IdleV3"),
    "Python V2DynamicExt": add_v2("BenchDynamic"),
    "Python V3": add_v3("BenchV3"),
    "Python decorator (JIT)": lambda network, a, b: network.add_plugin(trtp.op.bench.idle(a, b)),
}


class Chain:
    """`length` layers one behind the other, ready to run."""

    def __init__(self, add, length: int) -> None:
        builder = trt.Builder(LOGGER)
        network = builder.create_network(0)
        x = network.add_input("x", trt.float32, (4, 4))
        value = x
        for _ in range(length):
            value = add(network, value, x).get_output(0)
        value.name = "y"
        network.mark_output(value)
        plan = builder.build_serialized_network(network, builder.create_builder_config())
        runtime = trt.Runtime(LOGGER)
        runtime.max_threads = 1
        self.engine = runtime.deserialize_cuda_engine(plan)
        self.context = self.engine.create_execution_context()
        self.x = np.random.default_rng(1).standard_normal((4, 4), np.float32)
        self.y = np.empty((4, 4), np.float32)
        self.context.set_tensor_address("x", self.x.ctypes.data)
        self.context.set_tensor_address("y", self.y.ctypes.data)

    def microseconds(self, runs: int) -> float:
        execute = self.context.execute_async_v3
        start = time.perf_counter()
        for _ in range(runs):
            execute(0)
        return 1e6 * (time.perf_counter() - start) / runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    registry = trt.get_plugin_registry()
    if registry.load_library(str(LIBRARY)) is None:
        print(f"{LIBRARY} cannot be loaded: build it with `make build`", file=sys.stderr)
        return 1
    creators = [DynamicCreator(), V3Creator()]
    for creator in creators:
        registry.register_creator(creator, "")
    chains = {way: (Chain(add, 1), Chain(add, LENGTH)) for way, add in WAYS.items()}
    costs: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(options.rounds + 1):
        for way, (short, long) in chains.items():
            cost = (long.microseconds(300) - short.microseconds(1000)) / (LENGTH - 1)
            if number > 0:  # The first round warms up.
                costs[way].append(cost)
    failed = False
    print(f"{'plugin':24}{'us per call':>14}{'at most':>10}")
    for way, each in costs.items():
        cost, limit = statistics.median(each), LIMITS.get(way)
        failed |= limit is not None and cost > limit
        print(f"{way:24}{cost:14.3f}{limit if limit is not None else '':>10}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
