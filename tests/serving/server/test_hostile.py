"""Callers that mean no good, and those that speak another dialect: what HTTP, JSON and gRPC let a caller send."""

import asyncio
import contextlib
import http.client
import json
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import grpc
import hosted
import numpy as np
import pytest
import tensorrt as trt
from tenon.serving.server import connections
from tritonclient.grpc import service_pb2

ONE = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}
BODY = json.dumps({"inputs": [ONE]}).encode()
IN_A_LONG_REGION = {"shared_memory_region": "r" * 10**6, "shared_memory_byte_size": 32}
INFER = "/v2/models/small/infer"
TENSOR = b"\x2a\x0d\x0a\x01x\x12\x04FP32\x1a\x02\x01\x08"  # An input of ModelInferRequest.
CONTENT = b"\x3a\x20" + np.ones(8, np.float32).tobytes()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hosted.Running]:
    options = ("--max-request-mb", "4", "--patience", "2", "--max-batch", "16")
    with hosted.Running(hosted.plan(tmp_path_factory.mktemp("plans") / "small.plan"), *options) as found:
        yield found
        logged = found.stop()[1]
        assert "Traceback" not in logged, logged


def post(body: bytes, *headers: str, path: str = INFER) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(*parts: bytes, trailers: bytes = b"") -> bytes:
    head = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailers + b"\r\n"


def binary(x: np.ndarray, *headers: str, pad: int = 0, wish: dict | None = None) -> bytes:
    """A request of a float tensor as binary data, behind JSON of any length."""
    described = {"name": "x", "datatype": "FP32", "shape": x.shape, "parameters": {"binary_data_size": x.nbytes}}
    head = json.dumps({"inputs": [described], "ignored": "-" * pad, "parameters": wish}).encode()
    return post(head + x.tobytes(), f"Inference-Header-Content-Length: {len(head)}", *headers)


def received(client: socket.socket) -> bytes:
    """All until the server hangs up, by whichever way."""
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except (ConnectionResetError, TimeoutError):
        pass
    return b"".join(parts)


def sent(server: hosted.Running, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=hosted.PATIENCE) as client:
        try:
            client.sendall(data)
        except OSError:  # The server has heard enough.
            pass
        return received(client)


def answers(server: hosted.Running, data: bytes) -> list[dict]:
    """What comes back for requests that are sent without waiting."""
    found, rest = [], sent(server, data)
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))[15:])
        found.append(json.loads(rest[:length]))
        rest = rest[length:]
    return found


