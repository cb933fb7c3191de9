/*
 * private.h - what the files of the frame share.
 */
#ifndef VT_STUDY_PRIVATE_H
#define VT_STUDY_PRIVATE_H
#include "base/status.h"
#include "study/study.h"

#include <stdio.h>

enum { VT_RUNS = 256, VT_RESULTS = 256, VT_RATES = 64 };

/* What a training step of one architecture was measured to take. */
typedef struct vt_rate {
    char id[17];         /* of config, size, batch and objective */
    double train, score; /* seconds a picture */
    double fixed;        /* seconds a process */
    double gmac;
    uint64_t parameters;
} vt_rate;

struct vt_experiment {
    const vt_study *study;
    vt_study_options options;
    vitcl_status status; /* the first failure of an adder */
    /* of the data */
    char data[VT_STUDY_PATH];    /* its real path */
    char scratch[VT_STUDY_PATH]; /* of a dry run: its output; "": none */
    const char *named;           /* the output folder that was named */
    uint32_t all_pictures, all_tests, classes, side;
    uint32_t rest_pictures; /* for training, of VT_CLASSES_REST */
    char kind[32];
    bool own_tests; /* the data has test pictures */
    /* chosen by plan() */
    uint32_t pictures, tests, epochs, tries;
    double minutes;
    vt_rate rate[VT_RATES];
    size_t rates;
    vt_study_model model; /* without a path: not known yet */
    vt_run run[VT_RUNS];
    size_t runs;
    /* of report() */
    vt_study_result result[VT_RESULTS];
    size_t results;
    double curve_x[VT_RESULTS], curve_y[VT_RESULTS];
    char curve_arm[VT_RESULTS][VT_RUN_NAME]; /* of the figure's points */
    size_t curves;
    vt_sheet sheet[VT_SHEETS];
    size_t sheets;
    char verdict[4096];
};

/* The first failure stays. */
void vt_experiment_fail(vt_experiment *e, vitcl_status st);
/* Calls list() from the beginning. */
vitcl_status vt_experiment_list(vt_experiment *e);

/* ---- subset.c ---- */

typedef struct vt_subset {
    char path[VT_STUDY_PATH];
    uint32_t pictures, tests; /* what there is */
} vt_subset;
/* Reads how many pictures and classes the data has. */
vitcl_status vt_subset_look(vt_experiment *e);
/* A folder in the output with so many training and test pictures of the run's
 * task or classes, as many of each class as possible; made if it is not there.
 */
vitcl_status vt_subset_make(vt_subset *out, const vt_experiment *e,
                            const vt_run *run, uint32_t pictures,
                            uint32_t tests);

/* ---- process.c ---- */

/* Starts vitcl with these words (NULL-ended, without its name); standard output
 * goes to `out` (NULL: nowhere), messages are appended to `messages`. */
vitcl_status vt_process_begin(int *pid, const vt_experiment *e,
                              const char *const *words, const char *out,
                              const char *messages);
/* *ended: it has ended, with *code. */
vitcl_status vt_process_poll(bool *ended, int *code, int pid);
/* Asks it to stop, and waits for it. */
void vt_process_stop(int pid);
void vt_process_pause(void); /* between polls */
/* Runs the program to its end, or until the study is stopped. `what` is for the
 * error: "a short training ... failed". */
vitcl_status vt_process_run(const vt_experiment *e, const char *const *words,
                            const char *out, const char *messages,
                            const char *what);
/* The last line of that file. */
void vt_study_last_line(char *out, size_t room, const char *path);

/* ---- train.c ---- */

/* In the output: the figure of a run that predicts masked patches. */
#define VT_PREDICTED "predicted.png"

/* Trains and scores a run whose result is not known, in steps. */
typedef struct vt_run_job {
    const vt_run *run;
    int stage, pid; /* pid 0: none runs */
    size_t said;    /* the size of its messages before this stage */
    bool again;     /* its training has begun a second time */
    double began;
    vt_subset data;
} vt_run_job;
vitcl_status vt_run_job_begin(vt_run_job *j, vt_experiment *e,
                              const vt_run *run);
/* *done: its result is written. */
vitcl_status vt_run_job_poll(bool *done, vt_run_job *j, const vt_experiment *e);

/* ---- result.c ---- */

vitcl_status vt_study_result_path(char out[VT_STUDY_PATH],
                                  const vt_experiment *e, const vt_run *r);
/* Reads the result of run->id, if there is one. */
vitcl_status vt_study_result_load(vt_run *run, const vt_experiment *e);

/* ---- known.c, cost.c ---- */

/* Another device that was named has rates of its own. */
void vt_rate_id(char out[17], const vt_experiment *e, const vt_run *r);
/* The measured rate of its architecture, or NULL. */
const vt_rate *vt_rate_of(const vt_experiment *e, const vt_run *run);
/* Adds the rate of a run that trains the head alone, once that of the whole
 * model is known. */
void vt_rate_add_frozen(vt_experiment *e, const vt_run *run);
vitcl_status vt_rates_measure(vt_experiment *e);

/* ---- sheet.c ---- */

vitcl_status vt_sheet_write(const vt_experiment *e, const vt_sheet *s);

/* ---- page.c ---- */

/* Writes report.html. */
vitcl_status vt_study_page(const vt_experiment *e);

/* ---- files.c ---- */

/* OUTPUT/… ; too long is an error. */
vitcl_status vt_study_path(char out[VT_STUDY_PATH], const vt_experiment *e,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vitcl_status vt_study_folder(const char *path);
/* A dry run writes to a temporary folder that begins with the results of the
 * output folder, and is removed with the experiment. */
vitcl_status vt_scratch_make(vt_experiment *e);
void vt_scratch_remove(const vt_experiment *e);
/* A file, or a folder with what is in it; where there is none, nothing. */
vitcl_status vt_study_remove(const char *path);
vitcl_status vt_study_write(const char *path, const char *text);

#endif
