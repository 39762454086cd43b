"""What the kernel tells of a connection."""

import socket

_ESTABLISHED = 1  # In the first byte of its answer.


def is_established(connection: socket.socket) -> bool:
    """False when the client has hung up, also where nobody reads what it has sent before."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED
