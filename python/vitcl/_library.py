"""libvitcl: found and loaded once, its errors as exceptions, its handles."""
from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes as C
import functools
import numbers
import operator
import os
import pathlib
import queue
import signal
import threading
import time
import weakref
from typing import Any, Callable, Iterator, Optional, Sequence, TypeVar, Union

from . import _c, _drivers
from ._c import Status

T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]
AnyPrecision = Union[str, _c.Precision]

FORKED = ("OpenCL drivers do not survive fork(): start processes with "
          "multiprocessing.get_context(\"spawn\"), and make a Model in each")


class VitclError(Exception):
    """An error of the library: its message in one line, and its status.

    ``picture``: the picture that caused it, as the caller gave it, or None.
    Errors that Python has a class for are of that class, too: ValueError (EINVAL),
    MemoryError (ENOMEM) and OSError (EIO).
    """

    status: Status
    picture: Any = None

    def __init__(self, message: str, status: int = Status.EINVAL) -> None:
        super().__init__(message)
        self.status = Status(status)


class VitclValueError(VitclError, ValueError):
    """A wrong argument, or a handle that is closed."""


class VitclMemoryError(VitclError, MemoryError):
    """Too little memory on the device or in the process."""


class VitclOSError(VitclError, OSError):
    """A file that cannot be read or written."""


_CLASSES = {Status.EINVAL: VitclValueError, Status.ENOMEM: VitclMemoryError,
            Status.EIO: VitclOSError}


def error(status: int, message: str) -> VitclError:
    """The exception for a status."""
    try:
        known = Status(status)
    except ValueError:  # of a later library
        known = Status.EUNSUPPORTED
    return _CLASSES.get(known, VitclError)(message, known)


def closed(what: str) -> VitclError:
    return VitclValueError(f"this {what} is closed")


# ---- the library ------------------------------------------------------------

_library: Any = None
_loading = threading.Lock()
_opened = False  # a device, in this process or the one that it was forked from
_forked = False


def _after_fork() -> None:
    global _forked, _loading
    _forked = _opened
    _loading = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _check(status: int, _function: Any, _arguments: Any) -> int:
    if status:
        raise error(status, os.fsdecode(_library.vitcl_last_error()))
    return status


def _open() -> Any:
    beside = pathlib.Path(__file__).with_name(_c.LIBRARY)
    name = os.environ.get("VITCL_LIBRARY") or (str(beside) if beside.exists() else _c.LIBRARY)
    _drivers.offer()
    try:
        library = C.CDLL(name)
    except OSError as e:
        if "libOpenCL.so.1" in str(e):
            raise error(Status.ENODEVICE, _drivers.NO_LOADER) from None
        raise error(Status.EIO, f"cannot load the library vitcl: {e}") from None
    for function, (result, parameters, status) in _c.FUNCTIONS.items():
        try:
            bound = getattr(library, function)
        except AttributeError:
            raise error(Status.EUNSUPPORTED, f"{name} has no {function}: it is of another "
                        "version than this package") from None
        bound.restype, bound.argtypes = result, parameters
        if status:
            bound.errcheck = _check
    return library


def library() -> Any:
    """The library, loaded at the first call. Its functions raise VitclError."""
    global _library
    if _forked:
        raise RuntimeError(FORKED)
    if _library is None:
        with _loading:
            if _library is None:
                _library = _open()
    return _library


def encode(path: Path) -> bytes:
    """A path as the library takes it."""
    data = os.fsencode(path)
    if b"\0" in data:
        raise VitclValueError("a path with a null character")
    return data


