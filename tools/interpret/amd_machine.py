"""AMD's machine code, as clang -S writes it, run in NumPy: for tools/ptx_run.

All waves of a launch go together: a vector register is an array of [wave, lane],
a scalar one of [wave]. The waves that are first in the program go on, up to the
next branch, label or barrier. Memory answers at once, so s_waitcnt and the like
do nothing. Vectors begin with garbage, so that nothing unset is taken for zero.

A Fault is an access outside of a buffer or of local memory, two work-items that
use a word of local memory without a barrier between them, of which one writes, a
matrix instruction with lanes switched off, or an instruction that is not known
here. Rounding differs in one place: fma() is one of doubles, rounded twice.

Fragments are those of AMD's matrix instruction calculator, not of cl/.
Instructions: AMD's manuals "RDNA3", "RDNA4" and "CDNA3 Instruction Set Architecture".
"""
import re, struct

import numpy as np

from amd_arithmetic import Fault, U, W
from amd_instructions import ENDS, NOTHING, compile_line, label_of
from amd_operand import EXEC, NULL, TTMP, VCC, Operand

GARBAGE = 0x7FC1FEED  # NaN as a float, and in both halves as an f16


class Program:
    """A kernel of clang's assembly: its lines, where blocks begin, and what .amdhsa_kernel says."""

    def __init__(self, text, kernel, memory):
        self.target = re.search(r'--(gfx\w+)"', text)[1]
        about = text.split(".amdhsa_kernel %s\n" % kernel)[1].split(".end_amdhsa_kernel")[0]
        self.about = {k: int(v) for k, v in re.findall(r"\.amdhsa_(\w+) (\d+)\n", about)}
        self.lanes = 32 if self.about.get("wavefront_size32") else 64
        if self.about["private_segment_fixed_size"]:
            raise Fault("has memory of its own")
        body = re.split(r"^%s:" % kernel, text, flags=re.M)[1].split(".amdhsa_kernel")[0]
        lines, labels = [], {}
        for line in body.splitlines():
            line = line.split(";")[0].strip().replace("\t", " ")
            if line.endswith(":"):
                labels[line[:-1]] = len(lines)
            elif line.startswith(".section"):
                break
            elif line and not line.startswith("."):
                lines.append(line)
        for name in set(re.findall(r"(\w+)@rel32@lo", "\n".join(lines))):  # distances from s_getpc, which is 0
            data = re.search(r"^%s:\n((?:\s+\.(?:long|zero).*\n)+)" % name, text, re.M)[1]
            at = memory.new(b"".join(bytes(int(n)) if how == "zero" else int(n, 0).to_bytes(4, "little")
                                     for how, n in re.findall(r"\.(long|zero)\s+(\w+)", data)))
            lines = [re.sub(r"\b%s@rel32@lo\+\d+" % name, str(at), re.sub(r"\b%s@rel32@hi\+\d+" % name, "0", l)) for l in lines]
        self.lines = lines
        self.labels = labels
        self.leaders = set(labels.values()) | {i + 1 for i, l in enumerate(lines) if ENDS.match(l.split(" ")[0])}
        self.code = [compile_line(l, i, self.lanes, self.target) for i, l in enumerate(lines)]
        small = re.search(r"^ds_\w+_([biu]8|[biu]16)", "\n".join(lines), re.M)
        self.fine = 1 if small else 4  # of so many bytes it is known who used them
        part = next(p for p in re.split(r"^  - ", text.split("amdhsa.kernels:")[1], flags=re.M)
                    if re.search(r"^    \.name: +%s$" % kernel, p, re.M))
        self.arguments = [{k: v for k, v in re.findall(r"\.(offset|size|value_kind): +(\w+)", a)}
                          for a in re.split(r"^      - ", part, flags=re.M)[1:]]
        self.arguments = [(int(a["offset"]), int(a["size"]), a["value_kind"]) for a in self.arguments if "value_kind" in a]


class Memory:
    """All buffers in one array, with gaps between them."""

    def __init__(self):
        self.bytes, self.valid, self.end = np.zeros(1 << 20, np.uint8), np.zeros(1 << 20, bool), 4096

    def new(self, data):
        data = np.frombuffer(data, np.uint8) if isinstance(data, (bytes, bytearray)) else data.reshape(-1).view(np.uint8)
        at, self.end = self.end, (self.end + len(data) + 1023) // 256 * 256
        while self.end > len(self.bytes):
            self.bytes, self.valid = (np.concatenate([x, np.zeros_like(x)]) for x in (self.bytes, self.valid))
        self.bytes[at:at + len(data)], self.valid[at:at + len(data)] = data, True
        return at

    def get(self, at, like):
        return self.bytes[at:at + like.nbytes].copy().view(like.dtype).reshape(like.shape)


