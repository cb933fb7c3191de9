"""Small pictures for the page: PNG, or JPEG where Pillow is installed."""
from __future__ import annotations

import ctypes as C
import io
from typing import TYPE_CHECKING

from .. import _c
from .._library import library
from .._pictures import _png

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]


def decoded(data: bytes) -> "Pixels":
    """uint8 [height, width, 3], upright, by the sandboxed decoder."""
    import numpy as np

    image = _c.vitcl_image()
    library().vitcl_image_decode(C.byref(image), data, len(data), b"picture")
    try:
        out: "Pixels" = np.ctypeslib.as_array(image.rgb, (image.height, image.width, 3)).copy()
        return out
    finally:
        library().vitcl_image_free(C.byref(image))


def thumbnail(data: bytes, longest: int = 320) -> "tuple[bytes, str]":
    """A file, and its type. Each pixel is the mean of those that it stands for."""
    import numpy as np

    array = decoded(data)
    height, width = array.shape[:2]
    scale = min(1.0, longest / max(height, width))
    for axis, n in ((0, height), (1, width)):
        small = max(1, round(n * scale))
        edges = np.arange(small) * n // small
        counts = np.diff(np.append(edges, n)).astype(np.uint32)
        sums = np.add.reduceat(array, edges, axis=axis, dtype=np.uint32)
        array = (sums // counts.reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))).astype(np.uint8)
    try:
        from PIL import Image
    except ImportError:
        return _png(array), "image/png"
    out = io.BytesIO()
    Image.fromarray(array).save(out, "JPEG", quality=85)
    return out.getvalue(), "image/jpeg"
