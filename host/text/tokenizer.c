/*
 * tokenizer.c - opens the tokenizer of a folder, by the files that it has.
 */
#include "text/tokenizer.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

#define VERSION "vitcl tokenizer 2" /* a change of rules changes identities */

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
    if (!t->class->spiece && strstr(path, "/spiece.model"))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a %s does not read it, and tokenizer.json is "
                       "missing",
                       path, t->class->name);
    VT_TRY(vt_file_read(&file, path, (size_t)128 << 20));
    vt_sha256_add(&t->hash, file.data, file.size);
    VT_TRY(vt_spm_read(&t->spm, file.data, file.size, path));
    t->model = VT_MODEL_SPM;
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

/* Of all classes, only SiglipTokenizer uses SentencePiece. For the others,
 * transformers makes a tokenizer of its own from the file, with other ids. */
static vitcl_status check_spm(const vt_tokenizer *t, const char *folder)
{
    static const char *const files[] = {"tokenizer_config.json", "config.json",
                                        "open_clip_config.json"};
    char *path = NULL;
    vitcl_status st = VITCL_OK;

    if (t->model != VT_MODEL_SPM || t->class->model == VT_MODEL_SPM)
        return VITCL_OK;
    for (size_t i = 0; i < VT_COUNT(files); i++) {
        free(path);
        path = NULL;
        VT_TRY(vt_format(&path, "%s/%s", folder, files[i]));
        if (vt_path_exists(path))
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: tokenizer.json is missing, which transformers "
                           "makes from the SentencePiece model; "
                           "AutoTokenizer's save_pretrained() writes it",
                           folder));
    }
done:
    free(path);
    return st;
}

/* SiglipTokenizer is SentencePiece's, all others prefer tokenizer.json. */
static vitcl_status read_vocabulary(vt_tokenizer *t, const char *folder)
{
    const bool spm = t->class->model == VT_MODEL_SPM;
    bool found = false;

    VT_RET(read_kind(t, &found, folder, spm));
    VT_RET(read_kind(t, &found, folder, !spm));
    if (!found)
        return vt_fail(VITCL_EIO,
                       "%s: there is no tokenizer: neither tokenizer.json, "
                       "vocab.json, %s, spiece.model nor tokenizer.model",
                       folder, kinds[2].file);
    VT_RET(check_spm(t, folder));
    if (spm && t->model != VT_MODEL_SPM)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: spiece.model, which %s reads, is missing", folder,
                       t->class->name);
    if (t->class == &vt_class_simple && t->model != VT_MODEL_BPE)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: open_clip's tokenizer needs CLIP's vocabulary",
                       folder);
    return VITCL_OK;
}

static bool is_named(const vt_token_settings *s, const char *text)
{
    for (size_t i = 0; i < VT_NAMED; i++)
        if (s->named[i].s && strcmp(s->named[i].s, text) == 0)
            return true;
    return vt_token_list_find(&s->specific, text) != NULL;
}

/* Those that are not there yet, but for the first `known`. */
static vitcl_status add_token(vt_tokenizer *t, const vt_token *token,
                              size_t known, const char *name)
{
    vt_token add = *token;
    const int32_t at =
        add.s ? vt_vocab_find(&t->added.names, add.s, strlen(add.s)) : 0;

    if (!add.s || (at >= 0 && (size_t)at < known))
        return VITCL_OK;
    add.id = -1;
    if (t->model == VT_MODEL_SPM) { /* the text alone counts */
        add.left = add.right = add.single = false;
        add.special = true;
        add.normal = 0;
    } else if (!add.whole) {
        add.special = true;
        add.normal = 0;
    }
    add.special = add.special || is_named(&t->settings, add.s);
    return vt_added_add(t, &add, name);
}

static vitcl_status add_tokens(vt_tokenizer *t, const vt_token_list *l,
                               size_t known, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        VT_RET(add_token(t, &l->list[i], known, name));
    return VITCL_OK;
}

static vitcl_status add_extra_ids(vt_tokenizer *t, size_t known,
                                  const char *name)
{
    char text[32];
    const vt_token token = {.s = text};

    for (uint32_t i = 0; i < t->settings.extra_ids; i++) {
        snprintf(text, sizeof text, "<extra_id_%u>", i);
        VT_RET(add_token(t, &token, known, name));
    }
    return VITCL_OK;
}

