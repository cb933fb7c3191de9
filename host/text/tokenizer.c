/*
 * tokenizer.c - opens the tokenizer of a folder, by the files that it has.
 */
#include "text/tokenizer.h"

#include "base/file.h"

#include <string.h>

#define VERSION "vitcl tokenizer 1" /* a change of rules changes identities */

static const struct kind {
    const char *file;
    vitcl_status (*read)(vt_tokenizer *t, const char *folder, const char *path);
    bool spm;
} kinds[] = {
    {"tokenizer.json", vt_read_tokenizer_json, false},
    {"vocab.json", vt_read_vocab_json, false},
    {"bpe_simple_vocab_16e6.txt.gz", vt_read_clip_gz, false},
    {"spiece.model", vt_read_spm, true},
    {"tokenizer.model", vt_read_spm, true},
};

vitcl_status vt_read_spm(vt_tokenizer *t, const char *folder, const char *path)
{
    vt_file file = {0};
    vitcl_status st = VITCL_OK;

    (void)folder;
    VT_TRY(vt_file_read(&file, path, (size_t)128 << 20));
    vt_sha256_add(&t->hash, file.data, file.size);
    VT_TRY(vt_spm_read(&t->spm, file.data, file.size, path));
    t->model = VT_MODEL_SPM;
    t->named = t->siglip;
done:
    vt_file_close(&file);
    return st;
}

/* *found: the folder has a vocabulary, which was read. spm: SentencePiece's or
 * another. */
static vitcl_status read_kind(vt_tokenizer *t, bool *found, const char *folder,
                              bool spm)
{
    char *path = NULL;
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; i < VT_COUNT(kinds) && !*found; i++) {
        if (kinds[i].spm != spm)
            continue;
        free(path);
        path = NULL;
        VT_TRY(vt_format(&path, "%s/%s", folder, kinds[i].file));
        if ((*found = vt_path_exists(path)))
            VT_TRY(kinds[i].read(t, folder, path));
    }
done:
    free(path);
    return st;
}

/* SiglipTokenizer is SentencePiece's, all others prefer tokenizer.json. */
static vitcl_status read_vocabulary(vt_tokenizer *t, const char *folder)
{
    vitcl_status st = VITCL_OK;
    bool found = false;

    VT_TRY(read_kind(t, &found, folder, t->siglip));
    VT_TRY(read_kind(t, &found, folder, !t->siglip));
    if (!found)
        return vt_fail(VITCL_EIO,
                       "%s: there is no tokenizer: neither tokenizer.json, "
                       "vocab.json, %s, spiece.model nor tokenizer.model",
                       folder, kinds[2].file);
    if (t->siglip && t->model != VT_MODEL_SPM)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: spiece.model, which SiglipTokenizer reads, is "
                       "missing",
                       folder);
    if (t->simple && t->model != VT_MODEL_BPE)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: open_clip's tokenizer needs CLIP's vocabulary",
                       folder);
done:
    return st;
}

/* Where no tokenizer.json lists them, the named special tokens are found in
 * texts, too. */
static vitcl_status add_named(vt_tokenizer *t, const char *name)
{
    const vt_token_settings *s = &t->settings;
    const char *const other = t->siglip ? "</s>" : "<|endoftext|>";
    const char *const unknown = t->siglip ? "<unk>" : other;
    const char *const tokens[] = {
        s->begin    ? s->begin
        : t->siglip ? other
                    : "<|startoftext|>",
        s->end ? s->end : other,
        s->pad ? s->pad : other,
        s->unknown ? s->unknown : unknown,
    };
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; i < VT_COUNT(tokens); i++) {
        const int32_t id = vt_token_id(t, tokens[i]);

        if (id >= 0)
            VT_TRY(vt_added_add(t, tokens[i], id, (struct vt_added_token){0},
                                name));
    }
    if (t->model == VT_MODEL_BPE)
        t->bpe.unknown = vt_token_id(t, tokens[3]);
done:
    return st;
}

static int32_t first_of(int32_t a, int32_t b)
{
    return a >= 0 ? a : b;
}

static void set_template(vt_tokenizer *t, int32_t before, int32_t after)
{
    t->before_count = t->after_count = 0;
    if (before >= 0)
        t->before[t->before_count++] = before;
    if (after >= 0)
        t->after[t->after_count++] = after;
}

