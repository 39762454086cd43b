"""Credentials: the token and the certificate of the server, read again when their files have been replaced."""

import contextlib
import logging
import os
import pathlib
import ssl
from collections.abc import Iterator

import grpc

from .aside import Aside, Unanswered

log = logging.getLogger("tenon.serving")
Pair = tuple[bytes, bytes]  #: A key, and its certificates.
_FILES = "the place of token, certificate and key"


class Credentials:
    """OSError when what the files hold at the start is of no use; later the old ones stay then."""

    def __init__(self, token: pathlib.Path | None, certificate: pathlib.Path | None, key: pathlib.Path | None) -> None:
        self._token_file, self._certificate, self._key = token, certificate, key
        self.token: str | None = None  #: None: nobody needs one.
        self.tls: Pair | None = None  #: None: TLS is not spoken.
        self._context: ssl.SSLContext | None = None
        self._files = Aside()
        self._seen = self._state()
        self._take(*self._read())

    def use(self, context: ssl.SSLContext | None) -> None:
        """New connections over this context are greeted with the certificate at hand."""
        self._context = context

    def for_calls(self) -> grpc.ServerCredentials:
        """Those of gRPC, which asks for each new connection."""
        given = self.tls

        def newer() -> grpc.ServerCertificateConfiguration | None:
            nonlocal given
            if self.tls is given or self.tls is None:
                return None
            given = self.tls
            return grpc.ssl_server_certificate_configuration([given])

        assert given is not None
        return grpc.dynamic_ssl_server_credentials(grpc.ssl_server_certificate_configuration([given]), newer)

    async def renew(self) -> None:
        """Where the files have changed. A pair that does not fit (one of two has been written) is looked at again."""
        try:
            state = await self._files.ask(_FILES, self._state)
        except OSError:
            return  # It does not answer.
        if state == self._seen:
            return
        try:
            self._take(*await self._files.ask(_FILES, self._read))
        except Unanswered:
            return
        except (OSError, ValueError) as error:
            log.error("token, certificate and key stay as they were: %s", error)
        else:
            log.info("token, certificate and key are read again")
        self._seen = state

    def _read(self) -> tuple[str | None, Pair | None]:
        token = None
        if self._token_file is not None:
            token = self._token_file.read_text().strip()
            if not token:
                raise OSError(f"{self._token_file} is empty")
        if self._certificate is None or self._key is None:
            return token, None
        with self._named():
            return token, (self._key.read_bytes(), self._certificate.read_bytes())

    def _take(self, token: str | None, tls: Pair | None) -> None:
        """The context is that of connections that are greeted now: it is changed by the event loop alone."""
        if tls is not None:
            with self._named():
                _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), tls)
            if self._context is not None:
                _load(self._context, tls)
        self.token, self.tls = token, tls

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            files = f"--tls-cert {self._certificate} with --tls-key {self._key}"
            raise OSError(f"{files}: {error.strerror or error}") from None

    def _state(self) -> list[tuple[int, ...] | None]:
        return [_identity(path) for path in (self._token_file, self._certificate, self._key) if path is not None]


def _load(context: ssl.SSLContext, tls: Pair) -> None:
    """From memory: `ssl` knows files only."""

    def passphrase() -> str:  # Which would be asked for at the terminal.
        raise OSError("the key is encrypted, and a server has nobody to ask for its passphrase")

    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(os.fdopen(os.memfd_create("tls", os.MFD_CLOEXEC), "wb")) for _ in tls]
        for file, data in zip(files, tls, strict=True):
            file.write(data)
            file.flush()
        key, certificates = (f"/proc/self/fd/{file.fileno()}" for file in files)
        context.load_cert_chain(certificates, key, passphrase)


def _identity(path: pathlib.Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
