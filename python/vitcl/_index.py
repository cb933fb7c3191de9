"""Indexes: vectors of many pictures in a file, searched and compared."""
from __future__ import annotations

import ctypes as C
import dataclasses
import os
import pathlib
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Union, overload

from . import _c
from ._c import Status
from ._library import (Call, Guard, Handle, Path, VitclValueError, call, encode, error, is_called,
                       library, number, strings, struct, whole)
from ._library import device as open_device
from ._model import Model, opened
from ._plain import plain
from ._progress import Progress, showing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._pictures import Picture

    Floats = npt.NDArray[np.float32]

_FLOATS = C.POINTER(C.c_float)


@dataclasses.dataclass(frozen=True)
class Hit:
    """A row that was found: the picture's path from the current folder, its cosine."""

    path: pathlib.Path
    cosine: float
    row: int


@dataclasses.dataclass(frozen=True)
class IndexInfo:
    """What ``vitcl_index_info`` of vitcl_index.h says."""

    rows: int
    width: int
    feature: str
    normalized: bool
    model: str
    folder: str
    picture_height: int
    picture_width: int
    most_patches: int


@dataclasses.dataclass(frozen=True)
class UpdateInfo:
    """What an update did, in rows: ``rows`` there are now, ``embedded`` of them now;
    ``failed``: pictures that could not be read; ``renamed``: rows that pictures of other
    names took over; ``gone``, ``pruned``: rows that were dropped; ``spared``: none was,
    because not all pictures could be listed."""

    rows: int
    embedded: int
    failed: int
    renamed: int
    gone: int
    pruned: int
    spared: bool


