"""A pool's answers are those of the engine, whatever shares a run; what cannot be answered says why."""

import asyncio
import concurrent.futures
import functools
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
import pytest
import tenon.serving as serving
import tensorrt as trt
from tenon.serving.words import Words

WEIGHTS = np.random.default_rng(3).standard_normal((8, 4), np.float32)
RNG = np.random.default_rng(5)


def built(define: Callable[[trt.INetworkDefinition], None], *ranges: dict[str, tuple]) -> trt.ICudaEngine:
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    define(network)
    for shapes in ranges:
        profile = builder.create_optimization_profile()
        for name, three in shapes.items():
            profile.set_shape(name, *three)
        assert config.add_optimization_profile(profile) >= 0
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return trt.Runtime(logger).deserialize_cuda_engine(plan)


def product(network: trt.INetworkDefinition) -> None:
    x = network.add_input("x", trt.float32, (-1, 8))
    weights = network.add_constant((8, 4), WEIGHTS).get_output(0)
    none = trt.MatrixOperation.NONE
    y = network.add_matrix_multiply(x, none, weights, none).get_output(0)
    y.name = "y"
    network.mark_output(y)


def masked(network: trt.INetworkDefinition) -> None:
    """y = values · mask by element, total = its sum over the length."""
    values = network.add_input("values", trt.float32, (-1, -1))
    mask = network.add_input("mask", trt.float32, (-1, -1))
    y = network.add_elementwise(values, mask, trt.ElementWiseOperation.PROD).get_output(0)
    total = network.add_reduce(y, trt.ReduceOperation.SUM, 2, False).get_output(0)
    for tensor, name in ((y, "y"), (total, "total")):
        tensor.name = name
        network.mark_output(tensor)


def turned(network: trt.INetworkDefinition) -> None:
    """y = x with its axes exchanged: where both are 8 at most, the largest shapes do not tell them apart."""
    layer = network.add_shuffle(network.add_input("x", trt.float32, (-1, -1)))
    layer.first_transpose = (1, 0)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))


def columns(network: trt.INetworkDefinition) -> None:
    """y = x · x': as many rows as x has columns, which are as many as there are rows at most."""
    x = network.add_input("x", trt.float32, (-1, 8))
    layer = network.add_matrix_multiply(x, trt.MatrixOperation.TRANSPOSE, x, trt.MatrixOperation.NONE)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))


def as_many(network: trt.INetworkDefinition) -> None:
    """y = as many columns of x as x has positive values: rows stay, but those of others decide how long they are."""
    x = network.add_input("x", trt.float32, (-1, -1))
    zero = network.add_constant((1, 1), np.zeros((1, 1), np.float32)).get_output(0)
    is_positive = network.add_elementwise(x, zero, trt.ElementWiseOperation.GREATER).get_output(0)
    found = network.add_shape(network.add_non_zero(is_positive).get_output(0)).get_output(0)
    count = network.add_slice(found, (1,), (1,), (1,)).get_output(0)
    rows = network.add_slice(network.add_shape(x).get_output(0), (0,), (1,), (1,)).get_output(0)
    layer = network.add_slice(x, (0, 0), (1, 1), (1, 1))
    layer.set_input(2, network.add_concatenation([rows, count]).get_output(0))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))


def places(network: trt.INetworkDefinition) -> None:
    """Where x is not zero: the size depends on the values."""
    x = network.add_input("x", trt.float32, (-1, 8))
    found = network.add_non_zero(x).get_output(0)
    found.name = "places"
    network.mark_output(found)


@pytest.fixture(scope="module")
def engine() -> trt.ICudaEngine:
    return built(product, {"x": ((1, 8), (4, 8), (16, 8))})


@pytest.fixture(scope="module")
def masked_engine() -> trt.ICudaEngine:
    ranges = ((1, 1), (2, 8), (8, 32))
    return built(masked, {"values": ranges, "mask": ranges})


def rows(count: int) -> np.ndarray:
    return RNG.standard_normal((count, 8), np.float32)