static bool has_other_id(const vt_tokenizer *t, const vt_token *token)
{
    const int32_t id =
        vt_vocab_find(vt_token_vocab(t), token->s, strlen(token->s));

    return id >= 0 && id != token->id;
}

/* The tokens of the settings, in the library's order. In SentencePiece's
 * classes they have the ids that the files say, and are looked for in the text
 * as it is. */
static vitcl_status add_settings(vt_tokenizer *t, const char *name)
{
    const vt_token_settings *s = &t->settings;
    const bool spm = t->model == VT_MODEL_SPM;
    size_t known;

    for (size_t i = 0; i < s->added.n; i++) {
        vt_token token = s->added.list[i];

        if (spm && (token.single || has_other_id(t, &token)))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: an added token with single_word, or with "
                           "another number than the vocabulary's, is not "
                           "supported in a %s",
                           name, t->class->name);
        token.special = token.special || is_named(s, token.s);
        token.normal = spm ? 0 : token.normal;
        token.id = spm ? token.id : -1;
        VT_RET(vt_added_add(t, &token, name));
    }
    known = t->added.all.n;
    if (spm && t->class->model != VT_MODEL_SPM)
        return VITCL_OK;
    for (size_t i = 0; i < VT_NAMED; i++)
        VT_RET(add_token(t, &s->named[i], known, name));
    VT_RET(add_tokens(t, &s->specific, known, name));
    VT_RET(add_tokens(t, &s->extra, known, name));
    return add_extra_ids(t, known, name);
}

static int32_t first_of(int32_t a, int32_t b)
{
    return a >= 0 ? a : b;
}

static void set_template(vt_tokenizer *t, int32_t before, int32_t after)
{
    vt_steps *s = &t->steps;

    s->before_count = s->after_count = 0;
    if (before >= 0)
        s->before[s->before_count++] = before;
    if (after >= 0)
        s->after[s->after_count++] = after;
}

/* The special tokens around a text, as the library adds them. */
static vitcl_status find_special(vt_tokenizer *t, const char *name)
{
    const vt_token_settings *s = &t->settings;
    const vt_token_class *c = t->class;
    const bool spm = t->model == VT_MODEL_SPM;
    const char *const *words = c->named;

    t->begin = vt_token_id(t, s->named[VT_BOS].s);
    t->end = vt_token_id(t, s->named[VT_EOS].s);
    t->pad = vt_token_id(t, s->named[VT_PAD].s);
    if (c == &vt_class_simple) { /* it reads no settings */
        t->begin = vt_token_id(t, words[VT_BOS]);
        t->end = vt_token_id(t, words[VT_EOS]);
        t->pad = 0;
    }
    if ((c->both && t->begin < 0) || ((c->both || c->end_only) && t->end < 0))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: there is no token that begins or ends a text",
                       name);
    if (spm && c->model != VT_MODEL_SPM) {
        t->begin = first_of(t->begin, t->spm.begin);
        t->end = first_of(t->end, t->spm.end);
        t->pad = first_of(t->pad, t->spm.pad);
        if (s->add_begin >= 0 || s->add_end >= 0)
            set_template(t, s->add_begin == 1 ? t->begin : -1,
                         s->add_end == 1 ? t->end : -1);
        else
            set_template(t, -1, t->end);
    } else if (c->both || c->end_only) {
        set_template(t, c->both ? t->begin : -1, t->end);
    }
    if (t->end < 0 && t->steps.after_count)
        t->end = t->steps.after[t->steps.after_count - 1];
    t->pad = first_of(first_of(t->pad, vt_token_id(t, "<pad>")), 0);
    t->left = s->left >= 0 ? s->left == 1 : c->left;
    t->cut_left = s->cut_left == 1;
    return VITCL_OK;
}

