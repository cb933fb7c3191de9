"""Table 6 by arithmetic, and appendix D.5 on this device."""
from math import log10
from typing import Sequence

from .._frame import Experiment, Sheet, Study
from .._speed import MODELS, SIDES, Speeds, known, measure, slope
from .._table_6 import TABLE, Row, rows

NEAR = 0.0025  # of the paper's number

# ---- table 6 ----


def add_table_6(e: Experiment, table: Sequence[Row]) -> None:
    e.add_sheet(Sheet(
        "results.tsv",
        'Table 6: exaFLOPs of pre-training on JFT-300M; "inside" leaves out what convolutions '
        "multiply with padding. Parameters with a head of 1000 classes, memory of the weights and "
        "one picture's activations, both at 224 pixels",
        ("model", "epochs", "parameters", "GMAC", "MB", "exaFLOPs", "inside", "paper",
         "inside/paper"),
        [[r.name, str(r.epochs), str(r.parameters), f"{r.gmac:.3f}", f"{r.memory / 1e6:.0f}",
          f"{r.whole:.1f}", f"{r.inside:.1f}", f"{r.paper:.0f}", f"{100 * r.apart:+.2f} %"]
         for r in table]))


def say_table_6(e: Experiment, table: Sequence[Row]) -> None:
    equal = [r for r in table if abs(r.apart) <= NEAR]
    others = [r for r in table if r not in equal and abs(r.counted - r.paper) > 0.5]
    rounded = len(table) - len(equal) - len(others)
    e.say(f"{'Partly reproduced' if others else 'Reproduced'}: {len(equal)} of the {len(TABLE)} "
          f"rows of Table 6 are within 0.25 % of the paper, and {rounded} more after rounding to "
          "the paper's digits. Others: ")
    e.say(", ".join(f"{r.name} for {r.epochs} epochs {100 * r.apart:+.1f} %" for r in others))
    # rows with a ResNet that is not before a ViT
    resnets = [r for r in table if r.name.startswith("ResNet")]
    e.say(f". The ResNets are up to {100 * max(abs(r.whole / r.paper - 1) for r in resnets):.1f} % "
          "apart if convolutions count their padding, and up to "
          f"{100 * max(abs(r.apart) for r in resnets):.1f} % without it, as XLA's cost analysis "
          "counts.")


# ---- appendix D.5 ----


def add_speeds(e: Experiment, speeds: Speeds) -> None:
    sheet = e.add_sheet(Sheet(
        "speed.tsv",
        "Appendix D.5: pictures a second on this device, one at a time, and the largest batch that "
        "its memory can hold",
        ("model", "pixels", "GMAC", "pictures/s", "GFLOP/s", "largest batch")))
    for s in speeds.all:
        measured = [f"{s.rate:.3f}", f"{2 * s.gmac * s.rate:.1f}"] if s.rate > 0 else ["", ""]
        sheet.rows.append([s.model, str(s.side), f"{s.gmac:.3f}", *measured, f"{s.batch:.0f}"])
        if s.rate > 0:
            e.add_point(s.model, log10(s.side), log10(s.rate))


def say_speeds(e: Experiment, speeds: Speeds) -> None:
    if all(s.rate > 0 for s in speeds.all):
        falls = (f"{-slope([s.rate for s in speeds.of(m)]):.2f} for {m} (its work grows with "
                 f"{slope([s.gmac for s in speeds.of(m)]):.2f})" for m in MODELS)
        e.say(f" On {speeds.device}, pictures a second fall with the side to the power of "
              f"{', '.join(falls)}; 2 would be in proportion to the pixels, and attention alone "
              "has 4.")
    at = len(SIDES) // 2
    one, two, three = (speeds.of(m)[at].batch for m in MODELS)
    e.say(f" At {SIDES[at]} pixels, batches of {one:.0f} pictures fit with {MODELS[0]}, of "
          f"{two:.0f} with {MODELS[1]} and of {three:.0f} with {MODELS[2]}.")


# ---- the study ----


def read(e: Experiment) -> None:
    table, speeds = rows(e), known(e)
    add_table_6(e, table)
    say_table_6(e, table)
    add_speeds(e, speeds)
    say_speeds(e, speeds)


def outline(e: Experiment) -> None:
    """The first measurement is made, and the others follow from it: a second of runs or one run,
    and loading."""
    speeds = known(e)
    first = speeds.all[1]
    done = [s.rate > 0 for s in speeds.all]
    done[1] = done[1] or not e.options.dry  # a dry run does not keep what it measured
    measure(e, speeds, first)
    flops = first.gmac * first.rate
    sheet = e.add_sheet(Sheet(
        "", "To be measured, beside the arithmetic of Table 6, which takes a second",
        ("measurement", "pixels", "GMAC", "seconds", "state")))
    left = 0.0
    for s, kept in zip(speeds.all, done):
        seconds = first.load + max(1, 4 * s.gmac / flops)
        sheet.rows.append([s.model, str(s.side), f"{s.gmac:.3f}", f"{seconds:.1f}",
                           "done" if kept else "to do"])
        left += 0 if kept else seconds
    sheet.rows.append(["all, in minutes", "", "", f"{left / 60:.1f}", ""])


def measure_all(e: Experiment) -> None:
    speeds = known(e)
    for s in speeds.all:
        measure(e, speeds, s)


STUDY = Study(
    name="cost",
    paper="Table 6, appendix D.5",
    what="what the paper's models cost, by arithmetic, and what this device makes of them; needs "
         "no data",
    read=read,
    outline=outline,
    measure=measure_all,
    x="log10 of the side in pixels",
    y="log10 of pictures a second",
    note="exaFLOPs are six times the multiply-accumulates of a picture of 224 pixels without its "
         "head (two operations, forward and twice that backward) times the 303 million pictures of "
         "JFT-300M times the epochs. Why rows differ: the paper's ViT-B/32 has 55, but its "
         "R50x1+ViT-B/32 without the R50x1 has 56, as counted here; its R50x1+ViT-L/16 has 859 for "
         "7 epochs, but 1668 for 14, half of which is 834. The ResNets that are left are below the "
         "paper by less than one per cent, for a reason that is not known.",
)
