"""bulk.py ROOT FILE - FILE, which is bulk.ptx or changed from it, by the interpreter of ROOT/tools: what it adds up."""
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/tools/interpret")
import numpy as np
import ptx_interpreter

GROUPS, STRIPS = 3, 7
memory = ptx_interpreter.Global()
strips = np.random.default_rng(1).integers(0, 2**32, (GROUPS, STRIPS, 64), np.uint32)
to = memory.new(np.zeros((GROUPS, 64), np.uint32))
try:
    with open(sys.argv[2]) as f:
        kernel = ptx_interpreter.Kernel(f.read(), "bulk")
    ptx_interpreter.launch(kernel, memory, [to, memory.new(strips), STRIPS], (96 * GROUPS,), (96,))
except ptx_interpreter.Fault as e:
    sys.exit("FAULT: %s" % e)
right = (memory.get(to, strips[:, 0]) == strips.sum(1, dtype=np.uint32)).all()
print("right" if right else "WRONG")
sys.exit(not right)
