/*
 * token_keys.c - the keys of a tokenizer's files: each is read, or has no
 * effect on ids, or has the only values with which it has none.
 *
 * tokenizer_config.json: the arguments of PreTrainedTokenizerBase, of its two
 * backends and of the classes in classes.c, in transformers 5.24. Other keys
 * change nothing there, so nothing here: -v names them. But a string whose key
 * ends in "_token" is a special token (settings.c).
 */
#include "text/token_keys.h"

#include "base/file.h"
#include "base/json_types.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/words.h"

#include <string.h>

#define CONFIG_MAX (16U << 20) /* added tokens can be many */
#define DEPTH 32

enum {
    TEXT = VT_JSON_TEXT,
    COUNT = VT_JSON_COUNT,
    NUMBER = VT_JSON_NUMBER,
    FLAG = VT_JSON_FLAG,
    LIST = VT_JSON_LIST,
    OBJECT = VT_JSON_OBJECT
};

/* only: NULL: any value; else JSON texts, separated by "|". */
typedef struct key {
    vt_json_row row;
    const char *only;
} key;

#define READ(name, types)                                                      \
    {                                                                          \
        {(name), (types)}, NULL                                                \
    } /* read elsewhere */
#define ONLY(name, types, values)                                              \
    {                                                                          \
        {(name), (types)}, (values)                                            \
    }

static const key config_keys[] = {
    READ("tokenizer_class", TEXT),
    READ("auto_map|extra_special_tokens", LIST | OBJECT),
    READ("bos_token|eos_token|unk_token|sep_token|pad_token|cls_token|"
         "mask_token",
         TEXT | OBJECT),
    READ("additional_special_tokens|model_input_names", LIST),
    READ("added_tokens_decoder", OBJECT),
    READ("model_max_length|max_len", NUMBER),
    READ("add_bos_token|add_eos_token|" /* only without a tokenizer.json */
         "do_lower_case|legacy|"        /* SiglipTokenizer */
         "add_prefix_space|"            /* XLMRobertaTokenizer */
         "split_special_tokens",
         FLAG),
    READ("extra_ids", COUNT), /* T5Tokenizer */
    ONLY("padding_side|truncation_side", TEXT, "\"left\"|\"right\""),
};

/* These must have no value: others than the files of the folder, and settings
 * such as random segments. */
static const char none[] =
    "vocab|merges|tokenizer_object|gguf_file|post_processor|"
    "fast_tokenizer_files|init_inputs|model_specific_special_tokens|"
    "tokenizer_padding|tokenizer_truncation|_json_padding|_json_truncation|"
    "_spm_precompiled_charsmap|sp_model_kwargs";
/* Without effect on ids: files, because those of the folder count; what is only
 * for decoding or other models; unk_id without a tokenizer.json. */
static const char idle[] =
    "vocab_file|merges_file|tokenizer_file|spm_file|special_tokens_map_file|"
    "added_tokens_file|name_or_path|processor_class|backend|files_loaded|"
    "is_local|local_files_only|use_fast|from_slow|unk_id|max_length|stride|"
    "truncation_strategy|pad_to_multiple_of|pad_token_type_id|"
    "token_type_ids_pattern|token_type_ids_include_special_tokens|"
    "special_tokens_pattern|verbose|chat_template|response_template|"
    "response_schema|chat_control_tokens|errors|clean_up_tokenization_spaces|"
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output|"
    "spaces_between_special_tokens|fix_mistral_regex|trim_offsets|"
    "strip_accents|tokenize_chinese_chars|transformers_version|"
    "use_default_system_prompt|_commit_hash";

static const key json_keys[] = {
    ONLY("version", TEXT, "\"1.0\""),
    READ("truncation|padding|" /* their direction, and pad_token */
         "normalizer|pre_tokenizer|post_processor|decoder|model",
         OBJECT),
    READ("added_tokens", LIST),
};

