/*
 * safetensors.c - a strict reader of the format.
 *
 *     u64 N | N bytes of JSON {"name": {dtype, shape, data_offsets}} | data
 *
 * Checks all that the reference reader checks, and more where a lenient reader
 * would have to guess: unique names, no unknown keys or types, plain integers,
 * and every byte of the data used exactly once.
 */
#define _GNU_SOURCE /* memmem */
#include "base/checksum.h"
#include "base/memory.h"
#include "weights/reader.h"
#include "weights/save.h"

#include <string.h>

#define HEADER_MAX 100000000 /* the reference reader's limit */
#define DEPTH_MAX 4          /* {"name": {"shape": [..]}} needs three */

static const vt_element elements[] = {
    {"F32", 4, VT_FILE_F32},       {"F16", 2, VT_FILE_F16},
    {"BF16", 2, VT_FILE_BF16},     {"F64", 8, VT_FILE_F64},
    {"I64", 8, VT_FILE_I64},       {"I32", 4, VT_FILE_I32},
    {"U8", 1, VT_FILE_U8},         {"BOOL", 1, VT_FILE_OTHER},
    {"I8", 1, VT_FILE_OTHER},      {"I16", 2, VT_FILE_OTHER},
    {"U16", 2, VT_FILE_OTHER},     {"U32", 4, VT_FILE_OTHER},
    {"U64", 8, VT_FILE_OTHER},     {"F8_E4M3", 1, VT_FILE_OTHER},
    {"F8_E5M2", 1, VT_FILE_OTHER}, {"F8_E8M0", 1, VT_FILE_OTHER},
    {"C64", 8, VT_FILE_OTHER},
};

static bool sniff(const uint8_t *bytes, size_t size)
{
    return size > 8 && bytes[8] == '{';
}

static vitcl_status read_metadata(const char **sums, const vt_json *m,
                                  const char *file)
{
    const char *s;

    if (!vt_json_is_object(m))
        return vt_fail(VITCL_ECORRUPT, "%s: __metadata__ is not an object",
                       file);
    for (const vt_json *v = vt_json_first(m); v; v = vt_json_next(v))
        if (!vt_json_string(&s, v))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: __metadata__: %.100s is not a string", file,
                           vt_json_key(v));
    if (vt_json_string(&s, vt_json_get(m, VT_SUMS)))
        *sums = s;
    return VITCL_OK;
}

/* size: of the data, which starts at offset `data` of the input. */
static vitcl_status read_tensor(vt_tensors *t, const vt_json *m,
                                const vt_reader_input *in, size_t data,
                                size_t size)
{
    const char *file = in->file;
    vitcl_status st;
    vt_tensor *x;
    const vt_json *shape = vt_json_get(m, "shape");
    const vt_json *offsets = vt_json_get(m, "data_offsets");
    const char *name = vt_json_key(m), *dtype = NULL;
    const vt_element *element = NULL;
    uint64_t dims[VT_RANK_MAX], from, to;
    uint32_t rank = 0;

    if (!vt_json_string(&dtype, vt_json_get(m, "dtype")) ||
        !vt_json_is_array(shape) || vt_json_count(offsets) != 2 ||
        vt_json_count(m) != 3)
        return vt_fail(
            VITCL_ECORRUPT,
            "%s: %.100s: must have exactly dtype, shape and data_offsets", file,
            name);
    for (size_t i = 0; i < VT_COUNT(elements) && !element; i++)
        if (strcmp(dtype, elements[i].name) == 0)
            element = &elements[i];
    if (!element)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: %.100s: unknown dtype %.20s",
                       file, name, dtype);
    for (const vt_json *d = vt_json_first(shape); d; d = vt_json_next(d)) {
        if (rank == VT_RANK_MAX)
            return vt_fail(VITCL_ECORRUPT, "%s: %.100s: more than %d axes",
                           file, name, VT_RANK_MAX);
        if (!vt_json_uint(&dims[rank++], d))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: %.100s: shape must be plain integers", file,
                           name);
    }
    if (!vt_json_uint(&from, vt_json_at(offsets, 0)) ||
        !vt_json_uint(&to, vt_json_at(offsets, 1)))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %.100s: data_offsets must be plain integers", file,
                       name);
    if (from > to || to > size)
        return vt_fail(
            VITCL_ECORRUPT,
            "%s: %.100s: needs data bytes %llu to %llu, but there are "
            "only %zu; is the file complete?",
            file, name, (unsigned long long)from, (unsigned long long)to, size);
    st = vt_tensors_add(t, file, name, element, rank, dims,
                        in->source ? NULL : in->bytes + data + from,
                        (size_t)(to - from));
    if (st != VITCL_OK)
        return st;
    x = &t->items[t->count - 1];
    x->source = in->source;
    x->offset = data + from;
    return VITCL_OK;
}