class Held:
    """Holds the runs of a pool's lanes until they are let go; `batches` are the leading extents they were given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate, self.begun, self.batches = threading.Event(), threading.Semaphore(0), []
        run = serving.pool.Lane.run

        def held(lane: serving.pool.Lane, profile: object, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            self.batches.append((profile.index, *(value.shape for value in inputs.values())))
            self.begun.release()
            assert self.gate.wait(60)
            return run(lane, profile, inputs)

        monkeypatch.setattr(serving.pool.Lane, "run", held)

    def wait_for_a_run(self) -> None:
        assert self.begun.acquire(timeout=60)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    found = Held(monkeypatch)
    yield found
    found.gate.set()


def test_an_answer_is_that_of_the_engine(engine: trt.ICudaEngine) -> None:
    with serving.Pool(engine) as pool:
        for count in (1, 3, 16):
            x = rows(count)
            np.testing.assert_allclose(pool.infer({"x": x})["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)


def test_arrays_that_lie_askew_are_taken(engine: trt.ICudaEngine) -> None:
    x = rows(3)
    room = np.zeros(x.nbytes + 1, np.uint8)
    askew = room[1:].view(np.float32).reshape(x.shape)
    askew[:] = x
    with serving.Pool(engine) as pool:
        for each in (askew, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
            np.testing.assert_allclose(pool.infer({"x": each})["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)


def test_requests_that_wait_share_a_run_and_get_their_own_rows(engine: trt.ICudaEngine, held: Held) -> None:
    with serving.Pool(engine, max_batch=8) as pool:
        first = pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        asked = [rows(count) for count in (2, 3, 1, 4)]
        answers = [pool.submit({"x": x}) for x in asked]
        held.gate.set()
        for x, answer in zip(asked, answers, strict=True):
            np.testing.assert_allclose(answer.result(60)["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)
        assert first.result(60)["y"].shape == (1, 4)
        assert [shape for _, shape in held.batches] == [(1, 8), (6, 8), (4, 8)]
        assert answers[0].result()["y"].base is answers[2].result()["y"].base  # Views of one batch: no copy.


def test_a_request_alone_waits_for_company_no_longer_than_it_may(engine: trt.ICudaEngine) -> None:
    with serving.Pool(engine, max_batch=8, max_wait=0.5) as pool:
        answers = [pool.submit({"x": rows(4)}) for _ in range(2)]
        concurrent.futures.wait(answers)
        assert pool.counts.runs == 1  # As many as may be: they had not to wait for more.
        begun = time.monotonic()
        pool.infer({"x": rows(1)})
        assert time.monotonic() - begun >= 0.49
        spent = []
        for _ in range(2):  # Nobody came for the one before; one of them may be held up by other programs.
            begun = time.monotonic()
            pool.infer({"x": rows(1)})
            spent.append(time.monotonic() - begun)
        assert min(spent) < 0.49


def test_padding_lets_lengths_share_a_run_and_is_taken_off_again(masked_engine: trt.ICudaEngine, held: Held) -> None:
    padding = {"values": serving.Padding(9, step=16), "mask": serving.Padding(0, step=16)}
    with serving.Pool(masked_engine, max_batch=8, padding=padding) as pool:
        pool.submit({name: np.ones((1, 1), np.float32) for name in ("values", "mask")})
        held.wait_for_a_run()
        asked = [RNG.standard_normal((1, length), np.float32) for length in (3, 20, 7, 16, 31)]
        answers = [pool.submit({"values": x, "mask": np.ones_like(x)}) for x in asked]
        held.gate.set()
        for x, answer in zip(asked, answers, strict=True):
            outputs = answer.result(60)
            np.testing.assert_array_equal(outputs["y"], x)
            np.testing.assert_allclose(outputs["total"], x.sum(1), rtol=1e-5, atol=1e-5)
        assert {shape for _, shape, _ in held.batches} == {(1, 1), (3, 16), (2, 31)}


def test_lengths_do_not_share_a_run_without_padding(masked_engine: trt.ICudaEngine, held: Held) -> None:
    with serving.Pool(masked_engine, max_batch=8) as pool:
        pool.submit({name: np.ones((1, 1), np.float32) for name in ("values", "mask")})
        held.wait_for_a_run()
        asked = [np.ones((1, length), np.float32) for length in (3, 5, 3)]
        answers = [pool.submit({"values": x, "mask": x}) for x in asked]
        held.gate.set()
        assert [answer.result(60)["total"][0] for answer in answers] == [3, 5, 3]
        assert sorted(shape for _, shape, _ in held.batches) == [(1, 1), (1, 5), (2, 3)]


def test_each_run_has_the_profile_whose_typical_shape_is_nearest(held: Held) -> None:
    engine = built(product, {"x": ((1, 8), (1, 8), (4, 8))}, {"x": ((1, 8), (12, 8), (16, 8))})
    held.gate.set()
    with serving.Pool(engine, max_batch=16) as pool:
        for count in (1, 4, 12):
            x = rows(count)
            np.testing.assert_allclose(pool.infer({"x": x})["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)
    assert held.batches == [(0, (1, 8)), (1, (4, 8)), (1, (12, 8))]


def test_an_output_whose_size_depends_on_values_comes_as_large_as_it_is() -> None:
    engine = built(places, {"x": ((1, 8), (2, 8), (4, 8))})
    with serving.Pool(engine) as pool:
        for count in (0, 1, 5):
            x = np.zeros((2, 8), np.float32)
            x.flat[:count] = 1
            np.testing.assert_array_equal(pool.infer({"x": x})["places"], np.stack(np.nonzero(x)))
    with pytest.raises(ValueError, match="output 'places' has shape .* axis 0 is not the batch"):
        serving.Pool(engine, max_batch=4)


@pytest.mark.parametrize(
    "define, least, message",
    [
        (turned, (1, 1), "axis 0 is not the batch"),
        (columns, (1, 8), "axis 0 is not the batch"),
        (as_many, (1, 1), "the values of all rows decide on it"),
    ],
)
def test_an_output_whose_rows_are_not_those_of_requests_is_not_split(
    define: Callable[[trt.INetworkDefinition], None], least: tuple[int, int], message: str
) -> None:
    engine = built(define, {"x": (least, (8, 8), (8, 8))})
    with pytest.raises(ValueError, match=f"output 'y' .* {message}; use max_batch=1"):
        serving.Pool(engine, max_batch=4)
    x = rows(1)
    with serving.Pool(engine) as pool:
        own = {turned: x.T, columns: x.T @ x, as_many: x[:, : np.count_nonzero(x > 0)]}
        np.testing.assert_allclose(pool.infer({"x": x})["y"], own[define], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "inputs, message",
    [
        ({}, "input 'x' is missing; the inputs are 'x'"),
        ({"x": rows(1), "z": rows(1)}, "there is no input 'z'"),
        ({"x": rows(1).astype(np.float64)}, "input 'x' has elements of float64, but the engine takes float32"),
        ({"x": rows(1)[0]}, "input 'x' has 1 axes, but the engine takes 2"),
        ({"x": np.zeros((1, 9), np.float32)}, r"input 'x' has shape \[1, 9\], but extent 1 is 8"),
        ({"x": rows(17)}, r"input 'x' has shape \[17, 8\], but profile 0 takes 1 to 16 along axis 0"),
        ({"x": [[1.0] * 8]}, "input 'x' is a list, not an array"),
    ],
)
def test_a_request_that_does_not_fit_is_refused_by_name(engine: trt.ICudaEngine, inputs: dict, message: str) -> None:
    with serving.Pool(engine, max_batch=4) as pool:
        with pytest.raises(serving.BadRequest, match=message):
            pool.submit(inputs)
        assert pool.counts.requests == 0


def test_batches_of_inputs_must_agree(masked_engine: trt.ICudaEngine) -> None:
    with serving.Pool(masked_engine, max_batch=4) as pool, pytest.raises(serving.BadRequest, match="differ in their"):
        pool.submit({"values": np.ones((1, 2), np.float32), "mask": np.ones((2, 2), np.float32)})


def test_a_full_queue_refuses_and_says_when_to_come_back(engine: trt.ICudaEngine, held: Held) -> None:
    with serving.Pool(engine, queue=2) as pool:
        pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        waiting = [pool.submit({"x": rows(1)}) for _ in range(2)]
        with pytest.raises(serving.QueueFull, match="2 requests wait already") as refused:
            pool.submit({"x": rows(1)})
        assert refused.value.retry_after > 0 and pool.counts.refused == 1
        assert waiting[0].cancel()  # What nobody waits for takes no room.
        waiting.append(pool.submit({"x": rows(1)}))
        held.gate.set()
        assert all(answer.result(60)["y"].shape == (1, 4) for answer in waiting[1:])


def test_a_cancelled_request_is_not_run(engine: trt.ICudaEngine, held: Held) -> None:
    with serving.Pool(engine) as pool:
        first = pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        second, third = pool.submit({"x": rows(2)}), pool.submit({"x": rows(3)})
        assert second.cancel() and not first.cancel()  # A run under way goes on.
        held.gate.set()
        assert third.result(60)["y"].shape == (3, 4)
    assert [shape for _, shape in held.batches] == [(1, 8), (3, 8)]
    assert pool.counts.given_up == 1 and pool.counts.requests == pool.counts.answered + 1


def test_a_deadline_that_passes_in_the_queue_is_an_answer(engine: trt.ICudaEngine, held: Held) -> None:
    with serving.Pool(engine) as pool:
        pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        late, patient = pool.submit({"x": rows(1)}, timeout=0.01), pool.submit({"x": rows(1)}, timeout=60)
        with pytest.raises(serving.DeadlineExceeded, match="no answer within 0.02 s"):
            pool.infer({"x": rows(1)}, timeout=0.02)
        held.gate.set()
        with pytest.raises(serving.DeadlineExceeded, match="passed after .* ms in the queue"):
            late.result(60)
        assert patient.result(60)["y"].shape == (1, 4)
    assert len(held.batches) == 2


def test_the_failure_of_one_is_not_that_of_its_company(
    engine: trt.ICudaEngine, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = serving.pool.Lane.run

    def refusing(lane: serving.pool.Lane, profile: object, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        outputs = run(lane, profile, inputs)
        if np.isnan(inputs["x"]).any():
            raise serving.RunFailed("the value is not a number")
        return outputs

    monkeypatch.setattr(serving.pool.Lane, "run", refusing)
    with serving.Pool(engine, max_batch=8) as pool:
        pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        bad = pool.submit({"x": np.full((1, 8), np.nan, np.float32)})
        good = pool.submit({"x": rows(2)})
        held.gate.set()
        assert good.result(60)["y"].shape == (2, 4)
        with pytest.raises(serving.RunFailed, match="not a number"):
            bad.result(60)


def test_what_failing_runs_say_is_not_kept_for_ever() -> None:
    """A server's logger lives as long as its engine, and callers may ask for what fails as often as they like."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    layer = network.add_shuffle(network.add_input("x", trt.float32, (12,)))
    layer.set_input(1, network.add_input("shape", trt.int64, (2,)))
    network.mark_output(layer.get_output(0))
    profile = builder.create_optimization_profile()
    profile.set_shape_input("shape", (1, 1), (3, 4), (12, 12))
    config.add_optimization_profile(profile)
    words = Words()
    engine = trt.Runtime(words).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    with serving.Pool(engine) as pool:
        for _ in range(40):
            with pytest.raises(serving.RunFailed, match="to the 15 of"):
                pool.infer({"x": np.zeros(12, np.float32), "shape": np.int64([5, 3])})
    assert 0 < len(words.errors) <= 16 and "to the 15 of" in words.errors[-1]


def test_values_of_shapes_choose_the_profile_and_are_refused_outside_of_all() -> None:
    """What a caller gets wrong is the caller's, by name and place, and no run is tried."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    layer = network.add_fill((1,), trt.FillOperation.LINSPACE, trt.float32)
    layer.set_input(0, network.add_input("shape", trt.int64, (1,)))
    for index, value in ((1, np.float32(0)), (2, np.float32([1]))):
        layer.set_input(index, network.add_constant(np.shape(value), np.ascontiguousarray(value)).get_output(0))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    for least, most in ((1, 4), (8, 16)):
        profile = builder.create_optimization_profile()
        profile.set_shape_input("shape", (least,), (most,), (most,))
        config.add_optimization_profile(profile)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    with serving.Pool(engine) as pool:
        for length in (1, 4, 8, 16, 3):
            found = pool.infer({"shape": np.int64([length])})["y"]
            np.testing.assert_array_equal(found, np.arange(length, dtype=np.float32))
        for length in (0, 5, 17, -1):
            with pytest.raises(serving.BadRequest) as refused:
                pool.infer({"shape": np.int64([length])})
            for part in (f"input 'shape' has the value {length} at place 0", "profile 0 takes 1 to 4", "8 to 16"):
                assert part in str(refused.value)


def test_asyncio_waits_without_a_thread_and_cancels(engine: trt.ICudaEngine, held: Held) -> None:
    async def all_of(pool: serving.Pool) -> None:
        first = asyncio.create_task(pool.ainfer({"x": rows(1)}))
        await asyncio.to_thread(held.wait_for_a_run)
        task = asyncio.create_task(pool.ainfer({"x": rows(2)}))
        with pytest.raises(serving.DeadlineExceeded):
            await pool.ainfer({"x": rows(3)}, timeout=0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.gate.set()
        assert (await first)["y"].shape == (1, 4)
        many = await asyncio.gather(*(pool.ainfer({"x": rows(1 + i % 5)}) for i in range(100)))
        assert [len(each["y"]) for each in many] == [1 + i % 5 for i in range(100)]

    with serving.Pool(engine, max_batch=8) as pool:
        asyncio.run(all_of(pool))
    assert {(2, 8), (3, 8)}.isdisjoint(shape for _, shape in held.batches[:1])


def test_what_is_given_up_is_gone_before_a_lane_is_free(engine: trt.ICudaEngine, held: Held) -> None:
    """Its place in the queue, and its arrays: a server counts them as gone when their caller is."""

    async def given_up(pool: serving.Pool) -> list[weakref.ref]:
        arrays = [rows(2), rows(3)]
        found = [weakref.ref(array) for array in arrays]
        task = asyncio.create_task(pool.ainfer({"x": arrays[0]}))
        with pytest.raises(serving.DeadlineExceeded):
            await pool.ainfer({"x": arrays[1]}, timeout=0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return found

    with serving.Pool(engine, max_batch=8) as pool:
        first = pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        last = pool.submit({"x": rows(1)})
        arrays = [rows(4) for _ in range(3)]
        gone = [weakref.ref(array) for array in arrays]
        answers = [pool.submit({"x": array}) for array in arrays]
        assert pool.waiting == 4
        assert all(answer.cancel() and answer.cancel() for answer in answers)
        assert concurrent.futures.wait(answers, 60).not_done == set()
        with pytest.raises(serving.DeadlineExceeded):
            pool.infer({"x": rows(5)}, timeout=0.01)
        gone += asyncio.run(given_up(pool))
        assert pool.waiting == 1 and pool.counts.given_up == 6
        del arrays, answers
        assert [each() for each in gone] == [None] * 5
        held.gate.set()
        assert all(answer.result(60)["y"].shape == (1, 4) for answer in (first, last))
    assert pool.counts.answered == 2 and pool.counts.given_up == 6


def test_callbacks_hold_nobody_up_and_may_ask_and_cancel(engine: trt.ICudaEngine, held: Held) -> None:
    """Room is made in a full queue by giving up who is late: his callback cancels another one, and asks again."""
    asked: list = []

    def called(pool: serving.Pool, other: concurrent.futures.Future) -> None:
        assert other.cancel()
        asked.append(pool.submit({"x": rows(2)}))
        with concurrent.futures.ThreadPoolExecutor(1) as elsewhere:  # Nobody holds the lock while callbacks run.
            with pytest.raises(serving.QueueFull):
                elsewhere.submit(pool.submit, {"x": rows(1)}).result(60)
        asked.append(True)

    with serving.Pool(engine, queue=3) as pool:
        first = pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        late = pool.submit({"x": rows(1)}, timeout=0.01)
        sibling, other = pool.submit({"x": rows(1)}), pool.submit({"x": rows(3)})
        late.add_done_callback(lambda _: called(pool, sibling))
        time.sleep(0.02)
        last = pool.submit({"x": rows(4)})
        with pytest.raises(serving.DeadlineExceeded):
            late.result(60)
        held.gate.set()
        lengths = [len(answer.result(60)["y"]) for answer in (first, other, last, asked[0])]
        assert lengths == [1, 3, 4, 2] and sibling.cancelled() and asked[1:] == [True]
    counts = pool.counts
    assert counts.requests == 6 and counts.answered == 4 and counts.given_up == 2 and counts.failed == 0


def test_what_a_pool_drops_at_its_end_is_told_and_counted(engine: trt.ICudaEngine, held: Held) -> None:
    pool = serving.Pool(engine)
    first = pool.submit({"x": rows(1)})
    held.wait_for_a_run()
    waiting = [pool.submit({"x": rows(2)}) for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(1) as elsewhere:
        closed = elsewhere.submit(pool.close, drain=False)
        for answer in waiting:
            with pytest.raises(serving.Closed, match="before the request's turn"):
                answer.result(60)
        held.gate.set()
        closed.result(60)
    assert len(first.result(60)["y"]) == 1
    assert (pool.counts.requests, pool.counts.answered, pool.counts.given_up, pool.waiting) == (4, 1, 3, 0)


@pytest.mark.parametrize("kind", [ValueError, SystemExit, asyncio.CancelledError])
def test_what_a_callback_raises_does_not_end_the_lane(
    engine: trt.ICudaEngine, held: Held, caplog: pytest.LogCaptureFixture, kind: type[BaseException]
) -> None:
    def called(_: object) -> None:
        raise kind("no")

    with serving.Pool(engine) as pool:
        first = pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        first.add_done_callback(called)
        late = pool.submit({"x": rows(1)}, timeout=0.0)
        late.add_done_callback(called)
        held.gate.set()
        assert len(pool.infer({"x": rows(2)}, timeout=60)["y"]) == 2
        assert len(first.result(60)["y"]) == 1 and pool.counts.given_up == 1
    assert "callback" in caplog.text


@pytest.mark.parametrize("ends", ["by its task", "by its deadline", "in time"])
def test_a_run_that_goes_on_by_itself_is_lent_what_its_caller_holds(
    engine: trt.ICudaEngine, held: Held, ends: str
) -> None:
    said = []

    def lend() -> Callable[[], None]:
        said.append("lent")
        return lambda: said.append("returned")

    async def asked(pool: serving.Pool) -> None:
        deadline = 0.05 if ends == "by its deadline" else None
        task = asyncio.create_task(pool.ainfer({"x": rows(1)}, timeout=deadline, lend=lend))
        waiting = asyncio.create_task(pool.ainfer({"x": rows(1)}, lend=lend))
        await asyncio.to_thread(held.wait_for_a_run)
        waiting.cancel()  # It has not begun: nobody reads its inputs.
        with pytest.raises(asyncio.CancelledError):
            await waiting
        if ends == "by its task":
            task.cancel()
        if ends != "in time":
            with pytest.raises((asyncio.CancelledError, serving.DeadlineExceeded)):
                await task
            assert said == ["lent"]
        held.gate.set()
        await pool.ainfer({"x": rows(1)})
        if ends == "in time":
            assert len((await task)["y"]) == 1

    with serving.Pool(engine) as pool:
        asyncio.run(asked(pool))
    assert said == ([] if ends == "in time" else ["lent", "returned"])


@pytest.mark.parametrize("how", ["submit", "infer", "ainfer", "ainfer in time"])
def test_a_request_that_failed_is_kept_by_nobody(
    engine: trt.ICudaEngine, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Its error knows where it was raised: that must not lead back to it."""

    def failed(lane: serving.pool.Lane, profile: object, inputs: object) -> dict[str, np.ndarray]:
        raise serving.RunFailed("no")

    async def awaited(pool: serving.Pool, array: np.ndarray) -> None:
        with pytest.raises(serving.RunFailed):
            await pool.ainfer({"x": array}, timeout=60 if how == "ainfer in time" else None)

    def asked(pool: serving.Pool) -> weakref.ref:
        array = rows(3)
        if how.startswith("ainfer"):
            asyncio.run(awaited(pool, array))
            return weakref.ref(array)
        with pytest.raises(serving.RunFailed):
            if how == "submit":
                pool.submit({"x": array}).result(60)
            else:
                pool.infer({"x": array})
        return weakref.ref(array)

    monkeypatch.setattr(serving.pool.Lane, "run", failed)
    gc.disable()
    try:
        with serving.Pool(engine) as pool:
            gone = asked(pool)
        assert gone() is None
    finally:
        gc.enable()


