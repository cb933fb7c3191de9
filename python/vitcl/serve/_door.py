"""What comes in at the door: limits, bodies, refusals."""
from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from typing import Any, AsyncIterator, Awaitable, Callable, MutableMapping, Optional, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")
Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]],
                Callable[[Message], Awaitable[None]]], Awaitable[None]]


class Refused(Exception):
    """A request that gets no answer: the status, and why in one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status, self.line = status, " ".join(line.split())


@dataclasses.dataclass(frozen=True)
class Limits:
    """largest: bytes of a request; held: of all requests at a time; most: pictures and
    texts of a request; room: of all that wait for a model; patience: seconds in which a
    request must have come; hold: seconds in which it must be answered."""

    largest: int = 64 << 20
    held: int = 512 << 20
    most: int = 2048
    room: int = 256
    patience: float = 60
    hold: float = 30


class Door:
    """Reads bodies, within the limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._held = 0

    @contextlib.asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """The body; it counts as held until the end of the block."""
        chunks: list[bytes] = []
        taken = 0

        async def read() -> None:
            nonlocal taken
            async for chunk in request.stream():
                if taken + len(chunk) > self.limits.largest:
                    raise self._too_large()
                if self._held + len(chunk) > self.limits.held:
                    raise Refused(503, "the server holds as many bytes of requests as it may")
                taken += len(chunk)
                self._held += len(chunk)
                chunks.append(chunk)

        try:
            length = request.headers.get("content-length", "0")
            if length.isascii() and length.isdigit() and int(length[:20]) > self.limits.largest:
                raise self._too_large()
            try:
                await asyncio.wait_for(read(), self.limits.patience)
            except asyncio.TimeoutError:
                raise Refused(408, f"the request did not come within {self.limits.patience:g} "
                              "seconds") from None
            except ClientDisconnect:
                raise Refused(400, "the client is gone") from None
            whole = b"".join(chunks)
            chunks.clear()
            yield whole
        finally:
            self._held -= taken

    def _too_large(self) -> Refused:
        return Refused(413, f"a request has at most {self.limits.largest >> 20} MiB")

    async def held(self, answer: Awaitable[T]) -> T:
        """The answer, if it comes in time."""
        try:
            return await asyncio.wait_for(answer, self.limits.hold)
        except asyncio.TimeoutError:
            raise Refused(503, f"no answer within {self.limits.hold:g} seconds: the server is "
                          "busy") from None

    async def form(self, request: Request, body: bytes) -> FormData:
        """The parts of a body of type multipart/form-data."""
        at = 0

        async def receive() -> Message:
            nonlocal at
            piece, at = body[at:at + (1 << 18)], at + (1 << 18)
            await asyncio.sleep(0)  # others have a turn
            return {"type": "http.request", "body": piece, "more_body": at < len(body)}

        try:
            return await Request(request.scope, receive).form(
                max_files=self.limits.most, max_fields=self.limits.most)
        except Exception as e:  # of several classes, by the version
            raise Refused(400, f"no multipart form: {getattr(e, 'detail', '') or e}") from None


async def aside(work: Callable[[], T]) -> T:
    """work(), which may take a while, and does not hold up other requests."""
    return await asyncio.get_running_loop().run_in_executor(None, work)


async def parsed(body: bytes) -> Any:
    """The JSON of a body."""
    try:
        return await aside(lambda: json.loads(body))
    except (ValueError, RecursionError):
        raise Refused(400, "the body is no JSON") from None


def plain_text(value: Any, what: str = "a text") -> str:
    """A text that models take."""
    if not isinstance(value, str):
        raise Refused(400, f"{what} must be a string")
    if len(value) > 1 << 16:
        raise Refused(413, f"{what} has at most 65,536 characters")
    try:
        if b"\0" not in value.encode():
            return value
    except UnicodeEncodeError:
        pass
    raise Refused(400, f"{what} has characters that are none")


_HEADERS = [
    (b"content-security-policy",
     b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guarded:
    """An app that answers no page of another site: neither one whose name leads here
    (`hosts`: those by which the server may be called; None: all), nor one that sends
    requests here."""

    def __init__(self, app: App, hosts: Optional[frozenset[str]] = None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]],
                       send: Callable[[Message], Awaitable[None]]) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        refusal = self._refusal({k: v.decode("latin-1") for k, v in scope["headers"]})
        if refusal is None:
            await self.app(scope, receive, guarded)
            return
        body = json.dumps({"error": refusal}).encode()
        await guarded({"type": "http.response.start", "status": 403, "headers": [
            (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, headers: dict[bytes, str]) -> Optional[str]:
        host = headers.get(b"host", "")
        if self.hosts is not None and _name(host) not in self.hosts:
            return "this server is not called by that name"
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return "a page of another site may not ask this server"
        return None


def _name(host: str) -> str:
    """Without a port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
