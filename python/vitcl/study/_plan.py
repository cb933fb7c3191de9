"""What runs cost, and how many pictures and epochs fit into the minutes: of each architecture
a short training is measured, and the rest is arithmetic. study.json keeps this, so that a
study that is started again has the same runs."""
from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Iterator

from . import _data, _files
from ._frame import Experiment, Options, Rate, Run, Study, StudyModel
from ._program import Program, StudyError, last_line

STEPS, EPOCHS_MOST, EPOCHS_LEAST, TESTS = 8, 60, 8, 2000
SIZES = (50000, 20000, 10000, 5000, 2000, 1000, 500)
MEASURING = "a short training to measure its steps"


# ---- the folder ----


@contextlib.contextmanager
def opened(study: Study, options: Options, program: Program) -> Iterator[Experiment]:
    """The experiment in its folder, or in a temporary one that begins with its results."""
    e = Experiment(study, options, program)
    e.minutes = options.minutes or e.minutes
    if not study.measure:
        if not study.drawn:
            e.data = _real(options.data)
        _data.look(e)
        if not study.drawn:
            e.content = _data.content(e)
    with contextlib.ExitStack() as stack:
        if options.dry:
            e.output = Path(stack.enter_context(
                tempfile.TemporaryDirectory(prefix="vitcl-study-")))
            for name in ("study.json", "runs", "files"):  # what a plan only reads
                kept = options.output / name
                if kept.exists():
                    (e.output / name).symlink_to(kept.resolve())
        else:
            _files.folder(e.output)
        _read_state(e)
        e.tries = options.tries or e.tries
        for name in ("runs", "files", "measure"):
            _files.folder(e.path(name))
        yield e


def _real(data: str) -> str:
    try:
        os.stat(data)  # realpath() is strict from Python 3.10 on
        path = os.path.realpath(data)
        path.encode()
    except OSError as error:
        raise StudyError(f"{data}: {error.strerror}") from None
    except UnicodeEncodeError:
        raise StudyError(f"{path}: a study keeps this name in a UTF-8 file, but it is not UTF-8; "
                         "rename it or link to it") from None
    return path


def _read_state(e: Experiment) -> None:
    if not e.path("study.json").exists():
        return
    state, named = _files.load(e.path("study.json")), e.options.output
    study, data = state.get("study", ""), state.get("data", "")
    if "content" not in state:  # of a version that knew data and model by their names
        e.content, e.model_content = e.data, e.options.model
    follow, columns = state.get("follow", False), state.get("columns", "")
    if (study, state.get("content", data)) != (e.study.name, e.content):
        raise StudyError(f'{named}: has a study "{study}" of {data}, or of other pictures than '
                         "are there now; name another folder")
    if data != e.data and not e.options.dry:
        for whole in e.path("data").glob("*.whole"):
            whole.unlink()  # its links lead to where the pictures were
    if follow != e.options.follow:
        raise StudyError(f"{named}: has a study {'with' if follow else 'without'} --follow, of "
                         "other pictures; name another folder")
    if columns != e.options.columns:
        raise StudyError(f"{named}: has a study with other --column or --sep; name another "
                         "folder")
    e.tries = _files.count(state.get("tries"), 1000, e.tries)
    fields = {f.name for f in dataclasses.fields(Rate)}
    e.rates = [Rate(**{name: rate[name] for name in fields}) for rate in state.get("rates", [])
               if fields <= rate.keys()]
    minutes = _files.number(state.get("minutes"), e.minutes)
    if e.options.minutes and e.options.minutes != minutes:
        return  # other minutes: choose again
    e.minutes = minutes
    e.pictures = _files.count(state.get("pictures"), e.all_pictures, 0)
    e.tests = _files.count(state.get("tests"), e.all_tests, 0)
    e.epochs = _files.count(state.get("epochs"), 100000, 0)


def _write_state(e: Experiment) -> None:
    if e.options.dry:
        return
    state = {"study": e.study.name, "data": e.data,
             **({"content": e.content} if e.content != e.data else {}), "follow": e.options.follow,
             **({"columns": e.options.columns} if e.options.columns else {}),
             "minutes": e.minutes, "tries": e.tries, "pictures": e.pictures, "tests": e.tests,
             "epochs": e.epochs, "rates": [dataclasses.asdict(rate) for rate in e.rates]}
    _files.write(e.path("study.json"), json.dumps(state, ensure_ascii=False, indent=1) + "\n")


# ---- the model that the user named ----


