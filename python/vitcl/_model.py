"""A model: what pictures show, their vectors, what is inside, and texts."""
from __future__ import annotations

import ctypes as C
import dataclasses
import os
import threading
from collections.abc import Sequence as SequenceABC
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, Literal, Optional, Sequence,
                    Union, overload)

from . import _c, _pictures
from ._c import Status
from ._library import (AnyPrecision, Handle, Path, VitclValueError, array_type, call, closed,
                       encode, error, library, struct, text, whole)
from ._library import device as open_device
from ._library import precision as the_precision
from ._pictures import Row, Session
from ._plain import plain
from ._progress import Progress, showing
from ._texts import Texts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._pictures import Picture

    Floats = npt.NDArray[np.float32]

OnError = Literal["raise", "skip", "none"]


@dataclasses.dataclass(frozen=True)
class Class:
    """A class of a model, and how likely it is.

    ``label``: its short text, such as "n01440764", or its number as a text; ``name``: the
    longest text that the model has, such as "tench, Tinca tinca", else the label;
    ``probability``: 0 to 1, of a regression the number itself; ``index``: from 0.
    """

    label: str
    name: str
    probability: float
    index: int


@dataclasses.dataclass(frozen=True)
class Answer(SequenceABC):  # type: ignore[type-arg]
    """The best classes of a picture, best first; label, name, ... are those of the best.

    ``picture``: as the caller gave it; ``sure``: False where the model knows that its
    answer should not be relied on (docs/answers.md), None where it does not know;
    ``detail``: "finer" or "coarser" where the picture is of another kind than those of the
    training.
    """

    top: tuple[Class, ...]
    picture: Any = dataclasses.field(repr=False, default=None)
    sure: Optional[bool] = None
    detail: Optional[str] = None

    @property
    def label(self) -> str:
        return self.top[0].label

    @property
    def name(self) -> str:
        return self.top[0].name

    @property
    def probability(self) -> float:
        return self.top[0].probability

    @property
    def index(self) -> int:  # type: ignore[override]
        return self.top[0].index

    def __len__(self) -> int:
        return len(self.top)

    def __getitem__(self, at: Any) -> Any:
        return self.top[at]


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    """What ``vitcl_model_info`` of vitcl.h says; sizes in pixels and bytes."""

    family: str
    name: str
    layers: int
    width: int
    heads: int
    mlp: int
    classes: int
    trained_height: int
    trained_width: int
    patch: int
    input_height: int
    input_width: int
    tokens: int
    parameters: int
    gmac: float
    weights_bytes: int
    activation_bytes: int
    rows: int
    columns: int
    channels: int
    on_white: bool


