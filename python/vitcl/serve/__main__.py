"""python -m vitcl.serve: the server."""
from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from typing import Any, Optional

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from ._app import create
    from ._door import Limits
except ImportError as e:
    sys.exit(f"vitcl.serve: {e}: pip install 'vitcl[serve]'")

from .. import VitclError
from .._index import Index

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


class Protocol(H11Protocol):
    """Closes a connection that sends no whole head of a request for 15 to 30 seconds."""

    _seen: Any = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = asyncio.get_running_loop().call_later(15, self._look)

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            if self._seen is self.cycle:  # the same request was the last one before
                self.transport.close()
                return
            self._seen = self.cycle
        self._timer = asyncio.get_running_loop().call_later(15, self._look)


def main(words: Optional[list[str]] = None) -> None:
    given = _arguments(words)
    for name in ("multipart", "python_multipart"):  # malformed forms are the clients' affair
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logger = logging.getLogger("vitcl.serve")
    logger.addHandler(logging.StreamHandler())
    logger.setLevel(logging.INFO)
    models: dict[str, str] = {}
    try:
        for one in given.model or [Index(given.index).info.model]:
            name, equals, path = one.partition("=")
            if not equals or "/" in name:
                path = one
                name = os.path.basename(os.path.abspath(one)) if os.path.exists(one) else one
            models[name] = path
        local = given.host in _LOOPBACK
        app = create(models, index=given.index, upstream=given.upstream,
                     hosts=_LOOPBACK if local else None, idle=given.idle,
                     limits=Limits(largest=given.largest << 20, hold=given.hold),
                     device=given.device, batch=given.batch, precision=given.precision)
    except (VitclError, OSError) as e:
        sys.exit(f"vitcl.serve: {e}")
    uvicorn.run(app, host=given.host, port=given.port, http=Protocol, ws="none",
                log_level="info", access_log=given.verbose, server_header=False,
                timeout_graceful_shutdown=int(given.hold) + 5)


def _arguments(words: Optional[list[str]]) -> Any:
    parser = argparse.ArgumentParser("python -m vitcl.serve", description=(
        "Answers /classify, /embed, /v1/embeddings and Immich's /predict over HTTP; "
        "with --index, a page searches its pictures."), allow_abbrev=False)
    add = parser.add_argument
    add("-m", "--model", action="append", metavar="[NAME=]MODEL",
        help="a folder, a file or a name; NAME is what clients call it, such as "
        "ViT-B-32__openai. Can be repeated; default: the index's")
    add("--index", metavar="FILE", help="the pictures to search, as vitcl embed writes them")
    add("--host", default="127.0.0.1", help="the address to listen at (%(default)s)")
    add("--port", type=int, default=3003, help="(%(default)s)")
    add("--device", help="as vitcl devices lists them")
    add("--batch", type=int, help="pictures a run")
    add("--precision", default="f32", help="(%(default)s)")
    add("--idle", type=float, default=300, metavar="S",
        help="drop a model after S seconds without a request; 0: never (%(default)s)")
    add("--hold", type=float, default=30, metavar="S",
        help="refuse a request after S seconds without an answer (%(default)s)")
    add("--largest", type=int, default=64, metavar="MIB",
        help="the largest request (%(default)s)")
    add("--upstream", metavar="URL", help="an Immich service for faces and texts in pictures")
    add("--verbose", action="store_true", help="log each request")
    given = parser.parse_args(words)
    if not given.model and not given.index:
        parser.error("give -m MODEL or --index FILE")
    if given.upstream and not given.upstream.startswith(("http://", "https://")):
        parser.error("--upstream is a URL of http or https")
    if min(given.idle, given.hold - 1, given.largest - 1) < 0:
        parser.error("--idle, --hold and --largest are too small")
    return given


if __name__ == "__main__":
    main()
