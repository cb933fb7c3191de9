"""PTX executed with NumPy: what tools/ptx_run --interpret loads kernels into.

Written from the PTX ISA document, and from nothing in cl/. All threads of many
groups advance together: a register is an array with a number for each thread.
Where threads branch apart, those that are furthest behind go first, so that they
meet again.

What is stricter than hardware, and stops with a line that names the instruction
and a thread:
  - a copy of cp.async arrives as late as it may: its words can be neither read
    nor written until the thread that began it has waited for its group;
  - wgmma reads its words of shared memory, and writes its sums, as late as it may: when its threads wait for it. Until then
    those words cannot be written, and its sums are the old ones;
  - a bulk copy arrives as late as it may, too, and only who has waited for its mbarrier's phase may touch its words; what one
    thread did, another knows by barriers and mbarriers alone (ptx_bulk.py);
  - what a thread wrote to shared memory, wgmma and bulk copies touch only behind a fence.proxy.async;
  - a word of shared memory that one thread wrote, or that a copy of its brought,
    is another's only after a barrier (or an mbarrier); nor may it be written where another reads
    before the barrier; what nobody wrote cannot be read, but by ldmatrix, as NaN, for columns that are not used;
  - shared variables begin at addresses that are aligned as declared, and no better,
    with a gap between; buffers are as long as they are, and begin at 256 bytes;
  - accesses must be aligned to their size;
  - what a thread wrote to global memory, another neither reads nor writes in the same launch, and ld.nc nobody;
  - mma, ldmatrix, shfl and bar.sync need all threads of a warp at the same instruction;
  - an instruction, or a form of it, that is not here.
What is looser, or other: fma is rounded twice, in double and then in f32; ex2 and the
like are exact, and round once; mma adds its products in double, hardware in f32
with cut bits. A write of global memory that another thread has read is not seen.
"""
import re

import numpy as np

import ptx_bulk
import ptx_instructions as instructions

WARP = 32
LANES = 8192  # of the groups that are executed together, about
BASE = 0x7F4200000000  # of global memory: no address fits into 32 bits
GAP = 256
THREADS = 2**40  # more than a launch has
STEPS = 20_000_000  # of one launch: more is an endless loop


class Fault(Exception):
    pass


# ---- the text ----


class Instruction:
    def __init__(self, text, line):
        self.text, self.line = text, line
        guard, self.guard, self.negated = re.match(r"@(!?)(%?\w+)\s+", text), None, False
        if guard:
            self.guard, self.negated, text = guard[2], bool(guard[1]), text[guard.end():]
        self.name, _, rest = text.partition(" ") if " " in text else text.partition("\t")
        self.name = self.name.strip()
        # commas outside of braces and brackets
        self.operands = [x.strip() for x in re.findall(r"(?:\{[^}]*\}|\[[^]]*\]|[^,{\[])+", rest) if x.strip()]
        self.parts = self.name.split(".")


