"""The app, of its parts."""
from __future__ import annotations

from typing import Mapping, Optional

from starlette.routing import Route

from .._model import Model
from ._album import Album
from ._door import App, Guarded, Limits
from ._immich import Immich
from ._openai import OpenAI
from ._service import Service, application
from ._work import Worker


def create(models: Mapping[str, str], *, index: Optional[str] = None,
           upstream: Optional[str] = None, hosts: Optional[frozenset[str]] = None,
           idle: float = 300, limits: Limits = Limits(), device: Optional[str] = None,
           batch: Optional[int] = None, precision: str = "f32") -> App:
    """An app of ASGI, in one process. Models are loaded now, for their errors.

    models:   their names for clients, and what Model() takes; the first one answers
              where a request names none, and searches the index
    index:    a file of Index.update(), for the page
    upstream: the URL of an Immich service, which answers about faces and texts
    hosts:    names by which the server may be called; None: any
    idle:     seconds after which a model that nobody asks is dropped; 0: never
    """
    size = _size(index)

    def worker(name: str, path: str, size: Optional[tuple[int, int]]) -> Worker:
        return Worker(name, lambda: Model(path, device=device, batch=batch, size=size,
                                          precision=precision), idle=idle, room=limits.room)

    workers = [worker(name, path, size if at == 0 else None)
               for at, (name, path) in enumerate(models.items())]
    try:
        service = Service(workers, limits)
        for made in workers:
            made.load()
        routes = [*service.routes(), *OpenAI(service).routes(),
                  *Immich(service, upstream).routes()]
        if index is not None:
            routes += Album(service, index, workers[0]).routes()
        else:
            routes.append(Route("/", service.hello))
    except BaseException:
        for made in workers:
            made.close()
        raise
    return Guarded(application(service, routes), hosts)


def _size(index: Optional[str]) -> Optional[tuple[int, int]]:
    """Of pictures as the index's were."""
    if index is None:
        return None
    from .._index import Index

    with Index(index) as opened:
        size = (opened.info.picture_height, opened.info.picture_width)
    return size if all(size) else None
