"""A server in a process of its own, around a small engine."""

import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time
from typing import Any, Self

import numpy as np
import tensorrt as trt

WEIGHTS = np.random.default_rng(3).standard_normal((8, 4), np.float32)
PATIENCE = 60
SERVER = (sys.executable, "-m", "tenon.serving")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def plan(path: pathlib.Path, kind: trt.DataType = trt.float32, scale: float = 1.0) -> pathlib.Path:
    """y = x · weights · scale, of up to 16 rows; of float32, or y = x of another type."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    flags = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    network, config = builder.create_network(flags), builder.create_builder_config()
    x = network.add_input("x", kind, (-1, 8))
    if kind == trt.float32:
        weights = network.add_constant((8, 4), WEIGHTS * np.float32(scale)).get_output(0)
        none = trt.MatrixOperation.NONE
        y = network.add_matrix_multiply(x, none, weights, none).get_output(0)
    else:
        y = network.add_identity(x).get_output(0)
    y.name = "y"
    network.mark_output(y)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 8), (4, 8), (16, 8))
    config.add_optimization_profile(profile)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(builder.build_serialized_network(network, config))
    os.replace(fresh, path)
    return path


class Running:
    """Started when it is entered, and gone afterwards."""

    def __init__(
        self,
        plan: pathlib.Path,
        *options: str,
        name: str = "small",
        program: tuple[str, ...] = SERVER,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self.port, self.grpc_port = free_port(), free_port()
        ports = ["--port", str(self.port), "--grpc-port", str(self.grpc_port)]
        command = [*program, str(plan), "--name", name, *ports, *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if self.get("/v2/health/ready")[0] == 200:
                    return self
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        raise AssertionError(f"the server did not start: {self.process.communicate()[1]}")

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:
            self.stop()

    def stop(self) -> tuple[int, str]:
        """Its status and what it logged."""
        self.process.send_signal(signal.SIGTERM)
        logged = self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode, logged

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        if self._tls is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        else:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self._tls)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        found = answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        return found

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        return self.ask("GET", path, headers=headers)[:2]

    def infer(self, inputs: list[dict[str, Any]], **more: Any) -> tuple[int, Any]:
        path = f"/v2/models/{more.pop('model', 'small')}/infer"
        status, body, _ = self.ask("POST", path, json.dumps({"inputs": inputs, **more}).encode())
        return status, json.loads(body)
