/*
 * vitcl_text.h - texts beside pictures: the text towers of CLIP, OpenCLIP,
 * SigLIP and SigLIP 2.
 *
 * A text's vector is compared with the vectors that vitcl_embed() computes with
 * the picture tower of the same checkpoint.
 *
 * The contract of vitcl.h applies. A vitcl_text takes one call at a time, as a
 * session does.
 */
#ifndef VITCL_TEXT_H
#define VITCL_TEXT_H
#include <vitcl.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitcl_text vitcl_text; /* a text tower, its tokenizer, plans */

typedef struct {
    size_t size;
    uint32_t batch;   /* texts a run; 0: 1 */
    const char *gemm; /* as in vitcl_session_options */
    vitcl_precision precision;
    int lower_case; /* texts become lower case first, as in SigLIP 2's training;
                       otherwise only if the checkpoint's tokenizer does it */
    int any_batch;  /* as in vitcl_session_options */
} vitcl_text_options;

/* Loads the text tower of the checkpoint at `path` with its tokenizer, and
 * plans it; path: as for vitcl_model_load(). Only the text tower's tensors are
 * read. VITCL_EUNSUPPORTED: the checkpoint has no text tower, or one of an
 * unsupported kind. A tokenizer that is missing or unsupported is an error only
 * when a text is given; tokens need none. device: NULL to read the tower's
 * description alone (without features), or tokens. */
VITCL_STATUS vitcl_text_new(vitcl_text **out, vitcl_device *device,
                            const char *path,
                            const vitcl_text_options *options);
void vitcl_text_free(vitcl_text *text);

typedef struct {
    size_t size;
    char family[32]; /* "clip", "siglip" */
    uint32_t layers, width, heads, mlp;
    uint32_t features;   /* numbers of a vector, as of the picture tower */
    uint32_t context;    /* tokens of a text; longer ones are cut */
    uint32_t vocabulary; /* kinds of tokens */
    uint64_t parameters;
    /* A picture and a text with the cosine c have the logit scale * c + bias.
     * answer: VITCL_ONE_CLASS where the model was trained with a softmax over
     * texts (CLIP), VITCL_ANY_CLASSES with a sigmoid of each (SigLIP). */
    float logit_scale, logit_bias;
    vitcl_answer answer;
    uint64_t cut; /* texts so far that were cut, because they are longer */
} vitcl_text_info;
VITCL_STATUS vitcl_text_describe(vitcl_text_info *out, const vitcl_text *text);

/* The tokens of a text: ids[context], padded as the model does. *count: tokens
 * before the padding. VITCL_ECORRUPT: the text is not UTF-8. VITCL_EINVAL: it
 * has over 16 MB. */
VITCL_STATUS vitcl_text_tokens(int32_t *ids, uint32_t *count,
                               const vitcl_text *text, const char *utf8);
/* Computes a vector for each of n texts: out[n * features], as the model
 * returns them; their length is not 1. */
VITCL_STATUS vitcl_text_embed(float *out, vitcl_text *text,
                              const char *const *utf8, uint32_t n);
/* The same for texts that are tokens already: ids[n * context]. None is hidden,
 * also where the model's tokenizer hides the padding of texts. */
VITCL_STATUS vitcl_text_embed_tokens(float *out, vitcl_text *text,
                                     const int32_t *ids, uint32_t n);
/* Computes a vector of length 1 for each of n labels: the direction of the mean
 * of the unit vectors of all prompts with this label, as OpenCLIP computes it.
 * In a prompt "{}" stands for the label; it must have one. prompts: ended by
 * NULL; if NULL or empty, the label itself is the text. out[n * features].
 * progress: labels done; or NULL. */
VITCL_STATUS vitcl_text_labels(float *out, vitcl_text *text,
                               const char *const *labels, uint32_t n,
                               const char *const *prompts,
                               vitcl_progress progress, void *context);

#ifdef __cplusplus
}
#endif
#endif
