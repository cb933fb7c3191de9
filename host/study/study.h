/*
 * study.h - the paper's experiments at a small size.
 *
 * A study is one file with a vt_study, and one row of the table in studies.c.
 * It lists its runs (list) and makes a table, a figure and a sentence of their
 * results (read). All else is the frame's: subsets of the data, the training
 * processes, which are the program itself, what they cost, resuming, files.
 *
 * list() is called again whenever runs have ended, and must add the same runs
 * each time, and more when it knows more: first a sweep of learning rates, then
 * the runs with the best. A run is known by all that it depends on, so a run
 * that has a result is not repeated.
 */
#ifndef VT_STUDY_STUDY_H
#define VT_STUDY_STUDY_H
#include <vitcl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VT_RUN_NAME = 64, VT_SHOTS = 4, VT_STUDY_PATH = 4096 };

typedef enum {
    VT_SCORE_HELD_OUT, /* on held-out training pictures: to choose by */
    VT_SCORE_TEST,     /* on the test pictures */
    VT_SCORE_NONE      /* a starting point for others */
} vt_score;

/* Of which classes: the first three fifths, or the others. */
typedef enum {
    VT_CLASSES_ALL,
    VT_CLASSES_FIRST,
    VT_CLASSES_REST
} vt_class_part;

/* A task whose pictures are drawn here, in place of the data's. */
typedef struct vt_made {
    const char *name; /* of its folder */
    /* Fills an empty folder; counts are rounded up to whole groups. */
    vitcl_status (*write)(const char *folder, uint32_t pictures,
                          uint32_t tests);
} vt_made;

/* One training. Members that are 0 or "" have the value of the comment. */
typedef struct vt_run vt_run;
struct vt_run {
    char name[VT_RUN_NAME]; /* unique in its study; letters, digits, - and . */
    char arm[VT_RUN_NAME];  /* what it is compared as */
    char config[768];       /* config.json in timm's form: of what is trained
                             * or, with `from`, of that model: for its cost */
    char settings[256];     /* JSON of --settings; "" */
    char from[VT_RUN_NAME]; /* fine-tunes this run; "": from scratch */
    bool model;             /* fine-tunes the study's model instead */
    bool untrained;         /* only scores what it begins with, by shots */
    const char *freeze;     /* NULL, or parameters that are not trained: all
                             * but the head */
    vt_class_part part;     /* of the pictures, also of the test pictures */
    /* NULL, or makes the folder `to` from that run's folder, to be fine-tuned
     * instead. What it does must follow from the run's name. */
    vitcl_status (*prepare)(const char *to, const char *from,
                            const vt_run *run);
    const char *objective; /* NULL: classes */
    const char *augment;   /* NULL: light or crop */
    double lr;             /* 0: not known yet; the run waits */
    uint32_t pictures;     /* of the training part; 0: the study's */
    uint32_t epochs;       /* 0: the study's */
    uint32_t batch;        /* 0: 64 */
    uint32_t size;         /* pixels; 0: the config's */
    uint32_t state;        /* the random state: the number of the try */
    const vt_made *made;   /* NULL, or the task that it learns instead */
    vt_score score;
    uint32_t shots[VT_SHOTS]; /* few-shot tests of its features; 0: none */

    /* set by vt_run_add() */
    const char *precision;     /* NULL: f32 */
    char id[VT_RUN_NAME + 12]; /* its name and what it depends on */
    bool waits;                /* for another run */
    bool done;                 /* what follows is known: */
    double accuracy;           /* as `score` says; NAN: none */
    double shot_mean[VT_SHOTS], shot_sd[VT_SHOTS];
    double seconds; /* of training and scoring, the last time */
    double gmac;    /* a picture, forward */
    uint64_t parameters;
};

/* One line of the table of results. */
typedef struct vt_study_result {
    char arm[VT_RUN_NAME];
    double x;        /* NAN: none */
    double mean, sd; /* sd NAN: of one run */
    uint32_t tries;
    double paper; /* the paper's figure; NAN: none */
    bool plain;   /* in the table, not in the figure */
} vt_study_result;

