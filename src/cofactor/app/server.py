"""The socket, the address with its token, and the end."""

from __future__ import annotations

import gc
import ipaddress
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from cofactor.app.routes import make_app
from cofactor.app.security import Guard, Keys
from cofactor.app.session import Session
from cofactor.io.errors import InputError

FIRST_PORT, PORTS = 8765, 20
SWITCH = 0.001
"""Seconds after which a fit gives way to an answer; an answer passes through several threads."""


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def open_socket(host: str, port: int | None) -> socket.socket:
    """Listen at an address; without a port, at the first free one of a few, or else at any."""
    if host in ("0.0.0.0", "::", ""):
        raise InputError(
            f"--host {host!r} stands for all addresses of this machine; name one of them, because "
            "requests must name the address that they came to."
        )
    ports = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + PORTS), 0]
    for number in ports:
        # asyncio sends the parts of an answer at once only if the socket says that it is TCP
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            return listening
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
    raise InputError(f"Port {ports[-1]} of {host} cannot be used: {reason}; name another --port.")


def guarded(session: Session, host: str, port: int) -> tuple[ASGIApp, Keys]:
    """Return the web application with its guard, and the keys of this start."""
    keys = Keys.make(host, port)
    return Guard(make_app(session), keys), keys


def address(host: str, port: int, keys: Keys) -> str:
    """Return the address to open, which holds the token."""
    return f"http://{host}:{port}/?token={keys.token}"


def serve(
    session: Session, listening: socket.socket, host: str, ready: Callable[[str], None]
) -> None:
    """Answer requests until Ctrl-C; ``ready`` is called with the address once that begins."""
    port = listening.getsockname()[1]
    app, keys = guarded(session, host, port)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    server = _Server(config, lambda: ready(address(host, port, keys)))
    usual = sys.getswitchinterval()
    gc.freeze()  # collections pass over what is here to stay, so no answer waits for them
    sys.setswitchinterval(SWITCH)
    try:
        server.run(sockets=[listening])
    finally:
        session.close()
        sys.setswitchinterval(usual)
        gc.unfreeze()


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._ready()
