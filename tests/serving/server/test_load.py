"""A short form of benchmarks/serving.py --soak: requests of all shapes are answered right, in the same memory."""

import asyncio
import json
import pathlib
import sys
import time

import hosted
import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[3] / "benchmarks"))

import load

SECONDS, CONNECTIONS = 4, 8


def output(body: bytes, rows: int) -> np.ndarray:
    """The only output of an answer; its binary data stands behind the JSON."""
    data = body[-rows * 4 * 4 :]
    described = json.loads(body[: -len(data)])["outputs"][0]
    assert described["shape"] == [rows, 4] and described["parameters"]["binary_data_size"] == len(data)
    return np.frombuffer(data, np.float32).reshape(rows, 4)


async def asked(port: int, arrays: list[np.ndarray], seconds: float) -> int:
    """How many requests were answered, all of them right."""
    requests = [load.request("small", {"x": x}, {"x": "FP32"}) for x in arrays]
    end = time.monotonic() + seconds

    async def asking(number: int) -> int:
        connection, count = await load.Connection.to(port), 0
        while time.monotonic() < end:
            index = (number + CONNECTIONS * count) % len(arrays)
            found = output(await connection.ask(requests[index]), len(arrays[index]))
            np.testing.assert_allclose(found, arrays[index] @ hosted.WEIGHTS, rtol=1e-4, atol=1e-4)
            count += 1
        connection.close()
        return count

    return sum(await asyncio.gather(*map(asking, range(CONNECTIONS))))


def test_mixed_shapes_are_answered_in_flat_memory(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(9)
    arrays = [rng.standard_normal((int(rows), 8), np.float32) for rows in rng.integers(1, 17, 61)]
    options = ("--max-batch", "16", "--max-wait-ms", "1", "--contexts", "2")
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), *options) as server:
        count = asyncio.run(asked(server.port, arrays, SECONDS))  # Fills what is kept.
        before = server.metric("process_resident_memory_bytes")
        count += asyncio.run(asked(server.port, arrays, 2 * SECONDS))
        after = server.metric("process_resident_memory_bytes")
        assert after - before < 4 << 20, (before, after)
        assert count > 100 and server.metric("tenon_answered_total") == count
        assert server.metric("tenon_runs_total") < count  # Some shared a run.
        assert server.metric("tenon_failed_total") == server.metric("tenon_refused_total") == 0
