"""Folders that do not answer: what is served goes on, who asks for files hears of it, and the end does not wait."""

import asyncio
import json
import pathlib
import shutil
import sys
import threading
import time

import hosted
import pytest
import tritonclient.grpc as triton_grpc
from tenon.serving.server import aside
from tenon.serving.server.aside import Aside, Unanswered
from tritonclient.utils import InferenceServerException

PROGRAM = pathlib.Path(__file__).parent / "asleep.py"
ONE = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}
LOAD, INDEX = "/v2/repository/models/good/load", "/v2/repository/index"


@pytest.fixture
def models(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    found = tmp_path / "models"
    plan = hosted.plan(tmp_path / "small.plan")
    for name in ("good", "other"):
        (found / name / "1").mkdir(parents=True)
        shutil.copy(plan, found / name / "1" / "model.plan")
    monkeypatch.setenv("ASLEEP", str(found))
    return found


def running(models: pathlib.Path, *options: str) -> hosted.Running:
    return hosted.Running(models, *options, name=None, program=(sys.executable, str(PROGRAM)))


def test_a_folder_that_does_not_answer_stops_nobody(models: pathlib.Path) -> None:
    asleep = models.with_suffix(".asleep")
    with running(models, "--allow-control") as server:
        plain = server.infer([ONE], model="good")[1]["outputs"][0]["data"]
        asleep.touch()
        until = time.monotonic() + 5  # The watch looks once in a second, and waits for two.
        while time.monotonic() < until:
            assert server.infer([ONE], model="good")[1]["outputs"][0]["data"] == plain
            for path in ("/v2/health/ready", "/v2/models/other", "/metrics"):
                assert server.get(path)[0] == 200
        status, body, _ = server.ask("POST", INDEX, b"{}")
        assert status == 200 and [each["name"] for each in json.loads(body)] == ["good", "other"]
        status, body, _ = server.ask("POST", LOAD, b"{}")
        assert status == 503 and f"[model 'good'] {models} has not answered for 2 s" in json.loads(body)["error"]
        with pytest.raises(InferenceServerException, match="has not answered for 2 s") as refused:
            triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}").load_model("good")
        assert refused.value.status() == "StatusCode.UNAVAILABLE"
        asleep.unlink()
        hosted.plan(models / "good" / "1" / "model.plan", scale=2)
        server.wait_for("tenon_reloads_total", 1, outcome="done", model="good")
        assert server.infer([ONE], model="good")[1]["outputs"][0]["data"] == pytest.approx([2 * y for y in plain])
        assert server.ask("POST", LOAD, b"{}")[0] == 200
        status, logged = server.stop()
        assert status == 0 and "Traceback" not in logged
        for words in (f"{models} has not answered for 2 s; what was read before stays", f"{models} answers again"):
            assert logged.count(words) == 1, logged


def test_a_token_that_cannot_be_read_lets_in_as_before(models: pathlib.Path) -> None:
    asleep, token = models.with_suffix(".asleep"), models / "token"
    token.write_text("sesame")

    def status(brought: str) -> int:
        return server.get("/v2/models/good", {"Authorization": f"Bearer {brought}"})[0]

    with running(models, "--token-file", str(token)) as server:
        asleep.touch()
        until = time.monotonic() + 5
        while time.monotonic() < until:
            assert status("sesame") == 200 and status("poppy") == 401
        token.with_suffix(".new").write_text("poppy")
        token.with_suffix(".new").rename(token)
        asleep.unlink()
        until = time.monotonic() + hosted.PATIENCE
        while status("poppy") != 200:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert status("sesame") == 401 and server.stop()[0] == 0


def test_the_end_does_not_wait_for_a_folder(models: pathlib.Path) -> None:
    with running(models, "--allow-control") as server:
        models.with_suffix(".asleep").touch()
        loading = threading.Thread(target=server.ask, args=("POST", LOAD, b"{}"))
        loading.start()
        time.sleep(1.5)  # The watch, or the load, has begun to wait.
        assert server.infer([ONE], model="good")[0] == 200
        begun = time.monotonic()
        assert server.stop()[0] == 0
        assert time.monotonic() - begun < 25  # --grace is 30, and the folder does not answer at all.
        loading.join()


def test_a_server_does_not_start_beside_a_folder_that_does_not_answer(models: pathlib.Path) -> None:
    models.with_suffix(".asleep").touch()
    with pytest.raises(AssertionError, match=r"(?s)\(status 1\): .*tenon serve: .*models has not answered for 2 s"):
        with running(models):
            pass


def test_one_call_at_a_time_waits_for_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "PATIENCE", 0.5)
    gate, calls = threading.Event(), []

    def hang() -> str:
        calls.append("hang")
        gate.wait(60)
        return "late"

    async def asked() -> None:
        files = Aside()
        before = threading.active_count()
        found = await asyncio.gather(*(files.ask("far", hang) for _ in range(20)), return_exceptions=True)
        assert all(isinstance(each, Unanswered) and "far has not answered for 0.5 s" in str(each) for each in found)
        assert calls == ["hang"] and threading.active_count() == before + 1
        begun = time.monotonic()
        with pytest.raises(Unanswered, match="and still does not"):
            await files.ask("far", hang)
        assert time.monotonic() - begun < 0.4  # Known already: nobody waits again.
        assert await files.ask("near", lambda: 7) == 7
        gate.set()
        while files._late:
            await asyncio.sleep(0.01)
        assert await files.ask("far", lambda: "there") == "there"

    asyncio.run(asked())


def test_what_a_call_raises_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def times_out() -> None:
        raise TimeoutError(110, "Connection timed out")  # As a folder that gives up by itself.

    async def asked() -> None:
        files = Aside()
        for call, kind in ((times_out, TimeoutError), (lambda: 1 / 0, ZeroDivisionError)):
            with pytest.raises(kind) as raised:
                await files.ask("far", call)
            assert not isinstance(raised.value, Unanswered)

        def full(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", full)
        with pytest.raises(OSError, match="can't start new thread"):
            await files.ask("far", lambda: 7)

    asyncio.run(asked())
