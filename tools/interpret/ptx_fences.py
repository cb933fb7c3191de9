"""What one group of a launch may know of another's writes: fence.acq_rel.gpu and atom, for tools/ptx_run --interpret.

The PTX ISA document's memory consistency model, as far as a kernel needs it that counts its groups: what a thread wrote is
another group's to read if the writer fenced; then, behind a barrier, a thread of its group fenced and added to a counter;
then a thread of the reader's group added to it, and fenced; and behind a barrier the reader fenced. The two threads that
add need no barrier for what they write and read themselves.
"""
import numpy as np

NEVER = -1


class Fences:
    """Of the groups that run together."""

    def __init__(self, run, groups, of_launch):
        self.run, self.first = run, run.first // run.items  # the number of the first group in the launch
        self.wrote = np.zeros(run.lanes, bool)  # since its last fence
        self.fenced = np.full(run.lanes, NEVER, np.int32)  # the last time, in which epoch of its group
        self.moved = np.full(run.lanes, NEVER, np.int32)  # in which epoch a fence followed its last write
        self.seen = np.zeros((groups, of_launch), bool)  # groups whose writes arrived with a count
        self.counter = np.full(groups, NEVER, np.int64)  # the lane that counted
        self.known = np.full(groups, NEVER, np.int32)  # the epoch in which it fenced afterwards

    def write(self, lanes):
        self.wrote[lanes] = True

    def fence(self, lanes):
        run = self.run
        now = run.shared.epoch[run.group_of[lanes]]
        self.moved[lanes] = np.where(self.wrote[lanes], now, self.moved[lanes])
        self.wrote[lanes], self.fenced[lanes] = False, now
        for lane, epoch in zip(lanes, now):
            group = run.group_of[lane]
            if self.counter[group] == lane and self.known[group] == NEVER:
                self.known[group] = epoch

    def count(self, lane, at):
        """Before an atomic addition of this lane to the word at `at`."""
        run, group = self.run, self.run.group_of[lane]
        mine, now = run.group_of == group, run.shared.epoch[group]
        others = mine & (np.arange(run.lanes) != lane)
        came = run.memory.counted.setdefault(int(at), set())
        if self.fenced[lane] == now and not self.wrote[mine].any() and (self.moved[others] < now).all():
            came.add(self.first + int(group))
        self.seen[group, sorted(came)] = True
        self.counter[group], self.known[group] = lane, NEVER

    def may_read(self, lanes, writers):
        """Of each lane: the word that this thread of the launch wrote?"""
        group = self.run.group_of[lanes]
        known = self.known[group]
        arrived = (known != NEVER) & ((self.counter[group] == lanes) | (self.fenced[lanes] > known))
        return arrived & self.seen[group, np.clip(writers // self.run.items, 0, self.seen.shape[1] - 1)]


def fence(run, i):
    return lambda where, lanes: run.fences.fence(lanes)


def add(run, i, address, source, put, unknown):
    """atom.global.add.u32, one lane after the other."""
    if i.name != "atom.global.add.u32":
        unknown(run, i)
    places, more = address(run, i.operands[1]), source(run, i.operands[2], np.uint32)
    old = put(run, i.operands[0], np.uint32)

    def work(where, lanes):
        memory, values = run.memory, np.zeros(run.lanes, np.uint32)
        at = memory.places(run, places()[lanes], 4, lanes, "atom")
        memory.touched(run, at, 4, 1, lanes, False)
        words, by = memory.bytes[:memory.bytes.size // 8 * 8].view(np.uint32), np.broadcast_to(more, run.lanes)
        for lane, place in zip(lanes, at):
            run.fences.count(lane, place)
            values[lane] = words[place // 4]
            words[place // 4] += by[lane]
        mask = np.zeros(run.lanes, bool)
        mask[lanes] = True
        old(mask, values)
    return work
