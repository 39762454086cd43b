"""How much memory a model cannot do without: its weights, and the largest sum of tensors alive at one operator.

Taken from the model's graph alone (OpenVINO's reader knows every shape once the inputs' are fixed), so the bound does
not come from the engine that it judges. Pointwise operators may write over an input that nobody reads any more, and
reshapes share their input's memory, as any planner would have it.
"""

import collections
import pathlib

Shapes = dict[str, tuple[int, ...]]  # Input name to shape.

VIEWS = {"Reshape", "Squeeze", "Unsqueeze", "ShapeOf"}
# Whoever writes over its input while it still needs other elements of it would be wrong.
NEVER_IN_PLACE = {"Convolution", "GroupConvolution", "ConvolutionBackpropData", "MatMul", "Transpose", "MaxPool"}
SOURCES = {"Constant", "Parameter", "Result"}


def bytes_of(port) -> int:
    shape = port.get_shape() if port.get_partial_shape().is_static else []
    count = 1
    for extent in shape:
        count *= extent
    return count * port.get_element_type().size


def live_memory(path: pathlib.Path, shapes: Shapes) -> tuple[int, int]:
    """Bytes of weights, and bytes of the largest sum of tensors alive at one operator."""
    import openvino

    model = openvino.Core().read_model(path)
    model.reshape({name: list(shape) for name, shape in shapes.items()})
    operators = model.get_ordered_ops()
    weights = sum(bytes_of(op.output(0)) for op in operators if op.get_type_name() == "Constant")
    return weights, largest_alive(operators)


def largest_alive(operators: list) -> int:
    storage: dict[tuple, tuple] = {}  # Tensor to the tensor whose memory it uses.
    readers = collections.Counter(key_of(port) for op in operators for port in sources_of(op))
    left: collections.Counter = collections.Counter()  # Reads still to come, per memory.
    size: dict[tuple, int] = {}
    alive = largest = 0
    for op in operators:
        kind = op.get_type_name()
        if kind == "Constant":
            continue
        inputs = [storage[key_of(port)] for port in sources_of(op) if key_of(port) in storage]
        fresh = []
        for port in op.outputs() if kind != "Result" else []:
            home = reused(kind, port, inputs, left, size)
            if home is None:
                home = key_of(port)
                size[home] = bytes_of(port)
                fresh.append(home)
            storage[key_of(port)] = home
            left[home] += readers[key_of(port)]
        alive += sum(size[home] for home in fresh)
        largest = max(largest, alive)
        for home in inputs:
            left[home] -= 1
        alive -= sum(size.pop(home) for home in {*inputs, *fresh} if left[home] <= 0 and home in size)
    return largest


def reused(kind: str, port, inputs: list[tuple], left: collections.Counter, size: dict[tuple, int]) -> tuple | None:
    """The input whose memory the result can use: any for a view, a dying one of the same size for pointwise work."""
    if kind in SOURCES or kind in NEVER_IN_PLACE or not inputs:
        return None
    if kind in VIEWS:
        return inputs[0] if bytes_of(port) == size.get(inputs[0]) else None
    dying = [home for home in inputs if left[home] == inputs.count(home) and size.get(home) == bytes_of(port)]
    return dying[0] if dying else None


def sources_of(op) -> list:
    return [port.get_source_output() for port in op.inputs()]


def key_of(port) -> tuple:
    return port.get_node().get_friendly_name(), port.get_index()
