# Made by tools/python_binding from include/*.h: change those, and run it again.
"""The functions, structs and numbers of libvitcl, as its headers declare them."""
from __future__ import annotations

import ctypes as C
from enum import IntEnum
from typing import Any

LIBRARY = "libvitcl.so.3"


STATUS_MAP = {
    0: "success",
    -1: "invalid argument",
    -2: "out of memory",
    -3: "file cannot be read or written",
    -4: "file is damaged or hostile",
    -5: "valid, but not supported by this build or device",
    -6: "no such OpenCL device",
    -7: "an OpenCL call failed",
    -8: "stopped by the caller",
    -9: "in use by another call",
}


class Status(IntEnum):
    OK = 0
    EINVAL = -1
    ENOMEM = -2
    EIO = -3
    ECORRUPT = -4
    EUNSUPPORTED = -5
    ENODEVICE = -6
    EDEVICE = -7
    ESTOPPED = -8
    EBUSY = -9


class vitcl_device(C.Structure):
    pass


class vitcl_model(C.Structure):
    pass


class vitcl_session(C.Structure):
    pass


class vitcl_loader(C.Structure):
    pass


class Precision(IntEnum):
    F32 = 0
    BF16 = 1
    F16 = 2
    HALF = 3
    INT8 = 4


vitcl_progress = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_uint64, C.c_uint64)


class vitcl_device_info(C.Structure):
    size: int
    id: bytes
    name: bytes
    vendor: bytes
    platform: bytes
    driver: bytes
    version: bytes
    opencl_c: bytes
    type: bytes
    gemm: bytes
    error: bytes
    compute_units: int
    clock_mhz: int
    memory_bytes: int
    local_bytes: int
    max_alloc_bytes: int
    fp16: int
    fp64: int
    subgroups: int
    integer_dot: int
    unified_memory: int
    tuned: int
    warning: bytes
    products: bytes
    timed: int
    _fields_ = [
        ("size", C.c_size_t),
        ("id", C.c_char * 16),
        ("name", C.c_char * 256),
        ("vendor", C.c_char * 256),
        ("platform", C.c_char * 256),
        ("driver", C.c_char * 256),
        ("version", C.c_char * 256),
        ("opencl_c", C.c_char * 256),
        ("type", C.c_char * 12),
        ("gemm", C.c_char * 12),
        ("error", C.c_char * 160),
        ("compute_units", C.c_uint32),
        ("clock_mhz", C.c_uint32),
        ("memory_bytes", C.c_uint64),
        ("local_bytes", C.c_uint64),
        ("max_alloc_bytes", C.c_uint64),
        ("fp16", C.c_int),
        ("fp64", C.c_int),
        ("subgroups", C.c_int),
        ("integer_dot", C.c_int),
        ("unified_memory", C.c_int),
        ("tuned", C.c_uint32),
        ("warning", C.c_char * 256),
        ("products", C.c_char * 64),
        ("timed", C.c_uint32),
    ]


vitcl_compiling = C.CFUNCTYPE(None, C.c_void_p, C.c_uint32, C.c_uint32)


vitcl_log = C.CFUNCTYPE(None, C.c_void_p, C.c_char_p)
VERSION_MAJOR = 0
VERSION_MINOR = 3
VERSION_PATCH = 0
MODEL_BUILTIN = "builtin:cifar10"


class vitcl_model_files(C.Structure):
    size: int
    name: bytes | None
    weights: Any
    weights_bytes: int
    config: bytes | None
    config_bytes: int
    preprocessor: bytes | None
    preprocessor_bytes: int
    _fields_ = [
        ("size", C.c_size_t),
        ("name", C.c_char_p),
        ("weights", C.c_void_p),
        ("weights_bytes", C.c_size_t),
        ("config", C.c_char_p),
        ("config_bytes", C.c_size_t),
        ("preprocessor", C.c_char_p),
        ("preprocessor_bytes", C.c_size_t),
    ]