/* What SiglipTokenizer and open_clip's tokenizer do beside steps. */
static vitcl_status set_ways(vt_tokenizer *t, const char *name)
{
    const char *unknown = t->settings.named[VT_UNK].s;

    if (t->class->model == VT_MODEL_SPM) {
        t->meta = t->canonical = t->end_once = true;
        VT_RET(vt_strdup(&t->front, unknown ? unknown : ""));
        if (!t->settings.dummy_prefix)
            t->spm.dummy_prefix = false;
    }
    if (t->class == &vt_class_simple) {
        t->keep_end = true;
        t->clean = t->clean ? t->clean : VT_CLEAN_LOWER;
        t->steps.splitters[0] =
            (vt_splitter){.kind = VT_PART_SIMPLE, .split = true};
        t->steps.splitters[1] = (vt_splitter){.kind = VT_PART_BYTES};
        t->steps.splitter_count = 2;
        VT_RET(vt_vocab_add(&t->words, "<start_of_text>", 15,
                            (uint64_t)t->begin, name));
        VT_RET(vt_vocab_add(&t->words, "<end_of_text>", 13, (uint64_t)t->end,
                            name));
    }
    return VITCL_OK;
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
    const vt_steps *x = &t->steps;
    const int64_t numbers[] = {t->clean,
                               t->lower,
                               t->split_special,
                               t->mask,
                               t->model,
                               t->begin,
                               t->end,
                               t->pad,
                               t->left,
                               t->settings.lower,
                               t->settings.dummy_prefix,
                               t->settings.prefix_space,
                               t->bpe.unknown,
                               (int64_t)x->before_count,
                               (int64_t)x->after_count};

    vt_sha256_text(h, t->class->name);
    for (size_t i = 0; i < VT_COUNT(numbers); i++)
        add_number(h, numbers[i]);
    for (size_t i = 0; i < x->before_count; i++)
        add_number(h, x->before[i]);
    for (size_t i = 0; i < x->after_count; i++)
        add_number(h, x->after[i]);
    for (size_t i = 0; i < t->added.all.n; i++) {
        const vt_token *a = &t->added.all.list[i];

        add_number(h, a->id);
        add_number(h, a->left | a->right << 1 | a->single << 2 |
                          a->special << 3 | a->normal << 4);
        vt_sha256_text(h, a->s);
    }
    if (t->cut_left)
        vt_sha256_text(h, "cut left");
    vt_sha256_end_hex(h, t->identity);
}

/* *kept: the vocabulary is that of the cache, unless fresh. */
static vitcl_status open_from(vt_tokenizer **out, bool *kept,
                              const char *folder, bool open_clip, bool lower,
                              bool fresh)
{
    vt_tokenizer *t = NULL;
    vitcl_status st = VITCL_OK;

    VT_TRY(VT_NEW(&t, 1));
    vt_sha256_begin(&t->hash);
    vt_sha256_add(&t->hash, VERSION, sizeof VERSION);
    t->lower = lower;
    t->fresh = fresh;
    t->class = &vt_class_file;
    VT_TRY(vt_token_settings_read(t, folder, open_clip));
    VT_TRY(read_vocabulary(t, folder));
    VT_TRY(add_settings(t, folder));
    VT_TRY(find_special(t, folder));
    VT_TRY(set_ways(t, folder));
    VT_TRY(vt_added_finish(t, folder));
    identify(t);
    *out = t;
    t = NULL;
done:
    *kept = t && t->kept;
    vt_tokenizer_free(t);
    return st;
}

vitcl_status vt_tokenizer_open(vt_tokenizer **out, const char *folder,
                               bool open_clip, bool lower)
{
    bool kept;
    vitcl_status st = open_from(out, &kept, folder, open_clip, lower, false);

    /* what the cache has may be wrong, too */
    if (st != VITCL_OK && kept)
        st = open_from(out, &kept, folder, open_clip, lower, true);
    return st;
}

bool vt_tokenizer_sees(const vt_tokenizer *t, uint32_t at, uint32_t count,
                       uint32_t context)
{
    return !t->mask || (t->left ? at >= context - count : at < count);
}

uint32_t vt_tokenizer_vocabulary(const vt_tokenizer *t)
{
    int32_t last = vt_token_vocab(t)->last;

    for (size_t i = 0; i < t->added.all.n; i++)
        last = VT_MAX(last, t->added.all.list[i].id);
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
    vt_steps_free(&t->steps);
    vt_vocab_free(&t->words);
    free(t->front);
    vt_bpe_free(&t->bpe);
    vt_vocab_free(&t->vocab);
    vt_spm_free(&t->spm);
    free(t->scores);
    free(t);
}