def is_right(answer: dict, x: np.ndarray) -> bool:
    return np.allclose(np.reshape(answer["outputs"][0]["data"], (-1, 4)), x @ hosted.WEIGHTS, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "body, message",
    [
        (BODY.replace(b"1.0", b"NaN", 1), "no JSON"),
        (BODY.replace(b"1.0", b"1e999", 1), "no JSON"),
        (BODY.replace(b"1.0", b"-Infinity", 1), "no JSON"),
        (b'{"ignored":' + b"[" * 100_000 + b"]" * 100_000 + b',"inputs":[]}', "depth limit exceeded"),
        (json.dumps({"inputs": [ONE | {"data": [[[[1.0]]]]}]}).encode(), "has 1 values, but shape [1, 8] takes 8"),
        (BODY.replace(b"[1.0", b"[" * 300 + b"1.0" + b"]" * 299), "lists beside values, which FP32 does not take"),
        (json.dumps({"inputs": [ONE, ONE]}).encode(), "input 'x' is given twice"),
        (json.dumps({"inputs": [ONE], "outputs": [{"name": "z"}]}).encode(), "there is no output 'z'"),
        (json.dumps({"inputs": [ONE], "outputs": [{"name": "z" * 10**6}]}).encode(), "there is no output 'zzz"),
        (json.dumps({"inputs": [ONE | {"name": "z" * 10**6}]}).encode(), "there is no input 'zzz"),
        (json.dumps({"inputs": [ONE], "outputs": [{"name": "y"}] * 2}).encode(), "output 'y' is asked for twice"),
        (json.dumps({"inputs": [{"name": "z" * 10**6}]}).encode(), "there is no input 'zzz"),
        (json.dumps({"inputs": [ONE | {"shape": ["8" * 10**6]}]}).encode(), "extents are whole numbers"),
        (json.dumps({"inputs": [ONE | {"datatype": "F" * 10**6}]}).encode(), "input 'x' is FFF"),
        (json.dumps({"inputs": [ONE | {"parameters": IN_A_LONG_REGION}]}).encode(), "no shared memory region 'rrr"),
        (json.dumps({"inputs": [ONE | {"shape": [-1, 8]}]}).encode(), "extents are whole numbers"),
        (json.dumps({"inputs": [ONE | {"shape": [1] * 10**5}]}).encode(), "input 'x' has 100000 axes"),
        (json.dumps({"inputs": [ONE | {"datatype": [1]}]}).encode(), "no 'datatype', or one of another type"),
        (b'{"inputs":[{"name":"\\ud800"}]}', "no JSON"),
        (BODY.replace(b"1.0", b"1e39", 1), "no list of FP32: overflow"),
        (json.dumps({"inputs": [ONE | {"shape": [0, 2**62], "data": []}]}).encode(), "beyond all memory"),
        (json.dumps({"inputs": [ONE | {"shape": [2**63, 0], "data": []}]}).encode(), "beyond all memory"),
        (json.dumps({"inputs": [ONE], "id": [1]}).encode(), "'id' is no text"),
        (json.dumps({"inputs": [ONE], "outputs": {}}).encode(), "outputs are no JSON list"),
        (json.dumps({"inputs": [ONE], "parameters": []}).encode(), "parameters of the request are no JSON object"),
        (json.dumps({"inputs": [ONE], "parameters": {"binary_data_output": "no"}}).encode(), "'binary_data_output' is"),
        (
            json.dumps({"inputs": [ONE], "outputs": [{"name": "y", "parameters": {"binary_data": 1}}]}).encode(),
            "'binary",
        ),
        (
            json.dumps({"inputs": [ONE], "outputs": [{"name": "y", "parameters": {"classification": 3}}]}).encode(),
            "asked for as a classification, which is not implemented",
        ),
        (json.dumps({"inputs": [ONE | {"data": [1.5] * 400_000}]}).encode(), "no request of this model needs"),
    ],
)
def test_json_that_lies_is_refused_in_few_words(served: hosted.Running, body: bytes, message: str) -> None:
    status, answer, _ = served.ask("POST", INFER, body)
    assert status == 400 and len(answer) < 1000
    assert message in json.loads(answer)["error"] and json.loads(answer)["error"].startswith("[model 'small'] ")


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "\xb2", "0x10", "1e1", "", str(len(BODY) + 1)])
def test_a_length_of_json_that_is_none_is_refused(served: hosted.Running, length: str) -> None:
    answer = sent(served, post(BODY, f"Inference-Header-Content-Length: {length}", "Connection: close"))
    assert b" 400 " in answer[:20] and b"[model 'small'] Inference-Header-Content-Length is " in answer


@pytest.mark.parametrize(
    "path",
    ["/v2/models/../infer", "/v2/models/%2e%2e%2fsmall/infer", "/v2/models/%00/infer", "/v2/models/a%0d%0ab/infer"]
    + [f"/v2/models/{'a' * 60_000}/infer", "/v2/models/small/versions/-1/infer", "/v2/models/%ff/infer"]
    + [f"/v2/models/small/versions/{'9' * 5000}/infer", "//v2/models/small/infer", "/v2/models/small/infer/"]
    + ["/v2/models/", "/v2/", "/v2/models/small%2F..%2Fsmall/infer", "/v2/models/%252e%252e/infer"],
)
def test_a_path_is_looked_up_and_nothing_else(served: hosted.Running, path: str) -> None:
    answer = sent(served, post(BODY, "Connection: close", path=path))
    assert b" 404 " in answer[:20] and b"error" in answer
    head = answer.lower().split(b"\r\n\r\n")[0]
    assert b"\nb" not in head and b"location" not in head  # No header of the caller's, nor one with his Host.


