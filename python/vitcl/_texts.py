"""The text tower of a model of pictures and texts."""
from __future__ import annotations

import ctypes as C
import os
from typing import TYPE_CHECKING, Any, Optional, Sequence

from . import _c
from ._library import Call, Guard, Handle, call, library, strings, struct, text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_Floats = C.POINTER(C.c_float)


class Texts:
    def __init__(self, on: Handle, name: bytes, batch: int, precision: _c.Precision,
                 gemm: Optional[str]) -> None:
        options = struct(_c.vitcl_text_options, batch=batch, precision=precision,
                         gemm=text(gemm, "gemm") if gemm else None)
        handle = call(lambda: Handle("text", "vitcl_text_new", on.pointer, name,
                                     C.byref(options)))
        self.info = struct(_c.vitcl_text_info)
        library().vitcl_text_describe(C.byref(self.info), handle.pointer)
        self.batch = batch
        self.guard = Guard(handle)

    def close(self) -> None:
        self.guard.close()

    def embed(self, texts: Sequence[str]) -> "npt.NDArray[np.float32]":
        """[n, features]"""
        import numpy as np

        encoded = [text(t) for t in texts]
        out = np.empty((len(encoded), self.info.features), np.float32)

        def part(at: int) -> None:
            piece = encoded[at:at + self.batch]
            with self.guard as pointer:
                library().vitcl_text_embed(out[at:].ctypes.data_as(_Floats), pointer,
                                           strings(piece), len(piece))

        for at in range(0, len(encoded), self.batch):
            call(lambda at=at: part(at))  # type: ignore[misc]
        return out

    def labels(self, labels: Sequence[str],
               prompts: Sequence[str]) -> "npt.NDArray[np.float32]":
        """[n, features] of length 1: the mean over the prompts."""
        import numpy as np

        out = np.empty((len(labels), self.info.features), np.float32)
        encoded, waiting = [text(label, "label") for label in labels], Call()
        forms = strings([text(p, "prompt") for p in prompts]) if prompts else None
        told = _c.vitcl_progress(waiting.callback(lambda *_: None))

        def work() -> None:
            with self.guard as pointer:
                library().vitcl_text_labels(out.ctypes.data_as(_Floats), pointer,
                                            strings(encoded), len(encoded), forms, told, None)

        waiting.run(work)
        return out
