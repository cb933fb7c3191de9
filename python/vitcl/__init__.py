"""vitcl: Vision Transformers on any OpenCL device.

    from vitcl import Model

    model = Model("builtin:cifar10")
    for best in model.classify("photo.jpg"):
        print(best.name, best.probability)

Model classifies, embeds and looks inside; Index searches; finetune() and train() train,
evaluate() scores; devices() lists what there is to compute on. docs/python.md has more.
"""
from ._c import Precision, Status
from ._devices import DeviceInfo, devices
from ._index import Hit, Index, IndexInfo, UpdateInfo
from ._library import (VitclError, VitclMemoryError, VitclOSError, VitclValueError, library,
                       set_log)
from ._model import Answer, Class, Model, ModelInfo
from ._training import Scores, TrainEvent, convert, evaluate, finetune, train

__all__ = ["Answer", "Class", "DeviceInfo", "Hit", "Index", "IndexInfo", "Model", "ModelInfo",
           "Precision", "Scores", "Status", "TrainEvent", "UpdateInfo", "VitclError", "VitclMemoryError",
           "VitclOSError", "VitclValueError", "convert", "devices", "evaluate", "finetune",
           "set_log", "train", "version"]


def version() -> str:
    """The library's version, such as "0.3.0"."""
    return str(library().vitcl_version().decode())
