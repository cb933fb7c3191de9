"""A register or a literal of AMD's instructions, in a machine of amd_machine.py."""
import re

import numpy as np

from amd_arithmetic import TYPES, D, F, Fault, I, Q, U, W

VCC, EXEC, TTMP, NULL = 106, 126, 108, 125
NAMES = {"vcc": (VCC, "s"), "vcc_lo": (VCC, "s"), "vcc_hi": (VCC + 1, "s"), "exec": (EXEC, "s"), "exec_lo": (EXEC, "s"),
         "exec_hi": (EXEC + 1, "s"), "null": (NULL, "s"), "m0": (124, "s")}
LOADS = {"b32": 4, "b64": 8, "b96": 12, "b128": 16, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "u8": 1, "ubyte": 1,
         "u16": 2, "ushort": 2, "i8": -1, "sbyte": -1, "i16": -2, "sshort": -2, "b8": 1, "byte": 1, "b16": 2, "short": 2,
         "b256": 32, "dwordx8": 32, "b512": 64, "dwordx16": 64}


class Operand:
    """A register with its number, or a literal."""

    def __init__(self, text, lanes):
        self.text, self.negative, self.absolute, self.lanes = text, False, False, lanes
        m = re.fullmatch(r"(-)?(\|)?([vas])?(?:(\d+)|\[(\d+):(\d+)\])\|?", text)
        self.bank, self.number, self.value = "", -1, None
        word = text.strip("-|")
        if m and m[3]:
            self.bank, self.number = m[3], int(m[4] or m[5])
        elif word in NAMES:
            self.number, self.bank = NAMES[word]
        elif word.startswith("ttmp"):
            self.number, self.bank = TTMP + int(word[4:]), "s"
        elif re.fullmatch(r"-?\d+\.\d+", text):
            self.value = float(text)
        elif re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", text):
            self.value = int(text, 0)
        elif text != "off":
            raise Fault("operand " + text)
        if self.bank:
            self.negative, self.absolute = text.startswith("-"), "|" in text

    def literal(self, kind):
        if isinstance(self.value, float):
            raw = np.array([self.value], F).view(U)
            if kind == "h":
                raw = np.array([self.value], np.float16).view(np.uint16).astype(U)
            return raw.astype(Q) if kind in "qw" else raw
        return np.array([self.value & (2**64 - 1 if kind in "qw" else 2**32 - 1)], Q if kind in "qw" else U)

    def word(self, m, i=0):
        """Word i as it is, for each wave and lane."""
        if self.bank in ("v", "a"):
            return (m.v if self.bank == "v" else m.a)[self.number + i][m.w]
        if self.bank == "s":
            return m.s[self.number + i][m.w][:, None]
        return self.literal("u")[None] if not i else np.full((1, 1), 0xFFFFFFFF if self.value < 0 else 0, U)

    def scalar(self, m, words=1):
        """For each wave."""
        if self.bank != "s":
            return np.broadcast_to(self.literal("q" if words > 1 else "u"), m.s[0][m.w].shape)
        if words == 1:
            return m.s[self.number][m.w]
        return m.s[self.number][m.w] | m.s[self.number + 1][m.w].astype(Q) << Q(32)

    def read(self, m, kind):
        if kind in "qw":
            x = self.word(m) | self.word(m, 1).astype(Q) << Q(32) if self.bank else self.literal("q")[None]
            return x if kind == "q" else x.view(W)
        x = self.word(m)
        if kind in "tj":
            x = x.astype(np.uint16 if kind == "t" else np.int16)
        elif kind == "h":
            x = (x & U(0xFFFF)).astype(np.uint16).view(np.float16).astype(F) if self.bank else x.view(F)
        elif kind == "f":
            x = x.view(F)
        elif kind == "i":
            x = x.view(I)
        if kind in "fh":
            x = np.abs(x) if self.absolute else x
            x = -x if self.negative else x
        return x

    def mask(self, m):
        """The bit of each lane."""
        n = m.w_count()
        words = [self.scalar(m)] + [m.s[self.number + 1][m.w]] * (self.lanes > 32)
        x = np.stack([np.broadcast_to(word, n) for word in words], 1)
        return np.unpackbits(np.ascontiguousarray(x.astype("<u4")).view(np.uint8), axis=1, bitorder="little").astype(bool)

    def put_mask(self, m, x):
        packed = np.packbits(np.broadcast_to(x, (m.w_count(), self.lanes)), axis=1, bitorder="little").view("<u4")
        for i in range(self.lanes // 32):
            m.s[self.number + i][m.w] = packed[:, i]
        m.exec_changed(self)

    def put_scalar(self, m, x, words=1):
        if self.bank != "s":
            raise Fault("writes " + self.text)
        m.s[self.number][m.w] = x.astype(U)
        if words > 1:
            m.s[self.number + 1][m.w] = (x >> x.dtype.type(32)).astype(U)
        m.exec_changed(self)

    def put_word(self, m, x, i=0):
        bank = (m.v if self.bank == "v" else m.a)[self.number + i]
        if m.full:
            bank[m.w] = x
        else:
            bank[m.w] = np.where(m.on, x, bank[m.w])

    def put(self, m, x, kind):
        if kind == "s":  # 16 bits: RDNA keeps the others, CDNA clears them
            x = x | (self.word(m) & U(0xFFFF0000) if self.lanes == 32 else U(0))
        elif kind in "qw":
            self.put_word(m, (x >> x.dtype.type(32)).astype(U), 1)
            x = x.astype(U)
        elif kind != "u":
            x = np.ascontiguousarray(x, TYPES[kind]).view(U)
        self.put_word(m, x)
