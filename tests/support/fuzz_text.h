/*
 * fuzz_text.h - shared by the fuzz targets of tokenizers: what a reader accepts
 * encodes texts, too.
 */
#ifndef VT_TESTS_FUZZ_TEXT_H
#define VT_TESTS_FUZZ_TEXT_H
#include "support/fuzz_file.h"
#include "text/tokenizer.h"

#include <string.h>

typedef vitcl_status (*fuzz_reader)(vt_tokenizer *t, const char *folder,
                                    const char *path);

static inline void fuzz_text(fuzz_reader reader, const uint8_t *data,
                             size_t size)
{
    static const char *const texts[] = {"", "a photo of a cat",
                                        "A  b\xe2\x96\x81"
                                        "c</s>\xc3\xa9\xcc\x81 12",
                                        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f"
                                        "\x91\xa7 <|endoftext|> it's ab ab"};
    vt_tokenizer *t = calloc(1, sizeof *t);
    const char *path = fuzz_file(data, size);
    int32_t ids[16];
    uint32_t count;

    if (!t)
        abort();
    t->class = &vt_class_file;
    t->settings.add_begin = t->settings.add_end = -1;
    t->settings.left = t->settings.cut_left = -1;
    vt_sha256_begin(&t->hash);
    if (reader(t, "", path) == VITCL_OK &&
        vt_added_finish(t, path) == VITCL_OK) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            vt_tokenizer_encode(ids, &count, t, 16, texts[i], strlen(texts[i]));
        t->meta = t->canonical = t->end_once = t->model == VT_MODEL_SPM;
        if (t->meta && !(t->front = strdup("<unk>")))
            abort();
        vt_tokenizer_encode(ids, &count, t, 16, texts[1], strlen(texts[1]));
        vt_tokenizer_vocabulary(t);
    }
    vt_tokenizer_free(t);
}

#endif
