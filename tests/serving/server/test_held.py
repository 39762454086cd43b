"""What callers hold together is bounded: requests on their way or waiting, and answers that nobody takes."""

import asyncio
import contextlib
import json
import pathlib
import re
import resource
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator

import grpc
import hosted
import http2
import numpy as np
import pytest
from tenon.serving import QueueFull
from tenon.serving.server import held, untaken
from tritonclient.grpc import service_pb2

MB = 1 << 20
ONE = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}
TIGHT = ("--max-request-mb", "4", "--max-held-mb", "8")
SHAPE = (1024, 2048)  # An answer of 8 MB.
DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED = (b"grpc-status\x01" + code for code in (b"4", b"8"))


@pytest.fixture
def plan(tmp_path: pathlib.Path) -> pathlib.Path:
    return hosted.plan(tmp_path / "small.plan")


@pytest.fixture
def filling(tmp_path: pathlib.Path) -> pathlib.Path:
    return hosted.filling_plan(tmp_path / "small.plan")


def message(name: str, values: np.ndarray, **more: object) -> bytes:
    datatype = {"f": "FP32", "i": "INT64"}[values.dtype.kind]
    tensor = {"name": name, "datatype": datatype, "shape": values.shape}
    return service_pb2.ModelInferRequest(
        model_name="small", inputs=[tensor], raw_input_contents=[values.tobytes()], **more
    ).SerializeToString()


WISH, GOOD = message("shape", np.int64(SHAPE)), message("x", np.ones((1, 8), np.float32))


def asked(server: hosted.Running, sent: bytes = GOOD) -> bytes:
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        return ask(sent, timeout=hosted.PATIENCE)


def refused(server: hosted.Running, sent: bytes) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as found:
        asked(server, sent)
    return found.value


