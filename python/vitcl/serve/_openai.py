"""/v1/embeddings, as OpenAI's clients ask it; a picture is accepted in four forms."""
from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Union

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ._asked import numbers, picture
from ._door import Refused, aside, parsed, plain_text
from ._service import Service
from ._work import EMBED, TEXT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]


class OpenAI:
    def __init__(self, service: Service) -> None:
        self.service = service

    def routes(self) -> list[Route]:
        return [Route("/v1/embeddings", self.embeddings, methods=["POST"])]

    async def embeddings(self, request: Request) -> Response:
        """Vectors of length 1, as OpenAI's are."""
        service = self.service
        async with service.door.body(request) as body:
            wanted = await parsed(body)
            if not isinstance(wanted, dict):
                raise Refused(400, "the JSON is no object")
            if not isinstance(wanted.get("model"), str):
                raise Refused(400, "model must be a string")
            worker = service.worker(wanted["model"])
            form = wanted.get("encoding_format") or "float"
            if form not in ("float", "base64"):
                raise Refused(400, "encoding_format is float or base64")
            items = await aside(lambda: _items(wanted))
            if len(items) > service.door.limits.most:
                raise Refused(413, f"at most {service.door.limits.most} inputs")
            vectors: "dict[int, Floats]" = {}
            for kind, type_ in ((EMBED, bytes), (TEXT, str)):
                at = [i for i, item in enumerate(items) if isinstance(item, type_)]
                found = await service.vectors(worker, kind, [items[i] for i in at], True)
                vectors.update(zip(at, found))
        width = wanted.get("dimensions")
        if width is not None and width != len(vectors[0]):
            raise Refused(400, f"this model's vectors have {len(vectors[0])} dimensions")
        return await aside(lambda: JSONResponse({
            "object": "list", "model": worker.name,
            "data": [{"object": "embedding", "index": i, "embedding": _written(vectors[i], form)}
                     for i in range(len(items))],
            "usage": {"prompt_tokens": 0, "total_tokens": 0}}))  # nobody counts them


def _written(vector: "Floats", form: str) -> Any:
    if form == "float":
        return numbers(vector)
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _items(wanted: "dict[str, Any]") -> "list[Union[bytes, str]]":
    """What is to be embedded: bytes of pictures, and texts."""
    if "messages" in wanted:  # vLLM's form: one conversation, one input
        messages = wanted["messages"]
        if not isinstance(messages, list) or len(messages) != 1:
            raise Refused(400, "messages must have one message")
        return [_part(messages[0])]
    given = wanted.get("input")
    inputs = given if isinstance(given, list) else [given]
    if given is None or not inputs:
        raise Refused(400, "input must be a text, a picture, or a list of them")
    modality = wanted.get("modality", "text")
    if modality not in ("text", "image"):
        raise Refused(400, "modality is text or image")
    return [picture(one) if modality == "image" else _part(one) for one in inputs]


def _part(one: Any) -> "Union[bytes, str]":
    if isinstance(one, str):
        return picture(one) if one.startswith("data:image/") else plain_text(one, "input")
    if isinstance(one, (int, list)):
        raise Refused(400, "input must be texts: tokens are another model's numbers")
    if isinstance(one, dict):
        content = one.get("content")
        if isinstance(content, list):
            if len(content) != 1:
                raise Refused(400, "content must have one part: a text or a picture")
            return _part(content[0])
        if isinstance(content, str):
            return _part(content)
        if isinstance(one.get("image_url"), dict):
            return picture(one["image_url"].get("url"))
        if "image" in one:
            return picture(one["image"])
        if "text" in one:
            return plain_text(one["text"], "input")
    raise Refused(400, "input must be a text, a picture, or a list of them")