def text(value: str, what: str = "text") -> bytes:
    """A text as the library takes it: UTF-8."""
    if not isinstance(value, str):
        raise TypeError(f"a {what} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise VitclValueError(f"a {what} with a null character")
    return value.encode()


@functools.lru_cache(256)
def array_type(type_: Any, n: int) -> Any:
    """Of arrays of n. Kept, since Python makes one anew where no array of it is left, and
    what that allocates lies between what stays."""
    return type_ * n


def strings(values: Sequence[bytes]) -> Any:
    """An array of texts that NULL ends."""
    return array_type(C.c_char_p, len(values) + 1)(*values)


def struct(type_: Any, **values: Any) -> Any:
    """A struct of options or of an answer, with its size."""
    made = type_(size=C.sizeof(type_))
    for name, value in values.items():
        try:
            setattr(made, name, value)
        except TypeError:
            shown = os.fsdecode(value) if isinstance(value, bytes) else value
            raise TypeError(f"{name} cannot be {shown!r}") from None
        kept = getattr(made, name)
        if type(kept) is int and kept != value:  # C has no room for it, and says nothing
            raise VitclValueError(f"{name} cannot be {value!r}")
    return made


def whole(value: Any, what: str, least: int = 0) -> int:
    """An argument that is a whole number."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {value!r}") from None
    if number < least:
        raise VitclValueError(f"{what} is at least {least}, not {number}")
    return number


def number(value: Any, what: str) -> float:
    """An argument that is a number."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{what} is a number, not {value!r}")
    return float(value)


