"""Loops and conditionals from Python (rules E17 to E20); their plans are planned again for other devices."""

import os
import subprocess
import sys

import numpy as np
import tenon

# Sums rows of x, each doubled where its sum is positive, and keeps all partial sums.
MAKE = """
import sys
import numpy as np
import tenon

logger = tenon.Logger(tenon.Logger.ERROR)
builder = tenon.Builder(logger)
network = builder.create_network(0)
x = network.add_input("x", tenon.float32, (5, 3))
loop = network.add_loop()
loop.name = "rows"
count = network.add_constant((), np.array(5, np.int32)).get_output(0)
limit = loop.add_trip_limit(count, tenon.TripLimit.COUNT)
row = loop.add_iterator(x, 0, False).get_output(0)
total = loop.add_recurrence(network.add_constant((3,), np.zeros(3, np.float32)).get_output(0))
choice = network.add_if_conditional()
some = network.add_reduce(row, tenon.ReduceOperation.SUM, 1, False).get_output(0)
zero = network.add_constant((), np.array(0, np.float32)).get_output(0)
choice.set_condition(network.add_elementwise(some, zero, tenon.ElementWiseOperation.GREATER).get_output(0))
inside = choice.add_input(row).get_output(0)
twice = network.add_elementwise(inside, inside, tenon.ElementWiseOperation.SUM).get_output(0)
taken = choice.add_output(twice, inside).get_output(0)
after = network.add_elementwise(total.get_output(0), taken, tenon.ElementWiseOperation.SUM).get_output(0)
total.set_input(1, after)
last = loop.add_loop_output(total.get_output(0), tenon.LoopOutput.LAST_VALUE, 0)
every = loop.add_loop_output(after, tenon.LoopOutput.CONCATENATE, 0)
every.set_input(1, count)
for name, layer in (("y", last), ("z", every)):
    layer.get_output(0).name = name
    network.mark_output(layer.get_output(0))
plan = builder.build_serialized_network(network, builder.create_builder_config())
"""


def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.array([2 * row if row.sum() > 0 else row for row in x])
    sums = np.cumsum(rows, axis=0)
    return sums[-1], sums


def check(plan: bytes) -> None:
    engine = tenon.Runtime(tenon.Logger(tenon.Logger.ERROR)).deserialize_cuda_engine(plan)
    assert engine is not None
    context = engine.create_execution_context()
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((5, 3), np.float32)
        y, z = np.empty(3, np.float32), np.empty((5, 3), np.float32)
        for name, array in (("x", x), ("y", y), ("z", z)):
            context.set_tensor_address(name, array)
        assert context.execute_async_v3(0)
        last, sums = expected(x)
        np.testing.assert_allclose(y, last, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(z, sums, rtol=1e-5, atol=1e-5)


def test_a_loop_with_a_conditional() -> None:
    """E17, E18, E19, E20: recurrence, iterator, outputs and a choice, built in Python."""
    made: dict[str, object] = {}
    exec(MAKE, made)
    loop, limit = made["loop"], made["limit"]
    assert limit.kind == tenon.TripLimit.COUNT and limit.loop.name == "rows"
    assert loop.name == "rows" and made["every"].kind == tenon.LoopOutput.CONCATENATE
    check(bytes(made["plan"]))


def test_it_is_planned_again_for_another_device(tmp_path) -> None:
    """A plan for the reference holds the bodies, and runs here."""
    path = tmp_path / "loop.plan"
    script = MAKE + f"open({str(path)!r}, 'wb').write(bytes(plan))\n"
    environment = {**os.environ, "TENON_DEVICE": "ref"}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    check(path.read_bytes())