class vitcl_model_info(C.Structure):
    size: int
    family: bytes
    name: bytes
    layers: int
    width: int
    heads: int
    mlp: int
    classes: int
    trained_height: int
    trained_width: int
    patch: int
    input_height: int
    input_width: int
    tokens: int
    parameters: int
    gmac: float
    weights_bytes: int
    activation_bytes: int
    tensor_bytes: int
    rows: int
    columns: int
    read_first: int
    read_count: int
    channels: int
    on_white: int
    _fields_ = [
        ("size", C.c_size_t),
        ("family", C.c_char * 32),
        ("name", C.c_char * 128),
        ("layers", C.c_uint32),
        ("width", C.c_uint32),
        ("heads", C.c_uint32),
        ("mlp", C.c_uint32),
        ("classes", C.c_uint32),
        ("trained_height", C.c_uint32),
        ("trained_width", C.c_uint32),
        ("patch", C.c_uint32),
        ("input_height", C.c_uint32),
        ("input_width", C.c_uint32),
        ("tokens", C.c_uint32),
        ("parameters", C.c_uint64),
        ("gmac", C.c_double),
        ("weights_bytes", C.c_uint64),
        ("activation_bytes", C.c_uint64),
        ("tensor_bytes", C.c_uint64),
        ("rows", C.c_uint32),
        ("columns", C.c_uint32),
        ("read_first", C.c_uint32),
        ("read_count", C.c_uint32),
        ("channels", C.c_uint32),
        ("on_white", C.c_int),
    ]


class Answer(IntEnum):
    ONE_CLASS = 0
    ANY_CLASSES = 1
    NUMBERS = 2


class vitcl_tensor_info(C.Structure):
    size: int
    name: bytes
    rank: int
    shape: Any
    _fields_ = [
        ("size", C.c_size_t),
        ("name", C.c_char * 112),
        ("rank", C.c_uint32),
        ("shape", C.c_uint32 * 4),
    ]


class vitcl_class(C.Structure):
    label: int
    probability: float
    _fields_ = [
        ("label", C.c_uint32),
        ("probability", C.c_float),
    ]


class vitcl_image(C.Structure):
    width: int
    height: int
    rgb: Any
    _fields_ = [
        ("width", C.c_uint32),
        ("height", C.c_uint32),
        ("rgb", C.POINTER(C.c_uint8)),
    ]


class Layout(IntEnum):
    RGB = 0
    BGR = 1
    RGBX = 2
    BGRX = 3
    GREY = 4
    RGBA = 5
    BGRA = 6


vitcl_watcher = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(vitcl_tensor_info), C.POINTER(C.c_float))


class vitcl_session_options(C.Structure):
    size: int
    batch: int
    height: int
    width: int
    gemm: bytes | None
    precision: int
    keep: Any
    once: int
    progress: Any
    progress_context: Any
    watch: Any
    watcher: Any
    watcher_context: Any
    profile: int
    gradients: int
    any_batch: int
    _fields_ = [
        ("size", C.c_size_t),
        ("batch", C.c_uint32),
        ("height", C.c_uint32),
        ("width", C.c_uint32),
        ("gemm", C.c_char_p),
        ("precision", C.c_int),
        ("keep", C.POINTER(C.c_char_p)),
        ("once", C.c_int),
        ("progress", vitcl_progress),
        ("progress_context", C.c_void_p),
        ("watch", C.POINTER(C.c_char_p)),
        ("watcher", vitcl_watcher),
        ("watcher_context", C.c_void_p),
        ("profile", C.c_int),
        ("gradients", C.c_int),
        ("any_batch", C.c_int),
    ]