def test_a_lane_goes_on_when_the_loop_that_asked_has_ended(engine: trt.ICudaEngine, held: Held) -> None:
    async def asked(pool: serving.Pool) -> None:
        asking = asyncio.create_task(pool.ainfer({"x": rows(1)}))
        await asyncio.to_thread(held.wait_for_a_run)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with serving.Pool(engine) as pool:
        asyncio.run(asked(pool))
        held.gate.set()
        assert pool.infer({"x": rows(2)}, timeout=60)["y"].shape == (2, 4)
        assert pool.counts.answered == 2


def test_closing_answers_all_that_were_accepted(engine: trt.ICudaEngine, held: Held) -> None:
    pool = serving.Pool(engine)
    answers = [pool.submit({"x": rows(1)}) for _ in range(5)]
    held.wait_for_a_run()
    closing = threading.Thread(target=pool.close)
    closing.start()
    while not pool._crew.is_closing:
        time.sleep(0.001)
    with pytest.raises(serving.Closed):
        pool.submit({"x": rows(1)})
    held.gate.set()
    closing.join(60)
    assert all(answer.done() and answer.result()["y"].shape == (1, 4) for answer in answers)


def test_closing_without_draining_answers_with_closed(engine: trt.ICudaEngine, held: Held) -> None:
    pool = serving.Pool(engine)
    first, second = pool.submit({"x": rows(1)}), pool.submit({"x": rows(1)})
    held.wait_for_a_run()
    closing = threading.Thread(target=pool.close, kwargs={"drain": False})
    closing.start()
    with pytest.raises(serving.Closed, match="before the request's turn"):
        second.result(60)
    held.gate.set()
    closing.join(60)
    assert first.result(60)["y"].shape == (1, 4)


