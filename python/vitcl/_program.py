"""The command `vitcl`: the program that the wheel has beside the library."""
from __future__ import annotations

import os
import pathlib
import sys

from . import _drivers


def main() -> None:
    """Becomes the program."""
    at = pathlib.Path(__file__).with_name("vitcl")
    if not at.exists():
        at = pathlib.Path("/usr/bin/vitcl")  # Debian's package has this module alone
    if not at.exists():
        sys.exit("the program vitcl is not installed: it is the package vitcl")
    _drivers.offer()
    # `vitcl study` becomes this Python again
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get(
        "PATH", os.defpath)
    if not _drivers.has_loader():
        sys.exit(f"vitcl: {_drivers.NO_LOADER}")
    try:
        os.execv(at, ["vitcl", *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"vitcl: {e}")


if __name__ == "__main__":
    main()
