"""OpenCL's loader and a driver for processors, where the system has neither.

`pip install 'vitcl[cpu]'` brings both (Intel's runtime, for any x86-64 processor). They
are used only where the system has no driver.
"""
from __future__ import annotations

import ctypes as C
import glob
import os
import pathlib
import platform
from typing import Any, Optional

from . import _c

_X86 = platform.machine() in ("x86_64", "AMD64")
OR_PIP = "(or: pip install 'vitcl[cpu]')" if _X86 else ""
NO_LOADER = ("no OpenCL here (libOpenCL.so.1): install it and a driver, on Debian and Ubuntu "
             f"`apt install ocl-icd-libopencl1 pocl-opencl-icd` {OR_PIP}").strip()
_VARIABLES = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH")


def _brought(name: str) -> Optional[pathlib.Path]:
    """A file of the package intel-opencl-rt."""
    import importlib.metadata  # here, because it takes long and is of use only here

    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == name:
            at = pathlib.Path(str(file.locate())).resolve()
            if at.exists():
                return at
    return None


def offer() -> None:
    """Makes Intel's driver known to the loader, before the library loads it."""
    if any(os.environ.get(v) for v in _VARIABLES) or glob.glob("/etc/OpenCL/vendors/*.icd"):
        return
    driver = _brought("libintelocl.so")
    if driver is None:
        return
    # Khronos' loader reads the one, ocl-icd the other; helper processes inherit both.
    os.environ["OCL_ICD_FILENAMES"] = os.environ["OCL_ICD_VENDORS"] = str(driver)
    if not has_loader() and (loader := _brought("libOpenCL.so.1")) is not None:
        _load(loader)  # the library finds it by its name, once it is loaded
        before = os.environ.get("LD_LIBRARY_PATH")  # for the programs it starts
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(
            [str(loader.parent), *([before] if before else [])])


def has_loader() -> bool:
    try:
        C.CDLL("libOpenCL.so.1")
    except OSError:
        return False
    return True


def _load(path: pathlib.Path) -> None:
    """Loads a library after those beside it that it needs but does not find."""
    for _ in range(20):
        try:
            C.CDLL(str(path), mode=C.RTLD_GLOBAL)
            return
        except OSError as e:
            lacks = path.with_name(str(e).split(":")[0])
            if lacks == path or not lacks.exists():
                return
        _load(lacks)


def any_device(library: Any) -> bool:
    info = _c.vitcl_device_info(size=C.sizeof(_c.vitcl_device_info))
    try:
        library.vitcl_device_at(C.byref(info), 0)
    except Exception:
        return False
    return True
