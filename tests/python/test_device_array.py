"""tenon.DeviceArray: memory of the device that an engine runs on; on the CPU NumPy views it."""

import numpy as np
import pytest
import small
import tenon as trt


@pytest.fixture
def engine():
    return small.engine(small.Recorder())


def test_a_run_reads_and_writes_it(engine):
    context = engine.create_execution_context()
    values = small.inputs()
    names = [engine.get_tensor_name(i) for i in range(2)]
    assert context.set_input_shape(names[0], values.shape)
    x = trt.DeviceArray.of(engine, values)
    y = trt.DeviceArray(engine, tuple(context.get_tensor_shape(names[1])), np.float32)
    assert context.set_tensor_address(names[0], x) and context.set_tensor_address(names[1], y)
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(y.numpy(), small.want(values), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(np.asarray(x), values)
    assert not hasattr(x, "__cuda_array_interface__")


def test_an_array_of_another_size_or_type_is_refused(engine):
    context = engine.create_execution_context()
    x = trt.DeviceArray(engine, (2, 3), np.float64)
    with pytest.raises(TypeError, match="elements of float64"):
        context.set_tensor_address(engine.get_tensor_name(0), x)
    with pytest.raises(ValueError, match="8 bytes do not fill the array's 48"):
        x.write(np.zeros(1))
