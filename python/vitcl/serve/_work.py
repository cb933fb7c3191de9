"""A model at work: questions that arrive together are answered in one batch."""
from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import gc
import logging
import os
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Union

from .. import _c
from .._library import library, struct
from .._model import Model

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]


_log = logging.getLogger("vitcl.serve")


@dataclasses.dataclass(frozen=True)
class Kind:
    """What is asked: "classify" (among labels, if there are any), "embed" or "text"."""

    what: str
    labels: Optional[tuple[str, ...]] = None
    prompts: tuple[str, ...] = ()


EMBED, TEXT = Kind("embed"), Kind("text")


@dataclasses.dataclass
class Question:
    """A picture's file or a text, and where its answer goes."""

    kind: Kind
    item: Union[bytes, str]
    top: int = 1
    answer: "Future[Any]" = dataclasses.field(default_factory=Future)


class Worker:
    """A thread with a model: opened when it is asked, dropped when it was idle.

    name:  what clients call the model
    make:  opens it
    idle:  after how many seconds without a question it is dropped; 0: never
    room:  how many questions may wait; further ones wait to be let in
    """

    def __init__(self, name: str, make: Callable[[], Model], *, idle: float = 300,
                 room: int = 256) -> None:
        self.name, self._make, self._idle, self._room = name, make, idle, room
        self.model: Optional[Model] = None
        self.path = ""  # of the model, once it was open
        self.batches = self.answered = 0
        self._waiting: deque[Question] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._doors: Optional[asyncio.Semaphore] = None  # of the loop that asks
        self._thread = threading.Thread(target=self._run, name=f"vitcl-{name}", daemon=True)
        self._thread.start()

    async def ask(self, kind: Kind, items: Sequence[Union[bytes, str]], top: int = 1) -> list[Any]:
        """An answer for each item, in order: Answer, or float32 [features], or the
        VitclError of a picture that cannot be read."""
        if self._doors is None:
            self._doors = asyncio.Semaphore(self._room)
        doors, turns = self._doors, asyncio.Semaphore(64)  # a long list leaves room for others

        async def one(item: Union[bytes, str]) -> Any:
            async with turns, doors:
                question = Question(kind, item, top)
                self.put(question)
                return await asyncio.wrap_future(question.answer)

        tasks = [asyncio.ensure_future(one(item)) for item in items]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:  # the others' answers are for nobody
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    def put(self, question: Question) -> None:
        with self._changed:
            self._waiting.append(question)
            self._changed.notify()

    def load(self) -> Model:
        """Opens the model now: for what it costs, and its errors."""
        question = Question(Kind("load"), "")
        self.put(question)
        model: Model = question.answer.result()
        return model

    def close(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    # ---- the thread

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            if batch:
                self._settle(batch)
            else:
                self._drop()
        self._drop()
        for question in self._waiting:
            question.answer.cancel()

    def _next(self) -> Optional[list[Question]]:
        """The oldest question and all of its kind, as many as a run takes; [] after an
        idle time; None at the end."""
        with self._changed:
            while True:
                idle = self._idle if self._idle and self.model is not None else None
                if not self._changed.wait_for(lambda: self._waiting or self._ended, idle):
                    return []
                if self._ended:
                    return None
                if batch := self._take():
                    return batch

    def _take(self) -> list[Question]:
        kind, most = self._waiting[0].kind, self._most()
        batch: list[Question] = []
        others: deque[Question] = deque()
        for question in self._waiting:
            if question.kind != kind or len(batch) == most:
                others.append(question)
            elif question.answer.set_running_or_notify_cancel():
                batch.append(question)
        self._waiting = others
        return batch

    def _settle(self, batch: list[Question]) -> None:
        try:
            answers = self._answer(batch)
        except BaseException as e:
            if len(batch) > 1:  # one question's fault is not the others'
                for question in batch:
                    self._settle([question])
            else:
                batch[0].answer.set_exception(e)
            return
        self.batches += 1  # first: who has an answer finds it counted
        self.answered += len(batch)
        for question, answer in zip(batch, answers):
            question.answer.set_result(answer)

    def _most(self) -> int:
        model = self.model
        return 1 if model is None else (model._batch or 1) * model._rounds

    def _drop(self) -> None:
        if self.model is None:
            return
        self.model.close()
        self.model = None
        _log.info("%s: dropped", self.name)
        gc.collect()
        try:  # glibc keeps freed memory otherwise
            ctypes.CDLL(None).malloc_trim(0)
        except (OSError, AttributeError):
            pass

    def _answer(self, batch: list[Question]) -> list[Any]:
        if self.model is None:
            self.model = self._make()
            self.path, info = self.model.name, struct(_c.vitcl_device_info)
            library().vitcl_device_describe(ctypes.byref(info), self.model._on.pointer)
            _log.info("%s: on %s", self.name, os.fsdecode(info.name))
        model, kind = self.model, batch[0].kind
        items: list[Any] = [question.item for question in batch]
        if kind.what == "load":
            return [model] * len(batch)
        if kind.what == "text":
            return list(model.embed_text(items))
        session = model._session(True)
        if kind.what == "embed":
            rows = model._rows(session, items, "features", session.features, "none", False)
            return [row.error or _vector(row.numbers) for row in rows]
        if len(model._words) > 64:  # clients' labels
            model._words.clear()
        choose, tensor, count = model._chooser(session, kind.labels, kind.prompts)
        rows = model._rows(session, items, tensor, count, "none", False)
        return [row.error or choose(row, question.top) for row, question in zip(rows, batch)]


def _vector(numbers: Any) -> "Floats":
    import numpy as np

    return np.frombuffer(numbers, np.float32)


def normalized(vectors: "Floats") -> "Floats":
    """Of length 1, with the bits of embed(normalize=True)."""
    import numpy as np

    out: "Floats" = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return out
