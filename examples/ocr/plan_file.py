"""From an ONNX file to a plan file, with one dynamic profile."""

import pathlib
import time

import tensorrt as trt
from networks import Network
from progress import ProgressBar


def build_plan(network: Network, folder: pathlib.Path, logger: trt.Logger) -> tuple[pathlib.Path, float]:
    """Builds the network's plan under a progress bar and saves it; its path and the seconds the build took."""
    start = time.perf_counter()
    builder = trt.Builder(logger)
    definition = builder.create_network(0)
    parser = trt.OnnxParser(definition, logger)
    if not parser.parse_from_file(str(network.path)):
        errors = "\n".join(str(parser.get_error(i)) for i in range(parser.num_errors))
        raise RuntimeError(f"{network.path}:\n{errors}")

    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    progress = ProgressBar(network.name)
    config.progress_monitor = progress
    profile = builder.create_optimization_profile()
    profile.set_shape(definition.get_input(0).name, network.smallest, network.usual, network.largest)
    config.add_optimization_profile(profile)

    plan = builder.build_serialized_network(definition, config)
    if plan is None:
        raise RuntimeError(f"{network.name}: the build failed (the log says why)")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{network.name}.plan"
    path.write_bytes(plan)
    return path, time.perf_counter() - start
