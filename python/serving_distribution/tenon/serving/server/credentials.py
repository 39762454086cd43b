"""Credentials: the token and the certificate of the server, read again when their files have been replaced."""

import logging
import pathlib
import ssl

import grpc

from .listener import check_tls

log = logging.getLogger("tenon.serving")


class Credentials:
    """OSError when what the files hold at the start is of no use; later the old ones stay then."""

    def __init__(self, token: pathlib.Path | None, certificate: pathlib.Path | None, key: pathlib.Path | None) -> None:
        self._token_file, self._certificate, self._key = token, certificate, key
        self.token: str | None = None  #: None: nobody needs one.
        self.tls: tuple[bytes, bytes] | None = None  #: Key and certificates; None: TLS is not spoken.
        self._context: ssl.SSLContext | None = None
        self._seen = self._state()
        self._read()

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

    def renew(self) -> None:
        """Where the files have changed. A pair that does not fit (one of two has been written) is looked at again."""
        state = self._state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._read()
        except (OSError, ValueError) as error:
            log.error("token, certificate and key stay as they were: %s", error)
        else:
            log.info("token, certificate and key are read again")

    def _read(self) -> None:
        token, tls = self.token, self.tls
        if self._token_file is not None:
            token = self._token_file.read_text().strip()
            if not token:
                raise OSError(f"{self._token_file} is empty")
        if self._certificate is not None and self._key is not None:
            check_tls(self._certificate, self._key)
            tls = (self._key.read_bytes(), self._certificate.read_bytes())
            if self._context is not None:
                self._context.load_cert_chain(self._certificate, self._key)
        self.token, self.tls = token, tls

    def _state(self) -> list[tuple[int, ...] | None]:
        return [_identity(path) for path in (self._token_file, self._certificate, self._key) if path is not None]


def _identity(path: pathlib.Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