/* The special tokens around a text, as the library adds them. */
static void find_special(vt_tokenizer *t)
{
    const vt_token_settings *s = &t->settings;
    const bool spm = t->model == VT_MODEL_SPM;
    const bool clip = t->simple || s->clip || (!spm && t->bpe.suffix);

    t->begin = first_of(vt_token_id(t, s->begin), spm ? t->spm.begin : -1);
    t->end = first_of(vt_token_id(t, s->end), spm ? t->spm.end : -1);
    if (clip) {
        t->begin = first_of(t->begin, vt_token_id(t, "<|startoftext|>"));
        t->end = first_of(t->end, vt_token_id(t, "<|endoftext|>"));
    }
    if (t->simple || (clip && t->before_count + t->after_count == 0))
        set_template(t, t->begin, t->end);
    else if (spm && !t->siglip && (s->add_begin >= 0 || s->add_end >= 0))
        set_template(t, s->add_begin == 1 ? t->begin : -1,
                     s->add_end == 1 ? t->end : -1);
    else if (spm)
        set_template(t, -1, t->end);
    if (t->end < 0 && t->after_count)
        t->end = t->after[t->after_count - 1];
    t->pad = first_of(vt_token_id(t, s->pad), spm ? t->spm.pad : -1);
    if (t->siglip || clip)
        t->pad = first_of(vt_token_id(t, s->pad), t->end);
    t->pad =
        t->simple ? 0 : first_of(first_of(t->pad, vt_token_id(t, "<pad>")), 0);
    t->left = t->left && !t->simple;
    t->cut_left = s->cut_left && !t->simple;
}

static void add_number(vt_sha256_state *h, int64_t v)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)v >> 8 * i);
    vt_sha256_add(h, bytes, sizeof bytes);
}

/* The files are in it already; here is what else was found. */
static void identify(vt_tokenizer *t)
{
    vt_sha256_state *h = &t->hash;
    const int64_t numbers[] = {t->clean,
                               t->lower,
                               t->lower_pieces,
                               t->simple,
                               t->siglip,
                               t->model,
                               t->begin,
                               t->end,
                               t->pad,
                               t->left,
                               t->settings.lower,
                               t->bpe.unknown,
                               (int64_t)t->before_count,
                               (int64_t)t->after_count};

    for (size_t i = 0; i < VT_COUNT(numbers); i++)
        add_number(h, numbers[i]);
    for (size_t i = 0; i < t->before_count; i++)
        add_number(h, t->before[i]);
    for (size_t i = 0; i < t->after_count; i++)
        add_number(h, t->after[i]);
    for (size_t i = 0; i < t->added.n; i++) {
        const struct vt_added_token *a = &t->added.list[i];

        add_number(h, a->id);
        add_number(h,
                   a->left | a->right << 1 | a->single << 2 | a->normal << 3);
        vt_sha256_text(h, a->s);
    }
    if (t->cut_left)
        vt_sha256_text(h, "cut left");
    vt_sha256_end_hex(h, t->identity);
}

vitcl_status vt_tokenizer_open(vt_tokenizer **out, const char *folder,
                               bool open_clip, bool lower)
{
    vt_tokenizer *t = NULL;
    vitcl_status st = VITCL_OK;

    VT_TRY(VT_NEW(&t, 1));
    vt_sha256_begin(&t->hash);
    vt_sha256_add(&t->hash, VERSION, sizeof VERSION);
    t->lower = lower;
    VT_TRY(vt_token_settings_read(t, folder, open_clip));
    VT_TRY(read_vocabulary(t, folder));
    if (t->named)
        VT_TRY(add_named(t, folder));
    find_special(t);
    if (t->simple && (t->begin < 0 || t->end < 0))
        return vt_tokenizer_free(t),
               vt_fail(VITCL_ECORRUPT,
                       "%s: the vocabulary has no token that begins or ends a "
                       "text",
                       folder);
    VT_TRY(vt_added_finish(t, folder));
    identify(t);
    *out = t;
    t = NULL;
done:
    vt_tokenizer_free(t);
    return st;
}

uint32_t vt_tokenizer_vocabulary(const vt_tokenizer *t)
{
    int32_t last = t->model == VT_MODEL_SPM ? t->spm.vocab.last : t->vocab.last;

    for (size_t i = 0; i < t->added.n; i++)
        last = VT_MAX(last, t->added.list[i].id);
    return (uint32_t)last + 1;
}

uint32_t vt_tokenizer_context(const vt_tokenizer *t)
{
    return t->context;
}

int32_t vt_tokenizer_end(const vt_tokenizer *t)
{
    return t->end;
}

void vt_tokenizer_identity(char out[65], const vt_tokenizer *t)
{
    memcpy(out, t->identity, sizeof t->identity);
}

void vt_tokenizer_free(vt_tokenizer *t)
{
    if (!t)
        return;
    vt_token_settings_free(&t->settings);
    vt_added_free(&t->added);
    for (size_t i = 0; i < VT_STEPS_MAX; i++) {
        free(t->normalizers[i].from);
        free(t->normalizers[i].to);
    }
    vt_charsmap_free(&t->map);
    vt_bpe_free(&t->bpe);
    vt_vocab_free(&t->vocab);
    vt_spm_free(&t->spm);
    free(t->scores);
    free(t);
}