/* A table of a study without trainings, in place of results. */
enum {
    VT_SHEETS = 2,
    VT_SHEET_ROWS = 32,
    VT_SHEET_COLUMNS = 9,
    VT_SHEET_CELL = 32
};
typedef struct vt_sheet {
    const char *file; /* "results.tsv" */
    const char *caption;
    const char *head[VT_SHEET_COLUMNS];
    size_t columns, rows;
    char cell[VT_SHEET_ROWS][VT_SHEET_COLUMNS][VT_SHEET_CELL];
} vt_sheet;

typedef struct vt_study vt_study;
typedef struct vt_experiment vt_experiment;

struct vt_study {
    const char *name;
    const char *paper; /* "Table 8", "appendix D.3" */
    const char *what;  /* one sentence for the list of studies */
    void (*list)(vt_experiment *e);
    void (*read)(vt_experiment *e);
    /* Of a study that trains nothing and needs no data, in place of list():
     * adds a table of what will be measured, and then measures it. */
    vitcl_status (*outline)(vt_experiment *e);
    vitcl_status (*measure)(vt_experiment *e);
    const char *x, *y; /* axes of the figure, and heads of the table */
    const char *note;  /* how the paper did it, for the report */
    bool model;        /* takes a checkpoint: -m */
    bool drawn;        /* all runs have made tasks: no --data */
};
/* NULL: past the end. */
const vt_study *vt_study_at(size_t index);
const vt_study *vt_study_find(const char *name);

/* ---- for list() (experiment.c) ---- */

/* What list() may ask. */
uint32_t vt_study_pictures(const vt_experiment *e); /* of the training part */
uint32_t vt_study_epochs(const vt_experiment *e);
uint32_t vt_study_tries(const vt_experiment *e);
uint32_t vt_study_side(const vt_experiment *e); /* of the pictures, in pixels */
uint32_t vt_study_classes(const vt_experiment *e);
uint32_t vt_study_part_classes(const vt_experiment *e, vt_class_part part);
/* For training: its share of the study's pictures, or all that it has. */
uint32_t vt_study_part_pictures(const vt_experiment *e, vt_class_part part);
const char *vt_study_kind(const vt_experiment *e); /* "cifar10", "folders" */
/* The checkpoint that the user named, or NULL (model.c). */
typedef struct vt_study_model {
    char path[VT_STUDY_PATH]; /* a folder in timm's form */
    char config[768];         /* its architecture, for a vt_run */
    uint32_t side;            /* pixels that it was trained at */
} vt_study_model;
const vt_study_model *vt_study_model_of(vt_experiment *e);
/* Adds a copy; the result has done and, if so, the scores. Never NULL: an error
 * is kept and ends the study after list(). Valid until list() returns. */
const vt_run *vt_run_add(vt_experiment *e, const vt_run *run);
/* A ViT as vitcl trains it in studies: width 64, depth 4, 4 heads, MLP of 128,
 * patches of 4 pixels at 32. `more`: more members of model_args, such as
 * ", \"pos_embed\": \"none\"", which also replace those. */
void vt_run_vit(vt_run *run, const vt_experiment *e, const char *more);
/* The same with these sizes. */
typedef struct vt_vit {
    uint32_t width, depth, heads, mlp, patch; /* mlp: its width */
} vt_vit;
extern const vt_vit vt_vit_usual;
void vt_run_vit_sized(vt_run *run, const vt_experiment *e, const vt_vit *v,
                      const char *more);
/* Adds one run "ARM-lr-RATE" for each rate, scored on held-out pictures. The
 * rate of the best, or 0 while not all are done. */
double vt_study_sweep(vt_experiment *e, const vt_run *like, const double *rates,
                      size_t count);
