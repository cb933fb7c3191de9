"""python -m vitcl: the command `vitcl`."""
from ._program import main

main()
