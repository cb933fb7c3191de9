"""search_by_words.py - order pictures by how near they are to a text, through
the shared library.

    python3 search_by_words.py MODEL TEXT PICTURE...

MODEL has a text tower, as CLIP and SigLIP have. Needs nothing but Python and an
installed libvitcl.
"""
import ctypes
import math
import os
import sys
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p


class TextInfo(Structure):
    _fields_ = [("size", c_size_t), ("family", c_char * 32),
                ("layers", c_uint32), ("width", c_uint32), ("heads", c_uint32), ("mlp", c_uint32),
                ("features", c_uint32), ("context", c_uint32), ("vocabulary", c_uint32),
                ("parameters", c_uint64), ("logit_scale", c_float), ("logit_bias", c_float),
                ("answer", c_int)]


lib = ctypes.CDLL("libvitcl.so.3")
lib.vitcl_device_open.argtypes = [POINTER(c_void_p), c_char_p]
lib.vitcl_model_load.argtypes = [POINTER(c_void_p), c_void_p, c_char_p]
lib.vitcl_session_new.argtypes = [POINTER(c_void_p), c_void_p, c_void_p]
lib.vitcl_text_new.argtypes = [POINTER(c_void_p), c_void_p, c_char_p, c_void_p]
lib.vitcl_text_describe.argtypes = [POINTER(TextInfo), c_void_p]
lib.vitcl_text_embed.argtypes = [POINTER(c_float), c_void_p, POINTER(c_char_p), c_uint32]
lib.vitcl_loader_new.argtypes = [POINTER(c_void_p), c_void_p, c_uint32]
lib.vitcl_loader_push.argtypes = [c_void_p, c_char_p]
lib.vitcl_loader_next.argtypes = [POINTER(c_uint8), c_void_p]
lib.vitcl_session_size.argtypes = [POINTER(c_uint32), POINTER(c_uint32), c_void_p]
lib.vitcl_session_size.restype = None
lib.vitcl_session_run_rgb.argtypes = [c_void_p, POINTER(c_uint8), c_uint32]
lib.vitcl_session_read.argtypes = [POINTER(c_float), c_size_t, c_void_p, c_char_p, c_uint32]
lib.vitcl_session_features.argtypes = [c_void_p]
lib.vitcl_session_features.restype = c_uint32
lib.vitcl_last_error.restype = c_char_p
for name in "device", "model", "session", "loader", "text":
    getattr(lib, f"vitcl_{name}_free").argtypes = [c_void_p]


def check(status):
    if status:
        raise RuntimeError(os.fsdecode(lib.vitcl_last_error()))


def unit(vector):
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


class Towers:
    def __init__(self, model):
        self.device, self.model, self.session, self.loader, self.text = (c_void_p() for _ in range(5))
        info = TextInfo(size=ctypes.sizeof(TextInfo))
        check(lib.vitcl_device_open(byref(self.device), None))
        check(lib.vitcl_text_new(byref(self.text), self.device, os.fsencode(model), None))
        check(lib.vitcl_text_describe(byref(info), self.text))
        check(lib.vitcl_model_load(byref(self.model), self.device, os.fsencode(model)))
        check(lib.vitcl_session_new(byref(self.session), self.model, None))
        # puts transparent pictures on white, if the model does
        check(lib.vitcl_loader_new(byref(self.loader), self.session, 1))
        height, width = c_uint32(), c_uint32()
        lib.vitcl_session_size(byref(height), byref(width), self.session)
        self.rgb = (c_uint8 * (height.value * width.value * 3))()
        self.features = info.features
        if lib.vitcl_session_features(self.session) != self.features:
            raise RuntimeError(f"{model}: the towers give vectors of different lengths")

    def words(self, text):
        out = (c_float * self.features)()
        check(lib.vitcl_text_embed(out, self.text, (c_char_p * 1)(os.fsencode(text)), 1))
        return unit(out)

    def picture(self, path):
        out = (c_float * self.features)()
        check(lib.vitcl_loader_push(self.loader, os.fsencode(path)))
        check(lib.vitcl_loader_next(self.rgb, self.loader))
        check(lib.vitcl_session_run_rgb(self.session, self.rgb, 1))
        check(lib.vitcl_session_read(out, self.features, self.session, b"features", 1))
        return unit(out)

    def __del__(self):
        lib.vitcl_text_free(self.text)
        lib.vitcl_loader_free(self.loader)
        lib.vitcl_session_free(self.session)
        lib.vitcl_model_free(self.model)
        lib.vitcl_device_free(self.device)


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: search_by_words.py MODEL TEXT PICTURE...")
    try:
        towers = Towers(sys.argv[1])
        words = towers.words(sys.argv[2])
        near = [(sum(a * b for a, b in zip(words, towers.picture(path))), path)
                for path in sys.argv[3:]]
        for cosine, path in sorted(near, reverse=True):
            sys.stdout.buffer.write(os.fsencode(f"{cosine:.4f}\t{path}\n"))
    except RuntimeError as error:
        sys.exit(f"search_by_words.py: {error}")


if __name__ == "__main__":
    main()
