"""Random numbers that depend on their key alone: those of host/base/random.c, bit for bit.

Counter-based (SplitMix64's finaliser over key and counter), so the n-th number of a stream is
the same in any order of calls.
"""
from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

MASK, GOLDEN = (1 << 64) - 1, 0x9e3779b97f4a7c15


def mix(z: int) -> int:
    """Of Steele, Lea and Flood, 2014."""
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


class Random:
    """An independent stream for every combination of words."""

    def __init__(self, state: int, a: int, b: int) -> None:
        key = mix(state + GOLDEN & MASK)
        key = mix(key ^ mix(a + GOLDEN & MASK))
        self.key = mix(key + mix(b ^ 0xd1b54a32d192ed03) & MASK)
        self.counter = 0

    def next(self) -> int:
        self.counter += 1
        return mix(self.key + self.counter * GOLDEN & MASK)

    def uniform(self) -> float:
        """[0, 1), 53 bits."""
        return (self.next() >> 11) * 2.0 ** -53

    def below(self, n: int) -> int:
        """0 to n - 1, without bias."""
        limit = MASK - MASK % n
        while True:
            v = self.next()
            if v < limit:
                return v % n

    def many_below(self, n: int, count: int) -> npt.NDArray[np.uint64]:
        """The next `count` of them."""
        counters = np.arange(self.counter + 1, self.counter + count + 1, dtype=np.uint64)
        z = np.uint64(self.key) + counters * np.uint64(GOLDEN)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94d049bb133111eb)
        z ^= z >> np.uint64(31)
        if (z >= np.uint64(MASK - MASK % n)).any():  # once in 1e17 numbers
            return np.array([self.below(n) for _ in range(count)], np.uint64)
        self.counter += count
        return z % np.uint64(n)

    def normal(self) -> float:
        """Box-Muller."""
        u, v = 1.0 - self.uniform(), self.uniform()
        return math.sqrt(-2.0 * math.log(u)) * math.cos(6.283185307179586 * v)