@pytest.mark.parametrize(
    "data",
    [
        post(BODY, "Content-Length: 5"),
        post(BODY, "Transfer-Encoding: chunked"),
        f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {'9' * 5000}\r\n\r\n".encode(),
        f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n".encode(),
        post(BODY, path="/v2/models/\xe9/infer"),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT small:1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 500,  # TLS.
        chunked(BODY, trailers=b"a: b\r\n" * 100_000),
    ],
)
def test_what_is_no_request_of_http_ends_the_connection(served: hosted.Running, data: bytes) -> None:
    answer = sent(served, data)
    assert answer.startswith(b"HTTP/1.1 400 ") and "error" in json.loads(answer.partition(b"\r\n\r\n")[2])
    assert served.infer([ONE])[0] == 200


@pytest.mark.parametrize("path", ["/v2/health/live", "/v2", "/v2/models/small", "/metrics"])
def test_a_head_is_asked_for_as_the_whole(served: hosted.Running, path: str) -> None:
    status, body, head = served.ask("HEAD", path)
    whole = served.ask("GET", path)
    assert (status, body, head["content-type"]) == (200, b"", whole[2]["content-type"])
    assert served.ask("HEAD", INFER)[0] == 405


def test_a_body_that_is_announced_and_not_wanted_is_not_taken_for_a_request(served: hosted.Running) -> None:
    """Who expects 100 and is told 404 or 413 need not send the body: what he sends next might be either."""
    expecting = post(BODY, "Expect: 100-continue").removesuffix(BODY)
    for head in (expecting.replace(b"/small/", b"/none/"), expecting.replace(b"%d" % len(BODY), b"9" * 12)):
        answer = sent(served, head)
        assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 413 ")) and b"connection: close" in answer
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        for _ in range(2):  # Whose body is wanted has the connection for the next one, too.
            client.sendall(expecting)
            assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(BODY)
            assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_chunks_are_a_body(served: hosted.Running) -> None:
    for parts in ([BODY], [BODY[:1], BODY[1:]], [BODY[at : at + 1] for at in range(len(BODY))]):
        (answer,) = answers(served, chunked(*parts))
        assert is_right(answer, np.ones((1, 8), np.float32))
    late = chunked(BODY).removesuffix(b"0\r\n\r\n")
    assert f"{len(BODY)} bytes came within 2 s".encode() in sent(served, late)


@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip,deflate , Chunked", "identity, gzip, chunked"])
def test_a_coding_that_is_not_undone_is_refused(served: hosted.Running, coding: str) -> None:
    answer = sent(served, chunked(BODY).replace(b"chunked", coding.encode(), 1))
    assert answer.startswith(b"HTTP/1.1 400 ") and b"compressed requests are not implemented" in answer


