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
    OBJECT = VT_JSON_OBJECT,
    TOKEN = TEXT | OBJECT,
    ANY = 0
};

/* only: NULL: any value; "": no value (null, or nothing in it); else JSON
 * texts, separated by "|". */
typedef struct key {
    vt_json_row row;
    const char *only;
} key;

#define READ(name, types)                                                      \
    {                                                                          \
        {(name), (types)}, NULL                                                \
    } /* read elsewhere */
#define IDLE(name)                                                             \
    {                                                                          \
        {(name), ANY}, NULL                                                    \
    } /* no effect on ids */
#define NONE(name)                                                             \
    {                                                                          \
        {(name), ANY}, ""                                                      \
    }
#define ONLY(name, types, values)                                              \
    {                                                                          \
        {(name), (types)}, (values)                                            \
    }

static const key config_keys[] = {
    READ("tokenizer_class", TEXT),
    READ("auto_map", LIST | OBJECT),
    READ("bos_token", TOKEN),
    READ("eos_token", TOKEN),
    READ("unk_token", TOKEN),
    READ("sep_token", TOKEN),
    READ("pad_token", TOKEN),
    READ("cls_token", TOKEN),
    READ("mask_token", TOKEN),
    READ("extra_special_tokens", LIST | OBJECT),
    READ("additional_special_tokens", LIST),
    READ("added_tokens_decoder", OBJECT),
    READ("add_bos_token", FLAG), /* only without a tokenizer.json */
    READ("add_eos_token", FLAG),
    READ("model_max_length", NUMBER),
    READ("max_len", NUMBER),
    READ("model_input_names", LIST),
    READ("split_special_tokens", FLAG),
    ONLY("padding_side", TEXT, "\"left\"|\"right\""),
    ONLY("truncation_side", TEXT, "\"left\"|\"right\""),
    READ("do_lower_case", FLAG),    /* SiglipTokenizer */
    READ("legacy", FLAG),           /* SiglipTokenizer */
    READ("add_prefix_space", FLAG), /* XLMRobertaTokenizer */
    READ("extra_ids", COUNT),       /* T5Tokenizer */
    /* the vocabulary itself, in place of that of the files */
    NONE("vocab"),
    NONE("merges"),
    NONE("tokenizer_object"),
    NONE("gguf_file"),
    NONE("post_processor"),
    NONE("fast_tokenizer_files"), /* others in place of tokenizer.json */
    NONE("init_inputs"),
    NONE("model_specific_special_tokens"),
    NONE("tokenizer_padding"),
    NONE("tokenizer_truncation"),
    NONE("_json_padding"),
    NONE("_json_truncation"),
    NONE("_spm_precompiled_charsmap"),
    NONE("sp_model_kwargs"), /* such as random segments */
    IDLE("vocab_file"),      /* those of the folder count */
    IDLE("merges_file"),
    IDLE("tokenizer_file"),
    IDLE("spm_file"),
    IDLE("special_tokens_map_file"),
    IDLE("added_tokens_file"),
    IDLE("name_or_path"),
    IDLE("processor_class"),
    IDLE("backend"),
    IDLE("files_loaded"),
    IDLE("is_local"),
    IDLE("local_files_only"),
    IDLE("use_fast"),
    IDLE("from_slow"),
    IDLE("unk_id"), /* only without a tokenizer.json */
    IDLE("max_length"),
    IDLE("stride"),
    IDLE("truncation_strategy"),
    IDLE("pad_to_multiple_of"),
    IDLE("pad_token_type_id"),
    IDLE("token_type_ids_pattern"),
    IDLE("token_type_ids_include_special_tokens"),
    IDLE("special_tokens_pattern"),
    IDLE("verbose"),
    IDLE("chat_template"),
    IDLE("response_template"),
    IDLE("response_schema"),
    IDLE("chat_control_tokens"),
    IDLE("errors"), /* of decoding, like the next ones */
    IDLE("clean_up_tokenization_spaces"),
    IDLE("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_"
         "output"),
    IDLE("spaces_between_special_tokens"),
    IDLE("fix_mistral_regex"), /* of other models */
    IDLE("trim_offsets"),
    IDLE("strip_accents"),
    IDLE("tokenize_chinese_chars"),
    IDLE("transformers_version"),
    IDLE("use_default_system_prompt"),
    IDLE("_commit_hash"),
};

