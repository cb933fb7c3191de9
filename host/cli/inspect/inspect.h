/*
 * inspect.h - the files of `vitcl inspect`.
 *
 * DIR/inspect.json names all figures. Those of the model are in DIR/model, and
 * those of a picture in a folder with the picture's name. A figure is .png and
 * .svg, and its numbers are .safetensors and .json (docs/inspect.md).
 */
#ifndef VT_CLI_INSPECT_H
#define VT_CLI_INSPECT_H
#include "cli/setup/options.h"
#include "cli/terminal/terminal.h"
#include "inspect/attention.h"
#include "plot/contact_sheet.h"
#include "plot/figure.h"

enum {
    INSPECT_PATH = 4096,
    INSPECT_TEXT = 512,
    INSPECT_TOP = 5,
    INSPECT_COLOURS = 3, /* components */
    INSPECT_LAYERS = 256
};

typedef struct inspect_files {
    const char *root;
    char *folder;         /* below root, of the figures that follow */
    vt_json_writer index; /* inspect.json, which appears when it is complete: */
    struct vt_part *part;
    bool in_model;          /* do the figures belong to the model? */
    size_t pictures;        /* written */
    char *model, *left_out; /* JSON for the end; or NULL */
} inspect_files;

typedef struct inspect_figure {
    const char *kind; /* name of its files: "rollout" */
    const char *title, *alt, *caption;
    const vt_contact_sheet *sheet; /* or ... */
    const vt_figure *chart;
    const char *unit; /* of the numbers: */
    const vitcl_shape *shape;
    const double *value;
} inspect_figure;

/* Makes the folder, which must be new. Prints why not. */
int inspect_open(inspect_files *f, const char *root);
/* The figures that follow are the model's. */
int inspect_of_model(inspect_files *f);
/* ... are those of a picture with these best classes. */
int inspect_of_picture(inspect_files *f, const char *path,
                       const vitcl_model *model, const vitcl_class *top,
                       uint32_t count);
/* Writes a figure and its numbers; prints their names. */
int inspect_write(inspect_files *f, const inspect_figure *g);
/* A path in the folder of figures; false: it is too long, which was said. */
bool inspect_path(char out[INSPECT_PATH], const inspect_files *f,
                  const char *name, const char *ending);
/* Prints the path of a file that was written. */
void inspect_say(const char *path);
/* What the model has nothing to show for, and why. */
int inspect_left_out(inspect_files *f, const char *kind, const char *why);
/* Completes inspect.json. */
int inspect_finish(inspect_files *f, const vitcl_model_info *m, uint32_t height,
                   uint32_t width, const int grid[3]);
/* Writes report.html, after inspect_finish(). */
int inspect_report(const char *folder);
/* Removes what is empty or incomplete. */
void inspect_close(inspect_files *f);

/* Patches have `patch` pixels a side, and all other tokens come before them.
 * False: there is no attention over patches. */
bool inspect_grid(vt_patch_grid *out, const vitcl_model_info *m);
/* The tokens that the head reads: "the class token", "all patches". */
const char *inspect_read(const vt_patch_grid *grid);
/* Do even layers attend to rows of patches, and odd ones to columns? */
bool inspect_axial(const vitcl_model_info *m);
/* [heads, T, T] for inspect_layer(); NULL: out of memory. */
float *inspect_room(const vitcl_model_info *m);
/* A watched layer's probabilities as [heads, T, T]: as they are, or an axial
 * layer's in `room`. NULL: they have other sizes. */
const float *inspect_layer(float *room, const vitcl_tensor_info *t,
                           const float *probs, const vitcl_model_info *m,
                           const vt_patch_grid *grid, uint32_t layer);

/* ---- choices.c: what is drawn of a picture ---- */

typedef struct inspect_choices {
    const char *heads, *layer, *head, *query, *class;
    double residual, discard;
} inspect_choices;
/* Are there pictures for them, are they numbers, or the class "top"? How many
 * layers and heads there are is known only later. other: NULL, or another
 * option about pictures that was given. */
int inspect_check(const inspect_choices *c, const char *other,
                  const words *operands);
/* "X,Y", pixels of a picture with such patches: the patch, from 0. */
int inspect_query(int *patch, const char *text, const vitcl_model_info *m,
                  const vt_patch_grid *grid);
/* The number of an option, below `end`; NULL: `without`. */
int inspect_number(uint32_t *out, const char *name, const char *text,
                   uint32_t end, uint32_t without);

/* ---- model.c: figures of the model ---- */

/* The principal components of the filters, and the similarity of positions. */
int inspect_weights(inspect_files *f, const vitcl_model *model,
                    const vitcl_model_info *info);
/* mean[layers, heads]: attention distance in pixels. */
int inspect_distance(inspect_files *f, const double *mean, uint32_t layers,
                     uint32_t heads, uint32_t pictures);

/* ---- picture.c: figures of a picture ---- */

typedef struct inspect_picture {
    const char *name;         /* the last part of its path */
    const unsigned char *rgb; /* as the model sees it */
    int height, width, rows, columns;
} inspect_picture;
/* value[rows, columns] */
int inspect_rollout(inspect_files *f, const inspect_picture *p,
                    const double *value, const char *how,
                    const vt_patch_grid *grid);
/* value[rows, columns] for class `index`; its label and name: or NULL */
int inspect_relevance(inspect_files *f, const inspect_picture *p,
                      const double *value, const char *label, const char *name,
                      uint32_t index);
/* value[count, rows, columns] of heads first...; from: what
 * inspect_read() says, or the patch `query` (from 1; 0: none). */
int inspect_attention(inspect_files *f, const inspect_picture *p,
                      const double *value, uint32_t layer, uint32_t first,
                      uint32_t count, const char *from, int query);
/* tokens[rows * columns, width] of tensor `of`; in the basis of `all`, unless
 * it is NULL or has seen no picture. */
struct inspect_together;
int inspect_tokens(inspect_files *f, const inspect_picture *p,
                   const float *tokens, uint32_t width, const char *of,
                   const struct inspect_together *all);

#endif