class vitcl_pictures(C.Structure):
    size: int
    n: int
    images: Any
    rgb: Any
    values: Any
    progress: Any
    context: Any
    _fields_ = [
        ("size", C.c_size_t),
        ("n", C.c_uint32),
        ("images", C.POINTER(vitcl_image)),
        ("rgb", C.POINTER(C.c_uint8)),
        ("values", C.POINTER(C.c_float)),
        ("progress", vitcl_progress),
        ("context", C.c_void_p),
    ]


class vitcl_batch(C.Structure):
    rgb: Any
    n: int
    out: Any
    own: Any
    _fields_ = [
        ("rgb", C.POINTER(C.c_uint8)),
        ("n", C.c_uint32),
        ("out", C.POINTER(C.c_float)),
        ("own", C.c_void_p),
    ]


vitcl_source = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(vitcl_batch), C.c_int)


vitcl_sink = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(vitcl_batch))


class vitcl_shape(C.Structure):
    name: bytes | None
    rank: int
    shape: Any
    _fields_ = [
        ("name", C.c_char_p),
        ("rank", C.c_uint32),
        ("shape", C.c_uint64 * 8),
    ]


class vitcl_rows(C.Structure):
    pass
DUPES_LEAST = 0.85


class vitcl_index(C.Structure):
    pass


class vitcl_index_info(C.Structure):
    size: int
    rows: int
    width: int
    rank: int
    shape: Any
    f16: int
    normalized: int
    feature: bytes
    picture_height: int
    picture_width: int
    most_patches: int
    pixels: bytes
    model_id: bytes
    pictures_id: bytes
    model: bytes
    folder: bytes
    _fields_ = [
        ("size", C.c_size_t),
        ("rows", C.c_uint64),
        ("width", C.c_uint32),
        ("rank", C.c_uint32),
        ("shape", C.c_uint32 * 3),
        ("f16", C.c_int),
        ("normalized", C.c_int),
        ("feature", C.c_char * 16),
        ("picture_height", C.c_uint32),
        ("picture_width", C.c_uint32),
        ("most_patches", C.c_uint32),
        ("pixels", C.c_char * 16),
        ("model_id", C.c_char * 65),
        ("pictures_id", C.c_char * 65),
        ("model", C.c_char * 4096),
        ("folder", C.c_char * 4096),
    ]


class vitcl_row_info(C.Structure):
    size: int
    name: bytes | None
    path: bytes | None
    bytes: int
    changed_ns: int
    _fields_ = [
        ("size", C.c_size_t),
        ("name", C.c_char_p),
        ("path", C.c_char_p),
        ("bytes", C.c_int64),
        ("changed_ns", C.c_int64),
    ]


class vitcl_hit(C.Structure):
    row: int
    cosine: float
    _fields_ = [
        ("row", C.c_uint64),
        ("cosine", C.c_float),
    ]


class RowState(IntEnum):
    ROW_COMPARED = 0
    ROW_LOST = 1
    ROW_AGAIN = 2
    ROW_GONE = 3
    ROW_EMPTY = 4


class vitcl_dupe(C.Structure):
    group: int
    nearest: int
    cosine: float
    state: int
    _fields_ = [
        ("group", C.c_uint64),
        ("nearest", C.c_uint64),
        ("cosine", C.c_float),
        ("state", C.c_int),
    ]


class vitcl_index_options(C.Structure):
    size: int
    normalize: int
    f16: int
    prune: int
    follow: int
    report: Any
    progress: Any
    context: Any
    _fields_ = [
        ("size", C.c_size_t),
        ("normalize", C.c_int),
        ("f16", C.c_int),
        ("prune", C.c_int),
        ("follow", C.c_int),
        ("report", vitcl_log),
        ("progress", vitcl_progress),
        ("context", C.c_void_p),
    ]


class vitcl_update_info(C.Structure):
    size: int
    rows: int
    embedded: int
    failed: int
    renamed: int
    gone: int
    pruned: int
    spared: int
    _fields_ = [
        ("size", C.c_size_t),
        ("rows", C.c_uint64),
        ("embedded", C.c_uint64),
        ("failed", C.c_uint64),
        ("renamed", C.c_uint64),
        ("gone", C.c_uint64),
        ("pruned", C.c_uint64),
        ("spared", C.c_int),
    ]