class Kernel:
    """The entry of that name in a module of PTX."""

    def __init__(self, text, name):
        self.name, self.parameters, self.registers, self.shared, self.constants = name, [], {}, [], {}
        self.code, self.labels, self.shared_bytes = [], {}, 4
        where, depth = "module", 0  # of blocks in the body
        for number, line in enumerate(text.split("\n"), 1):
            line = line.split("//")[0].strip()
            constant = re.match(r"(?:\.\w+ )?\.(?:const|global) \.align \d+ \.b8 (\w+)\[(\d+)\] = \{([\d, ]*)\};", line)
            if constant:
                given = [int(x) for x in constant[3].split(",")]  # zeros at the end are left out
                self.constants[constant[1]] = np.array(given + [0] * (int(constant[2]) - len(given)), np.uint8)
            elif line.startswith(".shared"):
                if where in ("module", "body"):
                    self.declare_shared(line)
            elif re.match(r"(\.visible )?\.entry %s\(" % re.escape(name), line):
                where = "parameters"
            elif where == "parameters":
                found = re.match(r"\.param \.(\w+) .*?(\w+),?$", line)
                if found:
                    self.parameters.append((found[2], found[1]))
                elif line == "{":
                    where = "body"
            elif where == "body":
                depth += line.count("{") - line.count("}")
                if depth < 0:
                    where = "after"
                else:
                    self.body(line, number)
        self.mbarriers = any(i.parts[0] == "mbarrier" for i in self.code)
        if where != "after":
            raise Fault("no entry %s in this PTX" % name)

    def declare_shared(self, line):
        align, name, size = re.match(r"\.shared \.align (\d+) \.b\d+ ([\w$]+)\[(\d+)\]", line).groups()
        align, at = int(align), self.shared_bytes + 16
        at = -(-at // align) * align
        at += align * (at % (2 * align) == 0)  # aligned no better
        self.shared.append((name, at, int(size)))
        self.shared_bytes = -(-(at + int(size)) // 4) * 4

    def body(self, line, number):
        label = re.match(r"(\$?\w+):", line)
        if label:
            self.labels[label[1]] = len(self.code)
            line = line[label.end():]
        for part in line.split(";"):
            part = part.strip()
            while part.startswith("{"):
                part = part[1:].strip()
            if part in ("", "}") or part.startswith((".pragma", ".loc", ".file")):
                continue
            declared = re.match(r"\.reg \.(\w+)\s+(%?\w+)(?:<\d+>)?$", part)
            if declared:
                self.registers[declared[2]] = 1 if declared[1] == "pred" else int(declared[1][1:])
            else:
                self.code.append(Instruction(part, number))

    def declared(self, text):
        """The width of this register; None: it is none."""
        return self.registers.get(text) or self.registers.get(text.rstrip("0123456789"))

    def width(self, register):
        """In bits; 1 of a predicate."""
        found = self.declared(register)
        if not found:
            raise Fault("no register %s" % register)
        return found


# ---- memory ----


class Global:
    """Buffers in one array, with gaps between."""

    def __init__(self):
        self.bytes, self.valid, self.end = np.zeros(0, np.uint8), np.zeros(0, bool), GAP
        self.writer, self.launches = np.zeros(0, np.int64), 0  # of the number that begins here: launch and thread

    def new(self, array):
        """The address of a copy."""
        data = np.frombuffer(array.tobytes(), np.uint8)
        at, self.end = self.end, -(-(self.end + data.size) // GAP) * GAP + GAP
        if self.end > self.bytes.size:
            for name in ("bytes", "valid", "writer"):
                old = getattr(self, name)
                wider = np.zeros(2 * self.end, old.dtype)
                wider[:old.size] = old
                setattr(self, name, wider)
        self.bytes[at:at + data.size] = data
        self.valid[at:at + data.size] = True
        return BASE + at

    def get(self, address, like):
        at = address - BASE
        return self.bytes[at:at + like.nbytes].view(like.dtype).reshape(like.shape).copy()

    def places(self, run, addresses, size, lanes, what):
        """Where in the array these accesses of `size` bytes are."""
        at = addresses - np.uint64(BASE)
        bad = at >= np.uint64(self.bytes.size - 16)
        at = np.where(bad, 0, at).astype(np.int64)
        bad |= ~(self.valid[at] & self.valid[at + size - 1])
        run.complain(bad, lanes, "%s of global memory outside of the buffers, address %%#x" % what, addresses)
        run.complain(at % size != 0, lanes, "%s of %d bytes that is not aligned, address %%#x" % (what, size), addresses)
        return at

    def touched(self, run, at, size, count, lanes, writes, constant=False):
        """Which thread of this launch wrote these numbers: only the same may touch them again."""
        me = self.launches * THREADS + run.first + lanes
        for k in range(count):
            place = at + k * size
            writer = self.writer[place]
            bad = writer >= self.launches * THREADS
            if not constant:
                bad &= writer != me
            run.complain(bad, lanes, "thread %d of the launch writes this global memory", writer % THREADS)
            if writes:
                if run.order:
                    run.order.sources(place, lanes)
                self.writer[place] = me
                run.complain(self.writer[place] != me, lanes, "thread %d of the launch writes this global memory, too",
                             self.writer[place] % THREADS)


MANY, NOBODY = instructions.MANY, ptx_bulk.NOBODY


class Shared:
    """Of all groups that run together, in words, and who last touched them."""

    def __init__(self, run, kernel, groups):
        self.run, self.stride = run, kernel.shared_bytes // 4
        n = groups * self.stride
        self.words = np.full(n, instructions.UNWRITTEN, np.uint32)
        self.allowed = np.zeros((groups, self.stride), bool)
        for _, at, size in kernel.shared:
            self.allowed[:, at // 4:(at + size) // 4] = True
        self.allowed = self.allowed.reshape(-1)
        self.writer, self.reader = np.full(n, NOBODY, np.int32), np.full(n, NOBODY, np.int32)
        self.written, self.read_at = np.zeros(n, np.int32), np.full(n, -1, np.int32)  # in which epoch
        self.coming = np.full(n, NOBODY, np.int32)  # whose copy is on its way
        self.generic = np.zeros(n, bool)  # written, and no fence.proxy.async since
        self.multiplied = np.zeros(n, np.int32)  # by how many wgmma that nobody has waited for
        self.epoch = np.zeros(groups, np.int32)  # barriers so far
        self.copies = []  # (words, lanes, group of each) on their way

    def places(self, addresses, size, lanes, what):
        """First words of these accesses."""
        at = addresses.astype(np.int64)
        run = self.run
        run.complain(at % size != 0, lanes, "%s of %d bytes that is not aligned, shared address %%#x" % (what, size), at)
        at = at // 4
        bad = (at < 0) | (at + size // 4 > self.stride)
        at = np.where(bad, 0, at) + run.group_of[lanes].astype(np.int64) * self.stride
        bad |= ~(self.allowed[at] & self.allowed[at + size // 4 - 1])
        run.complain(bad, lanes, "%s of shared memory outside of the variables, address %%#x" % what, addresses)
        return at

    def mbarriers(self, addresses, lanes):
        """First words of these mbarriers."""
        at = addresses.astype(np.int64)
        self.run.complain((at % 8 != 0) | (at < 0) | (at // 4 + 2 > self.stride), lanes, "no mbarrier can be at address %#x", at)
        return at // 4 + self.run.group_of[lanes].astype(np.int64) * self.stride

    def by_async(self, at, lanes, what):
        """Before the asynchronous proxy touches these."""
        self.run.complain(self.generic[at], lanes, what + " what thread %d wrote, and no fence.proxy.async is between",
                          self.writer[at] % self.run.items)

    def fence_proxy(self, lanes):
        """What these lanes wrote, or any before the last barrier of their group."""
        fenced, groups, of = np.zeros(self.run.lanes, bool), np.zeros(self.epoch.size, bool), np.arange(self.words.size) // self.stride
        fenced[lanes] = groups[self.run.group_of[lanes]] = True
        self.generic &= ~(fenced[self.writer] | groups[of] & (self.written < self.epoch[of]))

    def named(self, writer):
        return np.where(writer < 0, writer, writer % self.run.items)

    def looked_at(self, at, who, lanes):
        """A read by `who`: each lane, or MANY."""
        run, now = self.run, self.epoch[self.run.group_of[lanes]]
        run.complain(self.coming[at] != NOBODY, lanes,
                     "read of a word whose copy is on its way, begun by thread %d", self.coming[at] % run.items)
        writer = self.writer[at]
        run.complain((writer == NOBODY) & (who is lanes), lanes, "read of shared memory that nobody wrote, word %d", at % self.stride)
        apart = (self.written[at] == now) & (writer != who)
        if run.order:
            apart &= ~run.order.knows(at, lanes)
        run.complain(apart, lanes, "read of what thread %d wrote (-3: a bulk copy), without a barrier between", self.named(writer))
        fresh = self.read_at[at] != now
        self.reader[at] = np.where(fresh | (self.reader[at] == who), who, MANY)
        self.read_at[at] = now
        several = self.reader[at] != who  # others in this very instruction
        self.reader[at[several]] = MANY

    def claimed(self, at, lanes):
        """Before a change: has another thread touched these since the barrier?"""
        run, now = self.run, self.epoch[self.run.group_of[lanes]]
        run.complain(self.coming[at] != NOBODY, lanes,
                     "write of a word whose copy is on its way, begun by thread %d", self.coming[at] % run.items)
        run.complain(self.multiplied[at] > 0, lanes, "write of a word that wgmma may still read: nobody has waited for it")
        read = (self.read_at[at] == now) & (self.reader[at] != lanes)
        written = (self.written[at] == now) & (self.writer[at] != lanes) & (self.writer[at] != NOBODY)
        if run.order:
            read, written = read & ~run.order.were_read(at, lanes), written & ~run.order.knows(at, lanes)
        run.complain(read, lanes, "write of what another thread read (%d; -2: several), without a barrier between",
                     self.named(self.reader[at]))
        run.complain(written, lanes, "write of what thread %d wrote (-3: a bulk copy), without a barrier between",
                     self.named(self.writer[at]))

    def changed(self, at, lanes):
        self.writer[at], self.written[at], self.generic[at] = lanes, self.epoch[self.run.group_of[lanes]], True
        if self.run.order:
            self.run.order.by[at], self.run.order.written[at] = lanes % self.run.items, self.run.steps
        self.run.complain(self.writer[at] != lanes, lanes, "write of a word that thread %d writes at the same time",
                          self.writer[at] % self.run.items)

    def read(self, at, lanes):
        self.looked_at(at, lanes, lanes)
        if self.run.order:
            self.run.order.reads[at, lanes % self.run.items] = self.run.steps
        return self.words[at]

    def write(self, at, lanes, values):
        self.claimed(at, lanes)
        self.words[at] = values
        self.changed(at, lanes)

    def begin(self, at, lanes, values):
        """A copy of 4 words each: nobody may look before arrive(), so the words may as well stand there already."""
        for k in range(4):
            self.claimed(at + k, lanes)
            self.coming[at + k] = lanes
            self.run.complain(self.coming[at + k] != lanes, lanes, "copy to a word to which thread %d copies at the "
                              "same time", self.coming[at + k] % self.run.items)
            self.words[at + k] = values[k]
        self.copies.append((at, lanes, self.run.committed[lanes].copy()))

    def arrive(self, lanes, limit):
        """Of these lanes, the copies of the groups before `limit` (one for each lane of the run)."""
        waits = np.zeros(self.run.lanes, bool)
        waits[lanes] = True
        left = []
        for at, owners, group in self.copies:
            done = waits[owners] & (group < limit[owners])
            for k in range(4):
                self.coming[at[done] + k] = NOBODY
                self.changed(at[done] + k, owners[done])
            if not done.all():
                left.append((at[~done], owners[~done], group[~done]))
        self.copies = left


# ---- execution ----

RUNS, AT_BARRIER, IN_WARP, ASLEEP, GONE = range(5)  # IN_WARP: waits for the rest of its warp, or warps; ASLEEP: for an mbarrier


class Run:
    """Some groups of a launch, from their first instruction to their last."""

    RUNS, ASLEEP = RUNS, ASLEEP

    def __init__(self, kernel, memory, first, groups, count, local, values, counts):
        self.kernel, self.memory, self.local, self.count, self.counts = kernel, memory, local, count, counts
        self.items = local[0] * local[1] * local[2]
        self.first = first * self.items
        self.lanes = self.items * len(groups)
        self.group_of = np.repeat(np.arange(len(groups)), self.items)
        self.groups = groups
        self.committed = np.zeros(self.lanes, np.int32)  # groups of copies
        self.wgmma_committed = np.zeros(-(-self.lanes // (4 * WARP)), np.int32)  # of four warps: their groups of wgmma
        self.multiplications = []  # that nobody has waited for
        self.steps, self.state = 0, np.zeros(self.lanes, np.int8)
        self.shared = Shared(self, kernel, len(groups))
        self.order = ptx_bulk.Order(self, len(groups)) if kernel.mbarriers else None
        self.values, self.at = values, None
        self.rows, self.names = {}, {name: at for name, at, _ in kernel.shared}
        self.names.update(values["constants"])
        tid = np.tile(np.arange(self.items), len(groups))
        self.special = {"%laneid": tid % WARP}
        for i, axis in enumerate("xyz"):
            self.special["%tid." + axis] = tid // int(np.prod(local[:i])) % local[i]
            self.special["%ctaid." + axis] = np.array(groups)[self.group_of, i]
            self.special["%ntid." + axis] = np.full(self.lanes, local[i])
            self.special["%nctaid." + axis] = np.full(self.lanes, count[i])
        self.operations = [instructions.bind(self, i) for i in kernel.code]

    def complain(self, bad, lanes, text, value=None):
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            lane = int(lanes[first])
            what = text % int(value[first]) if value is not None else text
            self.fail("%s (thread %d of group %s; %d threads)" % (
                what, lane % self.items, self.groups[lane // self.items], int(bad.sum())))

    def fail(self, text):
        i = self.at
        raise Fault("%s, line %d of its PTX, \"%s\": %s" % (self.kernel.name, i.line, i.text.replace("\t", " "), text))

    def row(self, register, dtype):
        """The numbers of a register as this type; a view."""
        if register in self.special:
            return self.special[register].astype(dtype)
        row = self.rows.get(register)
        if row is None:
            width = self.kernel.width(register)
            row = self.rows[register] = np.zeros(self.lanes, bool if width == 1 else "u%d" % (width // 8))
        return row.view(dtype)

    def whole_warps(self, mask, width):
        """Of the lanes of this mask, those whose warp, or four warps, are complete."""
        if self.items % width:
            self.fail("a group of %d threads has no whole warps" % self.items)
        return np.repeat(mask.reshape(-1, width).all(1), width)

    def run(self):
        code, operations, end = self.kernel.code, self.operations, len(self.operations)
        state, pcs = self.state, np.zeros(self.lanes, np.int32)
        while True:
            able = state == RUNS
            if not able.any():
                if (state == GONE).all():
                    if self.order and any(b.copies for b in self.order.barriers.values()):
                        self.fail("the group ends with bulk copies on their way")
                    break
                stuck = np.flatnonzero(state != GONE)[0]
                self.at = code[pcs[stuck]]
                self.fail("thread %d waits for others, which never come here" % (stuck % self.items))
            pc = int(pcs[able].min())
            mask = (pcs == pc) & (able | (state == IN_WARP))
            state[mask] = RUNS
            others = pcs[(able | (state == IN_WARP)) & (pcs > pc)]
            stop = int(others.min()) if others.size else end
            alone = not others.size and not (state == IN_WARP).any()  # those may wait at any place
            everyone = bool(mask.all())
            where, lanes = True if everyone else mask, np.flatnonzero(mask)
            while pc < stop:
                kind, work = operations[pc]
                self.at = code[pc]
                self.steps += 1
                if kind == "plain":
                    work(where, lanes)
                    pc += 1
                    continue
                if kind in ("warp", "warps"):
                    width = WARP if kind == "warp" else 4 * WARP
                    whole = mask if everyone and self.items % width == 0 else self.whole_warps(mask, width)
                    if (mask & ~whole).any():
                        state[mask & ~whole], pcs[mask] = IN_WARP, pc
                        if not whole.any():
                            break
                        mask = whole & mask
                        everyone, where, lanes = False, mask, np.flatnonzero(mask)
                    work(where, lanes)
                    pc += 1
                    continue
                if kind == "wait":
                    asleep = work(where, lanes)
                    if not asleep.any():
                        pc += 1
                        continue
                    state[asleep] = ASLEEP
                    pcs[mask] = np.where(asleep[mask], pc, pc + 1)
                    break
                if kind == "bar":
                    self.barrier(mask, pc, state, pcs)
                    break
                if kind == "ret":
                    state[mask] = GONE
                    if any(mask[owners].any() for _, owners, _ in self.shared.copies):
                        self.fail("a thread ends with copies on their way")
                    if any(mask[m.groups * 4 * WARP].any() for m in self.multiplications):
                        self.fail("a thread ends with a wgmma on its way")
                    break
                taken = work(where, lanes)  # a branch
                goal = self.kernel.labels.get(self.at.operands[0])
                if goal is None:
                    self.fail("no such label")
                if taken is True:
                    pc = goal
                    if pc < stop and alone:  # nobody else to look after
                        continue
                    pcs[mask] = pc
                    break
                pcs[mask] = np.where(taken[mask], goal, pc + 1)
                if taken[mask].all() or not taken[mask].any():
                    pc = int(pcs[lanes[0]])
                    if alone:
                        continue
                break
            else:
                if pc >= end:
                    self.fail("the code ends without ret")
                pcs[mask] = pc
            if self.steps > STEPS:
                self.fail("more than %d instructions" % STEPS)
        self.counts["instructions"] = self.counts.get("instructions", 0) + self.steps

    def barrier(self, mask, pc, state, pcs):
        """Groups all of whose threads have come, go on."""
        state[mask], pcs[mask] = AT_BARRIER, pc
        waits, gone = state == AT_BARRIER, state == GONE
        free = (waits | gone).reshape(-1, self.items).all(1)
        if not free.any():
            return
        lanes = np.repeat(free, self.items) & waits
        if self.items % WARP == 0:  # .aligned: at the same instruction in each warp
            at = np.where(lanes, pcs, -1).reshape(-1, WARP)
            if (at != at[:, :1]).any():
                self.fail("threads of a warp are at different barriers, or some have ended")
        self.shared.epoch[free] += 1
        if self.order:
            self.order.start[free] = self.steps
        state[lanes] = RUNS
        pcs[lanes] += 1


def launch(kernel, memory, arguments, size, local):
    """As clEnqueueNDRangeKernel; returns what was executed of each kind."""
    local = tuple(local) + (1,) * (3 - len(local))
    count = tuple(-(-s // l) for s, l in zip(tuple(size) + (1,) * (3 - len(size)), local))
    if len(arguments) != len(kernel.parameters):
        raise Fault("%s has %d parameters, not %d" % (kernel.name, len(kernel.parameters), len(arguments)))
    values = {name: value for (name, _), value in zip(kernel.parameters, arguments)}
    values["constants"] = {name: memory.new(data) for name, data in kernel.constants.items()}
    items = local[0] * local[1] * local[2]
    if items > 1024 or max(count[1:]) > 65535 or sum(size for _, _, size in kernel.shared) > 48 * 1024:
        raise Fault("%s: %s threads, %s groups, or more than 48 KiB of shared memory" % (kernel.name, local, count))
    memory.launches += 1
    groups = [(x, y, z) for z in range(count[2]) for y in range(count[1]) for x in range(count[0])]
    # a kernel with mbarriers has a number for each word and thread: some 64 MiB of them
    together, counts = max(1, LANES // items if not kernel.mbarriers else 2**26 // (items * kernel.shared_bytes)), {}
    with np.errstate(all="ignore"):
        for i in range(0, len(groups), together):
            Run(kernel, memory, i, groups[i:i + together], count, local, values, counts).run()
    return counts
