"""Writes the table, the verdict, the figure and report.html of a study."""
from __future__ import annotations

import base64
import hashlib
import html
import math
from pathlib import Path
from typing import Any, Optional, Sequence
from urllib.parse import quote

from . import _files
from ._frame import HELD_OUT, TEST, Experiment, Sheet
from ._train import PREDICTED

NO_MATPLOTLIB = ("no figure: Matplotlib is missing; on Debian: apt install python3-matplotlib, "
                 "elsewhere: pip install matplotlib")
STYLE = """
:root { --back: #fff; --front: #1b1f24; --soft: #57606a; --line: #d8dee4; color-scheme: light dark;
  font: 15px/1.4 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0f1216; --front: #e6e9ed; --soft: #9aa4af; --line: #30363d; }
}
body { margin: 0 auto; max-width: 60rem; padding: 0 16px; background: var(--back);
  color: var(--front); }
h1 { font-size: 1.25rem; } h2 { font-size: 1.1rem; }
nav ul { display: flex; gap: 1rem; list-style: none; padding: 0; }
figure { margin: 1rem 0; } figcaption, caption, footer { color: var(--soft); text-align: left; }
.wide { overflow-x: auto; } img { background: #fff; max-width: 100%; height: auto; }
table { border-collapse: collapse; } td, th { padding: 2px 10px 2px 0; text-align: left;
  border-bottom: 1px solid var(--line); font-weight: normal; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
"""


def cell(form: str, value: float) -> str:
    """Empty where there is no number."""
    return form % value if math.isfinite(value) else ""


def report(e: Experiment, version: str) -> None:
    e.results, e.points, e.sheets, e.verdict = [], [], [], ""
    if not e.study.measure:
        e.list_runs()
    e.study.read(e)
    if e.runs and e.tries == 1:
        e.say(" With one try of each arm, no difference can be told from chance.")
    for sheet in e.sheets:
        _write_table(e, sheet)
    if not e.sheets:
        rows = [[r.arm, cell("%.6g", r.x), cell("%.6f", r.mean), cell("%.6f", r.sd),
                 str(r.tries), cell("%.6g", r.paper)] for r in e.results]
        _write_table(e, Sheet("results.tsv", "", _heads(e), rows))
    _files.write(e.path("verdict.txt"), e.verdict + "\n")
    _draw(e)
    _files.write(e.path("report.html"), _page(e, version))


def _heads(e: Experiment) -> list[str]:
    return ["arm", e.study.x, e.study.y, "deviation", "tries", "paper"]


def _write_table(e: Experiment, sheet: Sheet) -> None:
    lines = ["\t".join(row) + "\n" for row in (sheet.head, *sheet.rows)]
    _files.write(e.path(sheet.file), "".join(lines))


# ---- the figure ----


def _is_sweep(e: Experiment) -> bool:
    """Points of a sweep come instead of results."""
    return bool(e.points) and not e.sheets


def _draw(e: Experiment) -> None:
    points = e.points or [(r.arm, math.nan if r.plain else r.x, r.mean) for r in e.results]
    lines: dict[str, list[tuple[float, float]]] = {}
    for arm, x, y in points:
        if math.isfinite(x) and math.isfinite(y):
            lines.setdefault(arm, []).append((x, y))
    if not lines:
        return
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        e.note(NO_MATPLOTLIB)
        return
    matplotlib.rcParams["svg.hashsalt"] = "vitcl"  # the same bytes each time
    figure: Any = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for arm, line in lines.items():
        axes.plot(*zip(*sorted(line)), marker="o", label=arm)
    axes.set_xlabel("log10 of the learning rate" if _is_sweep(e) else e.study.x)
    axes.set_ylabel("held-out accuracy" if _is_sweep(e) else e.study.y)
    axes.grid(alpha=0.3)
    if all(x == int(x) for line in lines.values() for x, _ in line):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False)
    figure.savefig(e.path("figure.png"), dpi=120)
    figure.savefig(e.path("figure.svg"), metadata={"Date": None})


# ---- the page ----


def _text(text: str) -> str:
    return html.escape("".join(c if c.isprintable() else "\ufffd" for c in text))


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def is_number(text: str) -> bool:
        return text[:1] in tuple("0123456789+-.<")

    def right(yes: bool) -> str:
        return ' class="n"' if yes else ""

    heads = "".join('<th scope="col"%s>%s</th>' %
                    (right(c > 0 and any(is_number(row[c]) for row in rows)), _text(name))
                    for c, name in enumerate(head))
    body = "".join(f'<tr><th scope="row">{_text(row[0])}</th>' + "".join(
        f"<td{right(is_number(v))}>{_text(v)}</td>" for v in row[1:]) + "</tr>\n" for row in rows)
    return (f'<div class="wide" tabindex="0"><table><caption>{_text(caption)}</caption>\n<thead>'
            f"<tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n")