def test_http_1_0_has_an_answer_and_the_end_of_the_connection(served: hosted.Running) -> None:
    for more in ((), ("Connection: keep-alive",)):
        (answer,) = answers(served, post(BODY, *more).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        assert is_right(answer, np.ones((1, 8), np.float32))


@pytest.mark.parametrize("wish", ["h2c", "websocket", "x"])
def test_an_upgrade_is_declined_and_the_request_answered(served: hosted.Running, wish: str) -> None:
    """Java's client asks for HTTP/2 so with each request."""
    upgrade = ("Connection: Upgrade, HTTP2-Settings", f"Upgrade: {wish}", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    x = np.random.default_rng(1).standard_normal((16, 8), np.float32)
    many = post(BODY, *upgrade) + binary(x, *upgrade, pad=300_000) + post(BODY, "Connection: close")
    found = answers(served, many)
    assert len(found) == 3 and all(map(is_right, found, [np.ones((1, 8)), x, np.ones((1, 8))]))


def test_requests_that_are_sent_ahead_are_answered_in_their_order(served: hosted.Running) -> None:
    """Bodies of all sizes, so that each way of receiving them follows each other; tensors lie at any address."""
    rng = np.random.default_rng(3)
    for pads in (rng.integers(0, 2000, 400), rng.integers(0, 700_000, 24), rng.choice([0, 9, 8191, 400_000], 60)):
        arrays = [rng.standard_normal((int(count), 8), np.float32) for count in rng.integers(1, 17, len(pads))]
        data = b"".join(binary(x, pad=int(pad)) for x, pad in zip(arrays, pads, strict=True))
        found = answers(served, data + post(BODY, "Connection: close"))
        assert len(found) == len(arrays) + 1 and all(map(is_right, found, arrays))


@pytest.mark.parametrize("reads", [False, True])
def test_a_flood_of_requests_waits_as_bytes(served: hosted.Running, reads: bool) -> None:
    """From who reads no answer, and from who reads all; as requests they would be a hundred times their bytes."""
    before = served.metric("process_resident_memory_bytes")
    with socket.create_connection(("127.0.0.1", served.port), timeout=1) as client:
        reader = threading.Thread(target=received, args=(client,))
        if reads:
            reader.start()
        until = time.monotonic() + 5
        try:
            while time.monotonic() < until:
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 5000)
        except OSError:  # It takes no more.
            pass
        assert served.metric("process_resident_memory_bytes") - before < 32 << 20
        assert served.infer([ONE])[0] == 200
        with contextlib.suppress(OSError):  # Who takes nothing may have been sent away.
            client.shutdown(socket.SHUT_RDWR)
        if reads:
            reader.join()


@pytest.mark.parametrize("is_gone", [True, False])
def test_an_answer_to_a_client_that_goes_between_head_and_body_ends_in_silence(is_gone: bool) -> None:
    """uvloop refuses to write to what is closed, and uvicorn hears of that later. Seen in one of some runs of these."""

    async def send(message: dict) -> None:
        raise RuntimeError("the handler is closed")

    exchange = SimpleNamespace(is_gone=is_gone)
    sending = connections.while_there(exchange, send)({"type": "http.response.body", "body": b""})
    with contextlib.nullcontext() if is_gone else pytest.raises(RuntimeError, match="closed"):
        asyncio.run(sending)


def test_a_client_that_goes_before_its_body_has_come_is_not_answered() -> None:
    """What is closed is told to uvicorn later: it would say that an answer is missing, and try to write one.

    In a process of its own: KServe's messages and those of Triton's client share names.
    """
    program = """
import asyncio
from types import SimpleNamespace
from tenon.serving.server import connections, held, infer
transport = SimpleNamespace(is_closing=lambda: True)
about = {"keep_alive": True, "waiting_for_100_continue": False}
cycle = SimpleNamespace(disconnected=False, more_body=True, body=bytearray(), transport=transport, **about)
exchange = connections.Exchange(SimpleNamespace(take_held=lambda: None, is_beyond=False), cycle)
catalog = SimpleNamespace(find=lambda name, version: None)
front = infer.Infer(None, SimpleNamespace(catalog=catalog, held=held.Held(100), most=100, patience=1))
scope = {"type": "http", "method": "POST", "path": "/v2/models/small/infer", "headers": [(b"content-length", b"9")]}
asyncio.run(front(scope | {"extensions": {"tenon": exchange}}, None, None))
print(cycle.disconnected)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_claims_take_no_memory_and_drops_no_time(served: hosted.Running) -> None:
    """Bodies that are announced, and heads and bodies that come drop by drop."""
    before, begun = served.metric("process_resident_memory_bytes"), time.monotonic()
    claim = post(b"", path=INFER).replace(b"Length: 0", b"Length: 4000000")
    clients = [socket.create_connection(("127.0.0.1", served.port), timeout=hosted.PATIENCE) for _ in range(150)]
    for number, client in enumerate(clients):
        client.sendall(claim + b"{" * 70_000 if number % 3 == 0 else claim if number % 3 == 1 else claim[:30])
    assert served.metric("process_resident_memory_bytes") - before < 64 << 20
    assert served.infer([ONE])[0] == 200
    while clients and time.monotonic() < begun + hosted.PATIENCE:
        time.sleep(0.2)
        for client in list(clients):
            try:
                client.sendall(b" ")
            except OSError:
                client.close()
                clients.remove(client)
    assert not clients


def test_a_large_body_comes_whole_by_tls(tmp_path: pathlib.Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    context, options = ssl.create_default_context(cafile=cert), ("--tls-cert", str(cert), "--tls-key", str(key))
    rng = np.random.default_rng(4)
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), *options, tls=context) as server:
        with context.wrap_socket(
            socket.create_connection(("127.0.0.1", server.port)), server_hostname="127.0.0.1"
        ) as client:
            arrays = [rng.standard_normal((count, 8), np.float32) for count in (1, 16, 3, 7)]
            for x, pad in zip(arrays, (700_000, 0, 300_000, 65_536), strict=True):
                client.sendall(binary(x, pad=pad))
            client.sendall(post(BODY, "Connection: close"))
            found = received(client)
    assert found.count(b"HTTP/1.1 200 OK") == 5


def test_values_do_not_take_all_memory_for_an_answer(tmp_path: pathlib.Path) -> None:
    with hosted.Running(hosted.filling_plan(tmp_path / "small.plan"), "--max-answer-mb", "1") as server:

        def asked(*shape: int) -> tuple[int, dict]:
            return server.infer([{"name": "shape", "datatype": "INT64", "shape": [2], "data": shape}])

        for shape in ((2**20, 2**14), (10**5, 2 * 10**4), (513, 512)):
            status, answer = asked(*shape)
            assert status == 400 and f"output 'y' would have {4 * shape[0] * shape[1]} bytes" in answer["error"]
            assert answer["error"].startswith("[model 'small'] ")
        for shape in ((-3, 5), (2**40, 2), (0, 0)):  # outside of the profile
            status, answer = asked(*shape)
            assert status == 400 and answer["error"].startswith("[model 'small'] ")
        status, answer = asked(2**31 - 1, 2**31 - 1)
        assert status == 500 and answer["error"].startswith("[model 'small'] ")
        status, answer = asked(512, 512)
        assert status == 200 and answer["outputs"][0]["data"][-1] == 1022


def test_grpc_refuses_what_lies_and_goes_on(served: hosted.Running) -> None:
    good = b"\x0a\x05small" + TENSOR + CONTENT
    invalid, exhausted = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc_port}") as channel:
        ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        for message, code, metadata in (
            (b"\x0a\x05small" + TENSOR * 2 + CONTENT * 2, invalid, ()),
            (
                good.replace(b"\x2a\x0d", b"\x2a\x16").replace(b"\x1a\x02\x01", b"\x1a\x0b" + b"\xff" * 9 + b"\x01"),
                invalid,
                (),
            ),
            (b"\x0a\x02\xff\xfe", invalid, ()),
            (b"\x0b" * 100_000, invalid, ()),
            (
                b"\x0a\x05small\x2a\x16\x0a\x01x\x12\x04FP32\x1a\x0b\x00" + b"\x80" * 8 + b"\x40\x08\x3a\x00",
                invalid,
                (),
            ),
            (good + b"\x32\x19\x0a\x01y\x12\x14\x0a\x0eclassification\x12\x02\x10\x03", invalid, ()),
            (good + b"\x32\x03\x0a\x01y" * 2, invalid, ()),
            (good, exhausted, (("a", "b" * 100_000),)),
            (good, exhausted, tuple((f"key{number}", "value") for number in range(3000))),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                ask(message, timeout=hosted.PATIENCE, metadata=metadata)
            assert refused.value.code() == code, refused.value
        for method in ("/inference.GRPCInferenceService/Other", "/other/Other"):
            with pytest.raises(grpc.RpcError) as refused:
                channel.unary_unary(method)(b"", timeout=hosted.PATIENCE)
            assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert b"small" in ask(good, timeout=hosted.PATIENCE, metadata=(("a-bin", b"\xff\xfe"),))


def test_who_says_nothing_to_grpc_is_sent_away(served: hosted.Running) -> None:
    before = served.metric("process_open_fds")
    clients = [socket.create_connection(("127.0.0.1", served.grpc_port), timeout=hosted.PATIENCE) for _ in range(50)]
    for client in clients:  # Which says what it speaks, and no more.
        received(client)
        client.close()
    served.wait_for("process_open_fds", before, or_less=True)  # It closes them a moment after it has said so.


def test_who_takes_no_answer_is_sent_away_and_leaves_no_memory(tmp_path: pathlib.Path) -> None:
    """Sixteen answers of 8 MB, to clients that read a few KB; no request is kept beside its answer."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    layer = network.add_identity(network.add_input("x", trt.float32, (-1, 8)))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile, rows = builder.create_optimization_profile(), 1 << 18
    profile.set_shape("x", (1, 8), (1, 8), (rows, 8))
    config.add_optimization_profile(profile)
    plan = tmp_path / "small.plan"
    plan.write_bytes(builder.build_serialized_network(network, config))
    request = binary(np.ones((rows, 8), np.float32), wish={"binary_data_output": True})
    with hosted.Running(plan, "--patience", "3", "--contexts", "1") as server:
        before, files = server.metric("process_resident_memory_bytes"), server.metric("process_open_fds")
        clients = []
        for number in range(16):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", server.port))
            client.sendall(request)
            clients.append(client)
            server.wait_for("tenon_answered_total", number + 1)
        grown = server.metric("process_resident_memory_bytes") - before
        assert grown < 16 * 12 << 20, grown
        server.wait_for("process_open_fds", files, or_less=True)
        assert server.infer([ONE])[0] == 200
        for client in clients:
            client.close()


def test_a_message_that_is_none_does_not_end_a_stream(served: hosted.Running) -> None:
    good = b"\x0a\x05small" + TENSOR + CONTENT
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc_port}") as channel:
        stream = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer")
        found = list(stream(iter([good, b"\x0a\x05smal", good]), timeout=hosted.PATIENCE))
    assert [b"Error parsing message" in each for each in found] == [False, True, False]


