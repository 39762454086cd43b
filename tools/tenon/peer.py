"""Runs a model in another engine, when asked: for `tenon bench --compare`.

Arguments: engine, model, threads, the shapes of inputs that have no fixed one (JSON). It answers in lines of JSON:
{"version"} or {"error"} first, then, to each line with a number of seconds, the milliseconds of all runs within them.
"""

import json
import sys
import time

ENGINE, MODEL, THREADS, SHAPES = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
REST = 0.02  # Seconds until other engines' threads no longer spin.


def contents(numpy, name, kind, shape):
    """Random floats; integers are 0 or 1, which are indices of any table."""
    known = SHAPES.get(name, shape)
    if any(not isinstance(extent, int) or extent < 0 for extent in known):
        raise ValueError(f"input '{name}' needs its shape: --shapes {name}=...")
    random = numpy.random.default_rng(1)
    if numpy.issubdtype(kind, numpy.floating):
        return random.random(known).astype(kind)
    return random.integers(0, 2, known).astype(kind)


def onnxruntime():
    import numpy
    import onnxruntime as engine

    options = engine.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = THREADS, 1, 3
    session = engine.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    kinds = {"float": "float32", "double": "float64"}
    feed = {}
    for given in session.get_inputs():
        kind = given.type.removeprefix("tensor(").removesuffix(")")
        feed[given.name] = contents(numpy, given.name, numpy.dtype(kinds.get(kind, kind)), given.shape)
    return engine.__version__, lambda: session.run(None, feed)


def openvino():
    import numpy
    import openvino as engine

    core = engine.Core()
    model = core.read_model(MODEL)
    model.reshape({name: shape for name, shape in SHAPES.items()})
    feed = {}
    for given in model.inputs:
        shape = [each.get_length() if each.is_static else -1 for each in given.get_partial_shape()]
        feed[given.any_name] = contents(numpy, given.any_name, given.get_element_type().to_dtype(), shape)
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    request.set_tensors({name: engine.Tensor(data) for name, data in feed.items()})
    return engine.__version__.split("-")[0], request.infer


def name_shared_weights(graph):
    """PyTorch's exporter writes weights of equal bytes once and names them again by Identity nodes. onnx2torch looks
    for a layer's weights among the initializers alone: each name becomes one."""
    known = {each.name: each for each in graph.initializer}
    for node in list(graph.node):
        if node.op_type != "Identity" or node.input[0] not in known:
            continue
        copy = graph.initializer.add()
        copy.CopyFrom(known[node.input[0]])
        copy.name = node.output[0]
        known[copy.name] = copy
        graph.node.remove(node)


def torch():
    """PyTorch reads no ONNX files: the package onnx2torch makes a module of one."""
    import numpy
    import onnx
    import onnx2torch
    import torch as engine

    engine.set_num_threads(THREADS)
    proto = onnx.load(MODEL)
    name_shared_weights(proto.graph)
    module = onnx2torch.convert(proto).eval()
    weights = {each.name for each in proto.graph.initializer}
    feed = []
    for given in proto.graph.input:
        if given.name in weights:
            continue
        kind = given.type.tensor_type
        shape = [each.dim_value if each.HasField("dim_value") else -1 for each in kind.shape.dim]
        data = contents(numpy, given.name, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type), shape)
        feed.append(engine.from_numpy(data))

    def run():
        with engine.inference_mode():
            module(*feed)

    return engine.__version__, run


def tell(value):
    print(json.dumps(value), flush=True)


def main():
    try:
        version, run = {"onnxruntime": onnxruntime, "openvino": openvino, "torch": torch}[ENGINE]()
        for _ in range(3):
            run()
    except Exception as problem:  # Whatever the engine says is what the user wants to read.
        tell({"error": f"{type(problem).__name__}: {problem}"})
        return
    tell({"version": version})
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1000)
        time.sleep(REST)
        tell(times)


main()
