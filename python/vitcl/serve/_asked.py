"""What a request asks: its pictures, its texts, its options."""
from __future__ import annotations

import base64
import binascii
import dataclasses
from typing import TYPE_CHECKING, Any, Optional

from starlette.datastructures import UploadFile
from starlette.requests import Request

from ._door import Door, Refused, aside, parsed, plain_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_PICTURES = ("image", "images", "picture", "pictures", "file", "files")
_TEXTS = ("text", "texts")


@dataclasses.dataclass
class Asked:
    """Pictures are the bytes of their files, never names: what a client says names no
    file of the server."""

    pictures: list[bytes] = dataclasses.field(default_factory=list)
    texts: list[str] = dataclasses.field(default_factory=list)
    options: dict[str, list[Any]] = dataclasses.field(default_factory=dict)

    def add(self, name: str, value: Any) -> None:
        if name in _PICTURES:
            self.pictures.append(value if isinstance(value, bytes) else picture(value))
        elif name in _TEXTS:
            self.texts.append(plain_text(value))
        else:
            self.options.setdefault(name, []).append(value)

    def only(self, *names: str) -> None:
        """No options but these."""
        for name in self.options:
            if name not in names:
                raise Refused(400, f"unknown field {name!r}: there are {', '.join(names)}")

    def one(self, name: str) -> Any:
        values = self.options.get(name, [None])
        if len(values) > 1:
            raise Refused(400, f"several values of {name}")
        return values[0]

    def number(self, name: str, default: int, most: int) -> int:
        value = self.one(name)
        if value is None:
            return default
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise Refused(400, f"{name} is a number from 1 to {most}")
        return value

    def flag(self, name: str) -> bool:
        value = self.one(name)
        for flag, forms in ((True, ("true", "1", True)), (False, ("false", "0", False, None))):
            if value in forms:
                return flag
        raise Refused(400, f"{name} is true or false")

    def several(self, *names: str) -> Optional[tuple[str, ...]]:
        """Texts under any of the names; None: there are none."""
        found = [v for name in names for v in self.options.get(name, ())]
        return tuple(plain_text(v, names[0]) for v in found) or None


def picture(value: Any) -> bytes:
    """The bytes of base64, or of a URL that has them (data:). No other URL is opened."""
    if not isinstance(value, str):
        raise Refused(400, "a picture must be a string of base64")
    if value.startswith("data:"):
        head, comma, value = value.partition(",")
        if not comma or not head.endswith(";base64"):
            raise Refused(400, "a data URL must be data:image/...;base64,...")
    elif "://" in value[:32]:
        raise Refused(400, "the server opens no URLs: send the picture, as base64")
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        raise Refused(400, "a picture is no base64") from None


async def asked(door: Door, request: Request, body: bytes) -> Asked:
    """A request as a form, as JSON, or as a picture alone (options are in the query)."""
    found, type_ = Asked(), request.headers.get("content-type", "").split(";")[0].strip().lower()
    for name, value in request.query_params.multi_items():
        found.add(name, value)
    if type_ == "multipart/form-data":
        form = await door.form(request, body)
        try:
            for name, part in form.multi_items():
                found.add(name, await part.read() if isinstance(part, UploadFile) else part)
        finally:
            await form.close()
    elif type_ == "application/json":
        value = await parsed(body)
        if not isinstance(value, dict):
            raise Refused(400, "the JSON is no object")
        await aside(lambda: _read(found, value))
    elif body:
        found.add("image", body)
    n = len(found.pictures) + len(found.texts)
    if n > door.limits.most:
        raise Refused(413, f"a request has at most {door.limits.most} pictures and texts")
    if not all(found.pictures):
        raise Refused(400, "a picture without bytes")
    return found


def _read(found: Asked, value: "dict[str, Any]") -> None:
    for name, given in value.items():
        for one in given if isinstance(given, list) else [given]:
            found.add(name, one)


def numbers(vector: "Floats") -> list[float]:
    """With as few digits as give the same float32 again."""
    return [float(digits) for digits in vector.astype(str)]
