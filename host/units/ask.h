/*
 * ask.h - which instruction does a device multiply with? One way to find out:
 * an answer that this process knows, that is kept on disk (verdicts.h), or the
 * trials of the candidates in vitcl-try. For dots.c and matrix.c, which read
 * what the user has set.
 */
#ifndef VT_UNITS_ASK_H
#define VT_UNITS_ASK_H
#include "units/verdicts.h"

/* What is known of a question. Kinds are numbers of the caller's; 0: none. */
typedef struct vt_known {
    bool known;
    int kind, failed, untried; /* untried: its trial could not run */
    int lost;                  /* the first that was not good when it was tried,
                                * by this process; */
    char why[72];              /* its answer, or why there was none */
} vt_known;

enum { VT_CANDIDATES = 16 };
typedef struct vt_question vt_question;
struct vt_question {
    vt_subject subject;
    const char *request;       /* of vitcl-try, which gets the kind's name */
    const char *type;          /* and this; NULL: nothing */
    const char *work;          /* what for, in words; for lost() */
    const char *good, *slower; /* its answers; others: it has failed */
    const char *none;          /* the verdict where no kind is used */
    const char *(*name)(int kind); /* lower case letters and digits */
    bool (*permitted)(int kind);   /* may this process use it? NULL: yes */
    /* Called where trials have left no kind, but one that lost. NULL: none is
     * interested. */
    void (*lost)(const vt_dev *dev, const vt_question *q, const vt_known *k);
    int candidate[VT_CANDIDATES], n; /* in the order of the trials */
};

/* The answer: *k, if it is known. Of the candidates the first that is good is
 * used. If vitcl-try cannot be started, nothing is kept: a later process may
 * try. */
int vt_ask(vt_known *k, const vt_dev *dev, const vt_question *q);
/* The answer, if this process knows it: without a question, which costs a look
 * at the processor for each candidate. */
bool vt_ask_known(int *kind, const vt_known *k, const vt_dev *dev);
/* What is known without a trial. */
vt_known vt_ask_kept(const vt_known *k, const vt_dev *dev,
                     const vt_question *q);
/* From now on this kind, without a trial. */
void vt_ask_use(vt_known *k, const vt_dev *dev, int kind);
/* "fma; vpdpbusd failed its trial" */
void vt_known_describe(char *out, size_t size, const vt_known *k,
                       const vt_question *q);

#endif
