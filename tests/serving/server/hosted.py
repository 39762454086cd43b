"""A server in a process of its own, around a small engine."""

import contextlib
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
import tensorrt.plugin as trtp

WEIGHTS = np.random.default_rng(3).standard_normal((8, 4), np.float32)
PATIENCE = 300  # Seconds: among ten programs for each processor a server takes eighty to start.
CODE = """
void twice(struct tenon_launch const* launch, void const* const* inputs, void* const* outputs, int32_t const* arguments)
{
    (void) launch;
    for (int32_t i = 0; i < arguments[0]; ++i)
        ((float*) outputs[0])[i] = 2 * ((float const*) inputs[0])[i];
}
"""
SERVER = (sys.executable, "-m", "tenon.serving")


def free_ports(count: int) -> list[int]:
    """Different ones: all are held until the last is found."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@trtp.register("served::twice")
def twice(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


@trtp.aot_impl("served::twice")
def compiled(
    x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int
) -> tuple[str | bytes, str | bytes, trtp.KernelLaunchParams, trtp.SymIntExprs]:
    count = trtp.SymIntExprs.from_tuple([trtp.SymInt32(x.shape_expr.numel())])
    return "twice", CODE, trtp.KernelLaunchParams(), count


def plan(path: pathlib.Path, kind: trt.DataType = trt.float32, scale: float = 1.0, code: bool = False) -> pathlib.Path:
    """y = x · weights · scale, of up to 16 rows, in float32; y = x of another type; or y = 2 x, by code in the plan."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    flags = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    network, config = builder.create_network(flags), builder.create_builder_config()
    x = network.add_input("x", kind, (-1, 8))
    if code:
        y = network.add_plugin(trtp.op.served.twice(x), aot=True).get_output(0)
    elif kind == trt.float32:
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


def filling_plan(path: pathlib.Path) -> pathlib.Path:
    """y of the shape that the caller says: 0, 1, … along each axis."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    layer = network.add_fill((1, 1), trt.FillOperation.LINSPACE, trt.float32)
    layer.set_input(0, network.add_input("shape", trt.int64, (2,)))
    for index, value in ((1, np.float32(0)), (2, np.float32([1, 1]))):
        layer.set_input(index, network.add_constant(np.shape(value), np.ascontiguousarray(value)).get_output(0))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile, most = builder.create_optimization_profile(), 2**31 - 1
    profile.set_shape_input("shape", (1, 1), (3, 4), (most, most))
    config.add_optimization_profile(profile)
    path.write_bytes(builder.build_serialized_network(network, config))
    return path


class Running:
    """Started when it is entered, and gone afterwards."""

    def __init__(
        self,
        plan: pathlib.Path,
        *options: str,
        name: str | None = "small",
        program: tuple[str, ...] = SERVER,
        tls: ssl.SSLContext | None = None,
        log: pathlib.Path | None = None,
    ) -> None:
        self._tls, self._log = tls, log
        self.port, self.grpc_port = free_ports(2)
        ports = ["--port", str(self.port), "--grpc-port", str(self.grpc_port)]
        named = [] if name is None else ["--name", name]
        command = [*program, str(plan), *named, *ports, *options]
        if log is None:
            self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        else:
            with log.open("w") as stream:
                self.process = subprocess.Popen(command, stderr=stream, stdout=stream, text=True)

    def __enter__(self) -> Self:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if self.get("/v2/health/ready")[0] == 200:
                    return self
            except OSError:
                time.sleep(0.05)
        status = self.process.poll()
        self.process.kill()
        said = self.process.communicate()[1] if self._log is None else self._log.read_text()
        how = f"in {PATIENCE} s" if status is None else f"(status {status})"
        raise AssertionError(f"the server did not start {how}: {said}")

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

    def metric(self, name: str, **labels: str) -> float:
        """A metric's value, summed over what the labels leave open."""
        found = 0.0
        for line in self.get("/metrics")[1].decode().splitlines():
            if line.startswith((f"{name}{{", f"{name} ")):
                if all(f'{label}="{value}"' in line for label, value in labels.items()):
                    found += float(line.split()[-1])
        return found

    def wait_for(self, name: str, value: float, or_less: bool = False, **labels: str) -> None:
        until = time.monotonic() + PATIENCE
        while (found := self.metric(name, **labels)) != value and not (or_less and found < value):
            assert time.monotonic() < until, f"{name} is {found}, not {value}"
            time.sleep(0.05)

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        return self.ask("GET", path, headers=headers)[:2]

    def infer(self, inputs: list[dict[str, Any]], **more: Any) -> tuple[int, Any]:
        path = f"/v2/models/{more.pop('model', 'small')}/infer"
        status, body, _ = self.ask("POST", path, json.dumps({"inputs": inputs, **more}).encode())
        return status, json.loads(body)