class vitcl_text(C.Structure):
    pass


class vitcl_text_options(C.Structure):
    size: int
    batch: int
    gemm: bytes | None
    precision: int
    lower_case: int
    any_batch: int
    _fields_ = [
        ("size", C.c_size_t),
        ("batch", C.c_uint32),
        ("gemm", C.c_char_p),
        ("precision", C.c_int),
        ("lower_case", C.c_int),
        ("any_batch", C.c_int),
    ]


class vitcl_text_info(C.Structure):
    size: int
    family: bytes
    layers: int
    width: int
    heads: int
    mlp: int
    features: int
    context: int
    vocabulary: int
    parameters: int
    logit_scale: float
    logit_bias: float
    answer: int
    cut: int
    _fields_ = [
        ("size", C.c_size_t),
        ("family", C.c_char * 32),
        ("layers", C.c_uint32),
        ("width", C.c_uint32),
        ("heads", C.c_uint32),
        ("mlp", C.c_uint32),
        ("features", C.c_uint32),
        ("context", C.c_uint32),
        ("vocabulary", C.c_uint32),
        ("parameters", C.c_uint64),
        ("logit_scale", C.c_float),
        ("logit_bias", C.c_float),
        ("answer", C.c_int),
        ("cut", C.c_uint64),
    ]


class vitcl_dataset(C.Structure):
    pass


class vitcl_dataset_options(C.Structure):
    size: int
    split: bytes | None
    columns: bytes | None
    follow: int
    _fields_ = [
        ("size", C.c_size_t),
        ("split", C.c_char_p),
        ("columns", C.c_char_p),
        ("follow", C.c_int),
    ]


class vitcl_scores(C.Structure):
    size: int
    pictures: int
    failed: int
    top1: float
    top5: float
    real_pictures: int
    real: float
    real_by_number: int
    right1: int
    right5: int
    real_right: int
    ranked_classes: int
    average_precision: float
    squared_error: float
    calibration_error: float
    bins: Any
    _fields_ = [
        ("size", C.c_size_t),
        ("pictures", C.c_uint32),
        ("failed", C.c_uint32),
        ("top1", C.c_double),
        ("top5", C.c_double),
        ("real_pictures", C.c_uint32),
        ("real", C.c_double),
        ("real_by_number", C.c_int),
        ("right1", C.c_uint32),
        ("right5", C.c_uint32),
        ("real_right", C.c_uint32),
        ("ranked_classes", C.c_uint32),
        ("average_precision", C.c_double),
        ("squared_error", C.c_double),
        ("calibration_error", C.c_double),
        ("bins", C.c_uint64 * 45),
    ]


class vitcl_train_batch(C.Structure):
    size: int
    step: int
    pictures: int
    height: int
    width: int
    classes: int
    pixels: Any
    scale: float
    mean: Any
    std: Any
    targets: Any
    label: Any
    source: Any
    colour: Any
    predicted: Any
    patch_height: int
    patch_width: int
    _fields_ = [
        ("size", C.c_size_t),
        ("step", C.c_uint64),
        ("pictures", C.c_uint32),
        ("height", C.c_uint32),
        ("width", C.c_uint32),
        ("classes", C.c_uint32),
        ("pixels", C.POINTER(C.c_float)),
        ("scale", C.c_float),
        ("mean", C.c_float * 3),
        ("std", C.c_float * 3),
        ("targets", C.POINTER(C.c_float)),
        ("label", C.POINTER(C.c_char_p)),
        ("source", C.POINTER(C.c_int32)),
        ("colour", C.POINTER(C.c_int32)),
        ("predicted", C.POINTER(C.c_int32)),
        ("patch_height", C.c_uint32),
        ("patch_width", C.c_uint32),
    ]