class Model:
    """A model on a device.

    name:      a folder or a file with a checkpoint, "builtin:cifar10", or the name of a
               model in the cache of downloads (``vitcl pull``), such as
               "timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    device:    "0:1", part of a name, "cpu" or "gpu"; None: a GPU if there is one, else
               the processor
    batch:     pictures a run, which needs memory; None: 8 on a processor, 32 on a GPU
    precision: "f32", "bf16", "f16", "half" (the faster of both) or "int8"
    size:      (height, width) in pixels; None: the model's own
    progress:  True shows the preparation (tqdm, where it is installed); or a function
               of (done, total)

    Threads may share a model; their calls take turns. ``copy()`` has the same weights and
    its own memory, so that both can compute at once. After ``close()``, or the end of
    ``with``, every call raises ValueError. In a process that was forked from one with a
    model every call raises RuntimeError.
    """

    def __init__(self, name: Path, *, device: Optional[str] = None,
                 batch: Optional[int] = None, precision: AnyPrecision = "f32",
                 size: Optional[tuple[int, int]] = None, gemm: Optional[str] = None,
                 progress: Progress = False) -> None:
        self._batch = None if batch is None else whole(batch, "batch", 1)
        self._precision, self._size = the_precision(precision), _sides(size)
        self.name = os.fspath(name)
        self._name = encode(name)
        self._device: Optional[Handle] = call(lambda: open_device(device))
        on = self._device
        self._model: Optional[Handle] = call(
            lambda: Handle("model", "vitcl_model_load", on.pointer, self._name))
        self._gemm, self._progress = gemm, progress
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[tuple[str, ...], Session] = {}
        self._texts: Optional[Texts] = None
        self._named: Optional[list[tuple[str, str]]] = None
        self._words: dict[Any, Any] = {}
        info = struct(_c.vitcl_device_info)
        library().vitcl_device_describe(C.byref(info), self._on.pointer)
        self._rounds = 1 if info.type == b"cpu" else 4
        if self._batch is None:
            self._batch = 8 if info.type == b"cpu" else 32

    @classmethod
    def from_pretrained(cls, name: Path, **options: Any) -> "Model":
        """The same as Model(name, ...)."""
        return cls(name, **options)

    def copy(self, *, batch: Optional[int] = None) -> "Model":
        """A model with the same weights and its own memory, for another thread."""
        made = object.__new__(type(self))
        made.name, made._name = self.name, self._name
        made._device, made._model = self._on, self._loaded
        made._precision, made._gemm, made._size = self._precision, self._gemm, self._size
        made._batch = self._batch if batch is None else whole(batch, "batch", 1)
        made._progress = False
        made._begin()
        return made

    # ---- its life

    @property
    def _loaded(self) -> Handle:
        if self._model is None:
            raise closed("model")
        return self._model

    @property
    def _on(self) -> Handle:
        if self._device is None:
            raise closed("model")
        return self._device

    def close(self) -> None:
        """Frees the memory on the device, once no thread's call needs it. Again: nothing."""
        self._model = self._device = None
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()
        texts, self._texts = self._texts, None
        if texts is not None:
            texts.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<vitcl.Model {self.name!r}{' (closed)' if self._model is None else ''}>"

    def _session(self, many: bool, keep: tuple[str, ...] = ()) -> Session:
        model = self._loaded
        model.pointer  # noqa: B018 - an error in a forked process, before the lock
        with self._lock:
            if keep not in self._sessions:
                with showing(self._progress, "preparing") as progress:
                    self._sessions[keep] = Session(
                        model, self._batch or 1, self._precision, self._gemm, self._size, keep,
                        self._rounds, many, progress)
            session = self._sessions[keep]
        if self._model is None:  # meanwhile
            session.close()
            raise closed("model")
        return session

    # ---- what it is

    @property
    def info(self) -> ModelInfo:
        """Its family, sizes and costs."""
        made = struct(_c.vitcl_model_info)
        library().vitcl_model_describe(C.byref(made), self._loaded.pointer, *self._size, 0)
        return plain(ModelInfo, made)  # type: ignore[no-any-return]

    def _classes(self) -> list[tuple[str, str]]:
        if self._named is None:
            loaded, pointer, named = library(), self._loaded.pointer, []
            for i in range(self.info.classes):
                label = loaded.vitcl_class_label(pointer, i)
                name = loaded.vitcl_class_name(pointer, i)
                short = os.fsdecode(label or name or str(i).encode())
                named.append((short, os.fsdecode(name) if name else short))
            self._named = named
        return self._named

    @property
    def labels(self) -> list[str]:
        """The classes' labels; [] without a classifier."""
        return [label for label, _ in self._classes()]

    @property
    def names(self) -> list[str]:
        """The classes' names; [] without a classifier."""
        return [name for _, name in self._classes()]

    # ---- answers about pictures

    @overload  # a str is an iterable of str, too
    def classify(self, pictures: "Picture", top: int = 5, *,  # type: ignore[overload-overlap]
                 labels: Optional[Sequence[str]] = None,
                 prompts: Union[str, Sequence[str]] = ()) -> Answer: ...

    @overload
    def classify(self, pictures: Iterable["Picture"], top: int = 5, *,
                 labels: Optional[Sequence[str]] = None,
                 prompts: Union[str, Sequence[str]] = (),
                 on_error: Literal["raise", "skip"] = "raise",
                 progress: Progress = False) -> list[Answer]: ...

    @overload
    def classify(self, pictures: Iterable["Picture"], top: int = 5, *,
                 labels: Optional[Sequence[str]] = None,
                 prompts: Union[str, Sequence[str]] = (), on_error: OnError,
                 progress: Progress = False) -> list[Optional[Answer]]: ...

    def classify(self, pictures: Any, top: int = 5, *, labels: Optional[Sequence[str]] = None,
                 prompts: Union[str, Sequence[str]] = (), on_error: OnError = "raise",
                 progress: Progress = False) -> Any:
        """What a picture shows, or a list of that for several.

        pictures: a picture is a path, a file's bytes, an open file, a Pillow image, or an
                  array of uint8 [height, width, 3] (4: with opacity; 1 or two dimensions:
                  grey); several are an iterable of these, or an array [n, height, width, 3]
        top:      how many classes; all, if there are fewer
        labels:   instead of the model's classes: any texts, for a model of pictures and
                  texts; prompts: such as "a photo of a {}", where {} is the label
        on_error: for a picture that cannot be read: "raise", "skip" (leave it out), or
                  "none" (None in its place)
        progress: True for tqdm, if it is installed; a function of (done, total); or an
                  object with update(n)

        Raises VitclError (.picture says which), TypeError for what is no picture, and
        ValueError where the model has no classes and no labels are given.
        """
        answers = self._answers(pictures, top, labels, prompts, on_error, progress)
        return next(answers) if _pictures.is_one(pictures) else list(answers)

    @overload
    def stream(self, pictures: Iterable["Picture"], top: int = 5, *,
               labels: Optional[Sequence[str]] = None,
               prompts: Union[str, Sequence[str]] = (),
               on_error: Literal["raise", "skip"] = "raise", ahead: Optional[int] = None,
               progress: Progress = False) -> Iterator[Answer]: ...

    @overload
    def stream(self, pictures: Iterable["Picture"], top: int = 5, *,
               labels: Optional[Sequence[str]] = None,
               prompts: Union[str, Sequence[str]] = (), on_error: OnError,
               ahead: Optional[int] = None,
               progress: Progress = False) -> Iterator[Optional[Answer]]: ...

    def stream(self, pictures: Any, top: int = 5, *, labels: Optional[Sequence[str]] = None,
               prompts: Union[str, Sequence[str]] = (), on_error: OnError = "raise",
               ahead: Optional[int] = None, progress: Progress = False) -> Iterator[Any]:
        """As classify(), but yields the answers one by one, in order.

        Takes `ahead` pictures (None: two batches and 16) from `pictures` in advance, so the
        memory does not grow with their number. With ahead=1, each answer comes before the
        next picture is taken.
        """
        several = (pictures,) if _pictures.is_one(pictures) else pictures
        return self._answers(several, top, labels, prompts, on_error, progress, ahead)

    def _answers(self, pictures: Any, top: int, labels: Optional[Sequence[str]],
                 prompts: Union[str, Sequence[str]], on_error: OnError, progress: Progress,
                 ahead: Optional[int] = None) -> Iterator[Any]:
        top = whole(top, "top", 1)
        ahead = None if ahead is None else whole(ahead, "ahead", 1)
        session = self._session(not _pictures.is_one(pictures))
        chooser, tensor, count = self._chooser(session, labels, prompts)
        for row in self._rows(session, pictures, tensor, count, on_error, progress, ahead):
            yield None if row.error is not None else chooser(row, top)

    def _chooser(self, session: Session, labels: Optional[Sequence[str]],
                 prompts: Union[str, Sequence[str]]
                 ) -> tuple[Callable[[Row, int], Answer], str, int]:
        """What makes answers of rows, of which tensor, and its numbers a picture."""
        if isinstance(labels, str):
            raise TypeError(f"labels are several texts, such as [{labels!r}], not one")
        if labels is not None:
            return self._by_words(session, tuple(labels), prompts), "features", session.features
        if session.classes:
            return self._by_classes(self._loaded, session), "logits", session.classes
        raise error(Status.EUNSUPPORTED, "this model has no classes of its own: give labels, "
                    "if it has words; embed() gives its vectors")

    def _by_classes(self, model: Handle, session: Session) -> Callable[[Row, int], Answer]:
        loaded, named, pointer = library(), self._classes(), model.pointer
        temperature = float(loaded.vitcl_model_temperature(pointer))
        threshold = float(loaded.vitcl_model_threshold(pointer))
        kind = loaded.vitcl_model_answer(pointer)

        def choose(row: Row, top: int) -> Answer:
            numbers = row.numbers
            if temperature != 1:
                numbers = array_type(C.c_float, len(numbers))(*(x / temperature for x in numbers))
            best = _choose(numbers, min(top, len(named)), kind)
            classes = tuple(Class(named[c.label][0], named[c.label][1], c.probability, c.label)
                            for c in best)
            if threshold <= 0 or kind == _c.Answer.NUMBERS:
                return Answer(classes, row.picture)
            detail = {0: None, 1: "finer"}.get(row.detail, "coarser")
            sure = row.detail == 0 and classes[0].probability >= threshold
            return Answer(classes, row.picture, sure, detail)

        return choose

    def _by_words(self, session: Session, labels: tuple[str, ...],
                  prompts: Union[str, Sequence[str]]) -> Callable[[Row, int], Answer]:
        import numpy as np

        if not labels:
            raise VitclValueError("no labels")
        forms = (prompts,) if isinstance(prompts, str) else tuple(prompts)
        texts = self._tower()
        with self._lock:
            if (labels, forms) not in self._words:
                self._words[labels, forms] = texts.labels(labels, forms)
            vectors = self._words[labels, forms]
        info = texts.info
        if vectors.shape[1] != session.features:
            raise error(Status.EUNSUPPORTED, "the towers give vectors of different lengths")

        def choose(row: Row, top: int) -> Answer:
            vector = np.frombuffer(row.numbers, np.float32)
            length = np.float32(np.linalg.norm(vector))
            logits = np.float32(info.logit_scale) * (vectors @ vector / length)
            numbers = array_type(C.c_float, len(labels))(*(logits + np.float32(info.logit_bias)))
            best = _choose(numbers, min(top, len(labels)), info.answer)
            return Answer(tuple(Class(labels[c.label], labels[c.label], c.probability, c.label)
                                for c in best), row.picture)

        return choose

    def _rows(self, session: Session, pictures: Any, tensor: str, numbers: int,
              on_error: OnError, progress: Progress,
              ahead: Optional[int] = None) -> Iterator[Row]:
        """Rows in order; those with an error as on_error says."""
        if on_error not in ("raise", "skip", "none"):
            raise VitclValueError(f'on_error is "raise", "skip" or "none", not {on_error!r}')
        one = _pictures.is_one(pictures)
        total = 1 if one else len(pictures) if hasattr(pictures, "__len__") else 0
        source = iter((pictures,)) if one else _pictures.each(pictures)
        with showing(progress, "pictures", total) as told:
            done = 0
            for row in session.rows(source, tensor, numbers, not one, ahead):
                done += 1
                if told is not None:
                    told(done, total)
                if row.error is not None and (on_error == "raise" or one):
                    raise row.error
                if row.error is None or on_error == "none":
                    yield row

    def _matrix(self, session: Session, pictures: Any, tensor: str, shape: tuple[int, ...],
                on_error: OnError, progress: Progress) -> "Floats":
        """[n, *shape]; of one picture [*shape]. NaN for a picture with an error."""
        import numpy as np

        numbers = 1
        for n in shape:
            numbers *= n
        rows = [np.full(numbers, np.nan, np.float32) if row.error is not None
                else np.frombuffer(row.numbers, np.float32)
                for row in self._rows(session, pictures, tensor, numbers, on_error, progress)]
        if _pictures.is_one(pictures):
            return rows[0].reshape(shape).copy()
        return np.stack(rows).reshape(-1, *shape) if rows else np.empty((0, *shape), np.float32)

    def embed(self, pictures: Union["Picture", Iterable["Picture"]], *, normalize: bool = False,
              on_error: OnError = "raise", progress: Progress = False) -> "Floats":
        """Vectors: float32 [n, features], of one picture [features].

        As the model gives them; normalize: of length 1, so that products are cosines.
        Arguments and errors are those of classify(); with on_error="none", the row of a
        picture that cannot be read is NaN.
        """
        import numpy as np

        session = self._session(not _pictures.is_one(pictures))
        out = self._matrix(session, pictures, "features", (session.features,), on_error, progress)
        if normalize:
            out = out / np.linalg.norm(out, axis=-1, keepdims=True)
        return out

    def logits(self, pictures: Union["Picture", Iterable["Picture"]], *,
               on_error: OnError = "raise", progress: Progress = False) -> "Floats":
        """Logits, not divided by the temperature: float32 [n, classes]; as embed()."""
        session = self._session(not _pictures.is_one(pictures))
        if not session.classes:
            raise error(Status.EUNSUPPORTED, "this model has no classifier; embed() gives its "
                        "vectors")
        return self._matrix(session, pictures, "logits", (session.classes,), on_error, progress)

    def features(self, pictures: Union["Picture", Iterable["Picture"]], tensor: str = "norm", *,
                 on_error: OnError = "raise", progress: Progress = False) -> "Floats":
        """A tensor from inside: float32 [n, ...], of one picture without n.

        tensor: "norm" (all tokens after the last block, [tokens, width]), "embed",
        "block.3" (after the fourth block), "attention.3" ([heads, tokens, tokens]) ...
        The first call for each makes a session of its own, with its own memory on the
        device, kept until close().
        """
        text(tensor, "tensor")
        if any(c in tensor for c in "*?["):
            raise VitclValueError(f"{tensor!r} is a pattern; name one tensor")
        keep = () if tensor in ("features", "logits") else (tensor,)
        session = self._session(not _pictures.is_one(pictures), keep)
        shapes = session.shapes()
        if tensor not in shapes:
            names = ", ".join(self._session(False, ("*",)).shapes())
            for useless in {keep, ("*",)} - {()}:
                with self._lock:
                    gone = self._sessions.pop(useless, None)
                if gone is not None:
                    gone.close()
            raise VitclValueError(f"no tensor {tensor!r}: there are {names}")
        return self._matrix(session, pictures, tensor, shapes[tensor], on_error, progress)

    def run(self, values: "Floats", tensor: str = "logits") -> "Floats":
        """Runs prepared values, float32 [n, 3, height, width], as they are: [n, ...]."""
        import numpy as np

        several = getattr(values, "ndim", 0) == 4 and len(values) > 1
        session = self._session(several)
        wanted = (3, session.height, session.width)
        if getattr(values, "dtype", None) != np.float32 or values.shape[1:] != wanted:
            raise TypeError(f"values are float32 [n, 3, {session.height}, {session.width}]")
        values, shape = np.ascontiguousarray(values), session.shape(tensor)
        out = np.empty((len(values), *shape), np.float32)
        floats = C.POINTER(C.c_float)

        def part(at: int) -> None:
            piece, into = values[at:at + session.batch], out[at:at + session.batch]
            with session.plan(len(piece)) as pointer:
                library().vitcl_session_run_values(pointer, piece.ctypes.data_as(floats),
                                                   len(piece))
                library().vitcl_session_read(into.ctypes.data_as(floats), into.size, pointer,
                                             tensor.encode(), len(piece))

        for at in range(0, len(values), session.batch):
            call(lambda at=at: part(at))  # type: ignore[misc]
        return out

    # ---- texts

    def _tower(self) -> Texts:
        on = self._on
        with self._lock:
            if self._texts is None:
                self._texts = Texts(on, self._name, self._batch or 1, self._precision,
                                    self._gemm)
            texts = self._texts
        if self._model is None:
            texts.close()
            raise closed("model")
        return texts

    @overload
    def embed_text(self, texts: str, *, normalize: bool = False) -> "Floats": ...

    @overload
    def embed_text(self, texts: Iterable[str], *, normalize: bool = False) -> "Floats": ...

    def embed_text(self, texts: Union[str, Iterable[str]], *, normalize: bool = False) -> "Floats":
        """Vectors of texts: float32 [n, features], of one text [features].

        They are compared with embed()'s of pictures. VitclError with status EUNSUPPORTED:
        the model has no text tower, or no tokenizer that is supported.
        """
        import numpy as np

        one = isinstance(texts, str)
        out = self._tower().embed([texts] if isinstance(texts, str) else list(texts))
        if normalize:
            out = out / np.linalg.norm(out, axis=-1, keepdims=True)
        return out[0] if one else out


def _choose(numbers: Any, top: int, kind: int) -> Any:
    best = array_type(_c.vitcl_class, top)()
    library().vitcl_class_choose(best, top, numbers, len(numbers), kind)
    return best


def _sides(size: Optional[tuple[int, int]]) -> tuple[int, int]:
    if size is None:
        return 0, 0
    try:
        height, width = size
    except (TypeError, ValueError):
        raise TypeError(f"size is (height, width), not {size!r}") from None
    return whole(height, "a height", 1), whole(width, "a width", 1)


def opened(model: Any) -> Model:
    """An argument that must be a model, and not its name."""
    if not isinstance(model, Model):
        raise TypeError(f"a model is made by vitcl.Model(), not {model!r}")
    return model
