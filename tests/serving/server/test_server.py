"""tenon serve beside the clients that people have, and beside those who mean no good."""

import concurrent.futures
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator

import grpc
import hosted
import ml_dtypes
import numpy as np
import pytest
import tenon
import tensorrt as trt
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

X = np.random.default_rng(5).standard_normal((3, 8), np.float32)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hosted.Running]:
    plan = hosted.plan(tmp_path_factory.mktemp("plans") / "small.plan")
    with hosted.Running(plan, "--max-batch", "8", "--max-request-mb", "1") as found:
        yield found


def numbers(name: str = "x", datatype: str = "FP32", data: object = None, shape: object = None) -> dict:
    data = X.ravel().tolist() if data is None else data
    return {"name": name, "datatype": datatype, "shape": [3, 8] if shape is None else shape, "data": data}


def clients(server: hosted.Running) -> list[tuple]:
    return [
        (triton_http, triton_http.InferenceServerClient(f"127.0.0.1:{server.port}")),
        (triton_grpc, triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}")),
    ]


def test_tritons_clients_find_health_and_metadata(server: hosted.Running) -> None:
    for module, client in clients(server):
        assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("small")
        as_json = {"as_json": True} if module is triton_grpc else {}
        assert client.get_server_metadata(**as_json)["name"] == "tenon"
        metadata = client.get_model_metadata("small", **as_json)
        found = metadata["inputs"][0]
        assert (found["name"], found["datatype"], [int(extent) for extent in found["shape"]]) == ("x", "FP32", [-1, 8])
        with pytest.raises(InferenceServerException, match="nobody"):
            client.get_model_metadata("nobody")


@pytest.mark.parametrize("is_binary", [True, False])
def test_tritons_clients_get_what_the_engine_gives(server: hosted.Running, is_binary: bool) -> None:
    for module, client in clients(server):
        tensor = module.InferInput("x", list(X.shape), "FP32")
        tensor.set_data_from_numpy(X, *([is_binary] if module is triton_http else []))
        asked = [module.InferRequestedOutput("y", *([is_binary] if module is triton_http else []))]
        for outputs in (asked, None):
            result = client.infer("small", [tensor], outputs=outputs, request_id="seven", model_version="1")
            np.testing.assert_allclose(result.as_numpy("y"), X @ hosted.WEIGHTS, rtol=1e-4, atol=1e-5)


def test_json_by_hand_gives_numbers(server: hosted.Running) -> None:
    status, answer = server.infer([numbers()], id="seven")
    assert status == 200 and answer["id"] == "seven" and answer["model_name"] == "small"
    np.testing.assert_allclose(
        np.reshape(answer["outputs"][0]["data"], (3, 4)), X @ hosted.WEIGHTS, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    "tensor, message",
    [
        (numbers(name="z"), r"\[model 'small'\] there is no input 'z'; the inputs are 'x'"),
        (numbers(datatype="FP64"), "input 'x' is FP64, but the engine takes FP32"),
        (numbers(datatype="BYTES", data=["a"]), "input 'x' is BYTES: an engine has no texts"),
        (numbers(data=["1"] * 24), "input 'x' has texts, which FP32 does not take"),
        (numbers(data=[True, *[1.0] * 23]), "input 'x' has true or false, which FP32 does not take"),
        (numbers(data=[1.0]), r"input 'x' has 1 values, but shape \[3, 8\] takes 24"),
        (numbers(data=[[1.0], [1.0, 2.0]]), "input 'x' is no list of FP32"),
        (numbers(shape=[3, 7], data=[0.0] * 21), r"input 'x' has shape \[3, 7\], but extent 1 is 8"),
        (numbers(shape=[99, 8], data=[0.0] * 792), r"profile 0 takes 1 to 16 along axis 0"),
        (numbers(shape=[-3, 8]), "extents are whole numbers"),
        ({"name": "x", "datatype": "FP32", "shape": [3, 8]}, "input 'x' has neither 'data' nor"),
        ({"name": "x", "datatype": "FP32"}, "input 'x' has no 'shape'"),
        (numbers() | {"data": None, "parameters": {"binary_data_size": 2 << 30}}, "claims 2147483648 bytes, but 0"),
        (7, "an input is no JSON object"),
    ],
)
def test_what_does_not_fit_is_refused_by_model_and_input(server: hosted.Running, tensor: dict, message: str) -> None:
    status, answer = server.infer([tensor])
    assert status == 400
    with pytest.raises(ValueError, match=message):
        raise ValueError(answer["error"])


