"""Files that are whole or not there, and JSON as the program writes it."""
from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Union

from ._program import StudyError


def write(path: Path, data: Union[str, bytes]) -> None:
    """Replaces a file at once."""
    if isinstance(data, str):
        data = os.fsencode(data)
    try:
        handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with open(handle, "wb") as f:
                f.write(data)
                os.fchmod(f.fileno(), 0o666 & ~_umask)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from None


_umask = os.umask(0)
os.umask(_umask)


def folder(path: Path) -> Path:
    try:
        path.mkdir(exist_ok=True)
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from None
    return path


def remove(path: Path) -> None:
    """A file, or a folder with what is in it, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def load(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from None
    except ValueError as e:
        raise StudyError(f"{path}: {e}") from None


def number(value: Any, otherwise: float = math.nan) -> float:
    """A number of a file."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if good else otherwise


def count(value: Any, most: int, otherwise: int) -> int:
    return value if type(value) is int and 0 <= value <= most else otherwise


def real(v: float) -> str:
    """For JSON: not a number is null."""
    return "%.9g" % v if math.isfinite(v) else "null"


def plain_json(value: Any) -> str:
    """With all digits of numbers; runs are known by it."""
    if isinstance(value, dict):
        return "{%s}" % ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {plain_json(v)}"
                                  for k, v in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(plain_json, value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "%.17g" % value
    return json.dumps(value, ensure_ascii=False)
