/*
 * classes.c - the classes of tokenizers, as transformers 5.24 has them.
 */
#include "text/classes.h"

#include "base/memory.h"

#include <string.h>

#define META "\xe2\x96\x81" /* U+2581 */

#define METASPACE                                                              \
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"   \
    "\"WhitespaceSplit\"},{\"type\":\"Metaspace\",\"replacement\":\"" META     \
    "\",\"prepend_scheme\":\"always\",\"split\":true}]}"
#define GEMMA                                                                  \
    "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},"    \
    "\"behavior\":\"MergedWithPrevious\",\"invert\":false}"
#define GEMMA_REPLACE                                                          \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":"        \
    "\"" META "\"}"
#define CLIP_TOKENS                                                            \
    {                                                                          \
        [VT_BOS] = "<|startoftext|>", [VT_EOS] = "<|endoftext|>",              \
        [VT_UNK] = "<|endoftext|>", [VT_PAD] = "<|endoftext|>"                 \
    }
#define GEMMA_TOKENS                                                           \
    {                                                                          \
        [VT_BOS] = "<bos>", [VT_EOS] = "<eos>", [VT_UNK] = "<unk>",            \
        [VT_PAD] = "<pad>", [VT_MASK] = "<mask>"                               \
    }

const vt_token_class vt_class_file = {.name = "PreTrainedTokenizer",
                                      .spiece = true};

const vt_token_class vt_class_clip = {
    .name = "CLIPTokenizer",
    .steps =
        "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":"
        "\"NFC\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},"
        "\"content\":\" \"},{\"type\":\"Lowercase\"}]},\"pre_tokenizer\":{"
        "\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
        "\"pattern\":{\"Regex\":\"<\\\\|startoftext\\\\|>|<\\\\|endoftext\\\\|>"
        "|'s|'t|'re|'ve|'m|'ll|'d|[\\\\p{L}]+|[\\\\p{N}]|[^\\\\s\\\\p{L}\\\\p{N"
        "}]+\"},\"behavior\":\"Removed\",\"invert\":true},{\"type\":"
        "\"ByteLevel\",\"add_prefix_space\":false}]}}",
    .model = VT_MODEL_BPE,
    .named = CLIP_TOKENS,
    .both = true,
    .suffix = "</w>",
};

static const vt_token_class siglip = {
    .name = "SiglipTokenizer",
    .steps = "{}",
    .model = VT_MODEL_SPM,
    .named = {[VT_EOS] = "</s>", [VT_UNK] = "<unk>", [VT_PAD] = "</s>"},
    .end_only = true,
    .spiece = true,
    .context = 64,
};

const vt_token_class vt_class_simple = {
    .name = "SimpleTokenizer",
    .steps = "{}",
    .model = VT_MODEL_BPE,
    .named = CLIP_TOKENS,
    .both = true,
    .suffix = "</w>",
};

static const vt_token_class gemma = {
    .name = "GemmaTokenizer",
    .steps = "{\"normalizer\":" GEMMA_REPLACE "," GEMMA "}",
    .model = VT_MODEL_BPE,
    .named = GEMMA_TOKENS,
    .left = true,
    .fuse = true,
    .fallback = true,
};

static const vt_token_class siglip2 = {
    .name = "Siglip2Tokenizer",
    .steps = "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{"
             "\"type\":\"Lowercase\"}," GEMMA_REPLACE "]}," GEMMA "}",
    .model = VT_MODEL_BPE,
    .named = GEMMA_TOKENS,
    .left = true,
    .fuse = true,
    .fallback = true,
};

static const vt_token_class xlm_roberta = {
    .name = "XLMRobertaTokenizer",
    .steps = "{" METASPACE "}",
    .model = VT_MODEL_UNIGRAM,
    .named = {[VT_BOS] = "<s>",
              [VT_EOS] = "</s>",
              [VT_UNK] = "<unk>",
              [VT_SEP] = "</s>",
              [VT_PAD] = "<pad>",
              [VT_CLS] = "<s>",
              [VT_MASK] = "<mask>"},
    .both = true,
    .map = true,
    .prefix = true,
    .unknown = 3,
};

static const vt_token_class t5 = {
    .name = "T5Tokenizer",
    .steps = "{" METASPACE "}",
    .model = VT_MODEL_UNIGRAM,
    .named = {[VT_EOS] = "</s>", [VT_UNK] = "<unk>", [VT_PAD] = "<pad>"},
    .end_only = true,
    .map = true,
    .unknown = 2,
    .extra_ids = 100,
};

static const vt_token_class *const all[] = {
    &vt_class_clip, &siglip, &gemma, &siglip2, &xlm_roberta, &t5,
};

/* The class of a model's type, where no file names one. */
static const struct {
    const char *type;
    const vt_token_class *class;
} types[] = {
    {"clip", &vt_class_clip},
    {"metaclip_2", &xlm_roberta},
    {"siglip", &siglip},
    {"siglip2", &siglip2},
    {"t5", &t5},
};

/* Also with "Fast" at its end, as older files have it. */
static bool is(const char *written, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(written, name, n) == 0 &&
           (written[n] == 0 || strcmp(written + n, "Fast") == 0);
}

static vitcl_status find(const vt_token_class **out, const char *written,
                         const char *name)
{
    if (is(written, vt_class_file.name) || is(written, "TokenizersBackend") ||
        is(written, "PythonBackend")) {
        *out = &vt_class_file;
        return VITCL_OK;
    }
    for (size_t i = 0; i < VT_COUNT(all); i++)
        if (is(written, all[i]->name)) {
            *out = all[i];
            return VITCL_OK;
        }
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: the tokenizer_class \"%.60s\" is not supported", name,
                   written);
}

vitcl_status vt_token_class_choose(const vt_token_class **out,
                                   const char *written, const char *config,
                                   const char *type, const char *name)
{
    const vt_token_class *own = NULL;

    for (size_t i = 0; type && i < VT_COUNT(types); i++)
        if (strcmp(types[i].type, type) == 0)
            own = types[i].class;
    written = written ? written : config;
    *out = own ? own : &vt_class_file;
    /* published SigLIP 2 of any size names another one, wrongly */
    if (!written || own == &siglip2)
        return VITCL_OK;
    return find(out, written, name);
}
