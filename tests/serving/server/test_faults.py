"""Faults of callers and of the machine: nothing that was accepted is lost, nobody is let in, and messages say why."""

import concurrent.futures
import contextlib
import fcntl
import http.client
import json
import pathlib
import resource
import socket
import struct
import threading
import time

import grpc
import hosted
import numpy as np
import pytest
import tensorrt as trt
import tritonclient.grpc as triton_grpc
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

ONE = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}
BODY = json.dumps({"inputs": [ONE]}).encode()
INFER = "/v2/models/small/infer"
FULL = {"name": "x", "datatype": "FP32", "shape": [16, 8], "data": [1.0] * 128}
SLOW = ("--max-batch", "16", "--max-wait-ms", "6000")  # So long does less than a full batch wait for company.


@pytest.fixture
def plan(tmp_path: pathlib.Path) -> pathlib.Path:
    return hosted.plan(tmp_path / "small.plan")


def head(length: int) -> bytes:
    return f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()


def call(server: hosted.Running, rows: int = 1, **more: object) -> np.ndarray:
    tensor = triton_grpc.InferInput("x", [rows, 8], "FP32")
    tensor.set_data_from_numpy(np.ones((rows, 8), np.float32))
    with triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
        return client.infer("small", [tensor], **more).as_numpy("y")


def test_a_client_that_is_gone_is_taken_out_of_the_queue(plan: pathlib.Path) -> None:
    with hosted.Running(plan, *SLOW) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(head(len(BODY)) + BODY)
            server.wait_for("tenon_waiting", 1)
        server.wait_for("tenon_waiting", 0)
        with triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
            tensor = triton_grpc.InferInput("x", [1, 8], "FP32")
            tensor.set_data_from_numpy(np.ones((1, 8), np.float32))
            asked = client.async_infer("small", [tensor], callback=lambda result, error: None)
            server.wait_for("tenon_waiting", 1)
            asked.cancel()
            server.wait_for("tenon_waiting", 0)
        assert server.metric("tenon_runs_total") == 0
        assert server.infer([FULL])[0] == 200


def test_a_client_that_has_asked_ahead_and_is_gone_is_seen_to_be(plan: pathlib.Path) -> None:
    """What is behind the request that waits is not read, and so neither is the end of the connection."""
    with hosted.Running(plan, *SLOW) as server:
        for more in (
            b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n",
            head(len(BODY)) + BODY,
            head(10**6) + b" " * 10**5,
        ):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(head(len(BODY)) + BODY + more)
                server.wait_for("tenon_waiting", 1)
            server.wait_for("tenon_waiting", 0)
        assert server.metric("tenon_runs_total") == 0 and server.metric("tenon_given_up_total") == 3
        assert server.infer([FULL])[0] == 200


def test_a_client_that_never_reads_its_answers_keeps_nobody_waiting(plan: pathlib.Path) -> None:
    """Its answers fill the system's buffers, and then the connection's; after SIGTERM it has the time of --grace."""
    rows = {"name": "x", "datatype": "FP32", "shape": [16, 8], "data": [0.1] * 128}
    body = json.dumps({"inputs": [rows]}).encode()
    with hosted.Running(plan, "--grace", "1") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.settimeout(2)
            with contextlib.suppress(TimeoutError):
                for _ in range(100_000):
                    deaf.sendall(head(len(body)) + body)
            until, seen = time.monotonic() + hosted.PATIENCE, [0.0]
            while len(seen) < 4 or len(set(seen[-4:])) > 1:  # Until its answers are taken no more.
                assert time.monotonic() < until
                time.sleep(1)
                seen.append(server.metric("tenon_answered_total"))
            answered = seen[-1]
            assert server.infer([ONE])[0] == 200 and call(server).shape == (1, 4)
            assert server.metric("tenon_answered_total") == answered + 2
            assert server.stop()[0] == 0


def test_a_stream_that_is_broken_off_leaves_the_queue(plan: pathlib.Path) -> None:
    with hosted.Running(plan, *SLOW) as server:
        with triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
            tensor = triton_grpc.InferInput("x", [1, 8], "FP32")
            tensor.set_data_from_numpy(np.ones((1, 8), np.float32))
            client.start_stream(callback=lambda result, error: None)
            client.async_stream_infer("small", [tensor])
            server.wait_for("tenon_waiting", 1)
            client.stop_stream(cancel_requests=True)
            server.wait_for("tenon_waiting", 0)
        assert server.metric("tenon_runs_total") == 0 and call(server, rows=16).shape == (16, 4)


