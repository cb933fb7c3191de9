"""mbarrier, cp.async.bulk, and what a thread knows by them of others' work, for tools/ptx_run --interpret.

From the PTX ISA document's sections of those names and its memory consistency model. A copy's bytes come as late as they may: when a
thread waits for the phase, and all have arrived. An arrival hands on what its thread did and knows; who sees the phase complete, and
nobody else, knows that, and may touch what the phase's copies brought. A test of a phase that is not complete is false at first, so that
a test which is not repeated is found; the next one of the thread lasts until the phase is complete.
"""
import re

import numpy as np

LIMIT = 2**20 - 1  # of arrivals, and of bytes that are expected
MOST = 64  # mbarriers of a group
NOBODY, COPY = -1, -3  # writers of a word
NAME = re.compile(r"mbarrier\.(init|inval|expect_tx|arrive|arrive\.expect_tx|(?:try|test)_wait(?:\.parity)?)"
                  r"(?:\.(?:acquire|release)\.cta)?\.shared(?:::cta)?\.b64")
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


class Barrier:
    def __init__(self, lane, count, when, epoch, column, columns):
        self.lane, self.when, self.epoch, self.column, self.fenced = lane, when, epoch, column, False  # how it was made
        self.count, self.left, self.bytes, self.phase = count, count, 0, 0
        self.clock, self.before = np.zeros(columns, np.int32), None  # what arrivals hand on; those of the last phase
        self.copies = []  # on their way: words, place in global memory
        self.asked = set()  # threads that were told that this phase is not complete