/* Adds vt_study_tries() runs "ARM-1" .. with this rate, scored as by `like`. */
void vt_study_repeat(vt_experiment *e, const vt_run *like, double lr);
/* Adds one of them. */
void vt_study_try(vt_experiment *e, const vt_run *like, double lr, uint32_t i);
/* What the run is compared as; also the beginning of its name. */
void vt_run_arm(vt_run *run, const char *arm);
/* The runs so far, after list(): all, in its order. */
const vt_run *vt_run_at(const vt_experiment *e, size_t index); /* NULL: end */
const vt_run *vt_run_named(const vt_experiment *e, const char *name);

/* ---- for read() (outcome.c) ---- */

void vt_study_add_result(vt_experiment *e, const vt_study_result *r);
/* The runs of vt_study_repeat() with this arm as one line. */
vt_study_result vt_study_arm(const vt_experiment *e, const char *arm);
/* Adds that line. */
vt_study_result vt_study_add_arm(vt_experiment *e, const char *arm, double x,
                                 double paper);
/* The runs of vt_study_sweep(): a line of the figure over log10 of the rate. */
void vt_study_add_sweep(vt_experiment *e, const char *arm);
/* The best rate of that sweep, and the held-out accuracy at a rate; 0: none. */
double vt_study_best_rate(const vt_experiment *e, const char *arm);
double vt_study_swept(const vt_experiment *e, const char *arm, double rate);
/* Mean and sample deviation; sd NAN for one value. */
void vt_study_mean(double *mean, double *sd, const double *v, size_t n);
/* A point of the figure that is in no table. */
void vt_study_add_point(vt_experiment *e, const char *arm, double x, double y);
/* Adds a copy of that table; vt_sheet_put() sets a cell of its next row, which
 * vt_sheet_put_row() ends. */
vt_sheet *vt_study_add_sheet(vt_experiment *e, const vt_sheet *like);
void vt_sheet_put(vt_sheet *s, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void vt_sheet_put_row(vt_sheet *s);
/* Appends to the verdict. */
void vt_study_say(vt_experiment *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Is a above b by more than chance: more than twice the deviation of the
 * difference of the means? */
bool vt_study_above(const vt_study_result *a, const vt_study_result *b);

/* ---- for the program ---- */

typedef struct vt_study_options {
    const char *data, *output, *device;
    const char *model;                /* NULL, or the path of a checkpoint */
    const char *precision;            /* NULL: f32 */
    double minutes;                   /* 0: those of the folder, else 12 */
    uint32_t tries;                   /* 0: 3 */
    uint32_t jobs;                    /* 0: 1 */
    uint32_t epochs, pictures, tests; /* 0: what fits into the minutes */
    int program;                      /* a descriptor of vitcl, which trains */
    bool dry;            /* plan() alone: the output folder is only read */
    bool follow;         /* links to folders */
    const char *columns; /* of a table; NULL: the usual ones */
    void (*say)(void *context, const char *line);
    bool (*stop)(void *context);
    void *context;
} vt_study_options;

vitcl_status vt_experiment_open(vt_experiment **out, const vt_study *study,
                                const vt_study_options *options);
void vt_experiment_free(vt_experiment *e);
/* Measures a training step of each architecture, and chooses pictures and
 * epochs. */
vitcl_status vt_experiment_plan(vt_experiment *e);
/* Trains what has no result yet. VITCL_ESTOPPED: stop() said so. */
vitcl_status vt_experiment_run(vt_experiment *e);
/* Writes results.tsv, verdict.txt, figure.svg, figure.png and report.html. */
vitcl_status vt_experiment_report(vt_experiment *e);

/* After plan(): what a run costs. */
typedef struct vt_run_cost {
    uint32_t pictures, epochs;
    double flop, seconds; /* multiply-accumulates count as two */
} vt_run_cost;
vt_run_cost vt_run_costs(const vt_experiment *e, const vt_run *run);
uint32_t vt_study_tests(const vt_experiment *e); /* test pictures */
/* After report(); of a study without trainings also after plan(). */
const vt_sheet *vt_sheet_at(const vt_experiment *e, size_t index);
/* After report(). */
const char *vt_study_verdict(const vt_experiment *e);
const vt_study_result *vt_study_result_at(const vt_experiment *e, size_t index);

#endif
