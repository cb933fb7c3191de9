"""Tasks whose pictures are drawn here, in groups of one picture of each class that consist of
the same parts. The state tells training pictures (1) from test pictures (2).

quarters: 16 tiles of 8x8 pixels; four bright ones fill the quarter of the picture that is the
class, and twelve are dark. To a model without positions a picture is a set of patches, so it
answers the same for all four of a group: one in four is right.

apart, shift: square marks on a grey ground, of 96x96 pixels. A mark has 12x12 pixels and lies
in the middle of a patch of 16, at least 18 pixels from the border.

apart: a mark at the left and one at the right, at least 20 pixels from each other in both
directions; the class is whether the left one is the higher one. What is seen within 19 pixels
is the same in both classes, but for the place. So a convolutional network whose features look
no farther has the same features in both classes, in another order; after a mean over the
picture it can only guess. A model without positions can only guess, too.

shift: a square of four marks, of which one is missing; the class is which. The square lies at
the left of the training pictures and at the right of the test pictures. A convolutional network
whose stride divides 16 has the same features in another place. A model without positions can
only guess.
"""
from __future__ import annotations

from pathlib import Path
from typing import Callable

import numpy as np

from . import _files
from ._data import Bytes, write_cifar
from ._frame import Made
from ._random import Random

TRAINING, TEST_STATE = 1, 2

# ---- quarters ----

ARRANGED_CLASSES, GRID, TILE = 4, 4, 8
TILES, BRIGHT = GRID * GRID, 4


def _places(state: int, index: int) -> list[int]:
    """Where each tile lies; the first four are the bright ones."""
    random, quarter = Random(state, index, 0), index % ARRANGED_CLASSES
    half = GRID // 2
    inside = [i for i in range(TILES) if i // GRID // half * 2 + i % GRID // half == quarter]
    places = [inside, [i for i in range(TILES) if i not in inside]]
    for place in places:  # Fisher-Yates
        for i in range(len(place) - 1, 0, -1):
            k = random.below(i + 1)
            place[i], place[k] = place[k], place[i]
    return places[0] + places[1]


def arrangement(state: int, index: int) -> Bytes:
    """[3, 32, 32]; the class is index % 4."""
    out = np.empty((3, GRID * TILE, GRID * TILE), np.uint8)
    for i, place in enumerate(_places(state, index)):
        noise = Random(state, index // ARRANGED_CLASSES, i + 1).many_below(16, 3 * TILE * TILE)
        y, x = place // GRID * TILE, place % GRID * TILE
        out[:, y:y + TILE, x:x + TILE] = (noise + np.uint64(192 if i < BRIGHT else 32)).reshape(
            3, TILE, TILE)
    return out


def _records(state: int, pictures: int) -> Bytes:
    """As CIFAR-10 has them; the labels are 0 to 3 of the ten."""
    count = -(-pictures // ARRANGED_CLASSES) * ARRANGED_CLASSES
    out = np.empty((count, 1 + 3 * 32 * 32), np.uint8)
    for i in range(count):
        out[i, 0] = i % ARRANGED_CLASSES
        out[i, 1:] = arrangement(state, i).reshape(-1)
    return out


def _write_arrangement(folder: Path, pictures: int, tests: int) -> None:
    write_cifar(folder, _records(TRAINING, pictures), ARRANGED_CLASSES)
    _files.write(folder / "test_batch.bin", _records(TEST_STATE, tests).tobytes())


# ---- apart, shift ----

MARKS_SIDE, PATCH, MARK = 96, 16, 12
APART_CLASSES, SHIFT_CLASSES = 2, 4


def _ground() -> Bytes:
    return np.full((MARKS_SIDE, MARKS_SIDE, 3), 128, np.uint8)


def _put_mark(out: Bytes, state: int, group: int, k: int, row: int, column: int) -> None:
    """Mark k of a group, with its noise, in a patch of the picture."""
    noise = Random(state, group, k + 1).many_below(33, 3 * MARK * MARK)
    y, x = row * PATCH + (PATCH - MARK) // 2, column * PATCH + (PATCH - MARK) // 2
    out[y:y + MARK, x:x + MARK] = (noise + np.uint64(220 - 16)).reshape(MARK, MARK, 3)


def apart(state: int, index: int) -> Bytes:
    """[96, 96, 3]; the class is index % 2."""
    group, higher = divmod(index, APART_CLASSES)
    rows = ((1, 3), (1, 4), (2, 4))[Random(state, group, 0).below(3)]
    out = _ground()
    _put_mark(out, state, group, 0, rows[1 - higher], 1)
    _put_mark(out, state, group, 1, rows[higher], 4)
    return out


def shift(state: int, index: int, right: bool) -> Bytes:
    """[96, 96, 3]; the class is index % 4."""
    group, missing = divmod(index, SHIFT_CLASSES)
    row = 1 + Random(state, group, 0).below(3)
    out = _ground()
    for k in range(SHIFT_CLASSES - 1):
        place = (missing + 1 + k) % SHIFT_CLASSES
        _put_mark(out, state, group, k, row + place // 2, (3 if right else 1) + place % 2)
    return out


def _write_marks(classes: int, picture: Callable[[int, int], Bytes],
                 ) -> Callable[[Path, int, int], None]:
    """As class folders of PPM files; whole groups, so that all classes have as many pictures."""
    def write(folder: Path, pictures: int, tests: int) -> None:
        for split, state, count in (("train", TRAINING, pictures), ("test", TEST_STATE, tests)):
            for c in range(classes):
                (folder / split / str(c)).mkdir(parents=True, exist_ok=True)
            for i in range(-(-count // classes) * classes):
                path = folder / split / str(i % classes) / f"{i:06d}.ppm"
                path.write_bytes(b"P6\n%d %d\n255\n" % (MARKS_SIDE, MARKS_SIDE) +
                                 picture(state, i).tobytes())
    return write


ARRANGEMENT = Made("quarters", _write_arrangement)
APART = Made("apart", _write_marks(APART_CLASSES, apart))
SHIFT = Made("shift", _write_marks(
    SHIFT_CLASSES, lambda state, i: shift(state, i, state == TEST_STATE)))
