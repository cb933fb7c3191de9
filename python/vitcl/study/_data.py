"""Folders with a part of the data: as many pictures of each class as possible, evenly
spaced. Records are written as such files again, and of picture files there are links, of a
table's with a table beside them."""
from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _files
from ._frame import FIRST, REST, Experiment, Run
from ._program import StudyError

SIDE, TABLE = 32, "pictures.csv"
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
Bytes = npt.NDArray[np.uint8]


@dataclass
class Listing:
    """The training or test pictures of the data. share: None: all; without test pictures of
    its own, one in five of each class is one, and True are these."""

    kind: str
    note: str
    names: list[str]  # of the classes
    labels: list[int]
    paths: list[str]  # "": not a file
    share: Optional[bool] = None

    def counts(self) -> list[int]:
        """The pictures of each class in this share."""
        out, seen = [0] * len(self.names), [0] * len(self.names)
        for label in self.labels:
            out[label] += self._has(seen[label])
            seen[label] += 1
        return out

    def _has(self, nth: int) -> bool:
        return self.share is None or (nth % 5 == 4) == self.share

    def choose(self, wanted: int, span: range) -> list[int]:
        """So many pictures of these classes; what small classes lack comes from others."""
        count, quota = self.counts(), quotas(self.counts(), wanted, span)
        seen, used, out = [0] * len(count), [0] * len(count), []
        for i, c in enumerate(self.labels):
            if c not in span:
                continue
            seen[c] += 1
            if not self._has(seen[c] - 1):
                continue
            nth = used[c]
            used[c] += 1
            if (nth + 1) * quota[c] // count[c] > nth * quota[c] // count[c]:
                out.append(i)
        return out