class Order:
    """Of the groups that run together. Times are steps of the run. A column is a thread of a group, the wgmma of four warps, or the
    copies of an mbarrier: known[lane, column] is until when the lane knows what that one did."""

    def __init__(self, run, groups):
        self.run, readers, words = run, run.items + run.items // 128, run.shared.words.size
        self.known = np.zeros((run.lanes, readers + MOST), np.int32)
        self.reads = np.zeros((words, readers), np.int32)  # when each reader last did
        self.by, self.written = np.zeros(words, np.int32), np.zeros(words, np.int32)
        self.start, self.made = np.zeros(groups, np.int32), np.zeros(groups, np.int32)  # of the epoch; mbarriers
        self.barriers = {}

    def knows(self, at, lanes):
        """That these words were written."""
        return self.known[lanes, self.by[at]] >= self.written[at]

    def were_read(self, at, lanes):
        """Whether the lanes know of all that read these words."""
        late = self.reads[at] > np.maximum(self.known[lanes, :self.reads.shape[1]], self.start[self.run.group_of[lanes]][:, None])
        late[np.arange(len(at)), lanes % self.run.items] = False
        return ~late.any(1)

    def multiplied(self, at, lanes):
        """wgmma has read these words, and four warps from these lanes on have waited for it."""
        column = self.run.items + lanes % self.run.items // 128
        self.reads[at, column] = self.run.steps
        first, each = np.unique(lanes, return_index=True)
        for k in range(128):
            self.known[first + k, column[each]] = self.run.steps

    def wake(self):
        self.run.state[self.run.state == self.run.ASLEEP] = self.run.RUNS

    def fence(self, lanes):
        for b in self.barriers.values():
            b.fenced |= b.lane in lanes

    # ---- mbarriers ----

    def barrier(self, place, lane):
        run, b = self.run, self.barriers.get(int(place))
        if not b:
            run.fail("no mbarrier was initialised there (thread %d)" % (lane % run.items))
        if b.lane != lane and run.shared.epoch[run.group_of[lane]] == b.epoch and (
                self.known[lane, b.lane % run.items] < b.when):
            run.fail("thread %d initialised this mbarrier, without a barrier between (thread %d)" % (
                b.lane % run.items, lane % run.items))
        return b

    def init(self, place, lane, count):
        run, group = self.run, self.run.group_of[lane]
        if int(place) in self.barriers or not 1 <= count <= LIMIT or self.made[group] == MOST:
            run.fail("init of an mbarrier that is one already, for %d arrivals, or the %d. of a group" % (count, self.made[group] + 1))
        run.shared.claimed(np.arange(place, place + 2), np.full(2, lane))
        run.shared.allowed[place:place + 2] = False  # nothing else may touch it
        self.barriers[int(place)] = Barrier(lane, count, run.steps, run.shared.epoch[group],
                                            self.reads.shape[1] + self.made[group], self.known.shape[1])
        self.made[group] += 1

    def inval(self, place, lane):
        if self.barrier(place, lane).copies:
            self.run.fail("an mbarrier ends with copies on their way")
        del self.barriers[int(place)]
        self.run.shared.allowed[place:place + 2] = True
        self.run.shared.writer[place:place + 2] = NOBODY

    def expect(self, b, size):
        b.bytes += size
        if abs(b.bytes) > LIMIT:
            self.run.fail("an mbarrier expects %d bytes, more than %d" % (b.bytes, LIMIT))

    def arrive(self, b, lane, count):
        if not 1 <= count <= b.left:
            self.run.fail("%d arrivals at an mbarrier whose phase has %d left (thread %d)" % (count, b.left, lane % self.run.items))
        b.left -= count
        self.known[lane, lane % self.run.items] = self.run.steps
        np.maximum(b.clock, self.known[lane], out=b.clock)
        self.complete(b)

    def complete(self, b):
        if b.left or b.bytes:
            return
        if b.copies:
            self.run.fail("a phase of an mbarrier completes with a copy on its way: more bytes are copied than expected")
        b.phase, b.left, b.before = b.phase + 1, b.count, b.clock.copy()
        b.asked.clear()

    def land(self, b):
        """The copies of a phase at which all have arrived."""
        run, shared = self.run, self.run.shared
        while b.copies and not b.left:
            at, of = b.copies.pop(0)
            shared.words[at] = run.memory.bytes[of:of + 4 * at.size].view(np.uint32)
            shared.coming[at], shared.writer[at], shared.generic[at] = NOBODY, COPY, False
            shared.written[at] = shared.epoch[at[0] // shared.stride]
            self.by[at], self.written[at], b.clock[b.column] = b.column, run.steps, run.steps
            b.bytes -= 4 * at.size
            self.complete(b)

    def test(self, place, lane, wanted, by_parity):
        """Whether the phase is complete; None: not yet, and the thread waits."""
        b = self.barrier(place, lane)
        if wanted > 1 if by_parity else not 0 <= b.phase - wanted <= 1:
            self.run.fail("a wait for another phase than the current one or that before")
        complete = lambda: b.phase % 2 != wanted if by_parity else b.phase > wanted
        if not complete() and lane in b.asked:
            self.land(b)
            if not complete():
                return None
        if not complete():
            b.asked.add(lane)
            return False
        if b.before is not None:
            np.maximum(self.known[lane], b.before, out=self.known[lane])
        return True

    # ---- copies ----

    def copy(self, to, of, size, place, lane):
        run, shared, memory = self.run, self.run.shared, self.run.memory
        b, parts = self.barrier(place, lane), np.arange(0, max(size, 16), 16)
        if size % 16 or not size:
            run.fail("a bulk copy of %d bytes" % size)
        if not b.fenced:
            run.fail("the init of this mbarrier has no fence behind it")
        who = np.full(parts.size, lane)
        of = memory.places(run, of + parts.astype(np.uint64), 16, who, "bulk copy")
        memory.touched(run, of, 2, 8, who, False, True)
        at = (shared.places(to + parts.astype(np.uint64), 16, who, "bulk copy")[:, None] + np.arange(4)).ravel()
        who = np.full(at.size, lane)
        run.complain(~shared.allowed[at], who, "bulk copy to an mbarrier")
        shared.claimed(at, who)
        shared.by_async(at, who, "bulk copy to")
        shared.coming[at] = lane
        b.copies.append((at, int(of[0])))

    def sources(self, at, lanes):
        """Before a write to global memory."""
        for b in self.barriers.values():
            for words, of in b.copies:
                self.run.complain((at >= of) & (at < of + 4 * words.size), lanes, "write of a word that a bulk copy may still read")


def bind(run, i, address, source, put, unknown):
    """(kind, function) of mbarrier and cp.async.bulk; "wait": the function returns the lanes that wait."""
    name, order = NAME.fullmatch(i.name), run.order

    def each(operand, dtype=np.uint32):
        value = source(run, operand, dtype)
        return lambda lanes: np.broadcast_to(value, run.lanes)[lanes]

    def barriers(operand):
        found = address(run, operand)
        return lambda lanes: run.shared.mbarriers(found()[lanes], lanes)

    if i.name == BULK and len(i.operands) == 4:
        to, of, size, at = address(run, i.operands[0]), address(run, i.operands[1]), each(i.operands[2]), barriers(i.operands[3])

        def copy(where, lanes):
            for lane, n, place in zip(lanes, size(lanes), at(lanes)):
                order.copy(to()[lane], of()[lane], int(n), place, lane)
            order.wake()
            run.counts["cp.async.bulk"] = run.counts.get("cp.async.bulk", 0) + len(lanes)
        return "plain", copy
    what, form = (name[1] if name else "").partition(".")[::2]
    arrives, waits = what == "arrive", what.endswith("_wait")
    rest = i.operands[arrives or waits:]
    if not name or not {"init": 2, "inval": 1, "expect_tx": 2, "arrive": 1 + bool(form)}.get(what, 2) <= len(rest) <= (
            {"init": 2, "inval": 1, "try_wait": 3}.get(what, 2)) or waits and i.guard:
        unknown(run, i)
    at = barriers(rest[0])
    more = each(rest[1], np.uint64 if waits and not form else np.uint32) if rest[1:] else lambda lanes: np.ones(len(lanes), int)
    if waits:
        into = run.row(i.operands[0], np.bool_)

        def wait(where, lanes):
            asleep = np.zeros(run.lanes, bool)
            for lane, wanted, place in zip(lanes, more(lanes), at(lanes)):
                found = order.test(place, lane, int(wanted), bool(form))
                asleep[lane], into[lane] = found is None, bool(found)
            return asleep
        return "wait", wait
    token = put(run, i.operands[0], np.uint64) if arrives else None

    def work(where, lanes):
        phases = np.zeros(run.lanes, np.uint64)
        for lane, n, place in zip(lanes, more(lanes), at(lanes)):
            if what in ("init", "inval"):
                getattr(order, what)(*(place, lane, int(n))[:3 - (what == "inval")])
                continue
            b = order.barrier(place, lane)
            phases[lane] = b.phase
            if what == "expect_tx" or form:
                order.expect(b, int(n))
            if arrives:
                order.arrive(b, lane, 1 if form else int(n))
        order.wake()
        if arrives:
            mask = np.zeros(run.lanes, bool)
            mask[lanes] = True
            token(mask, phases)
    return "plain", work
