"""classify.py - name what pictures show, through the shared library.

    python3 classify.py MODEL PICTURE...

Needs nothing but Python and an installed libvitcl.
"""
import ctypes
import os
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_uint8, c_uint32, c_void_p


class Image(Structure):
    _fields_ = [("width", c_uint32), ("height", c_uint32), ("rgb", POINTER(c_uint8))]


class Class(Structure):
    _fields_ = [("label", c_uint32), ("probability", c_float)]


lib = ctypes.CDLL("libvitcl.so.3")
lib.vitcl_device_open.argtypes = [POINTER(c_void_p), c_char_p]
lib.vitcl_model_load.argtypes = [POINTER(c_void_p), c_void_p, c_char_p]
lib.vitcl_session_new.argtypes = [POINTER(c_void_p), c_void_p, c_void_p]
lib.vitcl_session_classes.argtypes = [c_void_p]
lib.vitcl_session_classes.restype = c_uint32
lib.vitcl_image_load.argtypes = [POINTER(Image), c_char_p]
lib.vitcl_classify.argtypes = [POINTER(Class), c_uint32, c_void_p, POINTER(Image), c_uint32]
for function in lib.vitcl_class_label, lib.vitcl_class_name:
    function.argtypes = [c_void_p, c_uint32]
    function.restype = c_char_p
lib.vitcl_last_error.restype = c_char_p
for name in "device", "model", "session":
    getattr(lib, f"vitcl_{name}_free").argtypes = [c_void_p]
lib.vitcl_image_free.argtypes = [POINTER(Image)]


def check(status):
    if status:
        raise RuntimeError(os.fsdecode(lib.vitcl_last_error()))


class Classifier:
    def __init__(self, model):
        self.device, self.model, self.session = c_void_p(), c_void_p(), c_void_p()
        check(lib.vitcl_device_open(byref(self.device), None))
        check(lib.vitcl_model_load(byref(self.model), self.device, os.fsencode(model)))
        check(lib.vitcl_session_new(byref(self.session), self.model, None))

    def __call__(self, path, top=3):
        top = min(top, lib.vitcl_session_classes(self.session) or top)
        image, best = Image(), (Class * top)()
        check(lib.vitcl_image_load(byref(image), os.fsencode(path)))
        try:
            check(lib.vitcl_classify(best, top, self.session, byref(image), 1))
        finally:
            lib.vitcl_image_free(byref(image))
        return [(self.name(c.label), c.probability) for c in best]

    def name(self, label):
        return os.fsdecode(lib.vitcl_class_name(self.model, label) or
                           lib.vitcl_class_label(self.model, label) or b"?")

    def __del__(self):
        lib.vitcl_session_free(self.session)
        lib.vitcl_model_free(self.model)
        lib.vitcl_device_free(self.device)


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: classify.py MODEL PICTURE...")
    try:
        classify = Classifier(sys.argv[1])
        for path in sys.argv[2:]:
            for name, probability in classify(path):
                line = f"{path}\t{name}\t{probability:.3f}\n"
                sys.stdout.buffer.write(os.fsencode(line))
    except RuntimeError as error:
        sys.exit(f"classify.py: {error}")


if __name__ == "__main__":
    main()
