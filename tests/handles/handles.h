/*
 * handles.h - what the calls of calls.py pass and report: for handles.c.
 */
#ifndef VT_TESTS_HANDLES_H
#define VT_TESTS_HANDLES_H
#include "support/paths.h"

#include <vitcl_index.h>
#include <vitcl_text.h>
#include <vitcl_train.h>

typedef enum {
    VT_DEVICE,
    VT_MODEL,
    VT_SESSION,
    VT_LOADER,
    VT_DATASET,
    VT_ROWS,
    VT_TEXT,
    VT_INDEX,
    VT_KINDS
} kind;

typedef struct things {
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    vitcl_loader *loader;
    vitcl_dataset *dataset;
    vitcl_rows *rows;
    vitcl_text *text;
    vitcl_index *index;
} things;

typedef struct call {
    const char *name;
    /* null: the number of a pointer to pass as NULL; -1: none */
    void (*run)(const things *t, int null);
    unsigned takes, changes; /* bits of kinds; changes: not as const */
    int slow, parameters;
} call;
extern const call vt_calls[]; /* ends with a NULL name */

/* of the model and of the data that the calls get */
enum { VT_SIDE = 24, VT_CLASSES = 5, VT_ROOM = 1000 };
extern uint8_t vt_rgb[VT_SIDE * VT_SIDE * 3], vt_room[VT_SIDE * VT_SIDE * 3];
extern float vt_numbers[VT_SIDE * VT_SIDE * 3], vt_out[VT_ROOM];
extern vitcl_image vt_image;
extern vitcl_class vt_top[VT_CLASSES];
extern vitcl_hit vt_hits[VT_CLASSES];
extern vitcl_dupe vt_dupes[VT_CLASSES];
extern uint32_t vt_labels[VT_CLASSES], vt_words[VT_ROOM];
extern int32_t vt_ids[VT_ROOM];
extern char vt_text[100];
extern vitcl_session_options vt_session_options;
extern vitcl_pictures vt_pictures;
extern vitcl_text_options vt_text_options;
extern vitcl_train_options vt_train_options;
extern vitcl_model_files vt_files;
const char *vt_path(const char *function);

int vt_progress(void *context, uint64_t done, uint64_t total);
void vt_log_line(void *context, const char *line);
void vt_compiling(void *context, uint32_t done, uint32_t total);
vitcl_status vt_source(void *context, vitcl_batch *batch, int wait);
vitcl_status vt_sink(void *context, const vitcl_batch *batch);

/* ---- handles.c, for states.c ---- */
extern const char *vt_folder; /* for files */
void vt_wrong(const char *why);
void vt_need(vitcl_status st); /* else the test ends */

/* ---- states.c ---- */
#define VT_HANDLES_MODEL VT_DATA "/models/timm_vit"
#define VT_HANDLES_TEXT VT_DATA "/text/hf_clip"
typedef struct state {
    kind kind;
    const char *name;
    /* Replaces the handle by one in this state, or not: t->x is used. */
    void (*make)(things *t);
} state;
extern const state vt_states[]; /* ends with a NULL name */

/* ---- handles.c, for calls.c ---- */
/* Looks at a status and at the message of an error; at a text. */
void vt_took(const char *function, vitcl_status st);
void vt_read(const char *text);

#endif
