/*
 * naming.h - a picture's classes, which of them are sure, and the formats in
 * which classify prints them.
 */
#ifndef VT_CLI_NAMING_H
#define VT_CLI_NAMING_H
#include "cli/pictures/pictures.h"

typedef struct naming {
    const vitcl_model *model;
    const char *const *words; /* the classes' names; NULL: the model's */
    uint32_t classes, k;
    vitcl_class *top; /* of the last picture */
    float *scaled;    /* its logits, divided by the temperature */
    float temperature, threshold;
    vitcl_answer answer; /* what the numbers of `top` are */
    int detail;          /* of the last picture: vitcl_session_detail() */
} naming;

/* threshold 0: the model's own, if it has one. */
int naming_open(naming *n, const vitcl_model *model, uint32_t classes,
                uint32_t k, double threshold);
/* The classes are these texts instead, and their logits mean that. */
void naming_words(naming *n, const char *const *texts, vitcl_answer kind);
void naming_close(naming *n);
/* Sets top and detail. rgb: the picture as the model sees it. */
void naming_judge(naming *n, const float *logits, const vitcl_session *session,
                  const uint8_t *rgb);
/* Is the last picture's first class likely enough, and the picture of the kind
 * that the model was trained with? */
bool naming_sure(const naming *n);
/* Is class i of top sure? Where a picture has one class, the first stands for
 * all. */
bool naming_holds(const naming *n, uint32_t i);
/* Is class i of top worth a place on a terminal or a page? */
bool naming_shown(const naming *n, uint32_t i);
/* A class's name, else its label, else its number, in `room`. */
enum { CLASS_ROOM = 24 };
const char *naming_class(const naming *n, uint32_t label,
                         char room[CLASS_ROOM]);
/* The bytes of a class's first name: some models list several. */
size_t naming_first(const naming *n, const char *name);

void naming_json(const naming *n, const answer *a);
/* Of a picture that was answered. */
void naming_tsv(const naming *n, const answer *a);
void naming_pretty(const naming *n, const answer *a);
/* "ship 94 %" and "or airplane 1 %, ..", for a page. */
void naming_texts(char *title, char *more, size_t size, const naming *n);
void naming_csv_head(const naming *n);
void naming_csv(const naming *n, const answer *a);

#endif