def reshaping_plan(path: pathlib.Path) -> pathlib.Path:
    """y = x in the shape that the caller says, which may be none of as many elements."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    layer = network.add_shuffle(network.add_input("x", trt.float32, (12,)))
    layer.set_input(1, network.add_input("shape", trt.int64, (2,)))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile = builder.create_optimization_profile()
    profile.set_shape_input("shape", (1, 1), (3, 4), (12, 12))
    config.add_optimization_profile(profile)
    path.write_bytes(builder.build_serialized_network(network, config))
    return path


def test_values_of_shapes_outside_of_the_profile_are_the_callers_mistake(tmp_path: pathlib.Path) -> None:
    x = {"name": "x", "datatype": "FP32", "shape": [12], "data": list(range(12))}
    with hosted.Running(reshaping_plan(tmp_path / "small.plan")) as server:
        found, answer = server.infer([x, {"name": "shape", "datatype": "INT64", "shape": [2], "data": [3, 13]}])
        assert found == 400 and answer["error"].startswith("[model 'small'] "), answer
        assert "input 'shape' has the value 13 at place 1, but profile 0 takes 1 to 12 there" in answer["error"]
        assert server.infer([x, {"name": "shape", "datatype": "INT64", "shape": [2], "data": [1, 12]}])[0] == 200


def test_a_run_that_fails_is_an_error_of_the_server_with_the_engines_words(tmp_path: pathlib.Path) -> None:
    x = {"name": "x", "datatype": "FP32", "shape": [12], "data": list(range(12))}
    with hosted.Running(reshaping_plan(tmp_path / "small.plan")) as server:
        for shape, status in (([3, 4], 200), ([5, 3], 500), ([2, 6], 200)):
            found, answer = server.infer([x, {"name": "shape", "datatype": "INT64", "shape": [2], "data": shape}])
            assert found == status, answer
            if status == 200:
                assert answer["outputs"][0]["shape"] == shape and answer["outputs"][0]["data"] == x["data"]
            else:
                assert answer["error"].startswith("[model 'small'] ") and "15" in answer["error"], answer
        assert server.metric("tenon_failed_total") == 1 and server.metric("tenon_answered_total") == 2


def test_a_client_that_vanishes_with_a_reset_does_no_harm(plan: pathlib.Path) -> None:
    with hosted.Running(plan) as server:
        for sent in (b"", b"P", head(len(BODY))[:20], head(len(BODY)), head(len(BODY)) + BODY[:9], head(9) + BODY):
            client = socket.create_connection(("127.0.0.1", server.port))
            client.sendall(sent)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        assert server.infer([ONE])[0] == 200
        logged = server.stop()[1]
        assert "Traceback" not in logged, logged


def test_what_does_not_arrive_is_not_waited_for(plan: pathlib.Path) -> None:
    with hosted.Running(plan, "--patience", "0.5") as server:
        for sent, answer in ((b"", b""), (head(99)[:-2], b""), (head(999) + b"{", b"1 of 999 bytes came within 0.5 s")):
            with socket.create_connection(("127.0.0.1", server.port), timeout=hosted.PATIENCE) as client:
                client.sendall(sent)
                received = b"".join(iter(lambda client=client: client.recv(4096), b""))  # Until the server hangs up.
                assert answer in received and bool(received) == bool(answer)
        with socket.create_connection(("127.0.0.1", server.port), timeout=hosted.PATIENCE) as client:
            with pytest.raises(OSError):
                for _ in range(10_000):  # A head without an end.
                    client.sendall(b"POST / HTTP/1.1\r\n" + b"x: " + b"y" * 4000 + b"\r\n")
        assert server.infer([ONE])[0] == 200


@pytest.mark.parametrize(
    "tensor, message",
    [
        (ONE | {"shape": [2**62, 2**62]}, "input 'x' has 8 values"),
        (ONE | {"shape": [2**70, 1]}, "extents are whole numbers"),
        (ONE | {"shape": [1, 8] * 40}, "input 'x' has 80 axes"),
        (ONE | {"shape": [1.0, 8]}, "extents are whole numbers"),
        (ONE | {"shape": [], "data": [1.0]}, "input 'x' has 0 axes, but the engine takes 2"),
        (ONE | {"shape": [0, 8], "data": []}, "profile 0 takes 1 to 16 along axis 0"),
        (ONE | {"data": [None] * 8}, "input 'x'"),
        (ONE | {"data": [[1.0] * 8, [1.0]]}, "input 'x' is no list of FP32"),
        (ONE | {"name": "x" * 10_000}, "there is no input"),
        (ONE | {"parameters": {"binary_data_size": 2 << 30}}, "claims 2147483648 bytes, but 0 are left"),
        (ONE | {"parameters": {"binary_data_size": -1}}, "claims -1 bytes"),
        (ONE | {"parameters": 3}, "input 'x'"),
    ],
)
def test_tensors_that_lie_are_refused_by_name(served: hosted.Running, tensor: dict, message: str) -> None:
    status, answer = served.infer([tensor])
    assert status == 400 and answer["error"].startswith("[model 'small'] ") and message in answer["error"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> object:
    with hosted.Running(hosted.plan(tmp_path_factory.mktemp("plans") / "small.plan"), "--max-request-mb", "1") as found:
        yield found


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b'{"inputs": 3}', b'{"inputs": []}', b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"{}" * 9]
    + [b'{"inputs": [], "outputs": 3}', b'{"inputs": [], "parameters": 3}', BODY[:-1] + b', "outputs": [{}]}'],
)
def test_bodies_that_are_no_requests_are_refused(served: hosted.Running, body: bytes) -> None:
    status, answer, _ = served.ask("POST", INFER, body)
    assert status == 400 and json.loads(answer)["error"].startswith("[model 'small'] ")


def test_messages_of_grpc_that_lie_are_refused(served: hosted.Running) -> None:
    channel = grpc.insecure_channel(f"127.0.0.1:{served.grpc_port}")
    ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    for sent, code in (
        (b"\x0a\x05smal", grpc.StatusCode.INVALID_ARGUMENT),  # A message that is none.
        (b"\x0a\x05small" + b"\x3a\x80\x80\x80\x80\x08", grpc.StatusCode.INVALID_ARGUMENT),  # 2 GiB are claimed.
        (b"\x0a\x05small", grpc.StatusCode.INVALID_ARGUMENT),
        (b"\x3a\x80\x80\x80\x01" + bytes(2 << 20), grpc.StatusCode.RESOURCE_EXHAUSTED),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            ask(sent, timeout=hosted.PATIENCE)
        assert refused.value.code() == code, refused.value
    other = service_pb2.ModelInferRequest(
        model_name="small", inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 8]}]
    )
    other.inputs[0].contents.int_contents.extend(range(8))
    with pytest.raises(grpc.RpcError, match="input 'x' has int_contents, but FP32 comes in fp32_contents"):
        ask(other.SerializeToString(), timeout=hosted.PATIENCE)
    channel.close()
    assert call(served).shape == (1, 4)


def test_deadlines_are_kept_in_both_protocols(plan: pathlib.Path) -> None:
    with hosted.Running(plan, *SLOW) as server:
        begun = time.monotonic()
        status, answer = server.infer([ONE], parameters={"timeout": 100_000})
        assert status == 504 and answer["error"] == "[model 'small'] no answer within 0.1 s"
        assert server.infer([ONE], parameters={"timeout": -1})[0] == 400
        for limit in ({"client_timeout": 0.1}, {"timeout": 100_000}):
            with pytest.raises(InferenceServerException) as late:
                call(server, **limit)
            assert late.value.status() == str(grpc.StatusCode.DEADLINE_EXCEEDED)
        assert time.monotonic() - begun < 6
        server.wait_for("tenon_waiting", 0)
        assert server.metric("tenon_runs_total") == 0


def test_a_full_queue_says_when_to_come_again(plan: pathlib.Path) -> None:
    with hosted.Running(plan, *SLOW, "--queue", "1") as server:
        first = threading.Thread(target=server.infer, args=([ONE],))
        first.start()
        server.wait_for("tenon_waiting", 1)
        status, _, headers = server.ask("POST", INFER, BODY)
        assert status == 503 and int(headers["retry-after"]) >= 1
        channel = grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")
        x = np.ones((1, 8), np.float32).tobytes()
        message = b"\x0a\x05small" + b"\x2a\x0d\x0a\x01x\x12\x04FP32\x1a\x02\x01\x08" + b"\x3a\x20" + x
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")(message, timeout=hosted.PATIENCE)
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert float(dict(refused.value.trailing_metadata())["retry-after"]) > 0
        first.join()
        assert server.metric("tenon_refused_total") == 2 and server.metric("tenon_answered_total") == 1


def connections(most: int) -> int:
    """How many this process and the server can have: each has its own limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, most + 500):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, most + 500), hard))
    return min(most, hard - 500)


