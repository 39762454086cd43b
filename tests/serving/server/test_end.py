"""How a server begins and ends: addresses and keys that are none, TLS without a greeting, one end of both protocols."""

import concurrent.futures
import contextlib
import itertools
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator

import grpc
import hosted
import http2
import numpy as np
import onnx
import pytest
from tenon.serving.server import listener, sources
from tenon.serving.words import Words
from tritonclient.grpc import service_pb2

ONE = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}
BODY = json.dumps({"inputs": [ONE]}).encode()
INFER = "/v2/models/small/infer"
SERVICE = "/inference.GRPCInferenceService"
CONTENTS = {"fp32_contents": [1.0] * 8}
TENSOR = {"name": "x", "datatype": "FP32", "shape": [1, 8], "contents": CONTENTS}
MESSAGE = service_pb2.ModelInferRequest(model_name="small", inputs=[TENSOR]).SerializeToString()


@pytest.fixture
def plan(tmp_path: pathlib.Path) -> pathlib.Path:
    return hosted.plan(tmp_path / "small.plan")


def sent(server: hosted.Running, data: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port), timeout=hosted.PATIENCE)
    client.sendall(data)
    return client


def received(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(1 << 16), b""))


def post(length: int, body: bytes) -> bytes:
    return f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode() + body


def started(plan: pathlib.Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*hosted.SERVER, str(plan), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=hosted.PATIENCE)


@contextlib.contextmanager
def stream(server: hosted.Running) -> Iterator[Iterator[bytes]]:
    """The answers of a stream that goes on after its only request."""
    is_over = threading.Event()

    def requests() -> Iterator[bytes]:
        yield MESSAGE
        is_over.wait(hosted.PATIENCE)

    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        try:
            yield channel.stream_stream(f"{SERVICE}/ModelStreamInfer")(requests(), timeout=hosted.PATIENCE)
        finally:
            is_over.set()


def test_both_protocols_have_the_same_time_after_sigterm(plan: pathlib.Path) -> None:
    """Half a body and half a message hold on to it; a manifest's --grace is less than what Kubernetes gives in all."""
    grace = 8
    with hosted.Running(plan, "--grace", str(grace)) as server, http2.Client(server.grpc_port) as half:
        with sent(server, post(len(BODY), BODY[:9])) as body, stream(server) as answers:
            assert b"small" in next(answers)
            half.call("ModelInfer", MESSAGE, missing=1)
            server.wait_for("tenon_held_bytes", 9)
            begun = time.monotonic()
            server.process.terminate()
            with pytest.raises(grpc.RpcError) as ended:
                next(answers)  # A pause in a stream is no request.
            assert (ended.value.code(), ended.value.details()) == (grpc.StatusCode.UNAVAILABLE, "the server ends")
            assert time.monotonic() - begun < grace
            with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as late:
                with pytest.raises(grpc.RpcError) as refused:
                    late.unary_unary(f"{SERVICE}/ModelInfer")(MESSAGE, timeout=hosted.PATIENCE)
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE and server.process.poll() is None
            with pytest.raises(OSError):
                while time.monotonic() < begun + grace:  # HTTP hears of it within 0.1 s.
                    sent(server, b"").close()
            answer = received(body)
            status = server.process.wait(hosted.PATIENCE)
            assert grace - 1 < time.monotonic() - begun < 2 * grace - 1
        assert answer.startswith(b"HTTP/1.1 503 ") and b"[model 'small'] the server ends (--grace)" in answer
        logged = server.process.stderr.read()
        assert status == 0 and "1 accepted, 1 answered" in logged and "Traceback" not in logged, logged


def test_a_connection_closes_behind_what_it_has_brought_before_sigterm(plan: pathlib.Path) -> None:
    """Metrics as well: their request was there before the end."""
    with hosted.Running(plan, "--max-batch", "16", "--max-wait-ms", "3000") as server:
        ahead = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
        with sent(server, post(len(BODY), BODY) + ahead) as client:
            server.wait_for("tenon_waiting", 1)
            server.process.terminate()
            answer = received(client)
        assert answer.startswith(b"HTTP/1.1 200 ") and b'"model_name":"small"' in answer
        last = answer[answer.rindex(b"HTTP/1.1 200 ") :]
        assert b"connection: close" in last.partition(b"\r\n\r\n")[0]
        assert server.process.wait(hosted.PATIENCE) == 0