@contextlib.contextmanager
def half_sent(server: hosted.Running, count: int, sent: int, claimed: int = 4_000_000) -> Iterator[list[socket.socket]]:
    """Clients whose bodies have come in part; all have said so before the first sends one."""
    lines = ["POST /v2/models/small/infer HTTP/1.1", "Host: x", f"Content-Length: {claimed}"]
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(count):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=hosted.PATIENCE))
            client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n{")
            clients.append(client)
        server.wait_for("tenon_held_bytes", count)
        for client in clients:
            client.sendall(b" " * (sent - 1))
        yield clients


def _wait_until_held(server: hosted.Running, count: int, before: int) -> None:
    """Until so many answers of 8 MB were held; on a busy machine the first have been sent away when the last comes."""
    until = time.monotonic() + hosted.PATIENCE
    while (
        server.metric("tenon_held_bytes") + 8 * MB * (server.metric("tenon_sent_away_total") - before) < count * 8 * MB
    ):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("method", ["ModelInfer", "ModelStreamInfer"])
def test_who_opens_no_window_is_sent_away_and_leaves_no_memory(filling: pathlib.Path, method: str) -> None:
    """Answering every ping meanwhile, as a client that is well does."""
    count = 6
    with hosted.Running(filling, "--patience", "3", "--contexts", "1") as server:
        memory = []
        for turn in range(1, 6):
            with contextlib.ExitStack() as stack:
                clients = []
                for _ in range(count):  # Whoever has no call for three seconds is sent away for that.
                    clients.append(stack.enter_context(http2.Client(server.grpc_port)))
                    clients[-1].call(method, WISH)
                server.wait_for("tenon_answered_total", turn * count)
                _wait_until_held(server, count, (turn - 1) * count)
                for client in clients:
                    client.wait_until_gone(hosted.PATIENCE)
                    assert client.received == 0 and len(client.statuses) == 1, client.statuses
            server.wait_for("tenon_held_bytes", 0)
            server.wait_for("tenon_sent_away_total", turn * count)
            memory.append(server.metric("process_resident_memory_bytes"))
        assert memory[-1] - memory[0] < count * 8 * MB, memory  # Four times as much has gone through.
        with http2.Client(server.grpc_port, window=MB) as client:
            client.call(method, message("shape", np.int64([3, 4])))
            until = time.monotonic() + hosted.PATIENCE
            while client.received < 3 * 4 * 4:
                assert time.monotonic() < until
                time.sleep(0.05)
        logged = server.stop()[1]
        assert "did not take their answers in 3 s" in logged and "Traceback" not in logged, logged


def test_whoever_asks_whether_the_server_lives_is_told_also_when_callers_hold_all_they_may(
    filling: pathlib.Path,
) -> None:
    """Else one who takes no answers would have the server restarted."""
    with hosted.Running(filling, *TIGHT, "--contexts", "1") as server, http2.Client(server.grpc_port) as client:
        client.call("ModelInfer", WISH)
        server.wait_for("tenon_answered_total", 1)
        assert server.metric("tenon_held_bytes") >= 8 * MB
        assert refused(server, GOOD).code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            for name in ("ServerLive", "ServerReady"):
                ask = channel.unary_unary(f"/inference.GRPCInferenceService/{name}")
                assert ask(b"", timeout=hosted.PATIENCE) == b"\x08\x01"


def test_who_takes_an_answer_by_drops_is_sent_away(filling: pathlib.Path) -> None:
    wish = {"name": "shape", "datatype": "INT64", "shape": [2], "data": [4096, 4096]}
    body = json.dumps({"inputs": [wish], "parameters": {"binary_data_output": True}}).encode()
    with hosted.Running(filling, "--patience", "2", "--contexts", "1") as server:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(hosted.PATIENCE)
            client.connect(("127.0.0.1", server.port))
            head = f"POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
            assert server.metric("tenon_held_bytes") > 32 * MB
            until = time.monotonic() + hosted.PATIENCE
            while server.metric("tenon_sent_away_total") == 0:
                assert time.monotonic() < until
                client.recv(2048)
                time.sleep(0.1)
        server.wait_for("tenon_held_bytes", 0)
        assert server.metric("tenon_sent_away_total") == 1


def test_half_a_message_is_not_waited_for(plan: pathlib.Path) -> None:
    with hosted.Running(plan, "--patience", "1") as server, http2.Client(server.grpc_port, window=MB) as client:
        client.call("ModelInfer", GOOD, missing=3)
        client.wait_for(DEADLINE_EXCEEDED, hosted.PATIENCE)
        assert any(b"did not come within 1 s (--patience)" in each for each in client.statuses)
        client.call("ModelInfer", GOOD)
        client.wait_for(b"grpc-status\x010", hosted.PATIENCE)
        assert asked(server)


def test_who_sends_slowly_makes_room_for_others(plan: pathlib.Path) -> None:
    """One place for messages, one for streams; the patience of the server would be longer than the test's."""
    with hosted.Running(plan, *TIGHT, "--patience", "600") as server, http2.Client(server.grpc_port, MB) as slow:
        for _ in range(3):
            slow.call("ModelInfer", GOOD, missing=3)
        until = time.monotonic() + hosted.PATIENCE
        while len(slow.statuses) < 3:  # Which may still be on their way.
            assert asked(server) and time.monotonic() < until
        assert DEADLINE_EXCEEDED in slow.statuses[0] and b"while others waited" in slow.statuses[0]


def test_streams_beyond_those_there_is_room_for_are_refused(plan: pathlib.Path) -> None:
    with hosted.Running(plan, *TIGHT, "--grace", "1") as server, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(http2.Client(server.grpc_port, MB)) for _ in range(2)]
        for each in streams:
            each.call("ModelStreamInfer", GOOD, missing=3)
        server.wait_for("tenon_held_refused_total", 1)
        until = time.monotonic() + hosted.PATIENCE
        while not any(each.statuses for each in streams):
            assert time.monotonic() < until
            time.sleep(0.05)
        (status,) = (status for each in streams for status in each.statuses)
        assert RESOURCE_EXHAUSTED in status and b"retry-after" in status and b"(--max-held-mb)" in status
        assert asked(server)


