"""The page that searches one's own pictures: those of an index, and no other file."""
from __future__ import annotations

import asyncio
import ctypes as C
import os
import pathlib
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Optional, TypeVar

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from .. import _c
from .._index import Index
from .._library import VitclError, library, struct
from ._asked import asked
from ._door import Refused
from ._service import Service
from ._thumbnails import thumbnail
from ._work import EMBED, TEXT, Worker

T = TypeVar("T")
_HERE = pathlib.Path(__file__).parent
_LARGEST = 256 << 20
_KEPT = {"cache-control": "private, max-age=86400"}
# How files begin that a browser may get: (at, bytes, type).
_TYPES = ((0, b"\xff\xd8\xff", "image/jpeg"), (0, b"\x89PNG\r\n\x1a\n", "image/png"),
          (0, b"GIF8", "image/gif"), (8, b"WEBP", "image/webp"), (0, b"BM", "image/bmp"),
          (0, b"II*\0", "image/tiff"), (0, b"MM\0*", "image/tiff"),
          (4, b"ftypavif", "image/avif"), (4, b"ftyp", "image/heic"))


class Album:
    """An index, opened anew when its file was replaced by a good one.

    A picture is named by its row, and by the version of the index that has that row.
    """

    def __init__(self, service: Service, path: str, worker: Worker) -> None:
        self.service, self.worker, self.path = service, worker, path
        self._lock = threading.Lock()
        self._index: Optional[Index] = None
        self._version = ""
        self._hands = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "vitcl-album")
        self.open()

    def open(self) -> "tuple[Index, str]":
        """The index, and its version."""
        with self._lock:
            try:
                self._renew()
            except (VitclError, OSError):
                if self._index is None:
                    raise
            assert self._index is not None
            return self._index, self._version

    def _renew(self) -> None:
        now = os.stat(self.path)
        version = f"{now.st_mtime_ns:x}-{now.st_size:x}"
        if version == self._version:
            return
        index = Index(self.path)
        if index.info.feature != "pooled" or index.info.most_patches:
            raise VitclError("this index has other vectors than embed()'s",
                             _c.Status.EUNSUPPORTED)
        with index._guard.shared() as pointer:
            model = self.worker.load()._loaded
            library().vitcl_index_check(pointer, model.pointer)
        self._index, self._version = index, version

    def routes(self) -> "list[Route]":
        return [Route("/", self._file("page.html", "text/html")),
                Route("/page.css", self._file("page.css", "text/css")),
                Route("/page.js", self._file("page.js", "text/javascript")),
                Route("/album", self.about), Route("/search", self.search, methods=["POST"]),
                Route("/thumbnails/{version}/{row:int}", self.thumbnail),
                Route("/pictures/{version}/{row:int}", self.picture)]

    @staticmethod
    def _file(name: str, type_: str) -> "Callable[[Request], Any]":
        async def send(_request: Request) -> Response:
            return FileResponse(_HERE / name, media_type=type_,
                                headers={"cache-control": "no-cache"})

        return send

    async def _do(self, work: "Callable[[], T]") -> T:
        loop = asyncio.get_running_loop()
        return await self.service.door.held(loop.run_in_executor(self._hands, work))

    async def about(self, _request: Request) -> Response:
        """What there is, and the first pictures of it."""
        index, version = await self._do(self.open)
        first = [{"row": row, "name": index.picture(row).name}
                 for row in range(min(len(index), 60))]
        return JSONResponse({"version": version, "pictures": len(index), "hits": first,
                             "name": pathlib.Path(self.path).stem, "model": self.worker.name})

    # ---- search

    async def search(self, request: Request) -> Response:
        """By a text, a picture, or a row of a version; the nearest first."""
        async with self.service.door.body(request) as body:
            wanted = await asked(self.service.door, request, body)
            wanted.only("top", "row", "version")
            row, top = wanted.one("row"), wanted.number("top", 60, 1000)
            if len(wanted.pictures) + len(wanted.texts) + (row is not None) != 1:
                raise Refused(400, "/search takes a text, a picture or a row")
            if row is not None:
                query, own = await self._do(lambda: self._vector(wanted.one("version"), row)), row
            else:
                kind, own = (TEXT if wanted.texts else EMBED), None
                query, = await self.service.answers(self.worker, kind,
                                                    wanted.texts or wanted.pictures)
        try:
            return JSONResponse(await self._do(lambda: self._search(query, top, own)))
        except ValueError as e:  # a vector of zeros
            raise Refused(422, str(e)) from None

    def _vector(self, version: Any, row: Any) -> Any:
        index = self._of(version, row)
        return index.vectors(row, 1)[0]

    def _search(self, query: Any, top: int, own: Optional[int]) -> "dict[str, Any]":
        index, version = self.open()
        hits = index.search(query, top=top + (own is not None))
        found = [{"row": hit.row, "name": hit.path.name, "cosine": round(hit.cosine, 4)}
                 for hit in hits if hit.row != own]
        return {"version": version, "hits": found[:top]}

    # ---- files

    async def thumbnail(self, request: Request) -> Response:
        def work() -> "tuple[bytes, str]":
            data = self._bytes(request)
            try:
                return thumbnail(data)
            except VitclError as e:
                raise Refused(422, str(e)) from None

        small, type_ = await self._do(work)
        return Response(small, media_type=type_, headers=_KEPT)

    async def picture(self, request: Request) -> Response:
        def work() -> "tuple[bytes, str]":
            data = self._bytes(request)
            for at, start, type_ in _TYPES:
                if data[at:at + len(start)] == start:
                    return data, type_
            return data, ""

        data, type_ = await self._do(work)
        if not type_:
            raise Refused(415, "a picture that browsers do not show")
        return Response(data, media_type=type_, headers=_KEPT)

    def _of(self, version: Any, row: Any) -> Index:
        index, now = self.open()
        if version != now:
            raise Refused(404, "the index has been replaced: search again")
        if not isinstance(row, int) or not 0 <= row < len(index):
            raise Refused(404, "no such picture")
        return index

    def _bytes(self, request: Request) -> bytes:
        """Of a row's file, if it is the one that was embedded."""
        row = request.path_params["row"]
        index = self._of(request.path_params["version"], row)
        made = struct(_c.vitcl_row_info)
        with index._guard.shared() as pointer:
            library().vitcl_index_row(C.byref(made), pointer, row)
            path, bytes_, changed = made.path, made.bytes, made.changed_ns
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        if bytes_ < 0:  # nothing says that it is: not by a link, then
            flags |= os.O_NOFOLLOW
        try:
            file = os.fdopen(os.open(path, flags), "rb")
        except OSError:
            raise Refused(404, "the picture's file cannot be opened") from None
        with file:
            now = os.fstat(file.fileno())
            same = bytes_ < 0 or (now.st_size, now.st_mtime_ns) == (bytes_, changed)
            if not stat.S_ISREG(now.st_mode) or not same or now.st_size > _LARGEST:
                raise Refused(404, "the picture's file has changed since it was embedded")
            return file.read(_LARGEST)