static const key json_keys[] = {
    ONLY("version", TEXT, "\"1.0\""),
    READ("truncation", OBJECT), /* its direction */
    READ("padding", OBJECT),    /* its direction and pad_token */
    READ("added_tokens", LIST),
    READ("normalizer", OBJECT),
    READ("pre_tokenizer", OBJECT),
    READ("post_processor", OBJECT),
    ONLY("decoder", OBJECT, NULL),
    READ("model", OBJECT),
};

static const vt_json_row model_rows[] = {
    {"type", TEXT},
    {"dropout", NUMBER},
    {"unk_token", TEXT},
    {"unk_id", COUNT},
    {"continuing_subword_prefix", TEXT},
    {"end_of_word_suffix", TEXT},
    {"fuse_unk", FLAG},
    {"byte_fallback", FLAG},
    {"ignore_merges", FLAG},
};

/* Of a step, or one inside it. */
static const vt_json_row step_rows[] = {
    {"type", TEXT},
    {"normalizers", LIST},
    {"pretokenizers", LIST},
    {"processors", LIST},
    {"pattern", OBJECT},
    {"content", TEXT},
    {"strip_left", FLAG},
    {"strip_right", FLAG},
    {"prepend", TEXT},
    {"precompiled_charsmap", TEXT},
    {"behavior", TEXT},
    {"invert", FLAG},
    {"add_prefix_space", FLAG},
    {"trim_offsets", FLAG},
    {"use_regex", FLAG},
    {"replacement", TEXT},
    {"prepend_scheme", TEXT},
    {"split", FLAG},
    {"single", LIST},
    {"pair", LIST},
    {"special_tokens", OBJECT},
    {"cls", LIST},
    {"sep", LIST},
};

static const vt_json_row side_rows[] = {
    {"direction", TEXT},
    {"pad_token", TEXT},
};

/* *known: there is a row. */
static vitcl_status check_key(bool *known, const key *keys, size_t n,
                              const vt_json *root, const vt_json *v,
                              const char *name)
{
    vitcl_status st = VITCL_OK;
    const char *text;
    size_t i = 0;

    while (i < n && strcmp(keys[i].row.key, vt_json_key(v)) != 0)
        i++;
    *known = i < n;
    if (i == n)
        return VITCL_OK;
    if (keys[i].row.types)
        VT_TRY(vt_json_types(root, &keys[i].row, 1, "the", name));
    if (!vt_json_string(&text, v) || *text || /* else "gguf_file": "" */
        (keys[i].only && *keys[i].only))
        st = vt_json_only(v, keys[i].only, "the", name);
done:
    return st;
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
    vitcl_status st = VITCL_OK;
    bool known;

    VT_TRY(check_object(root, name));
    for (const vt_json *v = vt_json_first(root); v; v = vt_json_next(v)) {
        /* these would come before the files of the folder, even null */
        if (map &&
            vt_one_of("vocab_file|merges_file|tokenizer_file", vt_json_key(v)))
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s is not supported in this file", name,
                           vt_json_key(v)));
        VT_TRY(check_key(&known, config_keys, VT_COUNT(config_keys), root, v,
                         name));
        if (!known)
            vt_log("tokenizer %s: transformers does not read %s, nor does "
                   "vitcl",
                   name, vt_json_key(v));
    }
done:
    return st;
}

vitcl_status vt_token_keys_json(const vt_json *root, const char *name)
{
    vitcl_status st = VITCL_OK;
    bool known;

    VT_TRY(check_object(root, name));
    for (const vt_json *v = vt_json_first(root); v; v = vt_json_next(v)) {
        VT_TRY(
            check_key(&known, json_keys, VT_COUNT(json_keys), root, v, name));
        if (!known)
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s is not of a tokenizer.json", name,
                           vt_json_key(v)));
    }
    VT_TRY(vt_json_types(vt_json_get(root, "model"), model_rows,
                         VT_COUNT(model_rows), "the model's", name));
    VT_TRY(vt_json_types(vt_json_get(root, "padding"), side_rows,
                         VT_COUNT(side_rows), "the padding's", name));
    VT_TRY(vt_json_types(vt_json_get(root, "truncation"), side_rows, 1,
                         "the truncation's", name));
done:
    return st;
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
