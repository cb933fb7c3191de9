"""Runs: their training, then their scores, each in a process of its own. What was finished
before is not repeated, and an interrupted training is resumed."""
from __future__ import annotations

import json
import math
import re
import subprocess
import time
from pathlib import Path
from typing import Optional, Union

from . import _data, _files
from ._frame import HELD_OUT, TEST, Experiment, Run, held_out
from ._program import PAUSE, StudyError, check_stopped, last_line, status, stop

TRAIN, SCORE, FEWSHOT, STAGES = range(4)
OUTS = ("train.txt", "eval.json", "fewshot.jsonl")
PREDICTED = "predicted.png"  # in the output: the figure of a run that predicts masked patches


class Job:
    """A run whose result is not known."""

    def __init__(self, e: Experiment, run: Run) -> None:
        self.e, self.run = e, run
        self.began = time.monotonic()
        self.stage, self.again = TRAIN, False  # its training has begun a second time
        self.said = 0  # the size of its messages before this stage
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.folder = e.path(f"runs/{run.id}")
        self.log, self.messages = self._file("log.jsonl"), self._file("messages.txt")
        self.data = _data.subset(e, run, run.pictures, e.tests)
        self._start()

    def _file(self, name: str) -> Path:
        return self.e.path(f"files/{self.run.id}.{name}")

    def _out(self, stage: int) -> Path:
        return self._file(OUTS[stage])

    def _begins_with(self) -> Path:
        """The model that is trained further."""
        if self.run.model:
            model = self.e.model()
            assert model
            return model.path
        start = self.e.named(self.run.start)
        assert start
        return self.e.path(f"runs/{start.id}")

    # ---- the words of a command ----

    def _device(self) -> list[str]:
        return ["--device", self.e.options.device] if self.e.options.device else []

    def _train_words(self) -> list[str]:
        r, e = self.run, self.e
        further = bool(r.start or r.model)
        words: list[Union[str, int, Path]] = [
            "finetune" if further else "train", "-o", self.folder, "--log", self.log,
            *self._device()]
        if r.objective and e.options.draws:  # also of a training that had ended
            words += ["--show-predicted", e.path(PREDICTED)]
        if (self.folder / "training.safetensors").exists():
            return [str(word) for word in (*words, "--resume")]
        _files.remove(self.folder)  # what is left of an earlier one
        _files.remove(self.log)
        if r.start and r.prepare:
            start = _files.folder(self._file("start"))
            r.prepare(start, self._begins_with(), r)
            words += ["-m", start]
        elif further:
            words += ["-m", self._begins_with()]
        else:
            _files.write(self._file("config.json"), r.config)
            words += ["--config", self._file("config.json")]
        words += ["--data", self.data, "--epochs", r.epochs, "--batch", r.batch,
                  "--lr", "%.9g" % r.lr, "--random-state", r.state, "--save-every", 200]
        if r.settings:
            _files.write(self._file("settings.json"), r.settings)
            words += ["--settings", self._file("settings.json")]
        for name, value in (("--freeze", r.freeze), ("--augment", r.augment),
                            ("--objective", r.objective), ("--size", r.size),
                            ("--layer-decay", r.layer_decay)):
            words += [name, value] if value else []
        if r.score == HELD_OUT:
            words += ["--hold-out", held_out(r)]
        return [str(word) for word in words]

    def _score_words(self) -> list[str]:
        r = self.run
        words = ["eval" if self.stage == SCORE else "fewshot", "-m",
                 str(self._begins_with() if r.untrained else self.folder), "--data",
                 str(self.data), "--json", "--batch", "64", *self._device()]
        if self.stage == SCORE:
            return [*words, "--split", "test"]
        words += ["--tries", str(self.e.tries)]
        for shots in r.shots:
            words += ["--shots", str(shots)]
        return words

    # ---- results ----

    def _held_out(self) -> list[float]:
        """The accuracy after each epoch. A training that was killed between a state and the
        log's line lacks one."""
        scores = re.findall(rb'"held_out_accuracy": ([^,}\s]*)', self.log.read_bytes())
        return [0 if v == b"null" else float(v) for v in scores]

    def _top1(self) -> Optional[float]:
        try:
            top1 = _files.number(_files.load(self._out(SCORE)).get("top1"))
        except (StudyError, AttributeError):
            return None
        return None if math.isnan(top1) else top1

    def _shots(self) -> Optional[list[tuple[float, float]]]:
        """Mean and deviation, a line for each number of shots."""
        try:
            lines = [json.loads(line)
                     for line in self._out(FEWSHOT).read_bytes().split(b"\n")[:len(self.run.shots)]]
            pairs = [(_files.number(v.get("mean")), _files.number(v.get("sd"))) for v in lines]
        except (OSError, ValueError, AttributeError):
            return None
        return None if any(map(math.isnan, sum(pairs, ()))) else pairs

    def _write_result(self, diverged: bool) -> None:
        r = self.run
        accuracy: Optional[float] = 0 if diverged else math.nan
        shots: Optional[list[tuple[float, float]]] = []
        if not diverged and r.score == HELD_OUT:
            scores = self._held_out()
            if len(scores) != r.epochs:
                raise StudyError(f"{self.log}: has the scores of {len(scores)} epochs, not of "
                                 f"{r.epochs}; remove {self.folder}, and it is trained again")
            accuracy = scores[-1]
        if not diverged and r.score == TEST:
            accuracy = self._top1()
            if accuracy is None:
                raise StudyError(f"{self._out(SCORE)}: has no top1")
        if not diverged and r.shots:
            shots = self._shots()
            if shots is None:
                raise StudyError(f"{self._out(FEWSHOT)}: has no mean")
        pairs = [*(shots or []), *[(0.0, 0.0)] * 4][:4]
        means, deviations = (", ".join("%.9g" % v[i] for v in pairs) for i in (0, 1))
        assert accuracy is not None
        _files.write(self.e.result_path(r), (
            f'{{"accuracy": {_files.real(accuracy)}, "shot_mean": [{means}], "shot_sd": '
            f'[{deviations}], "diverged": {"true" if diverged else "false"}, "seconds": '
            f'{time.monotonic() - self.began:.1f}}}\n'))

    # ---- the stages ----

    def _needed(self) -> bool:
        return bool((self.stage == TRAIN and not self.run.untrained) or
                    (self.stage == SCORE and self.run.score == TEST) or
                    (self.stage == FEWSHOT and self.run.shots))

    def _start(self) -> None:
        """The next stage that the run needs, if there is one."""
        self.process = None
        while self.stage < STAGES and not self._needed():
            self.stage += 1
        if self.stage < STAGES:
            words = self._train_words() if self.stage == TRAIN else self._score_words()
            self.said = self.messages.stat().st_size if self.messages.exists() else 0
            self.process = self.e.program.begin(words, self._out(self.stage), self.messages)

    def _diverged(self) -> bool:
        """A learning rate may be too large: that is a result of a sweep. An earlier attempt's
        messages are in the same file."""
        return (self.stage == TRAIN and self.run.score == HELD_OUT and
                b"not finite" in self.messages.read_bytes()[self.said:])

    def _scored(self) -> bool:
        """A picture that cannot be decoded is left out, as in training; eval and fewshot then
        have status 1, after their result."""
        return ((self.stage == SCORE and self._top1() is not None) or
                (self.stage == FEWSHOT and self._shots() is not None))

    def poll(self) -> bool:
        """Is its result written?"""
        if self.process and self.process.poll() is None:
            return False
        code = status(self.process) if self.process else 0
        if code and self._diverged():
            self._write_result(True)
            return True
        if code and not (code == 1 and self._scored()):
            raise StudyError(f"run {self.run.name} failed (exit status {code}): "
                             f"{last_line(self.messages)}; all its messages are in "
                             f"{self.messages}")
        if (self.stage == TRAIN and not self.again and self.run.score == HELD_OUT and
                len(self._held_out()) != self.run.epochs):
            self.again = True  # its training must begin again
            _files.remove(self.folder / "training.safetensors")
        else:
            self.stage += 1
        self._start()
        if not self.process:
            self._write_result(False)
        return not self.process


def run_all(e: Experiment) -> None:
    """Trains what has no result yet, some at a time."""
    if e.study.measure:
        e.study.measure(e)
        return
    jobs: dict[str, Job] = {}
    e.list_runs()
    try:
        while True:
            check_stopped()
            for i, r in enumerate(e.runs):
                if len(jobs) < e.options.jobs and not (r.done or r.waits or r.id in jobs):
                    e.note(f"run {i + 1} of {len(e.runs)}: {r.name}")
                    jobs[r.id] = Job(e, r)
            if not jobs:
                break
            ended = [known for known, job in jobs.items() if job.poll()]
            for known in ended:
                del jobs[known]
            if ended:
                e.list_runs()
            else:
                time.sleep(PAUSE)
    finally:
        for job in jobs.values():
            if job.process:
                stop(job.process)
    waiting = sum(not r.done for r in e.runs)
    if waiting:
        raise StudyError(f"study {e.study.name}: {waiting} of {len(e.runs)} runs wait for what "
                         "never comes")