def is_called(value: Any, what: str) -> None:
    """Of an argument that is called, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{what} is a function, not {value!r}")


def precision(value: AnyPrecision) -> _c.Precision:
    """An argument that names a precision."""
    if isinstance(value, _c.Precision):
        return value
    try:
        return _c.Precision[str(value).upper()]
    except KeyError:
        raise VitclValueError(f"unknown precision {value!r}: it is one of "
                              + ", ".join(p.name.lower() for p in _c.Precision)) from None


# ---- calls ------------------------------------------------------------------


class Call:
    """One call of the library that may take long.

    On the main thread, which alone sees Ctrl-C, the call runs in a thread of its own:
    Python has no turn while C runs, so Ctrl-C ends the wait at once, and the call at
    its next callback. Callbacks run on the thread that waits; what they raise ends the
    call and is raised after it.
    """

    def __init__(self) -> None:
        self._asked: Any = queue.SimpleQueue()
        self._error: Optional[BaseException] = None
        self._waiter: Optional[int] = None
        self._stopped = self._ended = False

    def callback(self, function: Callable[..., Any]) -> Callable[..., int]:
        """What C calls: 0, or 1 where `function` says true, or raises."""

        def called(*arguments: Any) -> int:
            if self._stopped or self._ended:  # ended: a session keeps its callback
                return int(self._stopped)
            if self._waiter in (None, threading.get_ident()):
                return self._ask(function, arguments)
            answer: Any = queue.SimpleQueue()
            self._asked.put((function, arguments, answer))
            while not self._stopped:  # then nobody may be there to answer
                try:
                    return int(answer.get(timeout=0.1))
                except queue.Empty:
                    pass
            return 1

        return called

    def _ask(self, function: Callable[..., Any], arguments: Any) -> int:
        try:
            return int(bool(function(*arguments)))
        except BaseException as e:
            self._error, self._stopped = e, True
            return 1

    def run(self, work: Callable[[], T], finish: bool = False) -> T:
        """work()'s result. finish: after an exception, wait for the call's end."""
        try:
            return self._run(work, finish)
        except BaseException:  # Ctrl-C comes anywhere
            self._stopped = True
            raise
        finally:
            self._ended = True

    def _run(self, work: Callable[[], T], finish: bool) -> T:
        if threading.current_thread() is not threading.main_thread():
            try:
                result = work()
            except VitclError:
                if self._error is None:
                    raise
            if self._error is not None:
                raise self._error
            return result
        return self._wait(work, finish)

    def _wait(self, work: Callable[[], T], finish: bool) -> T:
        done: list[Any] = []

        def body() -> None:
            try:
                done.append((work(), None))
            except BaseException as e:
                done.append((None, e))
            self._asked.put(None)

        self._waiter = threading.get_ident()
        thread = threading.Thread(target=body, name="vitcl")
        try:
            thread.start()
            while (asked := self._asked.get()) is not None:
                function, arguments, answer = asked
                answer.put(int(bool(function(*arguments))))
        except BaseException:
            self._stopped = True
            if finish and thread.is_alive():
                thread.join()
            raise
        thread.join()
        result, failure = done[0]
        if failure is not None:
            raise failure
        return result  # type: ignore[no-any-return]


def call(work: Callable[[], T]) -> T:
    """work() without callbacks; Ctrl-C does not wait for it."""
    return Call().run(work)


# ---- handles ----------------------------------------------------------------


def _let_go(free: Callable[[Any], None], pointer: Any) -> None:
    """free(pointer). Python drops what a finalizer raises, so a Ctrl-C that came
    meanwhile comes again a moment later."""
    try:
        free(pointer)
    except KeyboardInterrupt:
        finalizing, main = [True], threading.main_thread()

        def again() -> None:
            while finalizing:
                time.sleep(0.01)
            time.sleep(0.05)
            if main.ident is not None:
                signal.pthread_kill(main.ident, signal.SIGINT)

        with contextlib.suppress(RuntimeError):  # Python is ending
            _thread.start_new_thread(again, ())
        finalizing.clear()


class Handle:
    """A pointer that the library gave: freed once, by free() or with its last user."""

    kept: Any = None  # what the library points to, as long as the handle

    def __init__(self, kind: str, make: str, *arguments: Any) -> None:
        self.what = kind
        self._pointer = C.POINTER(getattr(_c, f"vitcl_{kind}"))()
        loaded = library()
        getattr(loaded, make)(C.byref(self._pointer), *arguments)
        self._free = weakref.finalize(
            self, _let_go, getattr(loaded, f"vitcl_{kind}_free"), self._pointer)

    @property
    def pointer(self) -> Any:
        if _forked:
            raise RuntimeError(FORKED)
        if not self._free.alive:
            raise closed(self.what)
        return self._pointer

    def free(self) -> None:
        self._free()


class Guard:
    """A handle that threads share: freed when it is closed and nobody uses it.

    ``with guard.shared() as pointer`` describes it, ``with guard as pointer`` runs it:
    that is for one thread at a time, the others wait.
    """

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._users = 0
        self.closing = False

    def _enter(self) -> Any:
        pointer = self.handle.pointer  # first: after a fork the lock may stay locked
        with self._lock:
            if self.closing:
                raise closed(self.handle.what)
            self._users += 1
        return pointer

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            last = self.closing and not self._users
        if last:
            self.handle.free()

    @contextlib.contextmanager
    def shared(self) -> Iterator[Any]:
        pointer = self._enter()
        try:
            yield pointer
        finally:
            self._leave()

    def __enter__(self) -> Any:
        pointer = self._enter()
        self._turn.acquire()
        return pointer

    def __exit__(self, *_: Any) -> None:
        self._turn.release()
        self._leave()

    def close(self) -> None:
        if _forked:
            self.handle.free()
            return
        with self._lock:
            last = not self.closing and not self._users
            self.closing = True
        if last:
            self.handle.free()


# ---- devices ----------------------------------------------------------------

_devices: "weakref.WeakValueDictionary[Optional[str], Handle]" = weakref.WeakValueDictionary()
_opening = threading.Lock()


def device(select: Optional[str]) -> Handle:
    """The device that `select` names, shared by all models of the process."""
    global _opened
    loaded = library()
    with _opening:
        found = _devices.get(select)
        if found is None:
            chosen = None if select is None else text(select, "device")
            try:
                found = Handle("device", "vitcl_device_open", chosen)
            except VitclError as e:
                if e.status == Status.ENODEVICE and not _drivers.any_device(loaded):
                    e.args = (f"{e} {_drivers.OR_PIP}",)
                raise
            _devices[select] = found
            _opened = True
        return found


# ---- the log ----------------------------------------------------------------

_log: Any = None


def set_log(function: Optional[Callable[[str], Any]]) -> None:
    """Calls `function` with each line of the library's log; None: with none.

    The lines are for people: devices, caches, which kernels were tried and chosen.
    They come from any thread, one at a time. ``set_log(logging.getLogger("vitcl").debug)``
    hands them to logging. `function` must not call vitcl.
    """
    global _log
    is_called(function, "a log")

    def line(_context: Any, said: bytes) -> None:
        try:
            if function is not None:
                function(os.fsdecode(said))
        except Exception:  # a log must not end what it tells of
            pass

    made = _c.vitcl_log(line) if function is not None else _c.vitcl_log()
    library().vitcl_log_set(made, None)
    _log = made  # the former one is not called any more


def _end() -> None:
    if _library is not None and _log is not None and not _forked:
        _library.vitcl_log_set(_c.vitcl_log(), None)


atexit.register(_end)
