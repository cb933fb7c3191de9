/*
 * fuzz_json.c - any bytes as JSON; then every getter on every value.
 */
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t visit(const vt_json *v)
{
    const char *s = NULL;
    uint64_t u = 0;
    double d = 0;
    bool b = false;
    size_t n = vt_json_count(v);

    vt_json_string(&s, v);
    vt_json_uint(&u, v);
    vt_json_number(&d, v);
    vt_json_bool(&b, v);
    for (const vt_json *m = vt_json_first(v); m; m = vt_json_next(m)) {
        if (vt_json_key(m) && vt_json_get(v, vt_json_key(m)) != m)
            __builtin_trap(); /* the key occurs twice */
        n += visit(m);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vt_json *root = NULL;

    if (vt_json_parse(&root, (const char *)data, size, 64, "input") == VITCL_OK)
        visit(root);
    vt_json_free(root);
    return 0;
}
