"""Models that are replaced, loaded and unloaded while an earlier plan of one of them is still at its last requests."""

import asyncio
import logging
import pathlib
import threading

import hosted
import numpy as np
import pytest
from tenon.serving.lane import Lane
from tenon.serving.server.catalog import Catalog
from tenon.serving.server.sources import Unusable

X = {"x": np.ones((1, 8), np.float32)}


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """No run goes on before it is set."""
    found, run = threading.Event(), Lane.run

    def held(lane: Lane, *arguments: object) -> dict[str, np.ndarray]:
        assert found.wait(60)
        return run(lane, *arguments)

    monkeypatch.setattr(Lane, "run", held)
    return found


@pytest.fixture
def models(tmp_path: pathlib.Path) -> pathlib.Path:
    for name in ("a", "b"):
        (tmp_path / name / "1").mkdir(parents=True)
        hosted.plan(tmp_path / name / "1" / "model.plan")
    return tmp_path


def test_a_slow_drain_holds_nobody_and_is_accounted_for(
    models: pathlib.Path, gate: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    async def changes() -> None:
        catalog = Catalog(models, None, {}, False)
        await catalog.load_all()
        served = catalog.find("a")
        answers = [served.pool.submit(X) for _ in range(3)]
        for scale, reloads in ((2.0, 1), (3.0, 1)):  # While one plan drains there is no third one.
            hosted.plan(models / "a" / "1" / "model.plan", scale=scale)
            await catalog.reload_replaced()
            assert served.past.reloads == {"done": reloads, "failed": 0} and served.is_draining
        answers.append(served.pool.submit(X))
        assert served.waiting() >= 2
        await catalog.load_now("b")
        unloading = asyncio.create_task(catalog.unload_now("a"))
        await asyncio.sleep(0.05)
        unloading.cancel()  # Its caller goes.
        with pytest.raises(asyncio.CancelledError):
            await unloading
        assert "is unloaded" not in caplog.text
        await catalog.unload_now("b")
        gate.set()
        await catalog.load_now("a")
        assert [sum(each.requests for each in catalog.find(name).counts()) for name in "a"] == [4]
        catalog.find("a").pool.infer(X)
        assert sum(each.answered for each in catalog.find("a").counts()) == 5
        assert catalog.find("a").past.reloads["done"] == 1
        await catalog.close()
        found = [answer.result(60)["y"] for answer in answers]
        y = X["x"] @ hosted.WEIGHTS
        for value, scale in zip(found, (1, 1, 1, 2), strict=True):
            np.testing.assert_allclose(value, y * scale, rtol=1e-5)

    caplog.set_level(logging.INFO)
    asyncio.run(asyncio.wait_for(changes(), 60))
    assert "[model 'a', version 1] 4 accepted, 4 answered, 0 failed, 0 given up, and is unloaded" in caplog.text
    assert "[model 'b', version 1] 0 accepted, 0 answered, 0 failed, 0 given up, and is unloaded" in caplog.text


def test_what_callers_call_models_is_not_kept(models: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def load() -> None:
        catalog = Catalog(models, None, {}, False)

        async def names() -> list[str]:
            raise OSError("the folder is gone")

        monkeypatch.setattr(catalog, "_names", names)
        for number in range(3):
            with pytest.raises(Unusable, match="the folder is gone") as refused:
                await catalog.load_now("n" * 60_000 + str(number))
            assert len(str(refused.value)) < 400
        assert await catalog.index() == []

    asyncio.run(load())
