"""Two servers of one folder whose models are replaced, damaged, removed, loaded and unloaded while callers ask."""

import collections
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import pathlib
import random
import shutil
import socket
import struct
import threading
import time
import urllib.parse

import grpc
import hosted
import numpy as np
import pytest

ONE = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}
BODY = json.dumps({"inputs": [ONE]}).encode()
ANSWER = np.ones(8, np.float32) @ hosted.WEIGHTS
TENSOR = b"\x2a\x0d\x0a\x01x\x12\x04FP32\x1a\x02\x01\x08" + b"\x3a\x20" + np.ones(8, np.float32).tobytes()
METHOD = "/inference.GRPCInferenceService/ModelInfer"
SECONDS, SCALES = 8, 40
ODD = "gr\u00f6\u00dfe x%41?#"


def put(models: pathlib.Path, name: str, scale: int = 1) -> None:
    (models / name / "1").mkdir(parents=True, exist_ok=True)
    hosted.plan(models / name / "1" / "model.plan", scale=scale)


def is_an_answer(values: np.ndarray) -> bool:
    """Of one of the plans that ever were in place."""
    scale = round(float(values[0] / ANSWER[0]))
    return 1 <= scale <= SCALES and np.allclose(values, scale * ANSWER, rtol=1e-3)


class Callers:
    """What became of their requests, by model and outcome, until they are told to stop."""

    def __init__(self) -> None:
        self.seen: collections.Counter[tuple[str, object]] = collections.Counter()
        self.stopped = threading.Event()

    def by_http(self, server: hosted.Running, model: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=hosted.PATIENCE)
        while not self.stopped.is_set():
            connection.request("POST", f"/v2/models/{model}/infer", BODY)
            answer = connection.getresponse()
            body = json.loads(answer.read())
            is_right = answer.status != 200 or is_an_answer(np.array(body["outputs"][0]["data"]))
            self.seen[model, answer.status if is_right else "wrong"] += 1
        connection.close()

    def by_grpc(self, server: hosted.Running, model: str) -> None:
        """One in four is cancelled, before, in or after its run."""
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            ask = channel.unary_unary(METHOD)
            message = b"\x0a" + bytes([len(model)]) + model.encode() + TENSOR
            while not self.stopped.is_set():
                asked = ask.future(message, timeout=hosted.PATIENCE)
                if random.random() < 0.25:
                    time.sleep(random.random() / 100)
                    asked.cancel()
                try:
                    is_right = is_an_answer(np.frombuffer(asked.result()[-16:], np.float32))
                    self.seen[model, 200 if is_right else "wrong"] += 1
                except grpc.FutureCancelledError:
                    self.seen[model, "cancelled"] += 1
                except grpc.RpcError as error:
                    self.seen[model, 404 if error.code() == grpc.StatusCode.NOT_FOUND else error.code()] += 1


def change(models: pathlib.Path, servers: list[hosted.Running], number: int) -> None:
    put(models, "joined", number % SCALES + 1)
    put(models, "alone", number % SCALES + 1)
    if number % 4 == 1:
        (models / "alone" / "1" / "model.plan").write_bytes(b"damaged")
    for server in servers:
        for what in ("unload", "load"):
            assert server.ask("POST", f"/v2/repository/models/gone/{what}")[0] == 200
    if number % 3 == 0:
        shutil.rmtree(models / "gone")
        assert servers[0].ask("POST", "/v2/repository/models/gone/load")[0] == 404  # And is served on.
        put(models, "gone", number % SCALES + 1)


