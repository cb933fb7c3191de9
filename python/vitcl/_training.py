"""Training, fine-tuning and evaluation."""
from __future__ import annotations

import ctypes as C
import dataclasses
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Union

from . import _c
from ._library import (AnyPrecision, Call, Guard, Handle, Path, VitclError, VitclValueError, call,
                       encode, is_called, library, strings, struct, text)
from ._library import device as open_device
from ._library import precision as the_precision
from ._model import Model, opened
from ._plain import plain
from ._progress import Progress, showing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclasses.dataclass(frozen=True)
class TrainEvent:
    """A step of a training, as ``vitcl_train_event`` of vitcl_train.h says.

    ``scored``: the held-out pictures were scored, at the end of an epoch; ``saved``: a
    checkpoint was written; ``best``: this epoch is the best so far.
    """

    step: int
    steps: int
    epoch: int
    epochs: int
    pictures: int
    loss: float
    accuracy: float
    lr: float
    scored: bool
    held_out_loss: float
    held_out_accuracy: float
    held_out_top5: float
    saved: bool
    epoch_loss: float
    epoch_accuracy: float
    best: bool
    best_accuracy: float
    best_loss: float
    best_epoch: int
    early: bool
    left_out: int
    grad_norm: float


@dataclasses.dataclass(frozen=True)
class Scores:
    """What evaluate() found: shares from 0 to 1 of the pictures that could be decoded.

    ``average_precision`` and ``squared_error`` are for models of any number of classes and
    of numbers. ``calibration_error``: the expected one of 15 bins (arXiv 1706.04599), or NaN.
    ``confusion``: counts [the data's classes, the model's classes], or None.
    """

    pictures: int
    failed: int
    top1: float
    top5: float
    ranked_classes: int
    average_precision: float
    squared_error: float
    calibration_error: float
    confusion: Optional["npt.NDArray[np.uint32]"] = dataclasses.field(default=None, compare=False)


OnStep = Callable[[TrainEvent], Any]


def _run(output: Path, start: Mapping[str, bytes], device: Optional[str], on_step: Optional[OnStep],
         on_note: Optional[Callable[[str], Any]], progress: Progress,
         freeze: Union[str, Iterable[str]], settings: Union[Mapping[str, Any], Path, None],
         precision: AnyPrecision, options: Mapping[str, Any]) -> TrainEvent:
    frozen = [freeze] if isinstance(freeze, str) else freeze
    waiting, kept = Call(), strings([text(f, "a pattern") for f in frozen])
    is_called(on_step, "on_step")
    is_called(on_note, "on_note")
    on = call(lambda: open_device(device))
    values: dict[str, Any] = dict(start)
    for name, value in options.items():
        if value is not None:
            values[name] = (encode(value) if name in ("data", "val") else
                            text(value, name) if isinstance(value, str) else
                            int(value) if isinstance(value, bool) else value)
    if isinstance(settings, Mapping):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "settings.json")
            file.write_text(json.dumps(dict(settings)))
            try:
                return _run(output, start, device, on_step, on_note, progress, freeze, file,
                            precision, options)
            except VitclError as e:
                e.args = (str(e).replace(str(file), "settings"),)
                raise
    if settings is not None:
        values["settings"] = encode(settings)
    if len(kept) > 1:
        values["freeze"] = C.cast(kept, C.POINTER(C.c_char_p))
    with showing(progress, "training") as told:

        def report(_context: Any, event: Any) -> Any:
            made = plain(TrainEvent, event.contents)
            if told is not None and told(made.step, made.steps):
                return True
            return on_step(made) if on_step is not None else None

        def note(_context: Any, line: bytes) -> None:
            noted(line)

        noted = waiting.callback(lambda line: on_note(line.decode("utf-8", "replace"))
                                 if on_note is not None else None)
        called = (_c.vitcl_train_report(waiting.callback(report)), _c.vitcl_log(note),
                  _c.vitcl_progress(waiting.callback(lambda *_: None)))
        made = struct(_c.vitcl_train_options, output=encode(output),
                      precision=the_precision(precision), note=called[1],
                      checking=called[2], **values)
        last = struct(_c.vitcl_train_event)

        def work() -> None:
            library().vitcl_train(C.byref(last), on.pointer, C.byref(made), called[0], None)

        waiting.run(work, finish=True)  # Ctrl-C: once the step is saved
    return plain(TrainEvent, last)  # type: ignore[no-any-return]


def _found(name: bytes) -> bytes:
    """The path of a checkpoint in the cache of downloads."""
    out = C.create_string_buffer(1 << 14)
    library().vitcl_model_find(out, len(out), name)
    return out.value