vitcl_train_show = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(vitcl_train_batch))


class vitcl_train_options(C.Structure):
    size: int
    preset: bytes | None
    config: bytes | None
    model: bytes | None
    data: bytes | None
    split: bytes | None
    output: bytes | None
    resume: int
    epochs: int
    batch: int
    micro: int
    lr: float
    augment: bytes | None
    random_state: int
    height: int
    width: int
    hold_out: int
    settings: bytes | None
    freeze: Any
    precision: int
    gemm: bytes | None
    workers: int
    checkpoint_steps: int
    objective: bytes | None
    val: bytes | None
    patience: int
    strict: int
    note: Any
    checking: Any
    show: Any
    preview: Any
    predicted: Any
    slices: int
    ranks: int
    pixels: bytes | None
    columns: bytes | None
    follow: int
    layer_decay: float
    lora: int
    _fields_ = [
        ("size", C.c_size_t),
        ("preset", C.c_char_p),
        ("config", C.c_char_p),
        ("model", C.c_char_p),
        ("data", C.c_char_p),
        ("split", C.c_char_p),
        ("output", C.c_char_p),
        ("resume", C.c_int),
        ("epochs", C.c_uint32),
        ("batch", C.c_uint32),
        ("micro", C.c_uint32),
        ("lr", C.c_double),
        ("augment", C.c_char_p),
        ("random_state", C.c_uint64),
        ("height", C.c_uint32),
        ("width", C.c_uint32),
        ("hold_out", C.c_uint32),
        ("settings", C.c_char_p),
        ("freeze", C.POINTER(C.c_char_p)),
        ("precision", C.c_int),
        ("gemm", C.c_char_p),
        ("workers", C.c_uint32),
        ("checkpoint_steps", C.c_uint32),
        ("objective", C.c_char_p),
        ("val", C.c_char_p),
        ("patience", C.c_uint32),
        ("strict", C.c_int),
        ("note", vitcl_log),
        ("checking", vitcl_progress),
        ("show", vitcl_train_show),
        ("preview", vitcl_train_show),
        ("predicted", vitcl_train_show),
        ("slices", C.c_uint32),
        ("ranks", C.c_int),
        ("pixels", C.c_char_p),
        ("columns", C.c_char_p),
        ("follow", C.c_int),
        ("layer_decay", C.c_double),
        ("lora", C.c_uint32),
    ]


class vitcl_train_event(C.Structure):
    size: int
    step: int
    steps: int
    epoch: int
    epochs: int
    pictures: int
    loss: float
    accuracy: float
    lr: float
    scored: int
    held_out_loss: float
    held_out_accuracy: float
    saved: int
    activation_bytes: int
    kept_bytes: int
    state_bytes: int
    epoch_loss: float
    epoch_accuracy: float
    held_out_top5: float
    best_accuracy: float
    best_loss: float
    best_epoch: int
    best: int
    early: int
    left_out: int
    grad_norm: float
    _fields_ = [
        ("size", C.c_size_t),
        ("step", C.c_uint64),
        ("steps", C.c_uint64),
        ("epoch", C.c_uint32),
        ("epochs", C.c_uint32),
        ("pictures", C.c_uint32),
        ("loss", C.c_double),
        ("accuracy", C.c_double),
        ("lr", C.c_double),
        ("scored", C.c_int),
        ("held_out_loss", C.c_double),
        ("held_out_accuracy", C.c_double),
        ("saved", C.c_int),
        ("activation_bytes", C.c_uint64),
        ("kept_bytes", C.c_uint64),
        ("state_bytes", C.c_uint64),
        ("epoch_loss", C.c_double),
        ("epoch_accuracy", C.c_double),
        ("held_out_top5", C.c_double),
        ("best_accuracy", C.c_double),
        ("best_loss", C.c_double),
        ("best_epoch", C.c_uint32),
        ("best", C.c_int),
        ("early", C.c_int),
        ("left_out", C.c_uint32),
        ("grad_norm", C.c_double),
    ]


