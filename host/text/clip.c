/*
 * clip.c - bpe_simple_vocab_16e6.txt.gz, as open_clip's package has it.
 */
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define TEXT_MAX (64U << 20)
#define MERGES (49152 - 256 - 2) /* the file has more than the model */

static vitcl_status unpack(vt_chars *out, const char *path)
{
    gzFile f = gzopen(path, "rb");
    char part[8192];
    int n;
    vitcl_status st = VITCL_OK;

    if (!f)
        return vt_fail(VITCL_EIO, "%s: cannot be opened", path);
    while ((n = gzread(f, part, sizeof part)) > 0 && out->n <= TEXT_MAX)
        VT_TRY(vt_chars_add(out, part, (size_t)n));
    if (n < 0 || out->n > TEXT_MAX)
        st = vt_fail(VITCL_ECORRUPT, "%s: damaged, or over %u MB", path,
                     TEXT_MAX >> 20);
done:
    /* only this says that the file ends too early */
    if (gzclose_r(f) != Z_OK && st == VITCL_OK)
        st = vt_fail(VITCL_ECORRUPT, "%s: damaged, or cut off", path);
    return st;
}

/* The characters of all bytes in CLIP's order, those that can be seen first. */
static vitcl_status add_bytes(vt_vocab *v, const char *suffix, const char *name)
{
    char piece[8];

    for (int seen = 1; seen >= 0; seen--)
        for (unsigned b = 0; b < 256; b++) {
            size_t n = vt_byte_character(piece, (unsigned char)b);
            const bool same = n == 1 || (piece[0] & 0x3c) == 0;

            /* U+0100 and after: characters in place of what cannot be seen */
            if (same != (seen == 1))
                continue;
            memcpy(piece + n, suffix, strlen(suffix));
            n += strlen(suffix);
            VT_RET(vt_vocab_add(v, piece, n, v->count, name));
        }
    return VITCL_OK;
}

static vitcl_status add_merge(vt_tokenizer *t, const char *line, size_t n,
                              const char *name)
{
    const char *space = memchr(line, ' ', n);
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;
    size_t left;

    if (!space)
        return vt_fail(VITCL_ECORRUPT, "%s: a line is no merge", name);
    left = (size_t)(space - line);
    VT_TRY(vt_chars_add(&c, line, left));
    VT_TRY(vt_chars_add(&c, space + 1, n - left - 1));
    VT_TRY(vt_vocab_add(&t->vocab, c.s, c.n, t->vocab.count, name));
    VT_TRY(vt_bpe_merge(&t->bpe, line, left, space + 1, n - left - 1, name));
done:
    free(c.s);
    return st;
}

vitcl_status vt_read_clip_gz(vt_tokenizer *t, const char *folder,
                             const char *path)
{
    static const char *const specials[] = {"<|startoftext|>", "<|endoftext|>"};
    vt_chars text = {0};
    vitcl_status st = VITCL_OK;
    size_t at = 0, line = 0;

    (void)folder;
    VT_TRY(unpack(&text, path));
    vt_sha256_add(&t->hash, text.s, text.n);
    VT_TRY(add_bytes(&t->vocab, "", path));
    VT_TRY(add_bytes(&t->vocab, "</w>", path));
    t->bpe = (vt_bpe){.vocab = &t->vocab, .unknown = -1};
    VT_TRY(vt_strdup(&t->bpe.suffix, "</w>"));
    for (; at < text.n && line <= MERGES; line++) {
        const char *s = text.s + at, *end = memchr(s, '\n', text.n - at);
        const size_t n = end ? (size_t)(end - s) : text.n - at;

        if (line > 0 && n > 0) /* the first says the version */
            VT_TRY(add_merge(t, s, n, path));
        at += n + 1;
    }
    for (size_t i = 0; i < VT_COUNT(specials); i++)
        VT_TRY(vt_vocab_add(&t->vocab, specials[i], strlen(specials[i]),
                            t->vocab.count, path));
    VT_TRY(vt_bpe_finish(&t->bpe, path));
    t->model = VT_MODEL_BPE;
    t->class = &vt_class_simple;
    t->clean = t->clean ? t->clean : VT_CLEAN_LOWER;
done:
    free(text.s);
    return st;
}
