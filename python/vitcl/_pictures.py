"""Pictures of any kind in, rows of numbers out, batch by batch and in order."""
from __future__ import annotations

import ctypes as C
import io
import math
import os
import struct
import sys
import threading
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Union

from . import _c
from ._c import Status
from ._library import (Call, Guard, Handle, VitclError, VitclValueError, array_type, call, closed,
                       encode, error, library, strings, text)
from ._library import struct as make_struct

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL import Image

    #: A path, a file's bytes, an open file, a Pillow image, or an array: uint8 [height,
    #: width, 3] (or 4 with opacity, or 1, or none for grey), rows from the top.
    Picture = Union[str, os.PathLike[str], bytes, bytearray, memoryview, IO[bytes], Image.Image,
                    npt.NDArray[np.uint8]]

_Bytes = C.POINTER(C.c_uint8)
# Pillow's modes whose pixels are taken as they are, or converted. Others go through
# the decoder as PNG: it knows what the model does with opacity, grey and palettes.
_CONVERTED = ("CMYK", "YCbCr", "LAB", "HSV", "RGBX")

_preparers: Optional[ThreadPoolExecutor] = None


def preparers() -> ThreadPoolExecutor:
    global _preparers
    if _preparers is None:
        _preparers = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "vitcl-prepare")
    return _preparers


def _is_pillow(value: Any) -> bool:
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def _is_file(value: Any) -> bool:
    return hasattr(value, "read") and not hasattr(value, "__array__")


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or hasattr(value, "__array_interface__")


def is_one(value: Any) -> bool:
    """One picture, and not several of them?"""
    if isinstance(value, (str, bytes, bytearray, memoryview, os.PathLike)) or _is_pillow(value):
        return True
    if _is_file(value):  # which is an iterable of lines
        return True
    return _is_array(value) and getattr(value, "ndim", 0) in (2, 3)


def each(pictures: Any) -> Iterator[Any]:
    """An iterator over pictures; an array of four dimensions has several."""
    if isinstance(pictures, Iterable):
        return iter(pictures)
    raise TypeError("pictures are paths, bytes, Pillow images, uint8 arrays, or an iterable "
                    f"of these, not {type(pictures).__name__}")


def _png(array: "npt.NDArray[np.uint8]") -> bytes:
    """[height, width, 2 to 4] as a file that the decoder reads."""
    import numpy as np

    height, width, channels = array.shape
    lines = np.zeros((height, 1 + width * channels), np.uint8)
    lines[:, 1:] = array.reshape(height, width * channels)
    head = struct.pack(">IIBBBBB", width, height, 8, {2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    out = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 1)),
                       (b"IEND", b"")):
        out += struct.pack(">I", len(data)) + name + data
        out += struct.pack(">I", zlib.crc32(name + data))
    return out


def _pillow(picture: "Image.Image") -> Any:
    """An array, or the bytes of a PNG file, of a Pillow image; upright."""
    import numpy as np
    from PIL import ImageOps

    picture = ImageOps.exif_transpose(picture)
    if picture.mode in _CONVERTED:
        picture = picture.convert("RGB")
    if picture.mode == "RGB" and "transparency" not in picture.info:
        return np.asarray(picture)
    if picture.mode not in ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA"):
        picture = picture.convert("RGBA" if "A" in picture.mode or "a" in picture.mode else "RGB")
    if picture.mode == "P":  # numbers beyond its colours are black, as in Pillow
        colours = picture.getpalette() or []
        picture = picture.copy()
        picture.putpalette(colours + [0] * (768 - len(colours)))
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=1)
    return out.getvalue()


def _array(value: Any) -> "npt.NDArray[np.uint8]":
    """[height, width, channels] of uint8, rows without gaps; copied only if it must be."""
    import numpy as np

    try:
        array = np.asarray(value)
    except TypeError as e:  # such as a tensor on a GPU, which says what to do
        raise TypeError(f"this {type(value).__name__} is no array of this process: {e}") from None
    if array.ndim == 2:
        array = array[:, :, None]
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] not in (1, 2, 3, 4):
        raise TypeError("an array must be uint8 [height, width, 3] (or 4 with opacity, or 1), "
                        f"not {array.dtype} {list(array.shape)}")
    if 0 in array.shape:
        raise VitclValueError(f"a picture without pixels: {list(array.shape)}")
    return np.ascontiguousarray(array)


def _prepare(session: "Session", array: "npt.NDArray[np.uint8]", slot: Any) -> None:
    """Resizes and crops, as the model says."""
    loaded, height, width = library(), array.shape[0], array.shape[1]
    pixels = array.ctypes.data_as(_Bytes)
    grey, ready = _c.vitcl_image(), _c.vitcl_image()
    image = _c.vitcl_image(width, height, pixels)
    try:
        if array.shape[2] == 1:
            loaded.vitcl_image_new(C.byref(grey), pixels, width, height, 0, _c.Layout.GREY)
            image = grey
        with session.guard.shared() as pointer:
            loaded.vitcl_image_prepare(C.byref(ready), pointer, C.byref(image))
        C.memmove(slot, ready.rgb, session.picture_bytes)
    finally:
        loaded.vitcl_image_free(C.byref(grey))
        loaded.vitcl_image_free(C.byref(ready))