def test_requests_that_are_none_are_refused(server: hosted.Running) -> None:
    path = "/v2/models/small/infer"
    assert server.ask("POST", path, b"{")[0] == 400
    assert server.ask("POST", path, b"[]")[0] == 400
    assert server.ask("POST", path, b"{}", {"Inference-Header-Content-Length": "99"})[0] == 400
    assert server.ask("POST", path, b"{}", {"Content-Encoding": "gzip"})[0] == 400
    assert server.ask("POST", "/v2/models/nobody/infer", b"{}")[0] == 404
    assert server.ask("POST", "/v2/models/small/versions/2/infer", b"{}")[0] == 404
    status, body, _ = server.ask("POST", path, b" " * (2 << 20))
    assert status == 413 and b"--max-request-mb" in body


def test_a_claim_of_two_gigabytes_and_half_a_body_do_no_harm(server: hosted.Running) -> None:
    for claimed in (2 << 30, 1000):
        with socket.create_connection(("127.0.0.1", server.port)) as half:
            half.sendall(
                f"POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {claimed}\r\n\r\n{{".encode()
            )
            if claimed > 1000:
                assert b" 413 " in half.recv(200)
    assert server.infer([numbers()])[0] == 200


def test_errors_of_grpc_have_their_codes(server: hosted.Running) -> None:
    client = clients(server)[1][1]
    tensor = triton_grpc.InferInput("x", [1, 9], "FP32")
    tensor.set_data_from_numpy(np.zeros((1, 9), np.float32))
    for model, code in (("small", "INVALID_ARGUMENT"), ("nobody", "NOT_FOUND")):
        with pytest.raises(InferenceServerException) as refused:
            client.infer(model, [tensor])
        assert refused.value.status() == f"StatusCode.{code}"


def test_texts_are_refused_by_both_protocols(server: hosted.Running) -> None:
    for module, client in clients(server):
        tensor = module.InferInput("x", [1, 8], "BYTES")
        tensor.set_data_from_numpy(np.full((1, 8), b"text", np.object_))
        with pytest.raises(
            InferenceServerException, match=r"\[model 'small'\] input 'x' is BYTES: an engine has no texts"
        ):
            client.infer("small", [tensor])


