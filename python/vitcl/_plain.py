"""Structs of the library as dataclasses."""
from __future__ import annotations

import dataclasses
import os
from typing import Any


def plain(type_: Any, values: Any) -> Any:
    """The struct's members that have the names of the dataclass's fields."""
    found = {}
    for field in dataclasses.fields(type_):
        value = getattr(values, field.name)
        value = os.fsdecode(value) if isinstance(value, bytes) else value
        found[field.name] = bool(value) if field.type == "bool" else value
    return type_(**found)