def _picture(path: Path, alt: str, caption: str, files: Sequence[str]) -> str:
    """Nothing where there is no such file."""
    if not path.exists():
        return ""
    kind = "image/svg+xml" if path.suffix == ".svg" else "image/png"
    data = base64.b64encode(path.read_bytes()).decode()
    links = " ".join(f'<a href="./{quote(name)}">{_text(name)}</a>' for name in files)
    return (f'<figure><img alt="{_text(alt)}" src="data:{kind};base64,{data}">\n<figcaption>'
            f"{_text(caption)}</figcaption><p>Files: {links}</p></figure>\n")


def _figures(e: Experiment) -> str:
    last: Optional[Sheet] = e.sheets[-1] if e.sheets else None
    sweep, study = _is_sweep(e), e.study
    return _picture(
        e.path("figure.svg"),
        "Lines for each arm: held-out accuracy over log10 of the learning rate" if sweep else
        f"Lines for each arm: {study.y} over {study.x}",
        "The sweeps that chose the learning rates, on held-out training pictures" if sweep else
        "The last table's numbers" if last else "The table's numbers",
        ["figure.svg", "figure.png", last.file if last else "results.tsv"],
    ) + _picture(
        e.path(PREDICTED),
        "Rows of pictures: original, with masked patches, with the mean colours of the patches "
        "that are asked for, and with the predicted colours",
        "Masked patches, grey here, and what the model predicts for them: one of 512 colours. Of "
        "the patches that are asked for, one in ten is another patch of its picture, and one in "
        "ten is unchanged", [PREDICTED])


def _results(e: Experiment) -> str:
    if e.sheets:
        return "".join(_table(s.caption, s.head, s.rows) for s in e.sheets)
    rows = [[r.arm, cell("%.4g", r.x), cell("%.4f", r.mean), cell("%.4f", r.sd), str(r.tries),
             cell("%.4g", r.paper)] for r in e.results]
    return _table("Means over the tries and their standard deviations", _heads(e), rows)


def _setting(e: Experiment) -> str:
    text = ""
    if e.runs:
        text = _line(
            f"Data: {e.pictures} training pictures of {e.classes} classes ({e.kind}), {e.tests} "
            f"test pictures, {e.epochs} epoch{'' if e.epochs == 1 else 's'}, {e.tries} "
            f"{'try' if e.tries == 1 else 'tries'}. {len(e.runs)} runs, "
            f"{e.total_flop() / 1e12:.2f} TFLOP. Learning rates are chosen on held-out training "
            "pictures.")
    return text + _line(e.study.note)


def _runs(e: Experiment) -> str:
    on = {HELD_OUT: "held-out training pictures", TEST: "test pictures"}
    return _table("All runs; their models are in runs/",
                  ["run", "learning rate", "accuracy", "scored on"],
                  [[r.name, cell("%.3g", r.lr), cell("%.4f", r.accuracy), on.get(r.score, "")]
                   for r in e.runs])


def _line(text: str) -> str:
    return f"<p>{_text(text)}</p>\n"


def _page(e: Experiment, version: str) -> str:
    """Self-contained; a browser applies its own style alone, by that style's hash."""
    study = e.study
    title = _text(f"Study {study.name}: {study.paper}")
    parts = {"Verdict": _line(e.verdict), "Results": _figures(e) + _results(e),
             "Setting": _setting(e), **({} if study.measure else {"Runs": _runs(e)})}
    known = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    contents = "".join(f'<li><a href="#s{i}">{name}</a></li>' for i, name in enumerate(parts))
    sections = "".join(f'<section id="s{i}"><h2>{name}</h2>\n{content}</section>\n'
                       for i, (name, content) in enumerate(parts.items()))
    what = _line(f"{study.what} ({study.paper} of arXiv 2010.11929).")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta '
        'http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        f"style-src 'sha256-{known}'\">\n<meta name=\"viewport\" content=\"width=device-width, "
        f'initial-scale=1">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n'
        f'<header><h1>{title}</h1></header>\n<main>\n{what}<nav aria-label="Contents"><ul>'
        f"{contents}</ul></nav>\n{sections}</main>\n<footer><p>{_text(version)}</p></footer>\n"
        "</body>\n</html>\n")