def quotas(count: Sequence[int], wanted: int, span: range) -> list[int]:
    """Classes with more than `each` pictures give so many, the first `wanted` of them, when
    it is less than their number, one more, and the others all that they have."""
    each = 0
    while True:
        larger = [count[c] - each for c in span if count[c] > each]
        if not larger or wanted < len(larger):
            break
        step = min(min(larger), wanted // len(larger))
        each, wanted = each + step, wanted - step * len(larger)
    quota = [0] * len(count)
    for c in span:
        more = count[c] > each and wanted > 0
        quota[c], wanted = min(count[c], each) + more, wanted - more
    return quota


def _span(e: Experiment, part: int) -> range:
    first = e.part_classes(FIRST)
    return range(first) if part == FIRST else range(first if part == REST else 0, e.classes)


def _read(e: Experiment) -> list[Listing]:
    words = ["--data", e.data]
    words += ["--follow"] if e.options.follow else []
    for line in e.options.columns.split("\n") if e.options.columns else []:
        key, value = line.split("=", 1)
        words += ["--sep", value] if key == "sep" else ["--column", line]
    fields, out = iter(e.program.ask("@pictures", *words)), []
    for _ in range(2):
        kind, note = next(fields), next(fields)
        names = [next(fields) for _ in range(int(next(fields)))]
        pairs = [(int(next(fields)), next(fields)) for _ in range(int(next(fields)))]
        out.append(Listing(kind, note, names, [p[0] for p in pairs], [p[1] for p in pairs]))
    train, test = out
    if train.paths and test.paths and train.paths[0] and train.paths[0] == test.paths[0]:
        train.share, test.share = False, True
    return out


def look(e: Experiment) -> None:
    """How many pictures and classes the data has."""
    if e.study.drawn:  # as many as anybody trains with
        e.classes, e.all_pictures, e.all_tests, e.kind = 4, 50000, 10000, "drawn"
        return
    train, test = e.listings = _read(e)
    for part in e.listings[:1 if train.share is False else 2]:
        if part.note:
            e.note(part.note)
    e.classes, e.kind = len(train.names), train.kind
    count = train.counts()
    e.all_pictures, e.all_tests = sum(count), sum(test.counts())
    e.rest_pictures = sum(count[c] for c in _span(e, REST))
    if e.classes < 2 or e.all_tests < 1 or e.all_pictures < 5 * e.classes:
        raise StudyError(
            f"{e.data}: a study needs two classes or more, five training pictures of each, and "
            f"test pictures; here are {e.classes} class{'' if e.classes == 1 else 'es'}, "
            f"{e.all_pictures} training and {e.all_tests} test pictures")
    if e.kind == "mnist":
        height, width = (int(v) for v in np.frombuffer(
            (Path(e.data) / record_files("mnist", "train")[0]).read_bytes()[8:16], ">u4"))
        e.side = width // 4 * 4
        if e.side < 8 or width != height:
            e.side = SIDE


def _ends(path: str) -> bytes:
    """A picture's size, first and last bytes: the whole of many takes too long."""
    with open(path, "rb") as f:
        first, size = f.read(4096), f.seek(0, os.SEEK_END)
        f.seek(max(size - 4096, 0))
        return b"%d " % size + first + f.read()


def record_files(kind: str, part: str) -> list[str]:
    """The files of the training or test pictures; none, if they are files themselves."""
    stem = "train" if part == "train" else "t10k"
    return {"mnist": [f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte"],
            "cifar100": [f"{part}.bin"],
            "cifar10": ["test_batch.bin"] if part == "test" else
                       [f"data_batch_{i}.bin" for i in range(1, 6)]}.get(kind, [])


def content(e: Experiment) -> str:
    """A word for the data, the same wherever it is: classes, labels and what is in the files."""
    known = hashlib.sha256()
    try:
        for part in e.listings[:1 if e.listings[0].share is False else 2]:
            known.update(os.fsencode(f"{part.kind} {part.names} {part.labels} {part.share}"))
            for path in filter(None, part.paths):
                known.update(_ends(path))
        for name in record_files(e.kind, "train") + record_files(e.kind, "test"):
            known.update((Path(e.data) / name).read_bytes())
    except OSError as error:
        raise StudyError(f"{error.filename}: {error.strerror}") from None
    return known.hexdigest()


def subset(e: Experiment, run: Run, pictures: int, tests: int) -> Path:
    """A folder in the output with so many training and test pictures of the run's task or
    classes; made if it is not there."""
    made = f"{run.made.name}-" if run.made else ""
    name = f"{made}{pictures}-{tests}{('', '-first', '-rest')[run.part]}"
    folder, whole = e.path("data") / name, e.path("data") / f"{name}.whole"
    _files.folder(e.path("data"))
    if not whole.exists():
        _files.folder(folder)
        try:
            if run.made:
                run.made.write(folder, pictures, tests)
            else:
                _fill(folder, e, _span(e, run.part), pictures, tests)
        except OSError as error:
            raise StudyError(f"{error.filename}: {error.strerror}") from None
        _files.write(whole, "")
    return folder / TABLE if not run.made and e.kind == "table" else folder


def _fill(folder: Path, e: Experiment, span: range, pictures: int, tests: int) -> None:
    train, test = e.listings
    chosen, asked = train.choose(pictures, span), test.choose(tests, span)
    if e.kind == "folders":
        _links(folder, "train", train, chosen)
        _links(folder, "test", test, asked)
    elif e.kind == "table":
        rows = _links(folder, "train", train, chosen) + _links(folder, "test", test, asked)
        _files.write(folder / TABLE, "path,label,split\n" + "".join(rows))
    elif e.kind == "mnist":
        _mnist(folder, Path(e.data), "train", chosen)
        _mnist(folder, Path(e.data), "test", asked)
    else:
        hundred = e.kind == "cifar100"
        _files.write(folder / ("fine_label_names.txt" if hundred else "batches.meta.txt"),
                     "".join(name + "\n" for name in train.names))
        kind = "cifar100" if hundred else "cifar10"
        records = cifar(Path(e.data), kind, "test")[asked]
        _files.write(folder / ("test.bin" if hundred else "test_batch.bin"), records.tobytes())
        write_cifar(folder, cifar(Path(e.data), kind, "train")[chosen])


def cifar(folder: Path, kind: str, part: str) -> Bytes:
    """[pictures, bytes of a record]"""
    labels = 2 if kind == "cifar100" else 1
    records = np.concatenate([np.fromfile(folder / f, np.uint8)
                              for f in record_files(kind, part)])
    records = records.reshape(-1, labels + 3072)
    if labels == 2:
        records[:, 0] = 0  # the coarse label
    return records


def write_cifar(folder: Path, records: Bytes, unit: int = 1) -> None:
    """Training pictures as CIFAR's files; `unit` of them stay together."""
    if records.shape[1] == 3074:
        _files.write(folder / "train.bin", records.tobytes())
        return
    n = len(records) // unit
    for i in range(5):
        part = records[n * i // 5 * unit:n * (i + 1) // 5 * unit]
        _files.write(folder / f"data_batch_{i + 1}.bin", part.tobytes())


def _mnist(to: Path, data: Path, part: str, chosen: Sequence[int]) -> None:
    for name, head in zip(record_files("mnist", part), (16, 8)):
        content = np.fromfile(data / name, np.uint8)
        records = content[head:].reshape(int(content[4:8].view(">u4")[0]), -1)
        count = np.array([len(chosen)], ">u4").tobytes()
        _files.write(to / name, content[:4].tobytes() + count + content[8:head].tobytes() +
                     records[list(chosen)].tobytes())


def _field(text: str, plain: str) -> str:
    """Of a table; a spreadsheet does not take it for a formula."""
    text = (plain if text.startswith(FORMULAS) else "") + text
    return '"%s"' % text.replace('"', '""') if any(c in text for c in ',"\r\n') else text


def _links(folder: Path, split: str, part: Listing, chosen: Sequence[int]) -> list[str]:
    """The rows of a table, whose labels are any text, not fit to be the name of a folder."""
    rows = []
    _files.folder(folder / split)
    for i in chosen:
        name = part.names[part.labels[i]]
        into = folder / split if part.kind == "table" else folder / split / name
        _files.folder(into)
        path = into / f"{i:06d}-{os.path.basename(part.paths[i])}"
        path.unlink(missing_ok=True)
        path.symlink_to(part.paths[i])
        rows.append(f"{_field(str(path.relative_to(folder)), './')},{_field(name, chr(39))},"
                    f"{split}\n")
    return rows


