/*
 * made_torch.h - PyTorch zip files made in memory for tests: pickles as
 * torch.save() writes them, by hand, over one storage of six floats.
 */
#ifndef VT_TESTS_MADE_TORCH_H
#define VT_TESTS_MADE_TORCH_H
#include "support/made_zip.h"
#include "weights/weights.h"

#include <criterion/criterion.h>

static made_zip z;
static const float six[6] = {1, 2, 3, 4, 5, 6};

static inline vitcl_status open_zip(vt_tensors **out)
{
    static uint8_t *exact;
    free(exact);
    exact = malloc(z.size);
    memcpy(exact, z.bytes, z.size);
    return vt_tensors_open_memory(out, exact, z.size, "t.bin");
}

static inline vitcl_status run(vt_tensors **out, const void *program,
                               size_t size)
{
    memset(&z, 0, sizeof z);
    made_add(&z, "x/data.pkl", program, size,
             (made_lie){.deflate = size > 10000});
    made_add(&z, "x/byteorder", "little", 6, (made_lie){0});
    made_add(&z, "x/data/0", six, 24, (made_lie){0});
    made_end(&z);
    return open_zip(out);
}

#define STORAGE(type, key, n)                                                  \
    "(\x8c\x07storagectorch\n" type "Storage\n\x8c\x01" key "\x8c\x03"         \
    "cpuK" n "tQ"
#define TENSOR(storage, offset, size, stride)                                  \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage "K" offset size stride      \
    "\x89"                                                                     \
    "ccollections\nOrderedDict\n)RtR"
#define SIX STORAGE("Float", "0", "\x06")
#define W "\x8c\x01w"
#define DICT "ccollections\nOrderedDict\n)R"
#define PARAMETER "ctorch._utils\n_rebuild_parameter\n"
#define EXPANDED                                                               \
    "\x8c\x01"                                                                 \
    "e"
#define EPOCH                                                                  \
    "\x8c\x05"                                                                 \
    "epoch"
#define RATE "\x8c\x02lrG?\xb9\x99\x99\x99\x99\x99\x9a"
#define METADATA "}\x8c\x09_metadata}sb"
#define ONE TENSOR(SIX, "\x00", "K\x06\x85", "K\x01\x85")

static inline void refused(const void *program, size_t size, const char *says)
{
    vt_tensors *t = NULL;
    vitcl_status st = run(&t, program, size);

    cr_expect(st == VITCL_ECORRUPT || st == VITCL_EUNSUPPORTED, "%s: taken",
              says);
    cr_expect_null(t);
    cr_expect(strstr(vt_message(), says), "%s: %s", says, vt_message());
    cr_expect(strncmp(vt_message(), "t.bin: ", 7) == 0, "%s", vt_message());
}

#endif