vitcl_train_report = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(vitcl_train_event))


# name: (result, parameters, is the result a status?)
FUNCTIONS: dict[str, tuple[Any, list[Any], bool]] = {
    "vitcl_version": (C.c_char_p, [], False),
    "vitcl_last_error": (C.c_char_p, [], False),
    "vitcl_status_text": (C.c_char_p, [C.c_int], False),
    "vitcl_device_at": (C.c_int, [C.POINTER(vitcl_device_info), C.c_uint32], True),
    "vitcl_device_open": (C.c_int, [C.POINTER(C.POINTER(vitcl_device)), C.c_char_p], True),
    "vitcl_device_describe": (C.c_int, [C.POINTER(vitcl_device_info), C.POINTER(vitcl_device)], True),
    "vitcl_device_watch": (C.c_int, [C.POINTER(vitcl_device), vitcl_compiling, C.c_void_p], True),
    "vitcl_device_free": (None, [C.POINTER(vitcl_device)], False),
    "vitcl_log_set": (None, [vitcl_log, C.c_void_p], False),
    "vitcl_model_load": (C.c_int, [C.POINTER(C.POINTER(vitcl_model)), C.POINTER(vitcl_device), C.c_char_p], True),
    "vitcl_model_find": (C.c_int, [C.c_char_p, C.c_size_t, C.c_char_p], True),
    "vitcl_model_load_memory": (C.c_int, [C.POINTER(C.POINTER(vitcl_model)), C.POINTER(vitcl_device), C.POINTER(vitcl_model_files)], True),
    "vitcl_model_new": (C.c_int, [C.POINTER(C.POINTER(vitcl_model)), C.POINTER(vitcl_device), C.c_char_p, C.c_uint32], True),
    "vitcl_model_free": (None, [C.POINTER(vitcl_model)], False),
    "vitcl_model_describe": (C.c_int, [C.POINTER(vitcl_model_info), C.POINTER(vitcl_model), C.c_uint32, C.c_uint32, C.c_uint32], True),
    "vitcl_model_answer": (C.c_int, [C.POINTER(vitcl_model)], False),
    "vitcl_model_temperature": (C.c_float, [C.POINTER(vitcl_model)], False),
    "vitcl_model_threshold": (C.c_float, [C.POINTER(vitcl_model)], False),
    "vitcl_class_name": (C.c_char_p, [C.POINTER(vitcl_model), C.c_uint32], False),
    "vitcl_class_label": (C.c_char_p, [C.POINTER(vitcl_model), C.c_uint32], False),
    "vitcl_class_choose": (None, [C.POINTER(vitcl_class), C.c_uint32, C.POINTER(C.c_float), C.c_uint32, C.c_int], False),
    "vitcl_image_load": (C.c_int, [C.POINTER(vitcl_image), C.c_char_p], True),
    "vitcl_image_decode": (C.c_int, [C.POINTER(vitcl_image), C.c_void_p, C.c_size_t, C.c_char_p], True),
    "vitcl_model_image": (C.c_int, [C.POINTER(vitcl_image), C.POINTER(vitcl_model), C.c_void_p, C.c_size_t, C.c_char_p], True),
    "vitcl_image_note": (C.c_char_p, [], False),
    "vitcl_image_new": (C.c_int, [C.POINTER(vitcl_image), C.c_void_p, C.c_uint32, C.c_uint32, C.c_size_t, C.c_int], True),
    "vitcl_image_prepare": (C.c_int, [C.POINTER(vitcl_image), C.POINTER(vitcl_session), C.POINTER(vitcl_image)], True),
    "vitcl_image_free": (None, [C.POINTER(vitcl_image)], False),
    "vitcl_session_new": (C.c_int, [C.POINTER(C.POINTER(vitcl_session)), C.POINTER(vitcl_model), C.POINTER(vitcl_session_options)], True),
    "vitcl_session_free": (None, [C.POINTER(vitcl_session)], False),
    "vitcl_session_stop": (None, [C.POINTER(vitcl_session)], False),
    "vitcl_session_classes": (C.c_uint32, [C.POINTER(vitcl_session)], False),
    "vitcl_session_features": (C.c_uint32, [C.POINTER(vitcl_session)], False),
    "vitcl_session_size": (None, [C.POINTER(C.c_uint32), C.POINTER(C.c_uint32), C.POINTER(vitcl_session)], False),
    "vitcl_classify": (C.c_int, [C.POINTER(vitcl_class), C.c_uint32, C.POINTER(vitcl_session), C.POINTER(vitcl_image), C.c_uint32], True),
    "vitcl_embed": (C.c_int, [C.POINTER(C.c_float), C.POINTER(vitcl_session), C.POINTER(vitcl_image), C.c_uint32], True),
    "vitcl_session_classify": (C.c_int, [C.POINTER(vitcl_class), C.c_uint32, C.POINTER(vitcl_session), C.POINTER(vitcl_pictures)], True),
    "vitcl_session_compute": (C.c_int, [C.POINTER(C.c_float), C.c_size_t, C.POINTER(vitcl_session), C.c_char_p, C.POINTER(vitcl_pictures)], True),
    "vitcl_session_detail": (C.c_int, [C.POINTER(vitcl_session), C.POINTER(C.c_uint8)], False),
    "vitcl_session_run_rgb": (C.c_int, [C.POINTER(vitcl_session), C.POINTER(C.c_uint8), C.c_uint32], True),
    "vitcl_session_run_values": (C.c_int, [C.POINTER(vitcl_session), C.POINTER(C.c_float), C.c_uint32], True),
    "vitcl_session_read": (C.c_int, [C.POINTER(C.c_float), C.c_size_t, C.POINTER(vitcl_session), C.c_char_p, C.c_uint32], True),
    "vitcl_session_tensor": (C.c_int, [C.POINTER(vitcl_tensor_info), C.POINTER(vitcl_session), C.c_uint32], True),
    "vitcl_session_run_batches": (C.c_int, [C.POINTER(vitcl_session), C.c_char_p, C.c_size_t, vitcl_source, vitcl_sink, C.c_void_p], True),
    "vitcl_loader_new": (C.c_int, [C.POINTER(C.POINTER(vitcl_loader)), C.POINTER(vitcl_session), C.c_uint32], True),
    "vitcl_loader_push": (C.c_int, [C.POINTER(vitcl_loader), C.c_char_p], True),
    "vitcl_loader_push_bytes": (C.c_int, [C.POINTER(vitcl_loader), C.c_void_p, C.c_size_t, C.c_char_p], True),
    "vitcl_loader_pending": (C.c_uint32, [C.POINTER(vitcl_loader)], False),
    "vitcl_loader_next": (C.c_int, [C.POINTER(C.c_uint8), C.POINTER(vitcl_loader)], True),
    "vitcl_loader_free": (None, [C.POINTER(vitcl_loader)], False),
    "vitcl_convert": (C.c_int, [C.c_char_p, C.c_char_p, C.c_char_p, C.c_char_p], True),
    "vitcl_rows_new": (C.c_int, [C.POINTER(C.POINTER(vitcl_rows)), C.c_char_p, C.POINTER(vitcl_shape)], True),
    "vitcl_rows_add": (C.c_int, [C.POINTER(vitcl_rows), C.POINTER(C.c_float), C.c_uint32], True),
    "vitcl_rows_finish": (C.c_int, [C.POINTER(vitcl_rows)], True),
    "vitcl_rows_free": (None, [C.POINTER(vitcl_rows)], False),
    "vitcl_index_open": (C.c_int, [C.POINTER(C.POINTER(vitcl_index)), C.c_char_p], True),
    "vitcl_index_free": (None, [C.POINTER(vitcl_index)], False),
    "vitcl_index_describe": (C.c_int, [C.POINTER(vitcl_index_info), C.POINTER(vitcl_index)], True),
    "vitcl_index_check": (C.c_int, [C.POINTER(vitcl_index), C.POINTER(vitcl_model)], True),
    "vitcl_index_row": (C.c_int, [C.POINTER(vitcl_row_info), C.POINTER(vitcl_index), C.c_uint64], True),
    "vitcl_index_vectors": (C.c_int, [C.POINTER(C.c_float), C.POINTER(vitcl_index), C.c_uint64, C.c_uint64], True),
    "vitcl_index_search": (C.c_int, [C.POINTER(vitcl_hit), C.POINTER(C.c_uint32), C.POINTER(vitcl_index), C.POINTER(C.c_float), C.c_uint32, C.c_uint32, C.c_double, vitcl_progress, C.c_void_p], True),
    "vitcl_index_dupes": (C.c_int, [C.POINTER(vitcl_dupe), C.POINTER(vitcl_index), C.POINTER(vitcl_device), C.c_double, vitcl_progress, C.c_void_p], True),
    "vitcl_index_update": (C.c_int, [C.POINTER(vitcl_update_info), C.c_char_p, C.POINTER(vitcl_session), C.POINTER(C.c_char_p), C.POINTER(vitcl_index_options)], True),
    "vitcl_text_new": (C.c_int, [C.POINTER(C.POINTER(vitcl_text)), C.POINTER(vitcl_device), C.c_char_p, C.POINTER(vitcl_text_options)], True),
    "vitcl_text_free": (None, [C.POINTER(vitcl_text)], False),
    "vitcl_text_describe": (C.c_int, [C.POINTER(vitcl_text_info), C.POINTER(vitcl_text)], True),
    "vitcl_text_tokens": (C.c_int, [C.POINTER(C.c_int32), C.POINTER(C.c_uint32), C.POINTER(vitcl_text), C.c_char_p], True),
    "vitcl_text_embed": (C.c_int, [C.POINTER(C.c_float), C.POINTER(vitcl_text), C.POINTER(C.c_char_p), C.c_uint32], True),
    "vitcl_text_embed_tokens": (C.c_int, [C.POINTER(C.c_float), C.POINTER(vitcl_text), C.POINTER(C.c_int32), C.c_uint32], True),
    "vitcl_text_labels": (C.c_int, [C.POINTER(C.c_float), C.POINTER(vitcl_text), C.POINTER(C.c_char_p), C.c_uint32, C.POINTER(C.c_char_p), vitcl_progress, C.c_void_p], True),
    "vitcl_dataset_open": (C.c_int, [C.POINTER(C.POINTER(vitcl_dataset)), C.c_char_p, C.POINTER(vitcl_dataset_options)], True),
    "vitcl_dataset_pictures": (C.c_uint32, [C.POINTER(vitcl_dataset)], False),
    "vitcl_dataset_classes": (C.c_uint32, [C.POINTER(vitcl_dataset)], False),
    "vitcl_dataset_class": (C.c_char_p, [C.POINTER(vitcl_dataset), C.c_uint32], False),
    "vitcl_dataset_free": (None, [C.POINTER(vitcl_dataset)], False),
    "vitcl_evaluate": (C.c_int, [C.POINTER(vitcl_scores), C.POINTER(C.c_uint32), C.POINTER(vitcl_session), C.POINTER(vitcl_dataset), vitcl_progress, C.c_void_p], True),
    "vitcl_train": (C.c_int, [C.POINTER(vitcl_train_event), C.POINTER(vitcl_device), C.POINTER(vitcl_train_options), vitcl_train_report, C.c_void_p], True),
}