static int by_place(const void *a, const void *b)
{
    const vt_tensor *x = *(const vt_tensor *const *)a;
    const vt_tensor *y = *(const vt_tensor *const *)b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->size < y->size ? -1 : x->size > y->size;
}

/* Are the digits in the header those of the header, and is there a checksum for
 * each tensor? Changes the header. */
static bool sums_are_valid(const char *sums, size_t n, char *header,
                           size_t size)
{
    const size_t digits = strlen(sums);
    char *at = memmem(header, size, sums, digits);
    uint64_t sum;

    if (digits != (n + 1) * VT_CHECKSUM_DIGITS || !at ||
        strspn(sums, "0123456789abcdef") != digits ||
        !vt_checksum_read(&sum, sums))
        return false;
    memset(at, '0', VT_CHECKSUM_DIGITS);
    return sum == vt_checksum(header, size);
}

/* No gap, no overlap, nothing after the last tensor. sums: digits, or NULL. */
static vitcl_status check_offsets(vt_tensor *items, size_t n, size_t data,
                                  size_t size, const char *sums,
                                  const char *file)
{
    vitcl_status st;
    vt_tensor **order = NULL;
    size_t at = 0;

    VT_TRY(VT_NEW(&order, n));
    for (size_t i = 0; i < n; i++)
        order[i] = &items[i];
    qsort(order, n, sizeof *order, by_place);
    for (size_t i = 0; i < n; i++) {
        size_t from = (size_t)order[i]->offset - data;
        if (from != at) {
            st =
                vt_fail(VITCL_ECORRUPT, "%s: %.100s: %s at data byte %zu", file,
                        order[i]->name,
                        from < at ? "overlaps another tensor" : "gap before it",
                        VT_MIN(from, at));
            goto done;
        }
        at += order[i]->size;
        order[i]->summed =
            sums && vt_checksum_read(&order[i]->sum,
                                     sums + (i + 1) * VT_CHECKSUM_DIGITS);
    }
    if (at != size)
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: %zu byte%s after the last tensor's data", file,
                     size - at, vt_plural(size - at));
done:
    free(order);
    return st;
}

static vitcl_status open_safetensors(vt_tensors *t, const vt_reader_input *in)
{
    vitcl_status st = VITCL_OK;
    const char *file = in->file;
    const size_t size = in->size;
    vt_json *root = NULL;
    uint8_t length[8];
    char *header = NULL;
    uint64_t n = 0;
    size_t before = t->count, data;
    const char *sums = NULL;

    if (size < 8)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %zu byte%s, too short for safetensors", file, size,
                       vt_plural(size));
    VT_TRY(vt_reader_input_read(length, in, 0, 8));
    for (int i = 7; i >= 0; i--)
        n = n << 8 | length[i];
    if (n > HEADER_MAX || n > size - 8)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: a header of %llu bytes, but the file has %zu", file,
                       (unsigned long long)n, size);
    VT_TRY(VT_NEW(&header, (size_t)n + 1));
    VT_TRY(vt_reader_input_read(header, in, 8, (size_t)n));
    if (header[0] != '{')
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: the header is not a JSON object",
                       file));
    data = 8 + (size_t)n;
    VT_TRY(vt_json_parse(&root, header, (size_t)n, DEPTH_MAX, file));
    for (const vt_json *m = vt_json_first(root); m; m = vt_json_next(m))
        VT_TRY(strcmp(vt_json_key(m), "__metadata__") == 0
                   ? read_metadata(&sums, m, file)
                   : read_tensor(t, m, in, data, size - data));
    if (sums && !sums_are_valid(sums, t->count - before, header, (size_t)n))
        sums = NULL, t->damaged = true;
    VT_TRY(check_offsets(t->items ? t->items + before : NULL, t->count - before,
                         data, size - data, sums, file));
done:
    vt_json_free(root);
    free(header);
    return st;
}

const vt_reader vt_read_safetensors = {"safetensors", sniff, open_safetensors};