def find_model(e: Experiment) -> StudyModel:
    """In timm's form, in a folder that is named by what is in it."""
    made, messages = e.path("measure/model"), e.path("measure/model.messages.txt")
    out = e.path("measure/model.info.json")
    _files.remove(made)
    e.program.run(["convert", "-m", e.options.model, "-o", str(made)], None, messages,
                  "reading the model in timm's format")
    known = hashlib.sha256((made / "config.json").read_bytes())
    with open(made / "model.safetensors", "rb") as f:
        while block := f.read(1 << 20):
            known.update(block)
    e.model_content = e.model_content or known.hexdigest()
    place = made.with_name(f"model-{known.hexdigest()[:10]}")
    if not place.exists():
        made.rename(place)
    config = _files.load(place / "config.json")
    keys = ("architecture", "model_args", "stem_layers", "stem_widths", "stem_block")
    e.program.run(["info", "-m", str(place), "--json"], out, messages, "reading the model")
    info = _files.load(out)
    height, width = (_files.count(info.get(f"trained_{side}"), 1 << 32, 0)
                     for side in ("height", "width"))
    if not 1 <= height <= 4096 or height != width:
        raise StudyError(f"{e.options.model}: was trained at {height}x{width} pixels; a study "
                         "needs a model of square pictures")
    return StudyModel(place, _files.plain_json({k: config[k] for k in keys if k in config}) + "\n",
                      height)


# ---- what a training step takes ----


def _measure(e: Experiment, r: Run) -> tuple[Rate, bool]:
    """Also: was a part of what is fixed for the first training on the device?"""
    pictures, began = min(STEPS * r.batch, e.all_pictures), time.monotonic()
    known = e.rate_id(r)
    stamp = f"measure/{known[:8]}-{1e3 * began:.0f}"
    folder, log, out = e.path(stamp), e.path(stamp + ".log.jsonl"), e.path(stamp + ".info.json")
    messages = e.path(stamp + ".messages.txt")
    config, settings = e.path(stamp + ".config.json"), e.path(stamp + ".settings.json")
    _files.write(config, r.config)
    data = _data.subset(e, r, pictures, min(e.all_tests, 100))
    words = ["train", "--config", config, "--data", data, "--epochs", 1, "--batch",
             min(r.batch, pictures), "-o", folder, "--log", log, "--size", r.size or e.side]
    if r.objective:
        words += ["--objective", r.objective]
    if r.settings:
        _files.write(settings, r.settings)
        words += ["--settings", settings]
    if e.options.device:
        words += ["--device", e.options.device]
    e.program.run([str(word) for word in words], None, messages, MEASURING)
    found = re.search(r'"pictures_per_second": ([0-9.e+-]+)', last_line(log))
    each = float(found[1]) if found else 0
    took = time.monotonic() - began
    train = 1 / each if each > 0 else took / pictures
    e.program.run(["info", "-m", str(folder), "--json"], out, messages, MEASURING)
    info = _files.load(out)
    rate = Rate(known, train, train / 3, max(took - train * pictures, 0.2),  # no backward pass
                _files.number(info.get("gmac"), 0), info.get("parameters", 0))
    return rate, b"(once for this device)" in messages.read_bytes()


def _measure_rates(e: Experiment) -> None:
    for r in list(e.runs):
        if e.rate_of(r):
            continue
        rate, once = _measure(e, r)
        # the first also chose kernels, and others may have compiled some
        if once or not e.rates:
            rate, once = _measure(e, r)
        e.rates.append(rate)


# ---- sizes ----


def _fit(e: Experiment, pictures: int) -> int:
    """The epochs that fit with so many pictures; 0: none. What runs cost is not proportional:
    some have a part of the epochs, in whole numbers, or none."""
    fits, most = 0, EPOCHS_MOST
    while fits < most:
        n = (fits + most + 1) // 2
        e.pictures, e.epochs = pictures, n
        e.list_runs()
        if sum(e.cost(r).seconds for r in e.runs) <= 60 * e.minutes:
            fits = n
        else:
            most = n - 1
    return fits


def _choose(e: Experiment) -> None:
    """As many pictures as possible with enough epochs."""
    given = e.options.pictures
    for size in (given,) if given else SIZES:
        pictures = min(given or max(size, 10 * e.classes), e.all_pictures)
        epochs = _fit(e, pictures)
        if epochs >= EPOCHS_LEAST:
            break
    e.pictures, e.epochs = pictures, max(epochs, 1)


def plan(e: Experiment) -> None:
    """Measures a training step of each architecture, and chooses pictures and epochs."""
    o = e.options
    if e.study.outline:
        e.study.outline(e)
        _write_state(e)
        return
    if o.pictures and o.pictures < 5 * e.classes:
        raise StudyError(f"--pictures must be at least {5 * e.classes}, five per class")
    if o.tests or not e.tests:
        e.tests = min(o.tests or TESTS, e.all_tests)
    epochs = e.epochs
    pictures = min(o.pictures, e.all_pictures) if o.pictures else e.pictures
    # which architectures there are does not depend on the size
    e.pictures, e.epochs = min(pictures or 1000, e.all_pictures), 1
    e.list_runs()
    _measure_rates(e)
    if pictures and (o.epochs or epochs):
        e.pictures, e.epochs = pictures, epochs
    else:
        _choose(e)
    e.epochs = o.epochs or e.epochs
    e.list_runs()
    _write_state(e)
