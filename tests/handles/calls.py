#!/usr/bin/env python3
"""calls.py OUT HEADER... - writes OUT for handles.c: for each function of the
public headers that takes a handle, a function that calls it with the handles
and values of handles.h, or with one pointer NULL.

A parameter gets its value by its type, or by its name where the type does not
say enough. One that has no rule is an error: a new function needs a line here,
or nothing at all."""
import re
import sys

KINDS = ("device", "model", "session", "loader", "dataset", "rows", "text",
         "index")
# By type; {n}: the parameter's number. A declaration, the argument, and what
# is done after the call.
LOCAL = {
    "vitcl_image *": ("vitcl_image a{n} = {{0, 0, NULL}};", "&a{n}",
                      "vitcl_image_free(&a{n});"),
    "vitcl_shape *": ("vitcl_shape a{n};", "&a{n}", ""),
    "const char **": ("const char *a{n} = NULL;", "&a{n}", ""),
    "const char *const *": ("const char *a{n}[] = {{\"a {{}} cat\", NULL}};",
                            "a{n}", ""),
    "double *": ("double a{n} = 0;", "&a{n}", ""),
    "int64_t *": ("int64_t a{n} = 0;", "&a{n}", ""),
    "uint64_t *": ("uint64_t a{n} = 0;", "&a{n}", ""),
}
SIMPLE = {
    "const uint8_t *": "vt_rgb", "uint8_t *": "vt_room",
    "const float *": "vt_numbers", "float *": "vt_out",
    "const void *": "vt_rgb", "void *": "vt_room",
    "const vitcl_image *": "&vt_image", "vitcl_class *": "vt_top",
    "const uint32_t *": "vt_labels", "uint32_t *": "vt_words",
    "vitcl_hit *": "vt_hits", "vitcl_dupe *": "vt_dupes",
    "const int32_t *": "vt_ids", "int32_t *": "vt_ids",
    "const vitcl_pictures *": "&vt_pictures",
    "const vitcl_index_options *": "NULL",
    "const vitcl_text_options *": "&vt_text_options",
    "char *": "vt_text",
    "const vitcl_session_options *": "&vt_session_options",
    "const vitcl_train_options *": "&vt_train_options",
    "const vitcl_model_files *": "&vt_files",
    "const vitcl_dataset_options *": "NULL",
    "vitcl_precision": "VITCL_F32", "vitcl_progress": "vt_progress",
    "vitcl_log": "vt_log_line", "vitcl_compiling": "vt_compiling",
    "vitcl_source": "vt_source", "vitcl_sink": "vt_sink",
    "vitcl_train_report": "NULL", "double": "1.5", "int": "0",
}
NAMED = {
    "name": '"logits"', "path": "vt_path(\"{function}\")",
    "folder": "vt_path(\"{function}\")",
    "utf8": '"a cat"', "library": '"pillow"', "preset": '"vit-ti/16"',
    "n": "1", "k": "1", "part": "1", "parts": "1", "tries": "1",
    "workers": "1", "side": "8", "each": "VT_CLASSES", "count": "VT_ROOM",
    "size": "32", "index": "0", "label": "0", "height": "0", "width": "0",
    "batch": "0", "random_state": "1", "most": "16", "row": "0", "first": "0",
}
SPECIAL = {
    ("vitcl_model_new", "size"): "32",
    ("vitcl_index_search", "least"): "0",
    ("vitcl_index_dupes", "least"): "0.5",
    ("vitcl_text_new", "path"): "VT_HANDLES_TEXT",
    ("vitcl_loader_push_bytes", "name"): '"picture"',
    ("vitcl_loader_push_bytes", "size"): "sizeof vt_rgb",
}
# These take more than some milliseconds: never the second of two calls.
SLOW = ("vitcl_session_new", "vitcl_model_image", "vitcl_index_update", "vitcl_text_new", "vitcl_loader_new",
        "vitcl_evaluate")


