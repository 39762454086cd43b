"""A cluster of one node, and what its replicas are as processes."""

import contextlib
import os
import pathlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import hosted
import numpy as np
import ray
import tensorrt as trt
from ray import serve

_T = TypeVar("_T")
SHAPE = (3, 64, 64)


def start(cpus: int, attempts: int = 6) -> None:
    """Ray on this machine, as if it had so many processors. Ray gives its own processes half a minute to start."""
    for attempt in range(1, attempts + 1):
        try:
            ray.init(num_cpus=cpus, include_dashboard=False, logging_level="warning", log_to_driver=False)
            return
        except Exception as late:
            ray.shutdown()
            if "timed out during startup" not in str(late) or attempt == attempts:
                raise


@contextlib.contextmanager
def serving(cpus: int, port: int) -> Iterator[None]:
    """Ray Serve on it. Serve kills a proxy that is not ready in five seconds, which a busy machine needs longer for."""
    for check in ("READY", "HEALTH"):
        os.environ.setdefault(f"RAY_SERVE_PROXY_{check}_CHECK_TIMEOUT_S", "60")
    start(cpus)
    try:
        with contextlib.suppress(TimeoutError):  # It waits for its proxy for a minute, which is too short there, too.
            serve.start(http_options={"port": port})
        until("Serve's proxy", lambda: _is_listened_to(port), lambda: f"port {port}")
        serve.start()
        yield
        serve.shutdown()
    finally:
        ray.shutdown()


def _is_listened_to(port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=hosted.PATIENCE).close()
        return True
    return False


def heavy_plan(path: pathlib.Path) -> pathlib.Path:
    """Three convolutions, of some milliseconds: requests are under way when a replica dies."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    rng = np.random.default_rng(11)
    tensor = network.add_input("x", trt.float32, (-1, *SHAPE))
    for deep, wide in ((3, 32), (32, 64), (64, 64)):
        weights = rng.standard_normal((wide, deep, 3, 3), np.float32) / np.float32(3 * np.sqrt(deep))
        layer = network.add_convolution_nd(tensor, wide, (3, 3), weights)
        layer.padding_nd = (1, 1)
        tensor = network.add_activation(layer.get_output(0), trt.ActivationType.RELU).get_output(0)
    tensor = network.add_reduce(tensor, trt.ReduceOperation.AVG, 12, False).get_output(0)
    tensor.name = "y"
    network.mark_output(tensor)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", *((rows, *SHAPE) for rows in (1, 1, 8)))
    config.add_optimization_profile(profile)
    path.write_bytes(builder.build_serialized_network(network, config))
    return path


def processes(name: str) -> list[int]:
    """The processes that Ray has given this title, of this cluster: others of the machine may have the like."""
    found = []
    for each in pathlib.Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                title = (each / "cmdline").read_bytes()
            except OSError:  # Gone meanwhile.
                continue
            if title.startswith(f"ray::{name}".encode()) and _descends_from_here(int(each.name)):
                found.append(int(each.name))
    return found


def _descends_from_here(process: int) -> bool:
    while process > 1 and process != os.getpid():
        try:
            status = pathlib.Path(f"/proc/{process}/status").read_text()
        except OSError:
            return False
        process = int(status.partition("\nPPid:")[2].split()[0])
    return process == os.getpid()


def plans_in(process: int) -> set[str]:
    """The inodes of plans that are mapped there; none of a process that has gone."""
    try:
        lines = pathlib.Path(f"/proc/{process}/maps").read_text().splitlines()
    except OSError:
        return set()
    return {line.split()[4] for line in lines if "/memfd:tenon-plan-" in line}


def until(what: str, found: Callable[[], _T], about: Callable[[], object]) -> _T:
    """The first of `found` that is true; what is not in time fails with its name, and with what is known of it then."""
    begun = time.monotonic()
    while not (now := found()):
        waited = time.monotonic() - begun
        assert waited < hosted.PATIENCE, f"{what}: not after {waited:.0f} s, at a load of {os.getloadavg()}; {about()}"
        time.sleep(0.2)
    return now