def test_many_threads_and_lanes_get_what_the_engine_gives_each_alone(engine: trt.ICudaEngine) -> None:
    asked = [rows(1 + number % 6) for number in range(300)]
    with serving.Pool(engine, contexts=3, max_batch=8, max_wait=0.001, queue=400) as pool:
        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(lambda x: pool.infer({"x": x}, timeout=60), asked))
        for x, outputs in zip(asked, answers, strict=True):
            np.testing.assert_allclose(outputs["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)
        assert pool.counts.answered == 300 and pool.counts.rows == sum(len(x) for x in asked)


@pytest.mark.parametrize(
    "wrong",
    [{"contexts": -1}, {"contexts": 10**6}, {"max_batch": 0}, {"queue": 0}, {"max_wait": -1}, {"max_output": 0}]
    + [{"max_wait": float("nan")}, {"max_wait": float("inf")}, {"max_wait": 1e300}],
)
def test_settings_without_sense_are_refused(engine: trt.ICudaEngine, wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        serving.Pool(engine, **wrong)
    with pytest.raises(ValueError, match="padding names 'q', which is no input"):
        serving.Pool(engine, max_batch=2, padding={"q": serving.Padding(0)})


@pytest.mark.parametrize("value, step", [("0", 1), (None, 1), (0, 0), (0, -1), (0, 1.5), (0, "16")])
def test_a_padding_without_sense_is_refused(value: object, step: object) -> None:
    with pytest.raises(ValueError, match="of a padding is"):
        serving.Padding(value, step)


def summed(kind: trt.DataType) -> trt.ICudaEngine:
    """The sum over the length: what was filled in counts."""

    def define(network: trt.INetworkDefinition) -> None:
        x = network.add_cast(network.add_input("x", kind, (-1, -1)), trt.float32).get_output(0)
        y = network.add_reduce(x, trt.ReduceOperation.SUM, 2, True).get_output(0)
        y.name = "y"
        network.mark_output(y)

    return built(define, {"x": ((1, 1), (2, 4), (2, 8))})


@pytest.mark.parametrize("kind, value", [(trt.int32, 0.5), (trt.int8, 300), (trt.bool, 2), (trt.float32, 1e39)])
def test_a_padding_is_a_value_of_the_input(kind: trt.DataType, value: float) -> None:
    with pytest.raises(
        ValueError, match=f"the padding of input 'x' is {value:g}, which .* does not have".replace("+", ".")
    ):
        serving.Pool(summed(kind), max_batch=2, padding={"x": serving.Padding(value)})


@pytest.mark.parametrize("kind", [trt.float32, trt.float16, trt.bfloat16, trt.int32, trt.int8])
def test_what_is_filled_in_is_the_value_in_each_type(kind: trt.DataType, held: Held) -> None:
    """bfloat16 comes as its bits or as an array of ml_dtypes', and both in one run."""
    dtype = {trt.bfloat16: ml_dtypes.bfloat16}.get(kind) or trt.nptype(kind)
    with serving.Pool(summed(kind), max_batch=2, padding={"x": serving.Padding(3, step=8)}) as pool:
        first = pool.submit({"x": np.ones((2, 8), dtype)})
        held.wait_for_a_run()
        short, long = np.full((1, 5), 2, dtype), np.full((1, 7), 2, dtype)
        answers = [
            pool.submit({"x": short.view(np.uint16) if kind == trt.bfloat16 else short}),
            pool.submit({"x": long}),
        ]
        held.gate.set()
        assert [float(answer.result(60)["y"][0, 0]) for answer in answers] == [2 * 5 + 3 * 2, 2 * 7]
        assert first.result(60)["y"].tolist() == [[8], [8]]


def test_timeouts_may_be_any_number_of_seconds(engine: trt.ICudaEngine) -> None:
    x = {"x": rows(1)}
    with serving.Pool(engine) as pool:
        for timeout in (1e30, float("inf"), 1e12):
            assert pool.infer(x, timeout=timeout)["y"].shape == (1, 4)
            assert asyncio.run(pool.ainfer(x, timeout=timeout))["y"].shape == (1, 4)
        for timeout in (-1.0, 0.0):
            with pytest.raises(serving.DeadlineExceeded):
                pool.infer(x, timeout=timeout)
        with pytest.raises(serving.BadRequest, match="no number of seconds"):
            pool.infer(x, timeout=float("nan"))


def test_requests_without_rows_are_answered_beside_others() -> None:
    engine = built(product, {"x": ((0, 8), (4, 8), (16, 8))})
    with serving.Pool(engine, max_batch=8, max_wait=0.01) as pool:
        asked = [rows(index % 3) for index in range(30)]
        for x, answer in zip(asked, [pool.submit({"x": x}) for x in asked], strict=True):
            np.testing.assert_allclose(answer.result(60)["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)
        assert pool.infer({"x": rows(0)}, timeout=60)["y"].shape == (0, 4)


def test_sizes_that_no_profile_takes_are_run_apart(held: Held) -> None:
    """Four requests would be a run of four rows: one profile has room for one, the other for eight."""
    engine = built(product, {"x": ((1, 8), (1, 8), (1, 8))}, {"x": ((8, 8), (8, 8), (8, 8))})
    with serving.Pool(engine, max_batch=8) as pool:
        first = pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        asked = [rows(1) for _ in range(4)]
        answers = [pool.submit({"x": x}) for x in asked]
        held.gate.set()
        for x, answer in zip(asked, answers, strict=True):
            np.testing.assert_allclose(answer.result(60)["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)
        first.result(60)
    assert set(held.batches) == {(0, (1, 8))}


def test_a_pool_is_closed_in_a_fork(engine: trt.ICudaEngine, held: Held) -> None:
    """The lanes are not there, and the pool's lock is held for ever: a request would be waited for without an end."""
    forked, holds = threading.Event(), threading.Event()

    def hold(pool: serving.Pool) -> None:
        with pool._crew._lock:
            holds.set()
            forked.wait(60)

    with serving.Pool(engine) as pool:
        first = pool.submit({"x": rows(1)})
        held.wait_for_a_run()
        waiting = pool.submit({"x": rows(2)})
        holder = threading.Thread(target=hold, args=(pool,))
        holder.start()
        assert holds.wait(60)
        child = os.fork()
        if not child:
            signal.alarm(60)
            try:
                pool.infer({"x": rows(1)})
            except serving.Closed as closed:
                os._exit(0 if waiting.cancel() and "fork" in str(closed) and pool.close() is None else 1)
            finally:
                os._exit(2)
        forked.set()
        holder.join()
        assert os.waitpid(child, 0)[1] == 0
        held.gate.set()
        assert [len(answer.result(60)["y"]) for answer in (first, waiting)] == [1, 2]


def test_whoever_is_called_back_may_close_the_pool(engine: trt.ICudaEngine) -> None:
    pool, closed = serving.Pool(engine, contexts=2), concurrent.futures.Future()

    def close(_: object) -> None:
        try:
            closed.set_result(pool.close())
        except RuntimeError as error:
            closed.set_exception(error)

    pool.submit({"x": rows(1)}).add_done_callback(close)
    assert closed.result(60) is None
    with pytest.raises(serving.Closed):
        pool.infer({"x": rows(1)})


def doubled(network: trt.INetworkDefinition) -> None:
    """ya = a + a, yb = b + b, of lengths that have nothing to do with each other."""
    for name in "ab":
        x = network.add_input(name, trt.float32, (-1, -1))
        y = network.add_elementwise(x, x, trt.ElementWiseOperation.SUM).get_output(0)
        y.name = f"y{name}"
        network.mark_output(y)


def test_inputs_are_padded_each_for_itself() -> None:
    engine = built(doubled, {"a": ((1, 1), (4, 8), (8, 32)), "b": ((1, 1), (4, 8), (8, 64))})
    padding = {"a": serving.Padding(7, step=16), "b": serving.Padding(-3, step=8)}
    asked = [
        {name: RNG.standard_normal((int(count), int(RNG.integers(1, most + 1))), np.float32) for name, most in ends}
        for count, ends in ((count, (("a", 32), ("b", 64))) for count in RNG.integers(1, 4, 200))
    ]
    with serving.Pool(engine, max_batch=8, max_wait=0.01, padding=padding) as pool:
        for inputs, answer in zip(asked, [pool.submit(inputs) for inputs in asked], strict=True):
            for name, value in inputs.items():
                np.testing.assert_array_equal(answer.result(60)[f"y{name}"], 2 * value)
        assert pool.counts.runs < len(asked)


def test_loops_side_by_side_ask_and_give_up_and_every_request_is_counted(engine: trt.ICudaEngine) -> None:
    async def one(pool: serving.Pool, x: np.ndarray) -> None:
        y = (await pool.ainfer({"x": x}, timeout=60))["y"]
        np.testing.assert_allclose(y, x @ WEIGHTS, rtol=1e-4, atol=1e-5)

    async def many(pool: serving.Pool) -> list[object]:
        tasks = [asyncio.create_task(one(pool, np.full((1, 8), number, np.float32))) for number in range(100)]
        for number, task in enumerate(tasks):
            if number % 3 == 0:
                await asyncio.sleep(0)
                task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    pool = serving.Pool(engine, contexts=2, max_batch=8, max_wait=0.001, queue=10_000)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = [each for loop in threads.map(lambda _: asyncio.run(many(pool)), range(8)) for each in loop]
    pool.close()
    assert all(each is None or isinstance(each, asyncio.CancelledError) for each in found), found
    counts = pool.counts
    assert counts.requests == counts.answered + counts.given_up == 800 and not (counts.failed or pool.waiting)


def test_lanes_that_have_no_thread_leave_none_behind(engine: trt.ICudaEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = threading.Thread.start, []  # Not how many there are: earlier tests' may be on their way out.

    def limited(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(serving.RunFailed, match="lane 3 of 4 has no thread: can't start new thread"):
        serving.Pool(engine, contexts=4)
    assert len(started) == 2 and not any(thread.is_alive() for thread in started)


def ended(threads: list[threading.Thread]) -> bool:
    until = time.monotonic() + 60
    while any(thread.is_alive() for thread in threads):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("is_called_back", [False, True])
def test_a_pool_that_nobody_has_any_more_answers_what_it_accepted_and_ends(
    engine: trt.ICudaEngine, held: Held, is_called_back: bool
) -> None:
    pool = serving.Pool(engine, contexts=2)
    threads, gone = pool._crew.threads, weakref.ref(pool)
    answers = [pool.submit({"x": rows(1)}) for _ in range(5)]
    if is_called_back:  # By what has the pool, and is had by its request alone.
        answers[0].add_done_callback(functools.partial(lambda pool, _: pool.counts, pool))
    held.wait_for_a_run()
    del pool
    gc.collect()
    assert (gone() is not None) == is_called_back
    held.gate.set()
    assert all(answer.result(60)["y"].shape == (1, 4) for answer in answers)
    del answers
    assert ended(threads) and gone() is None


def test_a_lane_that_waits_keeps_nothing_of_the_request_before(engine: trt.ICudaEngine) -> None:
    with serving.Pool(engine) as pool:
        x = rows(3)
        answer = pool.submit({"x": x})
        y = answer.result(60)["y"]
        kept = weakref.ref(x), weakref.ref(y), weakref.ref(answer)
        del x, y, answer
        until = time.monotonic() + 60
        while any(each() is not None for each in kept):  # The lane has told of the answer before it has let go.
            assert time.monotonic() < until, kept
            time.sleep(0.01)


def test_whoever_lets_go_of_a_pool_may_hold_any_lock(engine: trt.ICudaEngine) -> None:
    """As a collection of garbage may, which happens anywhere: in a lane, too, that holds the lock of another pool."""
    first, second = serving.Pool(engine), serving.Pool(engine)
    threads = [*first._crew.threads, *second._crew.threads]
    with first._crew._lock, second._crew._lock:
        letting_go = threading.Thread(target=dropped, args=([first, second],))
        del first, second
        letting_go.start()
        letting_go.join(60)
        assert not letting_go.is_alive()
    assert ended(threads)


def dropped(pools: list[serving.Pool]) -> None:
    pools.clear()


AT_THE_END = """
import asyncio, sys
import numpy as np
import tensorrt as trt
from tenon.serving import Pool
engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(open(sys.argv[1], "rb").read())
pool, x = Pool(engine, contexts=2, queue=1000), np.ones((16, 8), np.float32)
answers = [pool.submit({"x": x}) for _ in range(500)]
async def left() -> None:
    await asyncio.wait([asyncio.create_task(pool.ainfer({"x": x})) for _ in range(100)], timeout=0.001)
asyncio.run(left())
"""


def test_a_program_may_end_with_requests_under_way(tmp_path: pathlib.Path, engine: trt.ICudaEngine) -> None:
    (tmp_path / "plan").write_bytes(engine.serialize())
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", AT_THE_END, tmp_path / "plan"], capture_output=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, b"")