def test_bodies_are_refused_where_all_of_them_are_too_many(plan: pathlib.Path) -> None:
    with hosted.Running(plan, *TIGHT) as server:
        with half_sent(server, 3, 3 * MB) as clients:
            answered, _, _ = select.select(clients, [], [], hosted.PATIENCE)
            (refused_one,), answer = answered, b""
            while b"(--max-held-mb)" not in answer:  # It may come in parts.
                assert (part := refused_one.recv(4096)), answer
                answer += part
            assert answer.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in answer.lower()
            assert b"[model 'small'] requests and answers of" in answer
            until = time.monotonic() + hosted.PATIENCE
            while server.metric("tenon_held_bytes") < 6 * MB:  # Two of them fit, of which parts may be on their way.
                assert time.monotonic() < until
            assert select.select(clients, [], [], 0)[0] in ([], answered)
            assert 6 * MB <= server.metric("tenon_held_bytes") <= 8 * MB == server.metric("tenon_held_limit_bytes")

            status, body, headers = server.ask("POST", "/v2/models/small/infer", bytes(3 * MB))
            assert status == 503 and headers["retry-after"] == "1" and b"3145728 more would be" in body
            late = refused(server, GOOD + b"\x1a\x80\x80\xc0\x01" + b"i" * 3 * MB)  # Its id.
            assert late.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and "(--max-held-mb)" in late.details()
            assert float(dict(late.trailing_metadata())["retry-after"]) == 1

            assert server.infer([ONE])[0] == 200 and asked(server)
            assert server.metric("tenon_held_refused_total") == 3
        server.wait_for("tenon_held_bytes", 0)
        with half_sent(server, 1, 3 * MB, 3 * MB + 1) as (client,):
            client.sendall(b" ")
            assert client.recv(4096).startswith(b"HTTP/1.1 400 ")  # It has been read.


def test_the_rest_of_a_refused_body_is_thrown_away(plan: pathlib.Path) -> None:
    """Who is refused in the midst of it hears so, and may ask again on the same connection."""
    good = json.dumps({"inputs": [ONE]}).encode()
    head = f"POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(good)}\r\n\r\n".encode()
    with hosted.Running(plan, *TIGHT) as server, half_sent(server, 3, 2 * MB) as clients:
        for client in clients:
            client.sendall(b" " * MB)
        server.wait_for("tenon_held_refused_total", 1)
        for client in clients:
            with contextlib.suppress(OSError):
                client.sendall(b" " * (4_000_000 - 3 * MB) + head + good)
        found = []
        for client in clients:
            received = b""
            while received.count(b"HTTP/1.1") < 2 or not received.endswith(b"}"):
                received += client.recv(1 << 16)
            found.append(tuple(re.findall(rb"HTTP/1.1 (\d+)", received)))
    assert sorted(found) == [(b"400", b"200")] * 2 + [(b"503", b"200")]


def test_bodies_whose_clients_have_gone_leave_no_memory(plan: pathlib.Path) -> None:
    memory = []
    with hosted.Running(plan, "--max-request-mb", "16", "--max-held-mb", "64") as server:
        for _ in range(8):
            with half_sent(server, 12, 4 * MB, 16_000_000):
                server.wait_for("tenon_held_bytes", 12 * 4 * MB)
            server.wait_for("tenon_held_bytes", 0)
            memory.append(server.metric("process_resident_memory_bytes"))
        assert memory[-1] - memory[1] < 2 * 12 * 4 * MB, memory  # Six times as much has come meanwhile.


def test_a_compressed_message_may_have_what_others_may(plan: pathlib.Path) -> None:
    packed = grpc.Compression.Gzip
    with hosted.Running(plan, *TIGHT) as server:
        before = server.metric("process_resident_memory_bytes")
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", compression=packed) as channel:
            ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
            assert ask(GOOD, timeout=hosted.PATIENCE)
            with pytest.raises(grpc.RpcError) as bomb:
                ask(bytes(256 * MB), timeout=hosted.PATIENCE)
        assert bomb.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert server.metric("process_resident_memory_bytes") - before < 64 * MB


def test_calls_and_connections_of_grpc_have_a_limit(plan: pathlib.Path) -> None:
    with hosted.Running(plan, "--max-connections", "8") as server:
        with http2.Client(server.grpc_port, MB) as client:
            for _ in range(9):
                client.call("ModelInfer", GOOD, missing=3)
            client.wait_for(RESOURCE_EXHAUSTED, hosted.PATIENCE)
            assert any(b"8 calls are under way" in each and b"retry-after" in each for each in client.statuses)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(http2.Client(server.grpc_port)) for _ in range(40)]
            until = time.monotonic() + hosted.PATIENCE
            while sum(each.is_gone.is_set() for each in clients) < 32:
                assert time.monotonic() < until
                time.sleep(0.05)
        until = time.monotonic() + hosted.PATIENCE
        while True:
            try:
                assert asked(server)
                break
            except grpc.RpcError:
                assert time.monotonic() < until


