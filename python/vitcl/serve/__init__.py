"""A server of models: classes, vectors, search, over HTTP.

    python -m vitcl.serve -m MODEL --index holiday.safetensors

create() makes the app, for another server of ASGI. docs/python.md has the endpoints.
Needs Starlette, Uvicorn and python-multipart: pip install 'vitcl[serve]'.
"""
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._app import create
    from ._door import Limits

__all__ = ["Limits", "create"]


def __getattr__(name: str) -> Any:  # so that the program can say what is missing
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _app

    return getattr(_app, name)