@pytest.mark.parametrize("name", ["n" * 100_000, "\U0001f600" * 10_000])
def test_a_name_that_is_longer_than_an_answer_is_told_in_part(served: hosted.Running, name: str) -> None:
    requests = {
        "ModelInfer": service_pb2.ModelInferRequest(model_name=name, inputs=[{"name": "x"}]),
        "SystemSharedMemoryRegister": service_pb2.SystemSharedMemoryRegisterRequest(name=name, key=name, byte_size=1),
    }
    for method, request in requests.items():
        with grpc.insecure_channel(f"127.0.0.1:{served.grpc_port}") as channel:
            with pytest.raises(grpc.RpcError) as refused:
                channel.unary_unary(f"/inference.GRPCInferenceService/{method}")(
                    request.SerializeToString(), timeout=hosted.PATIENCE
                )
        assert refused.value.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT), method
        assert name[:50] in refused.value.details()


def test_an_idle_connection_of_http_stays_as_long_as_patience_says(tmp_path: pathlib.Path) -> None:
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), "--patience", "10") as server:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=hosted.PATIENCE)
        client.request("GET", "/v2")
        client.getresponse().read()
        own = client.sock
        time.sleep(5.5)  # uvicorn's own limit is 5.
        begun = time.monotonic()  # Before the server begins to count.
        client.request("GET", "/v2")
        assert client.getresponse().read() and client.sock is own
        assert own.recv(1) == b"" and 9 < time.monotonic() - begun < 60
        client.close()


def test_who_has_no_call_of_grpc_leaves_his_place_to_others(tmp_path: pathlib.Path) -> None:
    """With half a frame of whatever kind: whoever makes no call is not asked whether he lives."""
    frame = struct.Struct(">xHBBI")  # Of a length below 65,536.
    halves = (b"", frame.pack(16, 1, 4, 1) + b"abc", b"\0\0", frame.pack(8, 6, 0, 0) + b"ab")
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), "--patience", "2", "--max-connections", "8") as server:
        with contextlib.ExitStack() as stack:
            idle = []
            for half in halves * 2:
                client = socket.create_connection(("127.0.0.1", server.grpc_port), timeout=hosted.PATIENCE)
                idle.append(stack.enter_context(client))
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame.pack(0, 4, 0, 0) + half)
            for client in idle:
                with contextlib.suppress(ConnectionResetError):
                    while client.recv(1 << 12):
                        pass