def declarations(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = text.replace('extern "C" {', "")
    text = re.sub(r"^#.*(?:\\\n.*)*$", " ", text, flags=re.M)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", " ", text)
    for head, name, parameters in re.findall(
            r"([^;()]*?)\b(vitcl_[a-z0-9_]+)\(([^()]*)\)\s*;", text):
        if "typedef" not in head:
            yield " ".join(head.split()), name, parameters


def parameter(text):
    """type, name"""
    text = " ".join(text.split())
    array = re.fullmatch(r"(.*?)(\w+)\[\d+\]", text)
    if array:
        return array[1].strip() + " *", array[2]
    found = re.fullmatch(r"(.*?[ *])(\w+)", text)
    return re.sub(r" ?(\*+)$", r" \1", found[1].strip()), found[2]


def kind_of(type_):
    found = re.fullmatch(r"(?:const )?vitcl_(\w+) \*", type_)
    return found[1] if found and found[1] in KINDS else None


def value(function, n, type_, name):
    """declaration, argument, afterwards"""
    if kind_of(type_):
        return "", f"t->{kind_of(type_)}", ""
    made = re.fullmatch(r"vitcl_(\w+) \*\*", type_)
    if made and made[1] in KINDS:
        return (f"vitcl_{made[1]} *a{n} = NULL;", f"&a{n}",
                f"vitcl_{made[1]}_free(a{n});")
    sized = re.fullmatch(r"(vitcl_\w+(?:_info|_scores|_event|_choice)|"
                         r"vitcl_scores) \*", type_)
    if sized:
        return f"{sized[1]} a{n} = {{.size = sizeof a{n}}};", f"&a{n}", ""
    if (function, name) in SPECIAL:
        return "", SPECIAL[function, name], ""
    if name == "context":
        return "", "NULL", ""
    if type_ in LOCAL:
        return tuple(s.format(n=n) for s in LOCAL[type_])
    if type_ in SIMPLE:
        return "", SIMPLE[type_], ""
    if type_ in ("const char *", "size_t", "uint32_t", "uint64_t") and \
            name in NAMED:
        return "", NAMED[name].format(function=function), ""
    sys.exit(f"calls.py: {function}: no value for \"{type_} {name}\"")


def bits(kinds):
    return " | ".join(f"1u << VT_{k.upper()}" for k in sorted(kinds)) or "0"


def write(functions):
    table = []
    print('/* Made by tests/handles/calls.py. */\n#include "handles/handles.h"\n')
    for result, function, parameters in functions:
        given = [parameter(p) for p in parameters.split(",")
                 if p.strip() != "void"]
        kinds = {kind_of(type_) for type_, _ in given} - {None}
        if not kinds or function.endswith("_free"):
            continue
        values = [value(function, n, *p) for n, p in enumerate(given)]
        pointers = [n for n, p in enumerate(given)
                    if p[0].endswith("*") and values[n][1] != "NULL"]
        changes = {kind_of(type_) for type_, _ in given
                   if not type_.startswith("const")} - {None}
        print(f"static void call_{function}(const things *t, int null)\n{{")
        for v in values:
            if v[0]:
                print("    " + v[0])
        arguments = ", ".join(f"null == {n} ? NULL : {v[1]}"
                              if n in pointers else v[1]
                              for n, v in enumerate(values))
        call = f"{function}({arguments})"
        if result.startswith("VITCL_STATUS"):
            print(f'    vt_took("{function}", {call});')
        elif "char *" in result:
            print(f"    vt_read({call});")
        else:
            print(f"    (void){call};")
        for v in values:
            if v[2]:
                print("    " + v[2])
        print("    (void)t, (void)null;\n}\n")
        table.append(f'    {{"{function}", call_{function}, {bits(kinds)}, '
                     f'{bits(changes)}, {int(function in SLOW)}, '
                     f'{len(values)}}},')
    print("const call vt_calls[] = {\n" + "\n".join(table) +
          "\n    {NULL, NULL, 0, 0, 0, 0}\n};")


with open(sys.argv[1], "w") as sys.stdout:
    write([d for path in sys.argv[2:] for d in declarations(open(path).read())])