def deep_model(path: pathlib.Path) -> None:
    """A chain of products, no two of which are alike: a build tries the kernels for each."""
    sizes = [256 + 8 * number for number in range(60)]
    rng, nodes, weights = np.random.default_rng(1), [], []
    for number, (rows, columns) in enumerate(itertools.pairwise([8, *sizes])):
        weights.append(onnx.numpy_helper.from_array(rng.standard_normal((rows, columns), np.float32), f"w{number}"))
        nodes.append(onnx.helper.make_node("MatMul", [f"t{number}", f"w{number}"], [f"t{number + 1}"]))
    ends = [(0, 8), (len(sizes), sizes[-1])]
    x, y = (onnx.helper.make_tensor_value_info(f"t{at}", onnx.TensorProto.FLOAT, ["n", size]) for at, size in ends)
    graph = onnx.helper.make_graph(nodes, "g", [x], [y], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize("grace", [0, 20])
def test_a_build_does_not_outlast_the_server(plan: pathlib.Path, tmp_path: pathlib.Path, grace: int) -> None:
    (tmp_path / "small").mkdir()
    shutil.copy(plan, tmp_path / "small" / "model.plan")
    with hosted.Running(tmp_path, "--allow-control", "--grace", str(grace), name=None) as server:
        (tmp_path / "deep").mkdir()
        deep_model(tmp_path / "deep" / "model.onnx")
        (tmp_path / "deep" / "config.toml").write_text("[[profiles]]\nt0 = [[1, 8], [64, 8], [512, 8]]\n")
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            load = threads.submit(server.ask, "POST", "/v2/repository/models/deep/load", b"{}")
            time.sleep(0.2)
            status, logged = server.stop()
            assert status == 0 and "Traceback" not in logged, logged
            status, answer, _ = load.result(hosted.PATIENCE)
    assert status == 200 or (status == 503 and "the server ends" in json.loads(answer)["error"]), answer


def test_a_build_that_nobody_wants_ends_with_its_next_step(tmp_path: pathlib.Path) -> None:
    deep_model(tmp_path / "model.onnx")
    profiles, asked = [{"t0": [[1, 8], [64, 8], [512, 8]]}], []

    def is_wanted() -> bool:
        asked.append(None)
        return len(asked) < 5

    assert sources.built(tmp_path / "model.onnx", profiles, Words(), is_wanted) is None
    assert len(asked) < 60  # Of which there is one a layer at least.


def test_an_address_that_is_taken_is_one_line(plan: pathlib.Path) -> None:
    with hosted.Running(plan) as server:
        http = started(plan, "--port", str(server.port))
        grpc_too = started(plan, "--port", "0", "--grpc-port", str(server.grpc_port))
    assert http.returncode == 1
    assert http.stderr == f"tenon serve: no HTTP at 127.0.0.1:{server.port}: Address already in use\n"
    assert grpc_too.returncode == 1 and "Traceback" not in grpc_too.stderr
    assert f"tenon serve: no gRPC at 127.0.0.1:{server.grpc_port}: " in grpc_too.stderr


def test_an_address_of_another_machine_is_none() -> None:
    with pytest.raises(OSError, match=r"no HTTP at 192\.0\.2\.1:0: Cannot assign requested address"):
        listener.bound("192.0.2.1", 0)
    with pytest.raises(OSError, match="no HTTP at nowhere.invalid:0: "):
        listener.bound("nowhere.invalid", 0)


def test_a_name_whose_addresses_are_not_all_here_is_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """As localhost is where the machine has no IPv6."""
    kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
    found = [(*kind, ("192.0.2.1", 0)), (*kind, ("127.0.0.1", 0)), (*kind, ("127.0.0.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    (only,) = listener.bound("localhost", 0)
    assert only.getsockname()[0] == "127.0.0.1"
    only.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Options."""
    folder = tmp_path_factory.mktemp("keys")
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run(
        [*made, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True
    )
    return "--tls-cert", cert, "--tls-key", key


def test_a_key_that_is_none_is_named(plan: pathlib.Path, keys: tuple[str, ...]) -> None:
    for options in ((*keys[:3], str(plan)), (*keys[:3], "/nowhere.pem"), ("--tls-cert", keys[3], *keys[2:])):
        found = started(plan, "--port", "0", "--grpc-port", "0", *options)
        assert found.returncode == 1
        assert found.stderr.startswith(f"tenon serve: --tls-cert {options[1]} with --tls-key {options[3]}: ")
        assert len(found.stderr.splitlines()) == 1


def test_a_key_with_a_passphrase_is_refused_and_nobody_asked(plan: pathlib.Path, tmp_path: pathlib.Path) -> None:
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:secret", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", key, "-out", cert], check=True, capture_output=True)
    found = started(plan, "--port", "0", "--tls-cert", cert, "--tls-key", key)
    assert found.returncode == 1 and "the key is encrypted" in found.stderr


def test_who_does_not_finish_the_greeting_of_tls_is_sent_away(plan: pathlib.Path, keys: tuple[str, ...]) -> None:
    context = ssl.create_default_context(cafile=keys[1])
    with hosted.Running(plan, "--patience", "2", *keys, tls=context) as server:
        before, begun = server.metric("process_open_fds"), time.monotonic()
        silent = [sent(server, b"\x16\x03\x01\x02\x00" if number % 2 else b"") for number in range(60)]
        server.wait_for("process_open_fds", before, or_less=True)
        assert time.monotonic() - begun < 30  # Of uvloop's own 60.
        for client in silent:
            client.close()
        assert server.infer([ONE])[0] == 200
