/*
 * label_set.c - labels, the prompts around them, and how near a picture is to
 * each.
 */
#include "label_set.h"

#include "api/program.h"
#include "base/file.h"
#include "base/kept.h"
#include "base/order.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "index/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the command line ---- */

static bool is_file(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 && !S_ISDIR(st.st_mode));
}

static int add_prompts(text_list *out, const char *word)
{
    const char *wrong;
    text_list more;
    int code;

    if ((wrong = text_wrong(word, strlen(word))))
        return usage("--prompt: '%.80s' %s", word, wrong);
    if (strstr(word, "{}"))
        return lines_add(out, word, strlen(word)) ? EXIT_OK
                                                  : fail("out of memory");
    if (!is_file(word))
        return usage("--prompt needs {} in place of the label, or the name of "
                     "a file of such prompts, not '%s'",
                     word);
    TRY(lines_read_tidy(&more, word));
    if (!more.count)
        TRY(fail("%s: there are no prompts in it", lines_name(word)));
    for (size_t i = 0; i < more.count; i++)
        if (!strstr(more.item[i], "{}"))
            TRY(fail("%s: '%.80s' has no {} in place of the label",
                     lines_name(word), more.item[i]));
        else if (!lines_add(out, more.item[i], strlen(more.item[i])))
            TRY(fail("out of memory"));
done:
    lines_free(&more);
    return code;
}

/* Is one label rather the name of a file, or a folder's? */
static bool names_file(const char *word)
{
    const char *dot = strrchr(word, '.');
    const size_t n = dot ? strlen(dot + 1) : 0;
    const bool ends = n >= 2 && n <= 4 && !strchr(dot, ' ');

    if (strchr(word, ','))
        return false;
    return ends || strchr(word, '/') || vt_path_is_folder(word);
}

int label_set_read(label_set *s, const char *labels, const words *prompts)
{
    const bool file = labels && is_file(labels);

    if (labels && !file && names_file(labels))
        return fail("--labels: there is no file %s; a list of labels has a "
                    "comma, such as \"cat,dog\" or \"cat,\"",
                    labels);
    if (labels)
        RET(file ? lines_read_tidy(&s->labels, labels)
                 : lines_split(&s->labels, labels));
    for (size_t i = 0; i < prompts->count; i++)
        RET(add_prompts(&s->prompts, prompts->item[i]));
    if (!labels)
        return EXIT_OK;
    if (file && !s->labels.count)
        return fail("%s: there are no labels in it", lines_name(labels));
    return file ? label_set_check(s, lines_name(labels), "", EXIT_FAILED)
                : label_set_check(s, "--labels", "", EXIT_USAGE);
}

int label_set_check(const label_set *s, const char *what, const char *how,
                    int wrong)
{
    const size_t n = s->labels.count;
    char **sorted = malloc((n + 1) * sizeof *sorted);
    int code = EXIT_OK;

    TRY(sorted ? EXIT_OK : fail("out of memory"));
    if (!n)
        TRY(usage("%s has no labels; give some, such as \"cat,dog\", or the "
                  "name of a file with one per line",
                  what));
    memcpy(sorted, s->labels.item, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, vt_by_text);
    for (size_t i = 0; i < n; i++)
        if (!vt_utf8(sorted[i], strlen(sorted[i])))
            TRY(usage("%s: '%.80s' is not UTF-8", what, sorted[i]));
        else if (i && strcmp(sorted[i], sorted[i - 1]) == 0)
            TRY(usage("%s has '%.80s' twice%s", what, sorted[i], how));
    if (n > UINT32_MAX / 2)
        TRY(usage("%s has too many labels", what));
done:
    free(sorted);
    return code == EXIT_USAGE ? wrong : code;
}

/* ---- what the vectors depend on ---- */

static void add_lines(vt_sha256_state *h, const text_list *l)
{
    char count[24];

    snprintf(count, sizeof count, "%zu", l->count);
    vt_sha256_text(h, count);
    for (size_t i = 0; i < l->count; i++)
        vt_sha256_text(h, l->item[i]);
}

void label_set_identity(char id[LABEL_SET_ID], const label_set *s)
{
    vt_sha256_state h;

    vt_sha256_begin(&h);
    add_lines(&h, &s->labels);
    add_lines(&h, &s->prompts);
    vt_sha256_end_hex(&h, id);
}

/* Of the files beside the weights that a tokenizer can be read from: their
 * sizes and times, so that none need be read. */
static void add_tokenizer(vt_sha256_state *h, const char *path)
{
    static const char *const names[] = {"config.json",
                                        "open_clip_config.json",
                                        VT_TOKENIZER_FILES,
                                        "vocab.txt",
                                        "bpe_simple_vocab_16e6.txt.gz",
                                        "sentencepiece.bpe.model"};
    char text[128];
    struct stat st;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *file = NULL;
        const bool there = vt_path_beside(&file, path, names[i]) == VITCL_OK &&
                           stat(file, &st) == 0;

        free(file);
        if (!there)
            continue;
        snprintf(text, sizeof text, "%s %lld %lld.%09ld", names[i],
                 (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                 st.st_mtim.tv_nsec);
        vt_sha256_text(h, text);
    }
}

