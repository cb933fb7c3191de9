"""The frame of all studies.

A study lists its runs, and makes a table, a figure and a sentence of their results. The
frame does the rest: parts of the data, the trainings, which are the program itself, what
they cost, resuming, files.

list() is called again whenever runs have ended, and must add the same runs each time, and
more when it knows more: first a sweep of learning rates, then the runs with the best. A run
is known by all that it depends on, so a run that has a result is not repeated.
"""
from __future__ import annotations

import dataclasses
import hashlib
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Optional, Sequence

from . import _files, _terminal
from ._program import Program, StudyError

if TYPE_CHECKING:
    from ._data import Listing

RUNS_MOST = 256
HELD_OUT, TEST, NO_SCORE = range(3)  # held-out training pictures, to choose by; a start
ALL, FIRST, REST = range(3)  # of the classes: the first three fifths, or the others
LEAST_PARTED = 4  # classes: two and two


@dataclass(frozen=True)
class Made:
    """A task whose pictures are drawn here; write(folder, pictures, tests) rounds up to
    whole groups."""

    name: str  # of its folder
    write: Callable[[Path, int, int], None]


@dataclass
class Run:
    """One training. 0, "" and None are the value of the comment."""

    arm: str  # what it is compared as
    config: str  # timm's config.json of what is trained or, with `start`, of that model
    name: str = ""  # unique in its study; letters, digits, - and .
    settings: str = ""  # JSON of --settings
    start: str = ""  # fine-tunes the run of this name; "": from scratch
    model: bool = False  # fine-tunes the study's model instead
    untrained: bool = False  # only scores what it begins with, by shots
    freeze: str = ""  # parameters that are not trained: all but the head
    part: int = ALL  # of the classes, also of the test pictures
    # Makes the folder of the first path from that run's folder, to be fine-tuned instead.
    # What it does must follow from the run's name.
    prepare: Optional[Callable[[Path, Path, Run], None]] = None
    objective: str = ""  # classes
    augment: str = ""  # light or crop
    lr: float = 0  # not known yet; the run waits
    layer_decay: float = 0  # 1
    pictures: int = 0  # the study's
    epochs: int = 0  # the study's
    batch: int = 0  # 64
    size: int = 0  # pixels; the config's
    state: int = 0  # the random state: the number of the try
    made: Optional[Made] = None  # the task that it learns instead
    score: int = TEST
    shots: Sequence[int] = ()  # few-shot tests of its features, at most four

    # set by Experiment.add():
    precision: str = ""  # f32
    id: str = ""  # its name and what it depends on
    waits: bool = False  # for another run
    done: bool = False  # what follows is known
    accuracy: float = math.nan  # as `score` says
    shot_mean: Sequence[float] = ()
    shot_sd: Sequence[float] = ()
    seconds: float = 0  # of training and scoring, the last time


@dataclass(frozen=True)
class Result:
    """A line of the table of results."""

    arm: str
    x: float = math.nan
    mean: float = math.nan
    sd: float = math.nan
    tries: int = 0
    paper: float = math.nan
    plain: bool = False  # in the table, not in the figure

    def doubt(self) -> float:
        """The variance of the mean; of one run nothing is known."""
        return self.sd * self.sd / self.tries if self.tries > 1 else math.inf


def above(a: Result, b: Result) -> bool:
    """By more than chance: more than twice the deviation of the difference?"""
    return a.mean - b.mean > 2 * math.sqrt(a.doubt() + b.doubt())


