"""The program vitcl, in processes that end with this one, however it ends: a study that
was killed can be started again at once."""
from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Optional, Sequence

PAUSE = 0.02  # seconds between looks at what runs
STARTER = "VITCL_STARTER"  # the descriptor of the vitcl that started this
MULTIPLIES = ("train", "finetune", "eval", "fewshot")  # have --precision


class StudyError(Exception):
    """Ends a study; one line that says why, or nothing if that was said."""


class Stopped(Exception):
    """A signal asked to stop."""


_libc = ctypes.CDLL(None)
_raised = 0  # the first signal
_since = 0.0  # when it came


def catch_signals() -> None:
    """From now on a signal stops the study; another one a second later kills it. Not sooner:
    timeout(1) sends its signal to the process and also to its group."""
    def note(number: int, _frame: object) -> None:
        global _raised, _since
        if not _raised:
            _raised, _since = number, time.monotonic()
        elif number != signal.SIGHUP and time.monotonic() - _since > 1:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, note)


def raised() -> int:
    return _raised


def check_stopped() -> None:
    if _raised:
        raise Stopped


def last_line(path: Path) -> str:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return ""
    return next((os.fsdecode(line) for line in reversed(lines) if line), "")


class Program:
    """vitcl, as it was when it started this process."""

    def __init__(self, descriptor: int, precision: Optional[str]) -> None:
        self.descriptor, self.precision = descriptor, precision
        os.set_inheritable(descriptor, False)

    def _path(self) -> str:
        return f"/proc/self/fd/{self.descriptor}"

    def begin(self, words: Sequence[str], out: Optional[Path],
              messages: Path) -> subprocess.Popen[bytes]:
        """Standard output goes to `out`, messages are appended to `messages`."""
        parent = os.getpid()

        def end_with_parent() -> None:
            if _libc.prctl(1, signal.SIGKILL) or os.getppid() != parent:  # PR_SET_PDEATHSIG
                os._exit(126)

        more = ["--precision", self.precision] if self.precision and words[0] in MULTIPLIES else []
        path = out or Path(os.devnull)
        try:
            with open(path, "wb") as to:
                path = messages
                with open(path, "ab") as also:
                    return subprocess.Popen(
                        ["vitcl", *words, *more], executable=self._path(),
                        pass_fds=[self.descriptor], stdin=subprocess.DEVNULL, stdout=to,
                        stderr=also, preexec_fn=end_with_parent)
        except OSError as e:
            raise StudyError(f"{path}: no process could be started: {e.strerror}") from None

    def run(self, words: Sequence[str], out: Optional[Path], messages: Path, what: str) -> None:
        """To its end, or until the study is stopped. `what` is for the error."""
        process = self.begin(words, out, messages)
        while process.poll() is None:
            if _raised:
                stop(process)
                raise Stopped
            time.sleep(PAUSE)
        if process.returncode:
            raise StudyError(f"{what} failed (exit status {status(process)}): "
                             f"{last_line(messages)}")

    def version(self) -> str:
        answer = subprocess.run(["vitcl", "--version"], executable=self._path(),
                                pass_fds=[self.descriptor], stdout=subprocess.PIPE)
        return os.fsdecode(answer.stdout).strip()

    def ask(self, question: str, *words: str) -> list[str]:
        """The fields of an answer; messages are the program's own."""
        answer = subprocess.run(
            ["vitcl", "study", question, *words], executable=self._path(),
            pass_fds=[self.descriptor], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        check_stopped()
        if answer.returncode:
            raise StudyError("")
        return os.fsdecode(answer.stdout).split("\0")


def status(process: subprocess.Popen[bytes]) -> int:
    """As a shell has it."""
    code = process.returncode or 0
    return 128 - code if code < 0 else code


def stop(process: subprocess.Popen[bytes]) -> None:
    """Asks it to stop, and waits for it."""
    process.terminate()
    process.wait()


def started() -> int:
    """The descriptor of vitcl, or -1: it did not start this."""
    text = os.environ.pop(STARTER, "")
    try:
        number = int(text)
        os.fstat(number)
    except (ValueError, OSError):
        return -1
    return number if number > 2 else -1

