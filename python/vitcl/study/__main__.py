"""`python3 -m vitcl.study`, which the command `vitcl study` starts."""
import sys

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit("vitcl study: studies need NumPy; on Debian: apt install python3-numpy, elsewhere: "
             "pip install numpy")

from ._command import main

if __name__ == "__main__":
    sys.exit(main())