def test_ten_thousand_connections_leave_room_for_a_request(plan: pathlib.Path, record_property: object) -> None:
    count = connections(10_000)
    record_property("connections", count)
    assert count == 10_000 or resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 10_500
    with hosted.Running(plan, "--max-connections", str(count + 100)) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
        for client in idle[::2]:
            client.sendall(head(99))
        assert server.infer([ONE])[0] == 200 and call(server).shape == (1, 4)
        for client in idle:
            client.close()
        assert server.infer([ONE])[0] == 200


def test_connections_beyond_the_limit_are_refused_until_others_go(plan: pathlib.Path) -> None:
    with hosted.Running(plan, "--max-connections", "20") as server:
        first = http.client.HTTPConnection("127.0.0.1", server.port, timeout=hosted.PATIENCE)
        first.request("POST", INFER, BODY)
        assert first.getresponse().read()
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
        status, answer, fields = server.ask("POST", INFER, BODY)
        assert (status, fields["retry-after"], fields["connection"]) == (503, "1", "close")
        assert "(--max-connections)" in json.loads(answer)["error"]
        assert server.get("/v2/health/live")[0] == server.get("/v2/health/ready")[0] == 200
        first.request("POST", INFER, BODY)  # Who was there before is heard.
        assert first.getresponse().status == 200
        first.close()
        for client in idle:
            client.close()
        until = time.monotonic() + hosted.PATIENCE
        while server.ask("POST", INFER, BODY)[0] != 200:
            assert time.monotonic() < until