class Index:
    """An index, as update() and `vitcl embed -o FILE.safetensors` write it.

    An open one stays as it was when it was opened.

    Threads may share it. ``close()``, or the end of ``with``, closes its file.
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path)
        name = encode(path)
        self._guard = Guard(call(lambda: Handle("index", "vitcl_index_open", name)))
        made = struct(_c.vitcl_index_info)
        with self._guard.shared() as pointer:
            library().vitcl_index_describe(C.byref(made), pointer)
        self.info: IndexInfo = plain(IndexInfo, made)
        self._rank = int(made.rank)
        self._model: Optional[Model] = None

    @staticmethod
    def update(path: Path, model: Model, pictures: Union[Path, Iterable[Path]], *,
               normalize: bool = False, f16: bool = False, prune: bool = False,
               follow: bool = False, on_error: Optional[Callable[[str], Any]] = None,
               progress: Progress = False) -> UpdateInfo:
        """Makes the index at `path`, or updates it, as `vitcl embed --update` does.

        pictures:  files, and folders, whose pictures are found. New and changed ones are
                   embedded; other rows stay as long as their files exist; prune: as long
                   as they are among the pictures
        normalize: store vectors of length 1; f16: 16 bits for each number
        on_error:  called with a line for each picture that could not be read; None: a path
                   that does not exist raises OSError

        The file is replaced when the new one is complete. After Ctrl-C it has the rows so
        far, and the next call goes on.
        """
        is_called(on_error, "on_error")
        paths = ([pictures] if isinstance(pictures, (str, bytes, os.PathLike))
                 else list(pictures))
        lost = [p for p in paths if on_error is None and not os.path.exists(p)]
        if lost:
            raise error(Status.EIO, f"{os.fsdecode(lost[0])}: no such file or folder")
        named, at, waiting = strings([encode(p) for p in paths]), encode(path), Call()
        if len(named) < 2:
            raise VitclValueError("no pictures")
        session, out = opened(model)._session(True), struct(_c.vitcl_update_info)
        with showing(progress, "pictures") as told:
            line = waiting.callback(lambda said: on_error(os.fsdecode(said))
                                    if on_error is not None else None)

            def report(_context: Any, said: bytes) -> None:
                line(said)

            options = struct(_c.vitcl_index_options, normalize=normalize, f16=f16, prune=prune,
                             follow=follow, report=_c.vitcl_log(report),
                             progress=_c.vitcl_progress(waiting.callback(_calls(told))))

            def work() -> None:
                with session.plan(session.batch) as pointer:
                    library().vitcl_index_update(C.byref(out), at, pointer, named,
                                                 C.byref(options))

            waiting.run(work, finish=True)
        return plain(UpdateInfo, out)  # type: ignore[no-any-return]

    def close(self) -> None:
        self._guard.close()
        if self._model is not None:
            self._model.close()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __len__(self) -> int:
        return self.info.rows

    def __repr__(self) -> str:
        return f"<vitcl.Index {str(self.path)!r}, {len(self)} pictures>"

    def picture(self, row: int) -> pathlib.Path:
        """Where a row's picture is, from the current folder."""
        with self._guard.shared() as pointer:
            return self._picture(pointer, row)

    def _picture(self, pointer: Any, row: int) -> pathlib.Path:
        if whole(row, "a row") >= len(self):
            raise VitclValueError(f"row {row} of {len(self)}")
        made = struct(_c.vitcl_row_info)
        library().vitcl_index_row(C.byref(made), pointer, row)
        return pathlib.Path(os.fsdecode(made.path or b""))

    @property
    def pictures(self) -> list[pathlib.Path]:
        """Where all pictures are, row by row."""
        with self._guard.shared() as pointer:
            return [self._picture(pointer, row) for row in range(len(self))]

    def vectors(self, first: int = 0, n: Optional[int] = None) -> "Floats":
        """Rows from `first` on: float32 [n, width]. NaN: the picture could not be read."""
        import numpy as np

        first = whole(first, "first")
        n = max(len(self) - first, 0) if n is None else whole(n, "n")
        if first + n > len(self):
            raise VitclValueError(f"rows {first} to {first + n} of {len(self)}")
        out = np.empty((n, self.info.width), np.float32)

        def work() -> None:
            with self._guard.shared() as pointer:
                library().vitcl_index_vectors(out.ctypes.data_as(_FLOATS), pointer, first, n)

        if n:
            call(work)
        return out

    # ---- search

    @overload
    def search(self, vectors: "Floats", *, top: int = 10, least: float = -1,
               progress: Progress = False) -> Any: ...

    @overload
    def search(self, *, text: str, model: Optional[Model] = None, top: int = 10,
               least: float = -1, progress: Progress = False) -> list[Hit]: ...

    @overload
    def search(self, *, picture: "Picture", model: Optional[Model] = None, top: int = 10,
               least: float = -1, progress: Progress = False) -> list[Hit]: ...

    def search(self, vectors: Optional["Floats"] = None, *, text: Optional[str] = None,
               picture: Optional["Picture"] = None, model: Optional[Model] = None,
               top: int = 10, least: float = -1, progress: Progress = False) -> Any:
        """The nearest pictures, nearest first: a list of Hit.

        Of a text, a picture, or a vector of float32 [width]; of several vectors, [n,
        width], a list of such lists. model: for texts and pictures; None: the index's own,
        which is opened at the first search and kept. least: the smallest cosine.
        """
        import numpy as np

        if sum(x is not None for x in (vectors, text, picture)) != 1:
            raise TypeError("search() takes vectors, text= or picture=")
        if isinstance(vectors, (str, bytes, os.PathLike)):
            raise TypeError(f"search(text={vectors!r}), or search(picture=...)")
        top, least = whole(top, "top", 1), number(least, "least")
        if vectors is None:
            vectors = self._query(text, picture, model)
        queries = np.ascontiguousarray(vectors, np.float32)
        if queries.ndim not in (1, 2) or queries.shape[-1] != self.info.width:
            raise VitclValueError(f"a query has {self.info.width} numbers, not "
                                  f"{list(queries.shape)}")
        found = self._search(queries.reshape(-1, self.info.width), min(top, max(len(self), 1)),
                             least, progress)
        return found[0] if queries.ndim == 1 else found

    def _query(self, text: Optional[str], picture: Optional["Picture"],
               model: Optional[Model]) -> "Floats":
        if self.info.feature != "pooled" or self.info.most_patches:
            raise error(Status.EUNSUPPORTED, "this index has other vectors than embed()'s: "
                        "search it by vectors")
        model = self._own() if model is None else opened(model)
        with self._guard.shared() as pointer:
            library().vitcl_index_check(pointer, model._loaded.pointer)
        if text is not None:
            return model.embed_text(text)
        assert picture is not None
        return model.embed(picture)

    def _own(self) -> Model:
        if self._model is None:
            size = (self.info.picture_height, self.info.picture_width)
            self._model = Model(self.info.model, size=size if all(size) else None)
        return self._model

    def _search(self, queries: "Floats", top: int, least: float,
                progress: Progress) -> list[list[Hit]]:
        n, waiting = len(queries), Call()
        hits, found = (_c.vitcl_hit * (n * top))(), (C.c_uint32 * n)()
        if not n:
            return []
        with showing(progress, "rows") as told:
            callback = _c.vitcl_progress(waiting.callback(_calls(told)))

            def work() -> None:
                with self._guard.shared() as pointer:
                    library().vitcl_index_search(hits, found, pointer,
                                                 queries.ctypes.data_as(_FLOATS), n, top, least,
                                                 callback, None)

            waiting.run(work)
        return [[Hit(self.picture(h.row), h.cosine, h.row)
                 for h in hits[i * top:i * top + found[i]]] for i in range(n)]

    def dupes(self, least: float = _c.DUPES_LEAST, *, device: Optional[str] = None,
              progress: Progress = False) -> list[list[Hit]]:
        """Groups of near-duplicates: pictures with a cosine of at least `least`, or that
        others connect. In a group, by row, with the cosine to the nearest one of it."""
        least = number(least, "least")
        on, waiting = call(lambda: open_device(device)), Call()
        out = (_c.vitcl_dupe * max(len(self), 1))()
        with showing(progress, "comparing") as told:
            callback = _c.vitcl_progress(waiting.callback(_calls(told)))

            def work() -> None:
                with self._guard.shared() as pointer:
                    library().vitcl_index_dupes(out, pointer, on.pointer, least, callback, None)

            waiting.run(work)
        groups: dict[int, list[Hit]] = {}
        for row in range(len(self)):
            if out[row].state in (_c.RowState.ROW_COMPARED, _c.RowState.ROW_LOST):
                groups.setdefault(out[row].group, []).append(
                    Hit(self.picture(row), out[row].cosine, row))
        return [group for group in groups.values() if len(group) > 1]


def _calls(told: Any) -> Any:
    return lambda _context, done, total: told(done, total) if told is not None else 0
