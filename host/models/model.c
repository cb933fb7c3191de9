/*
 * model.c - access to a model's members, and freeing it.
 */
#include "models/family.h"
#include "models/model_private.h"

#include <stdlib.h>
#include <string.h>

const vt_config *vt_model_config(const vt_model *m)
{
    return &m->config;
}

const vt_weights *vt_model_weights(const vt_model *m)
{
    return m->weights;
}

const vt_json *vt_model_json(const vt_model *m)
{
    return m->json;
}

const vt_json *vt_model_preprocessor(const vt_model *m)
{
    return m->preprocessor;
}

const char *vt_model_type(const vt_model *m)
{
    return m->type;
}

const char *vt_model_family(const vt_model *m)
{
    return m->config.family->name;
}

const char *vt_model_looks(const vt_model *m)
{
    const vt_family *f = m->config.family;

    return m->config.context ? f->looks_text : f->looks;
}

const char *vt_model_label(const vt_model *m, uint32_t label)
{
    return label < m->labels ? m->label[label] : NULL;
}

vt_certainty vt_model_certainty(const vt_model *m)
{
    return m->certainty.temperature > 0 && vt_model_answer(m) != VITCL_NUMBERS
               ? m->certainty
               : (vt_certainty){.temperature = 1};
}

const char *vt_model_problem(const vt_model *m)
{
    return m->problem;
}

/* As ImageClassificationPipeline of transformers. */
vitcl_answer vt_model_answer(const vt_model *m)
{
    const char *problem = m->problem ? m->problem : "";

    if (strcmp(problem, "regression") == 0)
        return VITCL_NUMBERS;
    return strcmp(problem, "multi_label_classification") == 0 ||
                   m->config.classes == 1
               ? VITCL_ANY_CLASSES
               : VITCL_ONE_CLASS;
}

const char *vt_model_longname(const vt_model *m, uint32_t label)
{
    return label < m->labels ? m->longname[label] : NULL;
}

uint64_t vt_model_parameters(const vt_model *m)
{
    return m->parameters;
}

void vt_model_close(vt_model *m)
{
    if (!m)
        return;
    vt_weights_free(m->weights);
    vt_json_free(m->json);
    vt_json_free(m->processor_file);
    free(m->path);
    free(m->label);
    free(m->longname);
    free(m->positions);
    free(m);
}