def test_sigterm_under_load_loses_nothing_that_was_accepted(plan: pathlib.Path) -> None:
    stopped = threading.Event()

    def by_http(server: hosted.Running) -> int:
        answered = 0
        while not stopped.is_set():
            try:
                status = server.ask("POST", INFER, BODY)[0]
            except (OSError, http.client.HTTPException):  # Nobody listens any more.
                break
            assert status in (200, 503)
            answered += status == 200
        return answered

    def by_grpc(server: hosted.Running) -> int:
        answered = 0
        while not stopped.is_set():
            try:
                call(server)
            except InferenceServerException as error:
                assert error.status() in (str(grpc.StatusCode.UNAVAILABLE), str(grpc.StatusCode.CANCELLED)), error
                break
            answered += 1
        return answered

    with hosted.Running(plan, "--max-batch", "8", "--max-wait-ms", "5") as server:
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(way, server) for way in (by_http, by_grpc) for _ in range(4)]
            until = time.monotonic() + hosted.PATIENCE
            while server.metric("tenon_answered_total") < 100:
                assert time.monotonic() < until
            status, logged = server.stop()
            stopped.set()
            answered = sum(each.result() for each in asked)
        assert status == 0 and f"{answered} accepted, {answered} answered, 0 failed, 0 given up" in logged


def test_a_full_disk_for_logs_loses_only_the_logs(plan: pathlib.Path) -> None:
    with hosted.Running(plan, log=pathlib.Path("/dev/full")) as server:
        plan.write_bytes(b"damaged")
        server.wait_for("tenon_reloads_total", 1, outcome="failed")
        hosted.plan(plan, scale=2)
        server.wait_for("tenon_reloads_total", 1, outcome="done")
        assert server.infer([ONE])[0] == 200 and call(server).shape == (1, 4)
        assert server.ask("POST", INFER, b"{")[0] == 400
        server.process.terminate()
        assert server.process.wait(hosted.PATIENCE) == 0


def test_a_log_that_nobody_reads_keeps_nobody_waiting(plan: pathlib.Path) -> None:
    with hosted.Running(plan) as server:
        fcntl.fcntl(server.process.stderr, fcntl.F_SETPIPE_SZ, 4096)  # For some forty lines.
        for _ in range(200):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(b"NONE / HTTP/1.1\r\n\r\n")
                client.settimeout(hosted.PATIENCE)
                assert client.recv(100).startswith(b"HTTP/1.1 400 ")
        assert server.infer([ONE])[0] == 200 and call(server).shape == (1, 4)
        status, logged = server.stop()
    assert status == 0 and logged.count("A request that is none") == 200 and "2 accepted, 2 answered" in logged


def test_a_server_without_a_log_serves(plan: pathlib.Path) -> None:
    with hosted.Running(plan, program=("sh", "-c", 'exec "$@" 2>&-', "sh", *hosted.SERVER)) as server:
        assert server.infer([ONE])[0] == 200 and call(server).shape == (1, 4)
        assert server.stop() == (0, "")


def test_a_plan_that_carries_code_needs_leave(tmp_path: pathlib.Path) -> None:
    plan = hosted.plan(tmp_path / "code.plan", code=True)
    with pytest.raises(AssertionError, match=r"\[model 'small'\] .*code.plan.*the plan carries code.*--allow-code"):
        with hosted.Running(plan):
            pass
    with hosted.Running(plan, "--allow-code") as server:
        assert server.infer([ONE])[1]["outputs"][0]["data"] == [2.0] * 8


def test_a_plan_with_code_does_not_get_in_by_replacement(tmp_path: pathlib.Path, plan: pathlib.Path) -> None:
    with hosted.Running(plan) as server:
        hosted.plan(plan, code=True)
        server.wait_for("tenon_reloads_total", 1, outcome="failed")
        np.testing.assert_allclose(
            server.infer([ONE])[1]["outputs"][0]["data"], np.ones((1, 8)).dot(hosted.WEIGHTS)[0], rtol=1e-4
        )
