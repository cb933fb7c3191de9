/*
 * embedding.h - which vector of a picture a command takes, and what it depends
 * on: embed, search.
 */
#ifndef VT_CLI_EMBEDDING_H
#define VT_CLI_EMBEDDING_H
#include "answering.h"
#include "index/index.h"

typedef struct embedding {
    answering on;     /* set before: common, operands, pictures */
    const char *what; /* "pooled", "class", "tokens", "patches"; NULL: pooled */
    vt_row_shape shape; /* of a picture's vectors */
} embedding;

/* Opens the model, the pictures and a session, and chooses the tensor. */
int embedding_open(embedding *e);
/* The model, the size and the pixels of an index, unless `common` names a
 * model. Texts belong to the index. EXIT_FAILED, with what to do: its model is
 * not there. */
int embedding_of_index(model_options *common, const vitcl_index_info *of,
                       const char *index);
/* What its vectors depend on. model: a handle without a session, or NULL. */
int embedding_about(vt_about *out, const embedding *e, const vitcl_model *model,
                    bool normalized);
/* Has this picture this vector, but for rounding? `of` is not open yet. */
int embedding_probe(bool *has, const embedding *of, const char *path,
                    const float *vector, size_t n, bool normalized);
/* Divides each of the vectors by its length. */
void embedding_normalize(const embedding *e, float *v);

#endif