def test_pings_of_grpc_come_once_a_second_at_most(plan: pathlib.Path) -> None:
    """In a process of its own: KServe's messages and those of Triton's client share names."""
    program = """
import types
from tenon.serving.server import rpc
for patience in (0.1, 7.5):
    found = dict(rpc._options(types.SimpleNamespace(patience=patience, most=1)))
    print(*(found[f"grpc.{name}_ms"] for name in ("keepalive_time", "keepalive_timeout", "server_handshake_timeout")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1000", "1000", "100", "7500", "7500", "7500"]
    with hosted.Running(plan, "--patience", "0.5") as server:
        assert asked(server)
        assert "clients have 1 s to answer a ping: --patience 0.5 is less" in server.stop()[1]


def test_a_share_is_given_back_and_whoever_is_alone_is_heard() -> None:
    all_of_them = held.Held(100)
    with held.Share(all_of_them) as first:
        first.take(90)
        first.take(90)  # Its numbers take more than their text, and nobody else is there.
        with held.Share(all_of_them) as second, pytest.raises(QueueFull) as full:
            second.take(1)
        assert full.value.retry_after == 1 and all_of_them.now == 180 and all_of_them.refused == 1
    assert all_of_them.now == 0
    all_of_them.add(99)
    with held.Share(all_of_them) as third, pytest.raises(QueueFull):
        third.check(1)
        third.take(2)


@pytest.mark.parametrize(
    "text, peer",
    [
        ("ipv4:127.0.0.1:50", ("127.0.0.1", 50)),
        ("ipv6:%5B::1%5D:50", ("::1", 50)),
        ("ipv6:[::ffff:10.0.0.1]:50", ("10.0.0.1", 50)),
        ("ipv6:%5Bfe80::1%25eth0%5D:50", ("fe80::1", 50)),
    ],
)
def test_a_peer_is_known_by_its_address(text: str, peer: tuple[str, int]) -> None:
    assert untaken.peer_of(text) == peer


@pytest.mark.parametrize("family, host", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_only_the_connection_that_is_meant_is_ended(family: socket.AddressFamily, host: str) -> None:
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(socket.create_server((host, 0), family=family))
        except OSError as error:
            if family == socket.AF_INET:
                raise
            pytest.skip(f"this machine has no IPv6: {error}")
        port = listener.getsockname()[1]
        clients = [stack.enter_context(socket.create_connection((host, port), timeout=5)) for _ in range(3)]
        ends = [stack.enter_context(listener.accept()[0]) for _ in clients]
        peer = (host, clients[1].getsockname()[1])
        assert untaken.hang_up(port + 1, {peer}, 2) == (0, 0)
        assert untaken.hang_up(port, {peer}, 2) == (1, 0)
        assert clients[1].recv(1) == b""
        for index in (0, 2):
            ends[index].sendall(b"a")
            assert clients[index].recv(1) == b"a"
        assert untaken.hang_up(port, (), 1) == (0, 1)
        assert sorted(select.select([clients[0], clients[2]], [], [], 5)[0], key=clients.index) in (
            [clients[0]],
            [clients[2]],
        )


def test_a_connection_that_its_client_ends_first_does_not_end_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a connection and its end the client may have gone."""
    found = untaken._connections
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listener.getsockname()[1]
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5)) for _ in range(2)]
        ends = [stack.enter_context(listener.accept()[0]) for _ in clients]
        first, second = (client.getsockname() for client in clients)

        def gone(at: int) -> Iterator[tuple[untaken.Peer, socket.socket]]:
            for peer, connection in found(at):
                if peer == first:
                    clients[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    clients[0].close()
                    while ends[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1:
                        time.sleep(0.01)
                yield peer, connection

        monkeypatch.setattr(untaken, "_connections", gone)
        untaken.hang_up(port, {first, second}, 2)
        assert clients[1].recv(1) == b""


def test_the_watch_outlasts_a_time_without_files(caplog: pytest.LogCaptureFixture) -> None:
    async def watched() -> None:
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port = listener.getsockname()[1]
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=hosted.PATIENCE))
            stack.enter_context(listener.accept()[0])
            late = untaken.Untaken(held.Held(100), 0.1)
            late.add(f"ipv4:127.0.0.1:{client.getsockname()[1]}", 1)
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            await asyncio.to_thread(int)  # Its thread is there before files end.
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
            try:
                watch = asyncio.create_task(late.watch(port, 100))
                await asyncio.sleep(1)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            assert await asyncio.to_thread(client.recv, 1) == b""
            watch.cancel()

    asyncio.run(watched())
    assert "stay for now" in caplog.text