def test_only_this_machine_is_listened_to_unless_said_otherwise(server: hosted.Running) -> None:
    """From another of its addresses there is nobody, as there is for other machines."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Sends nothing: it tells which address would be the sender's.
            own = probe.getsockname()[0]
        except OSError:
            own = "127.0.0.2"  # A machine without a network.
    assert own != "127.0.0.1"
    for port in (server.port, server.grpc_port):
        socket.create_connection(("127.0.0.1", port)).close()
        with pytest.raises(OSError):
            socket.create_connection((own, port), timeout=5)


def test_metrics_count(server: hosted.Running) -> None:
    before = server.metric("tenon_answered_total", model="small", version="1")
    bounds = ("1", "2", "4", "8", "1024", "+Inf")
    sizes = [server.metric("tenon_batch_rows_bucket", model="small", le=bound) for bound in bounds]
    rows = server.metric("tenon_batch_rows_sum", model="small")
    for count in (1, 2, 5):
        x = {"name": "x", "datatype": "FP32", "shape": [count, 8], "data": [1.0] * 8 * count}
        assert server.infer([x])[0] == 200
    assert server.metric("tenon_answered_total", model="small", version="1") == before + 3
    fresh = [server.metric("tenon_batch_rows_bucket", model="small", le=bound) for bound in bounds]
    assert np.subtract(fresh, sizes).tolist() == [1, 2, 2, 3, 3, 3]
    assert server.metric("tenon_batch_rows_sum", model="small") == rows + 8
    assert 0 < server.metric("tenon_run_seconds_total", model="small") < 60
    assert 0 < server.metric("tenon_queue_seconds_total", model="small") < 60
    assert b"process_resident_memory_bytes" in server.get("/metrics")[1]


@pytest.mark.parametrize("kind, datatype", [(trt.float16, "FP16"), (trt.bfloat16, "BF16")])
def test_halves_come_and_go_as_binary_data(tmp_path: pathlib.Path, kind: trt.DataType, datatype: str) -> None:
    with hosted.Running(hosted.plan(tmp_path / "halves.plan", kind)) as server:
        for module, client in clients(server):
            tensor = module.InferInput("x", list(X.shape), datatype)
            sent = X.astype(np.float16 if datatype == "FP16" else ml_dtypes.bfloat16)
            tensor.set_data_from_numpy(sent)
            np.testing.assert_array_equal(client.infer("small", [tensor]).as_numpy("y"), sent)
        status, answer = server.infer([numbers(datatype=datatype)])
        assert status == 400 and "binary data" in answer["error"]
        # Nor do they go as JSON where no output is named.
        head, raw = {**numbers(datatype=datatype), "parameters": {"binary_data_size": sent.nbytes}}, sent.tobytes()
        del head["data"]
        for outputs in ({}, {"outputs": []}, {"outputs": [{"name": "y"}]}):
            text = json.dumps({"inputs": [head], **outputs}).encode()
            length = {"Inference-Header-Content-Length": str(len(text))}
            status, said, _ = server.ask("POST", "/v2/models/small/infer", text + raw, length)
            assert status == 400 and b"ask for it as binary data" in said


def test_nobody_is_let_in_without_the_token(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text("sesame\n")
    plan = hosted.plan(tmp_path / "small.plan")
    with hosted.Running(plan, "--token-file", str(tmp_path / "token")) as server:
        good, bad = {"Authorization": "Bearer sesame"}, {"Authorization": "Bearer sesam"}
        assert server.get("/v2/health/live")[0] == 200
        for path in ("/v2", "/v2/models/small", "/metrics", "/v2/health/live/"):
            assert server.get(path, bad)[0] == 401 and server.get(path)[0] == 401
        for scheme in ("Bearer", "bearer", "BEARER "):
            assert server.get("/v2/models/small", {"Authorization": f"{scheme} sesame"})[0] == 200
        for wrong in ("Basic sesame", "sesame", "Bearersesame", "Bearer", "Bearer sesame sesame"):
            assert server.get("/v2/models/small", {"Authorization": wrong})[0] == 401
        assert server.get("/v2/models/small", good)[0] == 200
        client = clients(server)[1][1]
        assert client.is_server_ready()
        assert client.get_model_metadata("small", headers={"authorization": "Bearer sesame"}).name == "small"
        with pytest.raises(InferenceServerException, match="a bearer token is needed"):
            client.get_model_metadata("small", headers={"authorization": "Bearer sesam"})


def test_a_replaced_plan_is_served_and_a_damaged_one_is_not(tmp_path: pathlib.Path) -> None:
    plan = hosted.plan(tmp_path / "small.plan")
    with hosted.Running(plan) as server:
        first = server.infer([numbers()])[1]["outputs"][0]["data"]
        plan.write_bytes(b"damaged")
        server.wait_for("tenon_reloads_total", 1, outcome="failed")
        assert server.infer([numbers()])[1]["outputs"][0]["data"] == first
        hosted.plan(plan, scale=2)
        server.wait_for("tenon_reloads_total", 1, outcome="done")
        np.testing.assert_allclose(server.infer([numbers()])[1]["outputs"][0]["data"], 2 * np.array(first), rtol=1e-4)
        status, logged = server.stop()
        assert status == 0 and "the old one stays: [model 'small']" in logged


def test_a_request_is_answered_by_the_plan_that_took_it(tmp_path: pathlib.Path) -> None:
    plan = hosted.plan(tmp_path / "small.plan")
    with hosted.Running(plan, "--max-batch", "16", "--max-wait-ms", "20000") as server:
        for module, client in clients(server):
            before = server.metric("tenon_reloads_total", outcome="done")
            tensor = module.InferInput("x", [1, 8], "FP32")
            tensor.set_data_from_numpy(X[:1])
            with concurrent.futures.ThreadPoolExecutor(1) as threads:
                asked = threads.submit(client.infer, "small", [tensor])
                server.wait_for("tenon_waiting", 1)
                hosted.plan(plan, trt.float16)
                answer = asked.result()
            server.wait_for("tenon_reloads_total", before + 1, outcome="done")
            np.testing.assert_allclose(answer.as_numpy("y"), X[:1] @ hosted.WEIGHTS, rtol=1e-5)
            hosted.plan(plan)
            server.wait_for("tenon_reloads_total", before + 2, outcome="done")


def test_sigterm_under_load_answers_what_was_accepted(tmp_path: pathlib.Path) -> None:
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), "--max-batch", "8", "--max-wait-ms", "300") as server:
        body = json.dumps({"inputs": [numbers(shape=[1, 8], data=[1.0] * 8)]}).encode()
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            asked = [threads.submit(server.ask, "POST", "/v2/models/small/infer", body) for _ in range(4)]
            server.wait_for("tenon_requests_total", 4)  # All are in, and wait for company.
            status, _ = server.stop()
            assert [answer.result()[0] for answer in asked] == [200] * 4 and status == 0


def test_a_full_queue_is_said_in_both_protocols(tmp_path: pathlib.Path) -> None:
    options = ("--max-batch", "16", "--max-wait-ms", "3000", "--queue", "1")
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), *options) as server:
        one = numbers(shape=[1, 8], data=[1.0] * 8)
        waiting = threading.Thread(target=server.infer, args=([one],))
        waiting.start()
        server.wait_for("tenon_waiting", 1)
        body = json.dumps({"inputs": [one]}).encode()
        status, text, headers = server.ask("POST", "/v2/models/small/infer", body)
        assert status == 503 and int(headers["retry-after"]) >= 1 and b"1 requests wait already" in text
        tensor = triton_grpc.InferInput("x", [1, 8], "FP32")
        tensor.set_data_from_numpy(X[:1])
        with pytest.raises(InferenceServerException) as refused:
            clients(server)[1][1].infer("small", [tensor])
        assert refused.value.status() == str(grpc.StatusCode.RESOURCE_EXHAUSTED)
        waiting.join()


def test_the_program_tenon_becomes_the_server(tmp_path: pathlib.Path) -> None:
    build = pathlib.Path(tenon.__file__).parents[2]
    program = (str(build / "bin" / "tenon"), "--threads", "1", "serve", "--python", sys.executable)
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), program=program) as server:
        assert server.infer([numbers()])[0] == 200
        assert server.stop()[0] == 0


def test_kserves_clients_get_what_the_engine_gives(server: hosted.Running) -> None:
    """In a process of its own: KServe's messages and those of Triton's client have the same names."""
    asked = [str(server.port), str(server.grpc_port)]
    program = pathlib.Path(__file__).parent / "ask_by_kserve.py"
    done = subprocess.run([sys.executable, program, *asked], capture_output=True, text=True, timeout=hosted.PATIENCE)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        np.testing.assert_allclose(json.loads(line), np.ones((1, 8)) @ hosted.WEIGHTS, rtol=1e-4, atol=1e-5)
    assert len(done.stdout.splitlines()) == 2


def test_tls_is_spoken_by_both_protocols(tmp_path: pathlib.Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.create_default_context(cafile=cert)
    options = ("--tls-cert", str(cert), "--tls-key", str(key))
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), *options, tls=context) as server:
        assert server.infer([numbers()])[0] == 200
        roots = {"ssl": True, "root_certificates": str(cert)}
        client = triton_grpc.InferenceServerClient(f"localhost:{server.grpc_port}", **roots)
        assert client.is_model_ready("small")


def test_a_plan_that_is_none_does_not_start(tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.plan").write_bytes(b"damaged")
    with pytest.raises(AssertionError, match=r"tenon serve: \[model 'small'\] .*bad.plan"):
        with hosted.Running(tmp_path / "bad.plan"):
            pass