static const vt_json_row model_rows[] = {
    {"type|unk_token|continuing_subword_prefix|end_of_word_suffix", TEXT},
    {"dropout", NUMBER},
    {"unk_id", COUNT},
    {"fuse_unk|byte_fallback|ignore_merges", FLAG},
};

/* Of a step, or one inside it. */
static const vt_json_row step_rows[] = {
    {"type|content|prepend|precompiled_charsmap|behavior|replacement|"
     "prepend_scheme",
     TEXT},
    {"normalizers|pretokenizers|processors|single|pair|cls|sep", LIST},
    {"pattern|special_tokens", OBJECT},
    {"strip_left|strip_right|invert|add_prefix_space|trim_offsets|use_regex|"
     "split",
     FLAG},
};

static const vt_json_row side_rows[] = {{"direction|pad_token", TEXT}};

/* *known: there is a row. */
static vitcl_status check_key(bool *known, const key *keys, size_t n,
                              const vt_json *root, const vt_json *v,
                              const char *name)
{
    size_t i = 0;

    while (i < n && !vt_one_of(keys[i].row.keys, vt_json_key(v)))
        i++;
    *known = i < n;
    if (i == n)
        return VITCL_OK;
    VT_RET(vt_json_types(root, &keys[i].row, 1, "the", name));
    return vt_json_only(v, keys[i].only, "the", name);
}

static vitcl_status check_object(const vt_json *root, const char *name)
{
    return !root || vt_json_is_object(root)
               ? VITCL_OK
               : vt_fail(VITCL_ECORRUPT, "%s: the file is not an object", name);
}

vitcl_status vt_token_keys_config(const vt_json *root, bool map,
                                  const char *name)
{
    const char *text;
    bool known;

    VT_RET(check_object(root, name));
    for (const vt_json *v = vt_json_first(root); v; v = vt_json_next(v)) {
        /* these would come before the files of the folder, even null */
        if (map &&
            vt_one_of("vocab_file|merges_file|tokenizer_file", vt_json_key(v)))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s is not supported in this file", name,
                           vt_json_key(v));
        VT_RET(check_key(&known, config_keys, VT_COUNT(config_keys), root, v,
                         name));
        if (!known && vt_one_of(none, vt_json_key(v))) {
            if (!vt_json_string(&text, v) || *text) /* else "gguf_file": "" */
                VT_RET(vt_json_only(v, "", "the", name));
        } else if (!known && !vt_one_of(idle, vt_json_key(v)))
            vt_log("tokenizer %s: transformers does not read %s, nor does "
                   "vitcl",
                   name, vt_json_key(v));
    }
    return VITCL_OK;
}

vitcl_status vt_token_keys_json(const vt_json *root, const char *name)
{
    bool known;

    VT_RET(check_object(root, name));
    for (const vt_json *v = vt_json_first(root); v; v = vt_json_next(v)) {
        VT_RET(
            check_key(&known, json_keys, VT_COUNT(json_keys), root, v, name));
        if (!known)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s is not of a tokenizer.json", name,
                           vt_json_key(v));
    }
    VT_RET(vt_json_types(vt_json_get(root, "model"), model_rows,
                         VT_COUNT(model_rows), "the model's", name));
    VT_RET(vt_json_types(vt_json_get(root, "padding"), side_rows,
                         VT_COUNT(side_rows), "the padding's", name));
    return vt_json_types(vt_json_get(root, "truncation"), side_rows, 1,
                         "the truncation's", name);
}

vitcl_status vt_token_keys_step(const vt_json *step, const char *name)
{
    return vt_json_types(step, step_rows, VT_COUNT(step_rows), "a step's",
                         name);
}

vitcl_status vt_token_file(vt_json **out, char **path, const char *folder,
                           const char *file)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_format(path, "%s/%s", folder, file));
    if (vt_path_exists(*path))
        st = vt_json_load(out, *path, CONFIG_MAX, DEPTH);
done:
    return st;
}