class Machine:
    """Some groups of a launch."""

    def __init__(self, program, memory, kernarg, packet, groups, local):
        self.program, self.memory = program, memory
        p, lanes = program.about, program.lanes
        items = int(np.prod(local))
        self.waves = -(-items // lanes)
        n = len(groups) * self.waves
        self.v, self.a = (np.full((p["next_free_vgpr"] + 1, n, lanes), GARBAGE, U) for _ in (0, 1))
        self.s, self.scc = np.full((128, n), GARBAGE, U), np.zeros(n, bool)
        item = (np.arange(n)[:, None] % self.waves) * lanes + np.arange(lanes)
        self.on_all = item < items
        self.v[0] = item % local[0] | item // local[0] % local[1] << 10 | item // (local[0] * local[1]) << 20
        at = 0
        for name, words, value in (("private_segment_buffer", 4, 0), ("dispatch_ptr", 2, packet), ("queue_ptr", 2, 0),
                                   ("kernarg_segment_ptr", 2, kernarg), ("dispatch_id", 2, 0), ("flat_scratch_init", 2, 0),
                                   ("private_segment_size", 1, 0)):
            if p.get("user_sgpr_" + name):
                self.s[at], self.s[at + 1] = value, 0
                at += words
        at = p["user_sgpr_count"]
        ids = np.repeat(np.array(groups), self.waves, 0)
        for i, name in enumerate("xyz"):
            if p.get("system_sgpr_workgroup_id_" + name):
                self.s[at] = ids[:, i]
                at += 1
        if program.target.startswith("gfx12"):
            self.s[TTMP + 9], self.s[TTMP + 7] = ids[:, 0], ids[:, 1] | ids[:, 2] << 16
        self.s[NULL] = 0
        self.group = np.arange(n) // self.waves
        self.size = p["group_segment_fixed_size"]
        self.local = np.full(max(1, self.size * len(groups)), 0xFE, np.uint8)
        fine = max(1, len(self.local) // program.fine)
        self.writer, self.reader = np.full((2, fine), -1)
        self.write_epoch, self.read_epoch = np.full((2, fine), -1)
        self.epoch, self.item = np.zeros(len(groups), W), np.arange(n)[:, None] * lanes + np.arange(lanes)
        if self.waves == 1:  # the compiler leaves the barriers of a wave out
            self.item[:] = 0
        self.pc, self.waiting, self.done = np.zeros(n, W), np.zeros(n, bool), np.zeros(n, bool)
        self.w, self.races = slice(None), []
        self.instructions = self.matrix = 0
        mask = Operand("exec_lo", lanes)
        self.full, self.on = True, None
        mask.put_mask(self, self.on_all)

    def w_count(self):
        return len(self.pc) if isinstance(self.w, slice) else len(self.w)

    def exec_changed(self, operand):
        if operand.number in (EXEC, EXEC + 1):
            self.on = Operand("exec_lo", operand.lanes).mask(self)
            self.full = bool(self.on.all())

    def inside(self, at, size, line):
        if len(at) and (at.min() < 0 or at.max() + size > len(self.memory.valid) or
                        not all(self.memory.valid[at + i].all() for i in range(size))):
            raise Fault("outside of all buffers: " + line.text)

    def bytes_at(self, at, size, line):
        at = at.astype(W)
        # a scalar load may bring a word more than is asked for, from a page that is there
        if at.min() < 0 or at.max() + size > len(self.memory.bytes) or not self.memory.valid[at].all():
            raise Fault("outside of all buffers: " + line.text)
        return np.ascontiguousarray(self.memory.bytes[at[:, None] + np.arange(size)])

    def local_at(self, at, size, write, line):
        """Where local addresses of the lanes that are on are; notes who used them."""
        at = at[self.on]
        if len(at) and (at.min() < 0 or at.max() + size > self.size):
            raise Fault("outside of local memory: " + line.text)
        group = np.broadcast_to(self.group[self.w][:, None], self.on.shape)[self.on]
        item, epoch = self.item[self.w][self.on], self.epoch[group]
        at = at + group * self.size
        fine = self.program.fine
        for i in range(max(1, size // fine)):
            key = at // fine + i
            raced = (self.write_epoch[key] == epoch) & (self.writer[key] != item)
            if write:
                raced |= (self.read_epoch[key] == epoch) & (self.reader[key] != item)
                self.writer[key], self.write_epoch[key] = item, epoch
                raced |= self.writer[key] != item
            else:
                again = (self.read_epoch[key] == epoch) & (self.reader[key] != item)
                self.reader[key], self.read_epoch[key] = item, epoch
                again |= self.reader[key] != item
                self.reader[key[again]] = -2  # more than one
            if raced.any():
                self.races.append(line.text)
        return at

    def run(self):
        code, lines, labels, leaders = self.program.code, self.program.lines, self.program.labels, self.program.leaders
        while True:
            ready = ~(self.waiting | self.done)
            if not ready.any():
                if self.done.all():
                    break
                stop = (self.waiting | self.done).reshape(-1, self.waves).all(1) & self.waiting.reshape(-1, self.waves).any(1)
                self.epoch[stop] += 1
                self.waiting &= ~np.repeat(stop, self.waves)
                continue
            pc = int(self.pc[ready].min())
            which = np.flatnonzero(ready & (self.pc == pc))
            self.w = slice(None) if len(which) == len(self.pc) else which
            self.exec_changed(Operand("exec_lo", self.program.lanes))
            while True:
                text, f = lines[pc], code[pc]
                name = text.split(" ")[0]
                if not NOTHING.match(name):
                    self.instructions += self.w_count()
                    self.matrix += self.w_count() * name.startswith(("v_wmma", "v_mfma"))
                pc += 1
                if f:
                    f(self)
                elif ENDS.match(name):
                    self.end_block(name, text, pc, labels)
                    break
                if pc in leaders:
                    self.pc[self.w] = pc
                    break

    def end_block(self, name, text, pc, labels):
        self.pc[self.w] = pc
        if name == "s_endpgm":
            self.done[self.w] = True
        elif "barrier" in name:
            self.waiting[self.w] = True
        else:
            how = name[10:] if name.startswith("s_cbranch") else ""
            mask = {"vccz": VCC, "vccnz": VCC, "execz": EXEC, "execnz": EXEC}.get(how)
            if mask:
                value = self.s[mask][self.w] if self.program.lanes == 32 else self.s[mask][self.w] | self.s[mask + 1][self.w]
                take = (value == 0) == how.endswith("ccz" if mask == VCC else "execz")
                if how.endswith("nz"):
                    take = value != 0
            elif how:
                take = self.scc[self.w] == (how == "scc1")
            else:
                take = np.ones(self.w_count(), bool)
            self.pc[self.w] = np.where(take, labels[label_of(text)], pc)


def launch(program, memory, values, size, local):
    """Runs a kernel; if there are matrix instructions in it, returns how many its waves executed."""
    size, local = (list(x) + [1] * (3 - len(x)) for x in (size, local))
    counts = [s // l for s, l in zip(size, local)]
    block = bytearray(program.about["kernarg_size"])
    values = list(values)
    for at, length, kind in program.arguments:
        # libclc reads offsets of the launch, none, where newer drivers have the number of groups
        if not kind.startswith("hidden"):
            value = values.pop(0)
            block[at:at + length] = struct.pack("<f" if isinstance(value, float) else "<i" if length == 4 else "<Q", value)
    packet = struct.pack("<6H3I40x", 0, 0, *local, 0, *size)  # of AQL: sizes at bytes 4 and 12
    kernarg, packet = memory.new(block), memory.new(packet)
    groups = [(x, y, z) for z in range(counts[2]) for y in range(counts[1]) for x in range(counts[0])]
    counts, races = {"waves": 0, "instructions": 0, "matrix instructions": 0}, []
    groups_at_once = max(1, 2048 * program.lanes // int(np.prod(local)))
    with np.errstate(all="ignore"):
        for i in range(0, len(groups), groups_at_once):
            machine = Machine(program, memory, kernarg, packet, groups[i:i + groups_at_once], local)
            machine.run()
            for name, n in zip(counts, (len(machine.pc), machine.instructions, machine.matrix)):
                counts[name] += n
            races += machine.races
    if races:
        raise Fault("race in local memory: " + races[0])
    return counts if counts["matrix instructions"] else {}