def mean_of(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the sample deviation; NaN where there is none."""
    n = len(values)
    mean = sum(values) / n if n else math.nan
    sd = math.sqrt(sum((v - mean) * (v - mean) for v in values) / (n - 1)) if n > 1 else math.nan
    return mean, sd


@dataclass
class Sheet:
    """A table of a study's own, in place of results."""

    file: str
    caption: str
    head: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Study:
    name: str
    paper: str  # "Table 8", "appendix D.3"
    what: str  # one sentence for the list of studies
    x: str  # axes of the figure, and heads of the table
    y: str
    note: str  # how the paper did it, for the report
    read: Callable[[Experiment], None]
    list: Optional[Callable[[Experiment], None]] = None
    # Of a study that trains nothing and needs no data, in place of list(): adds a table of
    # what will be measured, and then measures it.
    outline: Optional[Callable[[Experiment], None]] = None
    measure: Optional[Callable[[Experiment], None]] = None
    model: bool = False  # takes a checkpoint: -m
    drawn: bool = False  # all runs have made tasks: no --data


@dataclass(frozen=True)
class Options:
    output: Path
    data: str = ""
    device: str = ""
    model: str = ""
    precision: str = ""  # f32
    columns: str = ""  # of a table
    minutes: float = 0  # those of the folder, else 12
    tries: int = 0  # 3
    jobs: int = 1
    pictures: int = 0  # these: what fits into the minutes
    epochs: int = 0
    tests: int = 0
    follow: bool = False
    dry: bool = False  # the output folder is only read
    draws: bool = False  # the program draws what is predicted


@dataclass
class Rate:
    """What a training step of one architecture was measured to take."""

    id: str  # of config, size, batch and objective
    train: float  # seconds a picture
    score: float
    fixed: float  # seconds a process
    gmac: float
    parameters: int


@dataclass(frozen=True)
class Cost:
    flop: float = 0  # multiply-accumulates count as two
    seconds: float = 0


@dataclass(frozen=True)
class StudyModel:
    """The checkpoint that the user named."""

    path: Path  # a folder in timm's form
    config: str  # its architecture, for a run
    side: int  # pixels that it was trained at


@dataclass(frozen=True)
class Vit:
    width: int = 64
    depth: int = 4
    heads: int = 4
    mlp: int = 128
    patch: int = 4


class Experiment:
    """A study at work in its folder."""

    def __init__(self, study: Study, options: Options, program: Program) -> None:
        self.study, self.options, self.program = study, options, program
        self.output = options.output  # of a dry run, a temporary one
        # of the data:
        self.data = ""  # its real path
        # What runs know data and model by. In a folder of an older version: their names.
        self.content, self.model_content = "", ""
        self.kind = ""
        self.side = 32  # of pictures, in pixels
        self.classes = self.all_pictures = self.all_tests = 0
        self.rest_pictures = 0  # for training, of REST
        self.listings: list[Listing] = []  # its pictures, for training and for tests
        # chosen by the plan:
        self.pictures = self.tests = self.epochs = 0
        self.tries, self.minutes = 3, 12.0
        self.rates: list[Rate] = []
        self._model: Optional[StudyModel] = None
        self.runs: list[Run] = []
        self._loaded: dict[str, Run] = {}
        # of the report:
        self.results: list[Result] = []
        self.points: list[tuple[str, float, float]] = []  # of the figure: arm, x, y
        self.sheets: list[Sheet] = []
        self.verdict = ""

    # ---- for list() ----

    def part_classes(self, part: int) -> int:
        """Of four classes two and two."""
        first = 3 * self.classes // 5
        return self.classes if part == ALL else first if part == FIRST else self.classes - first

    def part_pictures(self, part: int) -> int:
        """For training: its share of the study's pictures, or all that it has."""
        share = self.pictures * self.part_classes(part) // self.classes
        every = (self.all_pictures if part == ALL else self.rest_pictures if part == REST
                 else self.all_pictures - self.rest_pictures)
        return min(share, every)

    def model(self) -> Optional[StudyModel]:
        if self.options.model and not self._model:
            from ._plan import find_model
            self._model = find_model(self)
        return self._model

    def vit(self, more: str = "", size: Vit = Vit()) -> str:
        """The config of a ViT as studies train it. `more`: more members of model_args, such
        as ', "pos_embed": "none"', which also replace those."""
        return ('{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": %d, '
                '"patch_size": %d, "embed_dim": %d, "depth": %d, "num_heads": %d, '
                '"mlp_ratio": %.9g%s}}\n' % (self.side, size.patch, size.width, size.depth,
                                             size.heads, size.mlp / size.width, more))

    def add(self, run: Run) -> Run:
        """Adds a copy; it has done and, if so, the scores."""
        start = self.named(run.start) if run.start else None
        name = self.study.name
        if len(self.runs) == RUNS_MOST:
            raise StudyError(f"study {name}: these are more than {RUNS_MOST} runs; give fewer "
                             "--tries")
        good = run.name.isascii() and run.name.replace("-", "").replace(".", "").isalnum()
        if not good or run.name[0] == "." or self.named(run.name) or (run.start and not start):
            raise StudyError(f'study {name}: run "{run.name}" has a wrong name, one that is '
                             f'there, or starts from "{run.start}", which is not there')
        if run.part and self.classes < LEAST_PARTED:
            raise StudyError(f"{self.data}: {self.classes} classes are too few to learn some and "
                             f"transfer to the others, which takes {LEAST_PARTED}; name a "
                             "checkpoint: -m")
        pictures = run.pictures or self.pictures
        r = dataclasses.replace(
            run, pictures=pictures, precision=self.options.precision, done=False,
            epochs=0 if run.untrained else run.epochs or self.epochs,
            batch=min(run.batch or 64, pictures),
            waits=bool((not run.lr > 0 and not run.untrained) or (start and not start.done)))
        r.id = self._identity(r, start)
        if r.freeze:
            self._add_frozen(r)
        self.runs.append(r)
        if not r.waits:
            self._load_result(r)
        return r

    def sweep(self, like: Run, rates: Sequence[float]) -> float:
        """Adds a run "ARM-lr-RATE" for each rate, scored on held-out pictures. The rate of
        the best, or 0 while not all are done."""
        added = [self.add(dataclasses.replace(like, name="%.40s-lr-%.3g" % (like.arm, rate),
                                              lr=rate, state=0, score=HELD_OUT, shots=()))
                 for rate in rates]
        # a training that diverged has no accuracy
        good = [r for r in added if r.accuracy > -1]
        if not good or not all(r.done for r in added):
            return 0
        return max(good, key=lambda r: r.accuracy).lr

    def repeat(self, like: Run, lr: float) -> None:
        """Adds runs "ARM-1" .. with this rate, one for each try."""
        for i in range(1, self.tries + 1):
            self.add_try(like, lr, i)

    def add_try(self, like: Run, lr: float, i: int) -> None:
        self.add(dataclasses.replace(like, name="%.40s-%d" % (like.arm, i), lr=lr, state=i))

    def named(self, name: str) -> Optional[Run]:
        return next((r for r in self.runs if r.name == name), None)

    # ---- for read() ----

    def of_arm(self, arm: str, score: int) -> list[Run]:
        """Its runs that are done."""
        return [r for r in self.runs if r.arm == arm and r.done and r.score == score]

    def arm(self, arm: str) -> Result:
        """The tries of an arm as one line."""
        values = [r.accuracy for r in self.of_arm(arm, TEST)
                  if r.state > 0 and math.isfinite(r.accuracy)]
        return Result(arm, math.nan, *mean_of(values), len(values))

    def add_result(self, result: Result) -> Result:
        self.results.append(result)
        return result

    def add_arm(self, arm: str, x: float = math.nan, paper: float = math.nan) -> Result:
        return self.add_result(dataclasses.replace(self.arm(arm), x=x, paper=paper))

    def add_point(self, arm: str, x: float, y: float) -> None:
        """A point of the figure that is in no table."""
        self.points.append((arm, x, y))

    def add_sweep(self, arm: str) -> None:
        """A line of the figure: over log10 of the rate."""
        for r in self.of_arm(arm, HELD_OUT):
            self.add_point(arm, math.log10(r.lr), r.accuracy)

    def best_rate(self, arm: str) -> float:
        runs = [r for r in self.of_arm(arm, HELD_OUT) if r.accuracy > -1]
        return max(runs, key=lambda r: r.accuracy).lr if runs else 0

    def swept(self, arm: str, rate: float) -> float:
        """The held-out accuracy at a rate; 0: none."""
        return next((r.accuracy for r in self.of_arm(arm, HELD_OUT) if r.lr == rate), 0)

    def add_sheet(self, sheet: Sheet) -> Sheet:
        self.sheets.append(sheet)
        return sheet

    def say(self, text: str) -> None:
        """Appends to the verdict."""
        self.verdict += text

    # ---- runs and their costs ----

    def list_runs(self) -> None:
        self.runs = []
        assert self.study.list
        self.study.list(self)

    def path(self, name: str) -> Path:
        return self.output / name

    def result_path(self, r: Run) -> Path:
        return self.path(f"files/{r.id}.result.json")

    def _load_result(self, r: Run) -> None:
        known = self._loaded.get(r.id)
        if not known:
            path = self.result_path(r)
            if not path.exists():
                return
            json = _files.load(path)
            means, deviations = json.get("shot_mean", []), json.get("shot_sd", [])
            r.shot_mean = [_files.number(v) for v in means][:len(r.shots)]
            r.shot_sd = [_files.number(v) for v in deviations][:len(r.shots)]
            if any(len(v) < len(r.shots) or any(map(math.isnan, v))
                   for v in (r.shot_mean, r.shot_sd)):
                raise StudyError(f"{path}: lacks few-shot scores; delete it to score the run "
                                 "again")
            r.accuracy = _files.number(json.get("accuracy"))
            r.seconds = _files.number(json.get("seconds"), 0)
            known = self._loaded[r.id] = r
        r.accuracy, r.seconds = known.accuracy, known.seconds
        r.shot_mean, r.shot_sd = known.shot_mean, known.shot_sd
        r.done = True

    def _identity(self, r: Run, start: Optional[Run]) -> str:
        """All that a run's result depends on, but for the program and the device."""
        shots = [*r.shots, 0, 0, 0, 0][:4]
        text = "1\n%s\n%s\n%s\n%s\n%s\n%s\n%s %s\n%.17g %d %d %d %d %d %d\n%d %d\n" % (
            self.content, r.name, r.config, r.settings, start.id if start else "", r.objective,
            r.augment, r.made.name if r.made else "", r.lr, r.pictures, r.epochs, r.batch,
            r.size, r.state, r.score, self.tests if r.score == TEST or r.shots else 0,
            self.tries if r.shots else 0)
        text += "%d %d %d %d " % tuple(shots)
        if r.model or r.untrained or r.freeze or r.part or r.precision:
            text += "\n%s %d %s %d %s" % (self.model_content if r.model else "", r.untrained,
                                          r.freeze, r.part, r.precision)
        if r.layer_decay:
            text += "\n%.17g" % r.layer_decay
        return f"{r.name}-{_hash(text)[:10]}"

    def rate_id(self, r: Run) -> str:
        """Another device that was named has rates of its own."""
        text = "%s\n%d %d %s %s" % (r.config, r.size, r.batch, r.objective, r.settings)
        if r.precision or r.freeze:
            text += f"\n{r.precision} {r.freeze}"
        if self.options.device:
            text += "\n%.256s" % self.options.device
        return _hash(text)[:16]

    def _find_rate(self, r: Run) -> Optional[Rate]:
        known = self.rate_id(r)
        return next((rate for rate in self.rates if rate.id == known), None)

    def rate_of(self, r: Run) -> Optional[Rate]:
        rate = self._find_rate(r)
        return rate or (self._find_rate(dataclasses.replace(r, freeze="")) if r.freeze else None)

    def _add_frozen(self, r: Run) -> None:
        """There is no backward pass below the head."""
        whole = self._find_rate(dataclasses.replace(r, freeze=""))
        if whole and not self._find_rate(r):
            self.rates.append(dataclasses.replace(whole, id=self.rate_id(r), train=whole.score))

    def cost(self, r: Run) -> Cost:
        rate = self.rate_of(r)
        if not rate:
            return Cost()
        trained, scored = r.pictures * r.epochs, 0
        if r.score == HELD_OUT:
            scored += held_out(r) * r.epochs
        if r.score == TEST:
            scored += self.tests
        if r.shots:
            scored += self.tests + max(r.shots) * self.classes * self.tries
        seconds = rate.fixed + rate.train * trained + rate.score * scored
        seconds += rate.fixed / 2 * ((r.score == TEST) + bool(r.shots))
        return Cost(2e9 * rate.gmac * (3 * trained + scored), seconds)

    def total_flop(self) -> float:
        return sum(self.cost(r).flop for r in self.runs)

    def note(self, text: str) -> None:
        _terminal.note(text)


def held_out(r: Run) -> int:
    """Held-out pictures: a fifth, at most a thousand."""
    return min(r.pictures // 5, 1000)


def _hash(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()
