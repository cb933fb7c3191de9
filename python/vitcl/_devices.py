"""The devices that drivers offer."""
from __future__ import annotations

import ctypes as C
import dataclasses

from . import _c
from ._c import Status
from ._library import VitclError, library, struct
from ._plain import plain


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """What ``vitcl_device_info`` of vitcl.h says. ``id`` is for Model(..., device=id);
    ``error`` is not empty where the driver failed."""

    id: str
    name: str
    vendor: str
    platform: str
    driver: str
    version: str
    type: str
    gemm: str
    error: str
    compute_units: int
    clock_mhz: int
    memory_bytes: int
    local_bytes: int
    fp16: bool
    fp64: bool
    unified_memory: bool


def devices() -> list[DeviceInfo]:
    """All devices; [] if there is no driver."""
    found: list[DeviceInfo] = []
    while True:
        info = struct(_c.vitcl_device_info)
        try:
            library().vitcl_device_at(C.byref(info), len(found))
        except VitclError as e:
            if e.status == Status.ENODEVICE and not isinstance(e, OSError):
                return found
            raise
        found.append(plain(DeviceInfo, info))
