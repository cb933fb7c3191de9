"""vitcl: Vision Transformers on any OpenCL device.

    from vitcl import Model

    model = Model("builtin:cifar10")
    for best in model.classify("photo.jpg"):
        print(best.name, best.probability)

Model classifies, embeds and looks inside; Index searches; train() and finetune() train;
devices() lists what there is to compute on.
"""
from ._c import Precision, Status
from ._devices import DeviceInfo, devices
from ._library import (VitclError, VitclMemoryError, VitclOSError, VitclValueError, library,
                       set_log)
from ._model import Answer, Class, Model, ModelInfo

__all__ = ["Answer", "Class", "DeviceInfo", "Model", "ModelInfo", "Precision", "Status",
           "VitclError", "VitclMemoryError", "VitclOSError", "VitclValueError", "devices",
           "set_log", "version"]


def version() -> str:
    """The library's version, such as "0.3.0"."""
    return str(library().vitcl_version().decode())
