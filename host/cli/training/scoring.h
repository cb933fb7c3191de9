/*
 * scoring.h - scores of labelled pictures: eval, fewshot.
 */
#ifndef VT_CLI_SCORING_H
#define VT_CLI_SCORING_H
#include "cli/devices/device_pool.h"

#include <vitcl_train.h>

enum { BROKEN_NAMED = 10 };
typedef struct scoring {
    device_pool devices;
    vitcl_device *device; /* of several, the first */
    vitcl_model *model;
    vitcl_session *session;
    const float *vectors; /* of the classes, which a text tower has made of
                           * their names; NULL: the model has a classifier */
    size_t starting; /* devices that have not run yet, where several do: a crash
                      * may be a driver's */
    progress bar;
    pthread_mutex_t lock;       /* of these lines */
    char *broken[BROKEN_NAMED]; /* lines that were printed */
} scoring;
#define OPT_STRICT(T)                                                          \
    OPT_ROW(T, 0, "strict", OPT_FLAG, NULL,                                    \
            "a picture that cannot be decoded is an error; without: left out", \
            strict)
/* Opens labelled pictures; says what was left out. columns: of
 * table_columns(). */
int scoring_data(vitcl_dataset **out, const char *path, const char *split,
                 bool follow, const char *columns);
/* Says how many of the test pictures were training pictures. train NULL: those
 * of train/ in the folder `path`, if there is one. */
int scoring_shared(const vitcl_dataset *test, const vitcl_dataset *train,
                   const char *path, bool follow, const char *columns);
/* From now on the first pictures that cannot be decoded are named on stderr;
 * with `strict` the first is an error. */
int scoring_broken(scoring *s, vitcl_dataset *dataset, bool strict);
/* Opens model and session. */
int scoring_open(scoring *s, const model_options *common);
/* The callback for the library; context: the scores. */
int scoring_progress(void *context, uint64_t done, uint64_t total);
void scoring_begin(scoring *s); /* before the library's call */
void scoring_clear(scoring *s); /* in a thread: before other lines */
/* vt_evaluate_part() by them. */
VITCL_STATUS scoring_part(vitcl_scores *out, uint32_t *confusion,
                          const scoring *s, vitcl_session *session,
                          const vitcl_dataset *dataset, uint32_t part,
                          uint32_t parts, vitcl_progress done, void *context);
/* After it: EXIT_OK if there are results to print. */
int scoring_end(scoring *s, vitcl_status st);
/* The exit status after `failed` pictures; says how many. */
int scoring_failed(uint32_t failed);
void scoring_close(scoring *s);

#endif
