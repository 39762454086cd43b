"""tenon serve, as `python -m tenon.serving`: options, signals, the end."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import logging
import os
import pathlib
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from .fitting import free_memory
from .memory import give_back_large_blocks
from .turns import take_short_turns
from .unhurried import Unhurried

if TYPE_CHECKING:
    import uvicorn
    from kserve.protocol.dataplane import DataPlane

    from .server import http, rpc
    from .server.catalog import Catalog
    from .server.held import Held
    from .server.listener import Listener

_EXTENSIONS = ("binary_tensor_data", "model_repository", "model_configuration", "statistics", "system_shared_memory")
_LEAST_PATIENCE = 0.1
_LAST_LINES = 1.0  # Seconds that the log's reader has at the end.
_SHARE = 0.25  # Of the free memory, for what callers hold.


def _number(kind: Callable[[str], float], least: float, most: float = 2**31 - 1) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = kind(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return value

    read.__name__ = kind.__name__  # As argparse calls it.
    return read


def _name(text: str) -> str:
    if "/" in text or not text.strip("."):
        raise argparse.ArgumentTypeError(f"'{text}' is none that a request can have in its path")
    return text


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("tenon serve", description="Serves a plan over HTTP and gRPC (docs/SERVING.md).")
    parser.add_argument(
        "plan",
        type=pathlib.Path,
        help="a plan, a folder of name/version/model.plan (or model.onnx), or with --name that of one model",
    )
    parser.add_argument("--name", type=_name, help="of the only model; without it that of the plan's file")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: this machine alone)")
    parser.add_argument("--port", type=_number(int, 0, 65535), default=8000, help="of HTTP")
    parser.add_argument("--grpc-port", type=_number(int, 0, 65535), help="of gRPC; without it there is none")
    parser.add_argument("--contexts", type=_number(int, 0), default=0, help="runs at once; 0, as it is: as many as fit")
    parser.add_argument("--max-batch", type=_number(int, 1), default=1, help="rows that requests may be joined to")
    parser.add_argument("--max-wait-ms", type=_number(float, 0), default=0, help="that a request waits for company")
    parser.add_argument("--queue", type=_number(int, 1), default=256, help="requests that may wait")
    parser.add_argument("--max-request-mb", type=_number(float, 1e-3), default=64, help="of a request's body")
    parser.add_argument(
        "--max-answer-mb",
        type=_number(float, 1e-3),
        default=256,
        help="of an output whose shape callers' values decide",
    )
    parser.add_argument(
        "--max-held-mb",
        type=_number(float, 1e-3),
        help="of all requests together, answers that clients have not taken included; without it a quarter of the "
        "memory that is free at the start",
    )
    parser.add_argument(
        "--max-connections", type=_number(int, 1), default=1000, help="of HTTP and of gRPC at once, and calls of gRPC"
    )
    parser.add_argument(
        "--patience",
        type=_number(float, _LEAST_PATIENCE, 86400),
        default=30,
        help=f"seconds that a request may take to arrive, and an answer to be taken; at least {_LEAST_PATIENCE}, as "
        "clients on other machines need that long to be heard",
    )
    parser.add_argument(
        "--grace", type=_number(int, 0), default=30, help="seconds that accepted requests have after SIGTERM"
    )
    parser.add_argument("--tls-cert", type=pathlib.Path, help="certificate chain (PEM)")
    parser.add_argument("--tls-key", type=pathlib.Path, help="its key (PEM)")
    parser.add_argument("--token-file", type=pathlib.Path, help="a file with the bearer token that callers bring")
    parser.add_argument("--allow-code", action="store_true", help="let code that the plan carries run here")
    parser.add_argument("--allow-control", action="store_true", help="let callers load and unload models")
    parser.add_argument("--allow-shared-memory", action="store_true", help="also where --host is open to others")
    found = parser.parse_args(arguments)
    if (found.tls_cert is None) != (found.tls_key is None):
        parser.error("--tls-cert and --tls-key belong together")
    if found.max_held_mb is not None and found.max_held_mb < found.max_request_mb:
        parser.error(f"--max-held-mb {found.max_held_mb:g} is less than one request, --max-request-mb")
    return found


def most_held(asked: argparse.Namespace) -> int:
    """Bytes of all requests together."""
    if asked.max_held_mb is not None:
        return int(asked.max_held_mb * 2**20)
    return max(int(asked.max_request_mb * 2**20), int(_SHARE * free_memory()))


async def watched(house: http.House, seconds: float = 1.0) -> None:
    """Each for itself: folders may take their time to answer."""

    async def every(look: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await look()
            except Exception:
                logging.getLogger("tenon.serving").exception("files that may have been replaced: once more")

    await asyncio.gather(every(house.credentials.renew), every(house.catalog.reload_replaced))


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # A name.
        return host == "localhost"


def front_of(catalog: Catalog) -> DataPlane:
    from kserve.protocol.dataplane import DataPlane

    class Front(DataPlane):  # type: ignore[misc]
        """Says whether the server takes requests: no more after SIGTERM."""

        is_draining = False

        def metadata(self) -> dict[str, object]:
            return {"name": "tenon", "version": "1", "extensions": list(_EXTENSIONS)}

        async def ready(self) -> bool:
            return not self.is_draining

    return Front(catalog)


def catalog_of(asked: argparse.Namespace) -> Catalog:
    from .server.catalog import Catalog

    settings = {"contexts": asked.contexts, "max_batch": asked.max_batch, "queue": asked.queue}
    settings |= {"max_wait": asked.max_wait_ms / 1e3, "max_output": int(asked.max_answer_mb * 2**20)}
    return Catalog(asked.plan, asked.name, settings, asked.allow_code)


def config_of(asked: argparse.Namespace, app: object, held: Held) -> uvicorn.Config:
    import uvicorn

    from .server import connections

    return uvicorn.Config(
        app,
        host=asked.host,
        port=asked.port,
        http=connections.patient(asked.patience, held, asked.max_connections),
        ws="none",
        lifespan="off",
        log_config=None,  # Its lines go where all others do.
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=asked.patience,
        timeout_graceful_shutdown=asked.grace,
        ssl_certfile=asked.tls_cert,
        ssl_keyfile=asked.tls_key,
    )


async def until_ended(
    server: Listener, calls: rpc.Server | None, front: DataPlane, house: http.House, grace: int
) -> None:
    """Serves over both protocols until a signal says that it is enough, and ends what is under way."""
    ended = asyncio.Event()

    def end() -> None:
        front.is_draining = server.should_exit = True
        house.catalog.end()
        ended.set()

    async def stop_calls() -> None:
        await ended.wait()
        if calls is not None:
            await calls.stop(grace)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end)
    watching = asyncio.create_task(watched(house))
    try:
        await asyncio.gather(server.serve(), stop_calls())  # Whose time after SIGTERM is the same.
    finally:
        watching.cancel()
        if calls is not None:
            await calls.stop(0)  # Where HTTP could not begin.
    await house.catalog.close()


async def serve(asked: argparse.Namespace) -> None:
    from .server import connections, http, infer, listener, measures, rpc
    from .server.credentials import Credentials
    from .server.held import Held
    from .server.shared import Regions

    connections.allow_many()
    credentials = Credentials(asked.token_file, asked.tls_cert, asked.tls_key)
    sockets = listener.bound(asked.host, asked.port)
    catalog = catalog_of(asked)
    await catalog.load_all()
    regions = Regions(asked.allow_shared_memory or is_loopback(asked.host))
    held, most = Held(most_held(asked)), int(asked.max_request_mb * 2**20)
    house = http.House(catalog, regions, held, most, asked.patience, credentials, asked.allow_control)
    front = front_of(catalog)
    app = infer.Infer(http.application(front, measures.registry_of(catalog, held), house), house)
    if credentials.token is not None:
        app = http.Guard(app, credentials)
    config = config_of(asked, app, held)
    config.load()
    credentials.use(config.ssl)
    server = listener.Listener(config, sockets, asked.patience)
    calls = None
    if asked.grpc_port is not None:
        calls = rpc.Server(front, house, asked.host, asked.grpc_port, asked.max_connections)
        await calls.start()
    take_short_turns()
    give_back_large_blocks()
    await until_ended(server, calls, front, house, asked.grace)


def main() -> int:
    asked = options(sys.argv[1:])
    del sys.argv[1:]  # KServe reads them when it is imported.
    lines = Unhurried(os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=[lines])
    logging.getLogger("httpx").setLevel(logging.WARNING)
    os.environ["TENON_DEVICE"] = os.environ.get("TENON_DEVICE") or "cpu"  # What comes and goes are arrays.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # Whose lines are about callers, and wait for the log's reader.
    try:
        import kserve  # noqa: F401
        import uvloop
    except ImportError as missing:
        print(f"tenon serve: {missing}; install it: pip install 'tenon-serving[server]'", file=sys.stderr)
        return 1
    from .server.sources import Unusable

    if asked.token_file is None and not is_loopback(asked.host):
        logging.getLogger("tenon.serving").warning("%s is open to others, without --token-file", asked.host)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(asked))
    except (OSError, Unusable, ValueError) as error:
        print(f"tenon serve: {error}", file=sys.stderr)
        return 1
    finally:
        lines.finish(_LAST_LINES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