/* False: it cannot be said, and nothing is kept. */
static bool find_key(vt_kept_key *key, const label_set *s,
                     const vitcl_device *device, const vitcl_model *model,
                     const model_options *o, const text_options *how)
{
    vitcl_device_info info = {.size = sizeof info};
    char model_id[65], pictures_id[65], set_id[LABEL_SET_ID];
    const char *path;
    vt_sha256_state h;

    if (!model_word(o) || find_model(&path, model_word(o)) != EXIT_OK ||
        vitcl_device_describe(&info, device) != VITCL_OK ||
        vt_model_identity(model_id, pictures_id, model, 0, 0) != VITCL_OK)
        return false;
    label_set_identity(set_id, s);
    vt_sha256_begin(&h);
    vt_sha256_text(&h, vitcl_version());
    vt_sha256_text(&h, model_id);
    vt_sha256_text(&h, set_id);
    vt_sha256_text(&h, info.name);
    vt_sha256_text(&h, info.driver);
    vt_sha256_text(&h, o->precision ? o->precision : "f32");
    vt_sha256_text(&h, o->gemm ? o->gemm : "");
    vt_sha256_text(&h, how->lower ? "lower" : "");
    vt_sha256_text(&h, o->any_batch ? "any batch" : "");
    add_tokenizer(&h, path);
    vt_sha256_end(&h, key->hash);
    return true;
}

/* ---- the cache: a second start with these labels needs no text tower ---- */

typedef struct kept_head {
    uint32_t answer;
    float scale, bias;
} kept_head;

static size_t vector_bytes(const label_set *s)
{
    return s->labels.count * s->width * sizeof *s->vector;
}

static bool load(label_set *s, const vt_kept_key *key)
{
    vt_kept_file f;
    kept_head h;

    if (!vt_kept_open(&f, VT_KEPT_LABELS, key) ||
        !vt_kept_close(&f, vt_kept_read(&f, &h, sizeof h) &&
                               (h.answer == VITCL_ONE_CLASS ||
                                h.answer == VITCL_ANY_CLASSES) &&
                               isfinite(h.scale) && isfinite(h.bias) &&
                               vt_kept_read(&f, s->vector, vector_bytes(s))))
        return false;
    s->answer = (vitcl_answer)h.answer;
    s->scale = h.scale, s->bias = h.bias;
    return true;
}

static void save(const label_set *s, const vt_kept_key *key)
{
    const kept_head h = {(uint32_t)s->answer, s->scale, s->bias};

    vt_kept_put(VT_KEPT_LABELS, key,
                (vt_user_part[]){{&h, sizeof h}, {s->vector, vector_bytes(s)}},
                2);
}

/* ---- vectors ---- */

static int embedded(void *context, uint64_t done, uint64_t total)
{
    progress *bar = context;

    bar->total = total;
    progress_show(bar, done, NULL);
    return stopped();
}

static int compute(label_set *s, vitcl_device *device, const model_options *o,
                   const text_options *how, const char *what)
{
    const size_t n = s->labels.count;
    vitcl_text_info info = {.size = sizeof info};
    vitcl_text *text = NULL;
    progress bar;
    vitcl_status st;
    const int code = tower_open(&text, device, o, how, what,
                                n * (s->prompts.count ? s->prompts.count : 1));

    if (code != EXIT_OK)
        return code;
    st = vitcl_text_describe(&info, text);
    if (st == VITCL_OK && info.features != s->width) {
        vitcl_text_free(text);
        return fail(
            "the model has %u numbers per picture, but %u per text: they "
            "cannot be compared",
            s->width, info.features);
    }
    progress_start(&bar, "labels", n);
    if (st == VITCL_OK)
        st = vitcl_text_labels(
            s->vector, text, (const char *const *)s->labels.item, (uint32_t)n,
            (const char *const *)s->prompts.item, embedded, &bar);
    progress_clear(&bar);
    s->cut = tower_say_cut(text);
    vitcl_text_free(text);
    s->answer = info.answer;
    s->scale = info.logit_scale, s->bias = info.logit_bias;
    return code_of(st);
}

int label_set_open(label_set *s, vitcl_device *device, const vitcl_model *model,
                   const model_options *o, const text_options *how,
                   uint32_t width, const char *what)
{
    const size_t n = s->labels.count;
    vt_kept_key key;
    bool keyed;

    if (!width)
        return fail("this model yields no features");
    s->width = width;
    if (n <= SIZE_MAX / sizeof *s->vector / width)
        s->vector = calloc(n * width, sizeof *s->vector);
    s->logits = calloc(n, sizeof *s->logits);
    s->scratch = calloc(width, sizeof *s->scratch);
    if (!s->vector || !s->logits || !s->scratch)
        return fail("out of memory for %zu labels", n);
    keyed = !o->preset && find_key(&key, s, device, model, o, how);
    if (keyed && load(s, &key))
        return EXIT_OK;
    RET(compute(s, device, o, how, what));
    if (keyed && !s->cut) /* which is said each time */
        save(s, &key);
    return EXIT_OK;
}

const float *label_set_logits(label_set *s, const float *features)
{
    float length;

    if (!features) {
        for (size_t i = 0; i < s->labels.count; i++)
            s->logits[i] = NAN;
        return s->logits;
    }
    memcpy(s->scratch, features, s->width * sizeof *features);
    length = vt_length(s->scratch, s->width);
    for (size_t i = 0; i < s->labels.count; i++) {
        const float dot =
            vt_dot(s->scratch, s->vector + i * s->width, s->width);

        s->logits[i] = s->scale * (length > 0 ? dot / length : 0) + s->bias;
    }
    return s->logits;
}

void label_set_close(label_set *s)
{
    lines_free(&s->labels);
    lines_free(&s->prompts);
    free(s->vector);
    free(s->logits);
    free(s->scratch);
}