def test_what_happens_to_files_and_models_is_no_callers_loss(tmp_path: pathlib.Path) -> None:
    for name in ("joined", "alone", "gone"):
        put(tmp_path, name)
    (tmp_path / "joined" / "config.toml").write_text("max_batch = 8\nmax_wait_ms = 10\n")
    callers = Callers()
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(hosted.Running(tmp_path, "--allow-control", name=None)) for _ in range(2)]
        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            kinds = itertools.product((callers.by_http, callers.by_grpc), servers, ("joined", "alone", "gone"))
            asked = [threads.submit(way, server, model) for way, server, model in kinds]
            until = time.monotonic() + SECONDS
            try:
                for number in itertools.count(1):
                    change(tmp_path, servers, number)
                    if time.monotonic() > until and number > 6:
                        break
                    time.sleep(0.1)
                for server in servers:
                    server.wait_for("tenon_waiting", 0, model="gone")
            finally:
                callers.stopped.set()
            for each in asked:
                each.result()
        for server in servers:
            assert server.metric("tenon_reloads_total", outcome="done") > 0
            server.wait_for("tenon_held_bytes", 0)
            status, logged = server.stop()
            assert status == 0 and "Traceback" not in logged and "[model 'gone', version 1] " in logged, logged
            assert " answered, 0 failed, " in logged and "and is unloaded" in logged
    outcomes = {(model, outcome) for model, outcome in callers.seen}
    expected = {(model, outcome) for model in ("joined", "alone", "gone") for outcome in (200, "cancelled")}
    assert outcomes - expected <= {("gone", 404)}, callers.seen
    assert expected <= outcomes


def test_a_model_may_have_any_name_that_a_folder_has(tmp_path: pathlib.Path) -> None:
    put(tmp_path, ODD)
    with hosted.Running(tmp_path, "--allow-control", name=None) as server:
        path = urllib.parse.quote(ODD)
        for what in ("", "/ready", "/config", "/stats"):
            assert server.get(f"/v2/models/{path}{what}")[0] == 200
        assert server.infer([ONE], model=path)[1]["model_name"] == ODD
        assert server.ask("POST", f"/v2/repository/models/{path}/unload")[0] == 200
        assert server.infer([ONE], model=path)[0] == 404
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            message = b"\x0a" + bytes([len(ODD.encode())]) + ODD.encode() + TENSOR
            with pytest.raises(grpc.RpcError) as refused:
                channel.unary_unary(METHOD)(message, timeout=hosted.PATIENCE)
            assert refused.value.code() == grpc.StatusCode.NOT_FOUND
            assert server.ask("POST", f"/v2/repository/models/{path}/load")[0] == 200
            assert ODD.encode() in channel.unary_unary(METHOD)(message, timeout=hosted.PATIENCE)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


HEADERS = b"\x83\x86\x44" + bytes([len(METHOD)]) + METHOD.encode() + b"\x41\x01x\x5f\x10application/grpc"
HEADERS += b"\x40\x02te\x08trailers"
FLOODS = {
    "calls that are reset at once": lambda number: (
        frame(1, 4, 2 * number + 1, HEADERS) + frame(3, 0, 2 * number + 1, b"\0\0\0\x08")
    ),
    "pings and settings": lambda number: frame(4, 0, 0) + frame(6, 0, 0, bytes(8)),
    "headers without an end": lambda number: (
        frame(1, 0, 1, HEADERS) if number == 0 else frame(9, 0, 1, b"\x40\x01a\x7f\x80\x01" + b"b" * 255)
    ),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_frames_takes_no_memory(tmp_path: pathlib.Path, flood: str) -> None:
    with hosted.Running(hosted.plan(tmp_path / "small.plan")) as server:
        before = server.metric("process_resident_memory_bytes")
        with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=hosted.PATIENCE) as client:
            with contextlib.suppress(OSError):  # It may have been sent away.
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
                for number in range(20_000):
                    client.sendall(FLOODS[flood](number))
            assert server.infer([ONE])[0] == 200
            grown = server.metric("process_resident_memory_bytes") - before
            assert grown < 128 << 20, grown


def test_thousands_of_requests_by_one_connection_leave_nothing(tmp_path: pathlib.Path) -> None:
    with hosted.Running(hosted.plan(tmp_path / "small.plan")) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=hosted.PATIENCE)

        def asked(count: int) -> float:
            for number in range(count):
                for method, path, body, status in (
                    ("POST", "/v2/models/small/infer", BODY, 200),
                    ("POST", "/v2/models/small/infer", b"{", 400),
                    ("GET", f"/v2/models/{number}", None, 404),
                ):
                    connection.request(method, path, body)
                    answer = connection.getresponse()
                    answer.read()
                    assert answer.status == status
            return server.metric("process_resident_memory_bytes")

        before = asked(200)
        assert asked(1500) - before < 8 << 20
        assert server.metric("tenon_held_bytes") == 0
        connection.close()