class Row:
    """A picture, and what the model says of it, or the error."""

    __slots__ = ("picture", "numbers", "detail", "error")

    def __init__(self, picture: Any, numbers: Any = None, detail: int = 0,
                 failure: Optional[VitclError] = None) -> None:
        self.picture, self.numbers, self.detail, self.error = picture, numbers, detail, failure


class Session:
    """Plans and memory on the device, for batches of 1, 2, 4 ... up to `batch` pictures.

    A plan computes its whole batch, however few pictures there are; so each is made when
    it is first of use. One thread at a time runs a plan.
    """

    def __init__(self, model: Handle, batch: int, precision: _c.Precision, gemm: Optional[str],
                 size: tuple[int, int], keep: tuple[str, ...], rounds: int, many: bool,
                 progress: Optional[Callable[[int, int], Any]]) -> None:
        self.batch, self.rounds = batch, rounds  # batches a call: a GPU overlaps them
        self._model, self._precision, self._gemm = model, precision, gemm
        self._size, self._keep, self._progress = size, keep, progress
        self._plans: dict[int, Guard] = {}
        self._making = threading.Lock()
        self._lanes: list[Lane] = []
        self.closing = False
        self.guard = self.plan(batch if many else 1)  # for what all plans have in common
        loaded, height, width = library(), C.c_uint32(), C.c_uint32()
        with self.guard.shared() as pointer:
            loaded.vitcl_session_size(C.byref(height), C.byref(width), pointer)
            self.classes = int(loaded.vitcl_session_classes(pointer))
            self.features = int(loaded.vitcl_session_features(pointer))
        self.height, self.width = height.value, width.value
        self.picture_bytes = self.height * self.width * 3
        self._progress = None

    def plan(self, n: int) -> Guard:
        """The smallest one for n pictures."""
        size = min(self.batch, 1 << (n - 1).bit_length())
        with self._making:
            if self.closing:
                raise closed("model")
            if size not in self._plans:
                made = self._plans[size] = Guard(self._new(size))
                if self.closing:  # meanwhile
                    made.close()
            return self._plans[size]

    def _new(self, batch: int) -> Handle:
        waiting, progress = Call(), self._progress
        told = _c.vitcl_progress(waiting.callback(
            lambda _context, done, total: progress and progress(done, total)))
        kept = strings([k.encode() for k in self._keep])
        options = make_struct(
            _c.vitcl_session_options, batch=batch, precision=self._precision,
            height=self._size[0], width=self._size[1],
            gemm=text(self._gemm, "gemm") if self._gemm else None, progress=told,
            keep=C.cast(kept, C.POINTER(C.c_char_p)) if self._keep else None)
        handle = waiting.run(lambda: Handle("session", "vitcl_session_new", self._model.pointer,
                                            C.byref(options)))
        handle.kept = told  # the library keeps it
        return handle

    def close(self) -> None:
        self.closing = True
        for lane in self._lanes:
            lane.close()
        self._lanes.clear()
        for guard in list(self._plans.values()):
            guard.close()

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Of one picture's part of a tensor that can be read."""
        shapes = self.shapes()
        if tensor not in shapes:
            raise VitclValueError(f"no tensor {tensor!r}: there are {', '.join(shapes)}")
        return shapes[tensor]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all that can be read."""
        shapes: dict[str, tuple[int, ...]] = {}
        with self.guard.shared() as pointer:
            for index in range(1 << 16):
                info = make_struct(_c.vitcl_tensor_info)
                try:
                    library().vitcl_session_tensor(C.byref(info), pointer, index)
                except VitclError:
                    break
                shapes[os.fsdecode(info.name)] = tuple(info.shape[1:info.rank])
        return shapes

    def rows(self, pictures: Iterator[Any], tensor: str, numbers: int, many: bool,
             ahead: Optional[int] = None) -> Iterator[Row]:
        """A row for each picture, in order. At most `ahead` are read in advance."""
        lane = self._lanes.pop() if self._lanes else Lane(self)
        try:
            yield from lane.rows(pictures, tensor, numbers, many,
                                 ahead or 2 * self.batch * self.rounds + 16)
        finally:
            if not lane.idle or self.closing:
                lane.close()
            else:
                self._lanes.append(lane)


class Lane:
    """What one stream of pictures through a session needs: decoders and room."""

    def __init__(self, session: Session) -> None:
        self.session = session
        bytes_, room = session.picture_bytes, session.batch * session.rounds
        self.rgb = (C.c_uint8 * (bytes_ * room))()
        self.slots = [(C.c_uint8 * bytes_).from_buffer(self.rgb, i * bytes_)
                      for i in range(room)]
        self.queue: deque[tuple[Any, Callable[[Any], None]]] = deque()
        self.idle = True
        self._loader: Optional[Guard] = None
        self._workers = 0

    def close(self) -> None:
        self.queue.clear()
        if self._loader is not None:
            self._loader.close()

    def loader(self, many: bool) -> Guard:
        if self._loader is None or (many and self._workers == 1):
            self._workers = 0 if many else 1
            with self.session.guard.shared() as session:
                self._loader = Guard(Handle("loader", "vitcl_loader_new", session,
                                            self._workers))
        return self._loader

    def _next(self, slot: Any) -> None:
        assert self._loader is not None
        with self._loader as loader:
            library().vitcl_loader_next(slot, loader)

    def _push(self, picture: Any, many: bool) -> Callable[[Any], None]:
        """Hands over a picture: what is returned waits for its pixels."""
        source = _pillow(picture) if _is_pillow(picture) else picture
        if isinstance(source, (str, os.PathLike)):
            path = encode(source)
            with self.loader(many) as loader:
                library().vitcl_loader_push(loader, path)
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self._push_bytes(bytes(source), many)
        elif _is_file(source):
            self._push_bytes(bytes(source.read()), many)
        elif _is_array(source):
            array = _array(source)
            if array.shape[2] not in (2, 4):
                return self._push_array(array, many)
            self._push_bytes(_png(array), many)
        else:
            raise TypeError("a picture is a path, bytes, a Pillow image or a uint8 array, "
                            f"not {type(picture).__name__}")
        return self._next

    def _push_bytes(self, data: bytes, many: bool) -> None:
        with self.loader(many) as loader:
            library().vitcl_loader_push_bytes(loader, data, len(data), None)

    def _push_array(self, array: "npt.NDArray[np.uint8]", many: bool) -> Callable[[Any], None]:
        session = self.session
        if not many:
            return lambda slot: _prepare(session, array, slot)
        room = array_type(C.c_uint8, session.picture_bytes)()
        made: Future[None] = preparers().submit(_prepare, session, array, room)

        def take(slot: Any) -> None:
            made.result()
            C.memmove(slot, room, session.picture_bytes)

        return take

    def rows(self, pictures: Iterator[Any], tensor: str, numbers: int, many: bool,
             ahead: int) -> Iterator[Row]:
        self.idle, ended = False, False
        name = tensor.encode()
        while True:
            while not ended and len(self.queue) < ahead:
                try:
                    picture = next(pictures)
                except StopIteration:
                    ended = True
                    break
                try:
                    self.queue.append((picture, self._push(picture, many)))
                except VitclError as e:
                    self.queue.append((picture, _failing(e)))
            if not self.queue:
                break
            yield from call(lambda: self._batch(name, numbers))
        self.idle = True

    def _batch(self, name: bytes, numbers: int) -> list[Row]:
        """Runs the next pictures of the queue."""
        session, loaded, rows, n = self.session, library(), [], 0
        good: list[Row] = []
        while self.queue and n < len(self.slots):
            picture, take = self.queue.popleft()
            row = Row(picture)
            rows.append(row)
            try:
                take(self.slots[n])
            except VitclError as e:
                if e.status == Status.ENOMEM:  # not the picture's fault
                    raise
                e.picture, row.error = picture, e
                continue
            good.append(row)
            n += 1
        if not n:
            return rows
        out = array_type(C.c_float, n * numbers)()
        all_ = make_struct(_c.vitcl_pictures, n=n, rgb=C.cast(self.rgb, _Bytes))
        failure: Optional[VitclError] = None
        with session.plan(min(n, session.batch)) as pointer:
            try:
                loaded.vitcl_session_compute(out, numbers, pointer, name, C.byref(all_))
            except VitclError as e:
                failure = e
            for i, row in enumerate(good):
                row.detail = loaded.vitcl_session_detail(pointer, self.slots[i])
        for i, row in enumerate(good):
            row.numbers = array_type(C.c_float, numbers).from_buffer(out, i * numbers * 4)
        if failure is not None:  # of rows that are not finite; the others are answered
            wrong = [row for row in good if not _finite(row.numbers)]
            if failure.status in (Status.ESTOPPED, Status.ENOMEM, Status.EBUSY) or not wrong:
                raise failure
            for row in wrong:
                row.error = error(failure.status, str(failure))
                row.error.picture = row.picture
        return rows


def _finite(numbers: Any) -> bool:
    if len(numbers) <= 4096:
        return math.isfinite(sum(numbers))
    import numpy as np

    return bool(np.isfinite(np.frombuffer(numbers, np.float32)).all())


def _failing(failure: VitclError) -> Callable[[Any], None]:
    def take(_slot: Any) -> None:
        raise failure

    return take
