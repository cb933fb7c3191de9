"""Immich's service of machine learning: smart search here, the rest elsewhere."""
from __future__ import annotations

import asyncio
import json
import struct
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Optional

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ._asked import numbers
from ._door import Refused, aside, plain_text
from ._service import Service
from ._thumbnails import decoded
from ._work import EMBED, TEXT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]


class Immich:
    """upstream: the URL of a service that answers about faces and texts in pictures."""

    def __init__(self, service: Service, upstream: Optional[str] = None) -> None:
        self.service, self.upstream = service, upstream
        self._callers = ThreadPoolExecutor(8, "vitcl-upstream")

    def routes(self) -> list[Route]:
        return [Route("/ping", self.ping), Route("/predict", self.predict, methods=["POST"])]

    async def ping(self, _request: Request) -> Response:
        return PlainTextResponse("pong")

    async def predict(self, request: Request) -> Response:
        service = self.service
        async with service.door.body(request) as body:
            form = await service.door.form(request, body)
            try:
                entries = _entries(form.get("entries"))
                if "clip" not in entries:
                    return await self._forward(request, body)
                return await self._clip(entries, form)
            finally:
                await form.close()

    async def _clip(self, entries: "dict[str, Any]", form: FormData) -> Response:
        if len(entries) > 1 or len(entries["clip"]) != 1:
            raise Refused(400, "a request has one task")
        (what, entry), = entries["clip"].items()
        if what not in ("visual", "textual"):
            raise Refused(400, f"clip has no task {what[:50]!r}")
        if not isinstance(entry, dict) or not isinstance(entry.get("modelName"), str):
            raise Refused(422, "Invalid request format.")
        worker = self.service.worker(entry["modelName"].split("/")[-1].replace(":", "_"))
        image, text = form.get("image"), form.get("text")
        if image is None and text is None:
            raise Refused(400, "Either image or text must be provided")
        if what == "textual":
            if text is None:
                raise Refused(400, "textual needs a text")
            words = " ".join(plain_text(text).split())
            vector, = await self.service.vectors(worker, TEXT, [words], True)
            return JSONResponse({"clip": _written(vector)})
        if not isinstance(image, UploadFile):
            raise Refused(400, "visual needs an image, as a file")
        data = await image.read()
        vector, = await self.service.vectors(worker, EMBED, [data], True)
        width, height = await aside(lambda: size(data))
        return JSONResponse({"clip": _written(vector), "imageHeight": height,
                             "imageWidth": width})

    async def _forward(self, request: Request, body: bytes) -> Response:
        if self.upstream is None:
            raise Refused(501, "this server answers clip only: --upstream names one for the rest")
        there = urllib.request.Request(
            self.upstream.rstrip("/") + "/predict", body, method="POST",
            headers={"content-type": request.headers["content-type"]})

        def call() -> "tuple[int, bytes, str]":
            try:
                with _opener.open(there, timeout=300) as answer:
                    return answer.status, answer.read(), answer.headers.get("content-type", "")
            except urllib.error.HTTPError as e:
                return e.code, e.read(), e.headers.get("content-type", "")

        try:
            loop = asyncio.get_running_loop()
            status, answer, type_ = await loop.run_in_executor(self._callers, call)
        except OSError as e:
            raise Refused(502, f"the upstream server does not answer: {e}") from None
        return Response(answer, status, media_type=type_ or None)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_Stay, urllib.request.ProxyHandler({}))


def _entries(given: Any) -> "dict[str, Any]":
    if not isinstance(given, str):
        raise Refused(422, "entries must be given, as a text")
    try:
        entries = json.loads(given)
    except (ValueError, RecursionError):
        entries = None
    if (not isinstance(entries, dict) or not entries
            or not all(isinstance(v, dict) for v in entries.values())):
        raise Refused(422, "Invalid request format.")
    return entries


def _written(vector: "Floats") -> str:
    """Immich hands this on to its database: a text that has an array."""
    return json.dumps(numbers(vector), separators=(",", ":"))


def size(data: bytes) -> "tuple[int, int]":
    """(width, height) of a picture as the file has it, not turned."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    at = 2
    while data[:2] == b"\xff\xd8" and at + 9 <= len(data) and data[at] == 0xff:
        marker = data[at + 1]
        if 0xc0 <= marker <= 0xcf and marker not in (0xc4, 0xc8, 0xcc):
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return width, height
        at += 1 if marker == 0xff else 2 + int.from_bytes(data[at + 2:at + 4], "big")
    array = decoded(data)
    return array.shape[1], array.shape[0]
