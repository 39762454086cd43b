"""Grid sampling, equations, box suppression and ragged softmax through the public calls, against NumPy."""

import numpy as np
import pytest
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.INTERNAL_ERROR)


class Outputs(trt.IOutputAllocator):
    def __init__(self):
        trt.IOutputAllocator.__init__(self)
        self.memory, self.shapes = {}, {}

    def reallocate_output(self, tensor_name, memory, size, alignment):
        self.memory[tensor_name] = np.zeros(max(size, 1), np.uint8)
        return self.memory[tensor_name].ctypes.data

    def notify_shape(self, tensor_name, shape):
        self.shapes[tensor_name] = tuple(shape)


class Net:
    """A network of one layer, built and run."""

    def __init__(self):
        self.builder = trt.Builder(LOGGER)
        self.network = self.builder.create_network(0)
        self.feed = {}

    def input(self, array):
        name = f"in{len(self.feed)}"
        self.feed[name] = np.ascontiguousarray(array)
        types = {np.float32: trt.float32, np.int32: trt.int32, np.int64: trt.int64}
        return self.network.add_input(name, types[array.dtype.type], array.shape)

    def constant(self, array):
        return self.network.add_constant(np.shape(array), np.asarray(array)).get_output(0)

    def run(self, layer):
        for i in range(layer.num_outputs):
            layer.get_output(i).name = f"out{i}"
            self.network.mark_output(layer.get_output(i))
        plan = self.builder.build_serialized_network(self.network, self.builder.create_builder_config())
        assert plan is not None
        engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
        context = engine.create_execution_context()
        outputs = Outputs()
        for name, array in self.feed.items():
            assert context.set_tensor_address(name, array.ctypes.data)
        for i in range(layer.num_outputs):
            assert context.set_output_allocator(f"out{i}", outputs)
        assert context.execute_async_v3(0)
        results = []
        for i in range(layer.num_outputs):
            dtype = np.dtype(trt.nptype(engine.get_tensor_dtype(f"out{i}")))
            count = int(np.prod(outputs.shapes[f"out{i}"], dtype=int))
            memory = outputs.memory[f"out{i}"][: count * dtype.itemsize]
            results.append(memory.view(dtype).reshape(outputs.shapes[f"out{i}"]))
        return results


def test_boxes_by_image_and_score():
    """E23: classes do not suppress each other; the second output counts; indices can be 64-bit."""
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3]]], np.float32)
    scores = np.array([[[0.9, 0.2], [0.8, 0.7], [0.3, 0.6]]], np.float32)
    net = Net()
    layer = net.network.add_nms(net.input(boxes), net.input(scores), net.constant(np.int32(2)), trt.int64)
    assert layer.topk_box_limit == 5000 and layer.bounding_box_format == trt.BoundingBoxFormat.CORNER_PAIRS
    assert layer.indices_type == trt.int64 and layer.num_inputs == 3 and layer.type == trt.LayerType.NMS
    layer.set_input(3, net.constant(np.float32(0.5)))
    layer.set_input(4, net.constant(np.float32(0.25)))
    chosen, count = net.run(layer)
    assert chosen.dtype == np.int64 and count.dtype == np.int32 and count == 4
    np.testing.assert_array_equal(chosen, [[0, 0, 0], [0, 1, 1], [0, 1, 2], [0, 0, 2]])


def test_the_limit_counts_pairs_of_all_classes():
    """E23: so many of the best pairs of box and class of an image are looked at."""
    boxes = np.array([[[0, 0, 1, 1], [4, 4, 5, 5]]], np.float32)
    net = Net()
    scores = np.array([[[0.9, 0.8], [0.7, 0.6]]], np.float32)
    layer = net.network.add_nms(net.input(boxes), net.input(scores), net.constant(np.int32(9)))
    layer.topk_box_limit = 3
    assert layer.indices_type == trt.int32
    chosen, count = net.run(layer)
    assert count == 3
    np.testing.assert_array_equal(chosen, [[0, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_grid_sample_starts_linear_unaligned_and_filled():
    """E25: and refuses the modes that it lacks."""
    image = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    grid = np.array([[[[-0.5, -0.5], [0.0, 0.0], [0.5, 0.0], [3.0, 0.0]]]], np.float32)
    net = Net()
    layer = net.network.add_grid_sample(net.input(image), net.input(grid))
    assert layer.interpolation_mode == trt.InterpolationMode.LINEAR
    assert layer.sample_mode == trt.SampleMode.FILL and not layer.align_corners
    assert layer.type == trt.LayerType.GRID_SAMPLE
    with pytest.raises(RuntimeError, match="sample_mode refused the value"):
        layer.sample_mode = trt.SampleMode.WRAP
    assert layer.sample_mode == trt.SampleMode.FILL
    (found,) = net.run(layer)
    np.testing.assert_allclose(found.ravel(), [0.0, 1.5, 2.0, 0.0])


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("...ij,jk", [(2, 3, 4), (4, 5)]),
        ("ii->i", [(4, 4)]),
        ("abc,cd,da->b", [(2, 3, 4), (4, 5), (5, 2)]),
    ],
)
def test_einsum(equation, shapes):
    """E35: ellipsis, diagonals, implied outputs, several operands."""
    rng = np.random.default_rng(1)
    operands = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    net = Net()
    layer = net.network.add_einsum([net.input(operand) for operand in operands], equation)
    (found,) = net.run(layer)
    np.testing.assert_allclose(found, np.einsum(equation, *operands), atol=1e-5)


def test_equations_that_cannot_be_read():
    """E35: a network refuses such a layer, a layer such an equation."""
    net = Net()
    x = net.input(np.zeros((2, 3), np.float32))
    assert net.network.add_einsum([x], "iJ->J") is None
    assert net.network.add_einsum([x], "ij,jk->ik") is None
    layer = net.network.add_einsum([x], "ij->ji")
    layer.equation = "ij->"
    assert layer.equation == "ij->"
    with pytest.raises(RuntimeError, match="equation refused the value"):
        layer.equation = "i.j"
    assert layer.equation == "ij->"


def test_ragged_softmax():
    x = np.array([[1.0, 1.0, 1.0], [1.0, 5.0, 9.0]], np.float32)
    net = Net()
    layer = net.network.add_ragged_softmax(net.input(x), net.input(np.array([[2], [1]], np.int32)))
    (found,) = net.run(layer)
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], atol=1e-6)
