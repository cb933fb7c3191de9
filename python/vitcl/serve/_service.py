"""The server's models, and what its own endpoints answer."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .._c import Status
from .._library import VitclError
from ._asked import Asked, asked, numbers
from ._door import Door, Limits, Refused, aside
from ._work import EMBED, TEXT, Kind, Worker, normalized

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]


class Service:
    """What the endpoints share.

    workers: the models, of which the first one answers where a request names none
    """

    def __init__(self, workers: Sequence[Worker], limits: Limits = Limits()) -> None:
        self.workers, self.door = list(workers), Door(limits)

    def worker(self, name: Any) -> Worker:
        """The model that a client means."""
        if name is None:
            return self.workers[0]
        for worker in self.workers:
            if worker.name == name:
                return worker
        raise Refused(404, f"no model {str(name)[:200]!r}: there are "
                      + ", ".join(repr(worker.name) for worker in self.workers))

    async def answers(self, worker: Worker, kind: Kind, items: Sequence[Any],
                      top: int = 1) -> list[Any]:
        """Of each picture or text; a picture that cannot be read refuses the request."""
        try:
            found = await self.door.held(worker.ask(kind, items, top))
        except VitclError as e:
            if e.status == Status.EUNSUPPORTED:
                raise Refused(400, str(e).replace(worker.path, worker.name)) from None
            raise
        for i, answer in enumerate(found):
            if isinstance(answer, VitclError):
                if answer.status in (Status.ENOMEM, Status.ENODEVICE, Status.EDEVICE):
                    raise answer
                which = "the picture" if len(items) == 1 else f"picture {i + 1} of {len(items)}"
                why = str(answer).removeprefix("picture: ")
                raise Refused(422, f"{which} cannot be read: {why}")
        return found

    async def vectors(self, worker: Worker, kind: Kind, items: Sequence[Any],
                      normalize: bool) -> "list[Floats]":
        found = await self.answers(worker, kind, items)
        return [normalized(v) for v in found] if normalize else found

    # ---- endpoints

    async def classify(self, request: Request) -> Response:
        async with self.door.body(request) as body:
            wanted = await asked(self.door, request, body)
            wanted.only("model", "top", "label", "labels", "prompt", "prompts")
            if wanted.texts or not wanted.pictures:
                raise Refused(400, "/classify takes pictures")
            worker, top = self.worker(wanted.one("model")), wanted.number("top", 5, 1000)
            answers = await self.answers(worker, _kind(wanted), wanted.pictures, top)
        return JSONResponse({"model": worker.name, "answers": [
            {"sure": a.sure, "detail": a.detail, "classes": [
                {"label": c.label, "name": c.name, "index": c.index,
                 "probability": c.probability} for c in a]} for a in answers]})

    async def embed(self, request: Request) -> Response:
        async with self.door.body(request) as body:
            wanted = await asked(self.door, request, body)
            wanted.only("model", "normalize")
            if not wanted.pictures and not wanted.texts:
                raise Refused(400, "/embed takes pictures and texts")
            worker, normalize = self.worker(wanted.one("model")), wanted.flag("normalize")
            pictures = await self.vectors(worker, EMBED, wanted.pictures, normalize)
            texts = await self.vectors(worker, TEXT, wanted.texts, normalize)
        return await aside(lambda: JSONResponse({
            "model": worker.name, "images": [numbers(v) for v in pictures],
            "texts": [numbers(v) for v in texts]}))

    async def hello(self, _request: Request) -> Response:
        return JSONResponse({"message": "vitcl"})

    async def models(self, _request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [
            {"id": w.name, "object": "model", "created": 0, "owned_by": "vitcl",
             "loaded": w.model is not None} for w in self.workers]})

    def routes(self) -> list[Route]:
        return [Route("/classify", self.classify, methods=["POST"]),
                Route("/embed", self.embed, methods=["POST"]),
                Route("/models", self.models), Route("/v1/models", self.models)]


def _kind(wanted: Asked) -> Kind:
    labels = wanted.several("label", "labels")
    prompts = wanted.several("prompt", "prompts") or ()
    if labels is None:
        if prompts:
            raise Refused(400, "prompts are for labels")
        return Kind("classify")
    if len(labels) * max(len(prompts), 1) > 1024:
        raise Refused(413, "labels and prompts make at most 1,024 texts")
    return Kind("classify", labels, prompts)


def application(service: Service, routes: Iterable[Route]) -> Starlette:
    """The app of these routes, which closes the models at its end."""

    @contextlib.asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        for worker in service.workers:
            worker.close()

    return Starlette(routes=list(routes), lifespan=life, exception_handlers={
        Refused: _refused, HTTPException: _http, Exception: _failed})


def error(request: Request, status: int, line: str) -> Response:
    """An error as the clients of this endpoint read it."""
    path = request.url.path
    headers = {"retry-after": "5"} if status == 503 else None
    if path.startswith("/v1/"):
        kind = "invalid_request_error" if status < 500 else "server_error"
        code = "model_not_found" if status == 404 else None
        return JSONResponse({"error": {"message": line, "type": kind, "param": None,
                                       "code": code}}, status, headers)
    return JSONResponse({"detail" if path == "/predict" else "error": line}, status, headers)


async def _refused(request: Request, e: Exception) -> Response:
    assert isinstance(e, Refused)
    return error(request, e.status, e.line)


async def _http(request: Request, e: Exception) -> Response:
    assert isinstance(e, HTTPException)
    return error(request, e.status_code, " ".join(str(e.detail).split()))


async def _failed(request: Request, _e: Exception) -> Response:
    return error(request, 500, "the server failed; its log says why")
