"""The command. vitcl has checked its options, and starts this with them."""
from __future__ import annotations

import argparse
import difflib
import math
import signal
import sys
from pathlib import Path
from typing import Optional, Sequence

from . import _plan, _program, _report, _terminal, _train
from ._frame import Experiment, Options, Sheet
from ._program import Program, Stopped, StudyError
from .studies import STUDIES

OK, FAILED, USAGE = range(3)
# Options that a study without runs does not have, and then those that the list does not have.
IDLE = {"data": "--data", "follow": "--follow", "columns": "--column or --sep",
        "minutes": "--minutes", "tries": "--tries", "jobs": "--jobs", "pictures": "--pictures",
        "epochs": "--epochs", "test_pictures": "--test-pictures", "model": "-m",
        "precision": "--precision"}
UNLISTED = {"output": "-o", "dry_run": "--dry-run", "device": "-d", **IDLE}
DRAWN = ("data", "follow", "columns")


def usage(text: str) -> int:
    _terminal.say(text)
    return USAGE


def given(o: argparse.Namespace, names: dict[str, str]) -> Optional[str]:
    return next((option for name, option in names.items() if getattr(o, name)), None)


def read_words(words: Sequence[str]) -> argparse.Namespace:
    flags, joined, rest = ("follow", "dry-run", "quiet", "draws"), [], iter(words)
    for word in rest:  # a value may begin with a dash, which argparse takes in one word alone
        if word == "--":
            joined += [word, *rest]
        else:
            joined.append(word if word[2:] in flags else f"{word}={next(rest)}")
    parser = argparse.ArgumentParser(prog="vitcl study", allow_abbrev=False)
    for name in ("model", "data", "columns", "output", "device", "precision"):
        parser.add_argument(f"--{name}", default="")
    for name in ("tries", "jobs", "pictures", "epochs", "test-pictures"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    for name in flags:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("study", nargs="*")
    return parser.parse_args(joined)


# ---- what is shown ----


def list_studies() -> None:
    wide = max(len(study.name) for study in STUDIES)
    _terminal.wrap("Experiments of the paper (arXiv 2010.11929), at a small scale:")
    print("    vitcl study NAME --data PATH\n")
    for study in STUDIES:
        print(f"  {study.name:{wide}}  ", end="")
        _terminal.wrap(f"{study.what} ({study.paper})", wide + 4)
    print()
    _terminal.wrap("Not repeated, because the data is not public, or needs a cluster: "
                   "pre-training on JFT-300M, the 19 tasks of VTAB, ObjectNet, and the models of "
                   "Table 2 at their full size.")


def print_plan(e: Experiment) -> None:
    wide = max(3, *(len(r.name) for r in e.runs))
    _terminal.row(f"{'run':{wide}} {'pictures':>8} {'epochs':>6}  {'work':>13} {'minutes':>7}")
    for r in e.runs:
        c = e.cost(r)
        unit, letter = (1e15, "P") if c.flop >= 1e15 else (1e12, "T")
        _terminal.row(f"{r.name:{wide}} {r.pictures:8} {r.epochs:6}  {c.flop / unit:7.2f} "
                      f"{letter}FLOP {c.seconds / 60:7.2f}{'  done' if r.done else ''}")
    print()
    minutes = sum(e.cost(r).seconds for r in e.runs if not r.done) / 60
    _terminal.row(f"{len(e.runs)} run{'' if len(e.runs) == 1 else 's'}, "
                  f"{e.total_flop() / 1e12:.2f} TFLOP, about {minutes:.1f} minutes on this "
                  f"device; {e.tests} test pictures")


def print_sheet(sheet: Sheet) -> None:
    """Columns as wide as their widest cell; words stand at the left."""
    table = [sheet.head, *sheet.rows]
    wide = [max(len(row[c]) for row in table) for c in range(len(sheet.head))]
    left = ["A" <= v[:1] <= "z" for v in sheet.rows[0]]
    for row in table:
        _terminal.row("  ".join(v.ljust(n) if words else v.rjust(n)
                                for v, n, words in zip(row, wide, left)))
    _terminal.wrap(sheet.caption)
    print()


def print_results(e: Experiment) -> None:
    def number(form: str, v: float) -> str:
        return form % v if math.isfinite(v) else "-"

    for sheet in e.sheets:
        print_sheet(sheet)
    if not e.sheets:
        row = "%-24s %10s %10s %10s %5s %9s"
        _terminal.row(row % ("arm", "x", "mean", "+-", "tries", "paper"))
        for r in e.results:
            _terminal.row(row % (r.arm, number("%.4g", r.x), number("%.4f", r.mean),
                                 number("%.4f", r.sd), r.tries, number("%.4g", r.paper)))
        _terminal.row(f"x: {e.study.x}, mean: {e.study.y}")
        print()
    _terminal.wrap(e.verdict)


# ---- the command ----


def work(e: Experiment) -> None:
    _plan.plan(e)
    if e.options.dry:
        for sheet in e.sheets:
            print_sheet(sheet)
        if not e.study.measure:
            print_plan(e)
        return
    _train.run_all(e)
    _report.report(e, e.program.version())
    print_results(e)
    e.note("its files are in:")
    e.note(str(e.options.output))


def run(o: argparse.Namespace, descriptor: int) -> int:
    names = o.study or ["list"]
    if names == ["list"]:
        option = given(o, UNLISTED)
        if option:
            return usage(f"no study given for {option}; `vitcl study` lists the studies")
        list_studies()
        return OK
    if len(names) > 1:
        return usage(f"unexpected argument '{names[1]}'; one study at a time")
    study = next((s for s in STUDIES if s.name == names[0]), None)
    if not study:
        near = difflib.get_close_matches(names[0], [s.name for s in STUDIES], 1)
        return usage(f"unknown study {names[0]}; " +
                     (f"did you mean vitcl study {near[0]}?" if near else
                      "`vitcl study` lists the studies"))
    if not (o.data or study.measure or study.drawn):
        return usage("--data PATH is required")
    idle = given(o, IDLE) if study.measure else None
    drawn = given(o, {name: IDLE[name] for name in DRAWN}) if study.drawn else None
    if drawn:
        return usage(f"study {study.name} draws its pictures: it has no {drawn}")
    if idle:
        return usage(f"study {study.name} trains nothing: it has no {idle}")
    if o.model and not study.model:
        return usage(f"-m is for the study transfer; {study.name} trains its own models")
    # f32 is the default: its runs are the same when it is named
    _program.catch_signals()
    precision = "" if o.precision == "f32" else o.precision
    program = Program(descriptor, precision)
    options = Options(
        output=Path(o.output or f"study-{study.name}"), data=o.data, device=o.device,
        model=program.ask("@model", "-m", o.model)[0] if o.model else "", precision=precision,
        columns=o.columns, minutes=o.minutes, tries=o.tries, jobs=max(o.jobs, 1),
        pictures=o.pictures, epochs=o.epochs, tests=o.test_pictures, follow=o.follow,
        dry=o.dry_run, draws=o.draws)
    with _plan.opened(study, options, program) as e:
        work(e)
    return OK


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure")(errors="surrogateescape")
    descriptor = _program.started()
    if descriptor < 0:
        print("vitcl: this is a part of vitcl; start it as: vitcl study", file=sys.stderr)
        return USAGE
    o = read_words(sys.argv[1:])
    _terminal.quiet = o.quiet
    try:
        code = run(o, descriptor)
    except Stopped:
        _terminal.note("stopped; the same command continues from here")
        code = 128 + _program.raised()
    except StudyError as e:
        if str(e):
            _terminal.say(str(e))
        code = FAILED
    except OSError as e:
        _terminal.say(f"{e.filename}: {e.strerror}" if e.filename else str(e))
        code = FAILED
    try:
        sys.stdout.close()
    except OSError as e:
        _terminal.say(f"standard output cannot be written: {e.strerror}")
        return FAILED
    return code
