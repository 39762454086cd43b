"""Token and certificate of tenon serve, which are read again when their files are replaced."""

import pathlib
import ssl
import subprocess
import time
from collections.abc import Callable

import hosted
import pytest
import tritonclient.grpc as triton_grpc
from tritonclient.utils import InferenceServerException


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + hosted.PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def replace(path: pathlib.Path, text: str) -> None:
    """As whoever renews it should: in one step."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def pair(folder: pathlib.Path, name: str) -> tuple[pathlib.Path, pathlib.Path]:
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    return key, certificate


def test_a_replaced_token_is_the_one_that_lets_in(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text("sesame\n")

    def status(token: str) -> int:
        return server.get("/v2/models/small", {"Authorization": f"Bearer {token}"})[0]

    with hosted.Running(hosted.plan(tmp_path / "small.plan"), "--token-file", str(file)) as server:
        client = triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}")
        assert status("sesame") == 200 and status("poppy") == 401
        replace(file, "poppy\n")
        until(lambda: status("poppy") == 200)
        assert status("sesame") == 401
        assert client.get_model_metadata("small", headers={"authorization": "Bearer poppy"}).name == "small"
        with pytest.raises(InferenceServerException, match="a bearer token is needed"):
            client.get_model_metadata("small", headers={"authorization": "Bearer sesame"})
        replace(file, "\n")  # Would let everybody in, or nobody.
        time.sleep(2.5)  # It looks once in a second.
        assert status("poppy") == 200 and status("") == 401 and server.get("/v2/models/small")[0] == 401
        code, logged = server.stop()
        assert code == 0 and "stay as they were" in logged and f"{file} is empty" in logged


def test_a_replaced_certificate_greets_new_connections(tmp_path: pathlib.Path) -> None:
    (old_key, old), (new_key, new) = pair(tmp_path, "old"), pair(tmp_path, "new")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    replace(key, old_key.read_text())
    replace(certificate, old.read_text())
    trusting = ssl.create_default_context(cafile=old)
    trusting.load_verify_locations(new)

    def greets(file: pathlib.Path) -> bool:
        try:
            shown = ssl.get_server_certificate(("127.0.0.1", server.port), ca_certs=str(file))
        except ssl.SSLError:
            return False
        return shown.strip() == file.read_text().strip()

    def answers_calls(file: pathlib.Path) -> bool:
        client = triton_grpc.InferenceServerClient(
            f"localhost:{server.grpc_port}", ssl=True, root_certificates=str(file)
        )
        try:
            return client.is_server_ready(client_timeout=5)
        except InferenceServerException:
            return False

    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), *options, tls=trusting) as server:
        assert greets(old) and not greets(new) and answers_calls(old)
        replace(certificate, new.read_text())  # Not yet with its key.
        time.sleep(2.5)
        assert greets(old)
        replace(key, new_key.read_text())
        until(lambda: greets(new))
        assert answers_calls(new) and not answers_calls(old)
        assert server.get("/v2/models/small")[0] == 200
        code, logged = server.stop()
        assert code == 0 and "stay as they were" in logged and "are read again" in logged
