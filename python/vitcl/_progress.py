"""What callers give as `progress`: a function of (done, total)."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Optional, Union

Told = Callable[[int, int], Any]
#: False; True (tqdm, where it is installed); a function of (done, total), whose true
#: result ends a call that can be ended; or an object with update(n), such as a tqdm.
Progress = Union[bool, Told, Any]


@contextlib.contextmanager
def showing(progress: Progress, what: str, total: int = 0) -> Iterator[Optional[Told]]:
    """A function of (done, total), or None."""
    own = None
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            progress = None
        else:
            progress = own = tqdm(total=total or None, desc=what, leave=False)
    if not progress and not hasattr(progress, "update"):  # a tqdm of nothing is false
        yield None
    elif hasattr(progress, "update"):
        yield _updating(progress)
        if own is not None:
            own.close()
    elif callable(progress):
        yield progress
    else:
        raise TypeError("progress is a bool, a function of (done, total), or has update(n)")


def _updating(bar: Any) -> Told:
    before = 0

    def told(done: int, total: int) -> None:
        nonlocal before
        if total and getattr(bar, "total", total) != total:
            bar.total = total
        bar.update(done - before)
        before = done

    return told