def finetune(model: Union[Path, Model], data: Path, output: Path, *, epochs: int = 0, batch: int = 0,
             lr: float = 0, hold_out: int = 0, val: Optional[Path] = None, patience: int = 0,
             augment: Optional[str] = None, split: Optional[str] = None, random_state: int = 0,
             micro: int = 0, height: int = 0, width: int = 0, resume: bool = False,
             strict: bool = False, freeze: Union[str, Iterable[str]] = (),
             settings: Union[Mapping[str, Any], Path, None] = None,
             precision: AnyPrecision = "f32", columns: Optional[str] = None,
             checkpoint_steps: int = 0, workers: int = 0, slices: int = 0,
             pixels: Optional[str] = None, follow: bool = False, layer_decay: float = 0,
             lora: int = 0, device: Optional[str] = None, on_step: Optional[OnStep] = None,
             on_note: Optional[Callable[[str], Any]] = None,
             progress: Progress = False) -> TrainEvent:
    """Trains a checkpoint on your own classes, and writes a model to the folder `output`.

    model:    as for Model(), or a Model
    data:     a folder of class folders, or with train/ and test/ of such; a table
              FILE.csv; or the files of CIFAR or MNIST
    output:   a new folder: Model(output) loads it; resume=True goes on with it
    epochs:   0: 1, or those of the training to resume; batch: 0: 64
    lr:       the peak; 0: that of the settings' optimizer. layer_decay: that of each layer
              by that of the next; 0: 1
    lora:     the rank of LoRA on the blocks' layers; only it and the head train; 0: none
    hold_out: training pictures set aside and scored after each epoch; or val: others
    settings: such as {"optimizer": "adamw", "mixup": 0.2}, or a JSON file of them
    on_step:  called with a TrainEvent after each step; a true result saves a checkpoint
              and ends the training. So do Ctrl-C and what it raises, which is raised then
    on_note:  called with lines for people, such as which pictures are left out
    progress: True for tqdm

    The rest is as in ``vitcl_train_options`` of vitcl_train.h and in docs/training.md.
    Returns the last step's event: .step < .steps if it was ended.
    """
    options = dict(data=data, epochs=epochs, batch=batch, lr=lr, hold_out=hold_out, val=val,
                   patience=patience, augment=augment, split=split, random_state=random_state,
                   micro=micro, height=height, width=width, resume=resume, strict=strict,
                   columns=columns, checkpoint_steps=checkpoint_steps, workers=workers,
                   slices=slices, pixels=pixels, follow=follow, layer_decay=layer_decay,
                   lora=lora)
    start = {} if resume else {"model": _found(model._name if isinstance(model, Model) else encode(model))}
    return _run(output, start, device, on_step, on_note, progress, freeze, settings, precision,
                options)


def train(preset: Path, data: Path, output: Path, *, epochs: int = 0, batch: int = 0,
          lr: float = 0, objective: Optional[str] = None, hold_out: int = 0,
          val: Optional[Path] = None, patience: int = 0, augment: Optional[str] = None,
          split: Optional[str] = None, random_state: int = 0, micro: int = 0, height: int = 0,
          width: int = 0, resume: bool = False, strict: bool = False,
          settings: Union[Mapping[str, Any], Path, None] = None,
          precision: AnyPrecision = "f32", columns: Optional[str] = None,
          checkpoint_steps: int = 0, workers: int = 0, slices: int = 0, follow: bool = False,
          layer_decay: float = 0, device: Optional[str] = None,
          on_step: Optional[OnStep] = None, on_note: Optional[Callable[[str], Any]] = None,
          progress: Progress = False) -> TrainEvent:
    """Trains a model from scratch; as finetune().

    preset:    such as "vit-ti/16", or a config.json in timm's format
    objective: "classes" (None), or "masked-patch": without labels
    """
    options = dict(data=data, epochs=epochs, batch=batch, lr=lr, objective=objective,
                   hold_out=hold_out, val=val, patience=patience, augment=augment, split=split,
                   random_state=random_state, micro=micro, height=height, width=width,
                   resume=resume, strict=strict, columns=columns,
                   checkpoint_steps=checkpoint_steps, workers=workers, slices=slices,
                   follow=follow, layer_decay=layer_decay)
    name = encode(preset)
    start = {} if resume else {"config" if name.endswith(b".json") else "preset": name}
    return _run(output, start, device, on_step, on_note, progress, (), settings, precision,
                options)


def evaluate(model: Model, data: Path, *, split: Optional[str] = None,
             columns: Optional[str] = None, confusion: bool = False,
             progress: Progress = False) -> Scores:
    """Classifies all pictures of a data set, as for finetune(), and scores the answers."""
    import numpy as np

    options = struct(_c.vitcl_dataset_options, split=text(split) if split else None,
                     columns=text(columns) if columns else None)
    path, waiting = encode(data), Call()
    session, made, counts = opened(model)._session(True), struct(_c.vitcl_scores), None
    guard = Guard(call(lambda: Handle("dataset", "vitcl_dataset_open", path, C.byref(options))))
    with guard.shared() as dataset:
        classes = int(library().vitcl_dataset_classes(dataset))
    if confusion:
        counts = np.zeros((classes, session.classes), np.uint32)
    with showing(progress, "pictures") as told:
        callback = _c.vitcl_progress(waiting.callback(
            lambda _context, done, total: told(done, total) if told is not None else 0))
        out = counts.ctypes.data_as(C.POINTER(C.c_uint32)) if counts is not None else None

        def work() -> None:
            with guard.shared() as dataset, session.plan(session.batch) as pointer:
                library().vitcl_evaluate(C.byref(made), out, pointer, dataset, callback, None)

        waiting.run(work)
    guard.close()
    values = {f.name: getattr(made, f.name) for f in dataclasses.fields(Scores)
              if f.name != "confusion"}
    return Scores(**values, confusion=counts)


def convert(path: Path, output: Path, to: str, dtype: Optional[str] = None) -> None:
    """Writes a checkpoint to the folder `output` with the names and configs of another
    library: to="timm" or "hf". dtype: "f32", "f16", "bf16", or None for the stored one. A
    model that is in the folder stays: ValueError."""
    if os.path.exists(os.path.join(os.fsencode(output), b"model.safetensors")):
        raise VitclValueError(f"{os.fsdecode(output)}: a model exists already; name another folder")
    names = encode(output), encode(path), text(to), text(dtype) if dtype else None
    call(lambda: library().vitcl_convert(*names))
