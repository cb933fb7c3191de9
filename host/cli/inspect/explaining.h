/*
 * explaining.h - why a picture is named so, on a terminal: its classes as bars,
 * and the attention rollout over the picture (classify --explain).
 */
#ifndef VT_CLI_EXPLAINING_H
#define VT_CLI_EXPLAINING_H
#include "cli/answers/naming.h"

typedef struct explaining explaining;

/* NULL: out of memory, which was said. */
explaining *explaining_open(void);
/* Before the session: it shows its attention, picture by picture. */
void explaining_watch(explaining *e, vitcl_session_options *options);
/* After it. A model without attention over patches is said in one line, and
 * then only bars are shown. */
int explaining_start(explaining *e, const vitcl_model *model,
                     const vitcl_session *session);
/* Prints the picture that ran last. */
int explaining_print(explaining *e, const naming *n, const answer *a);
void explaining_close(explaining *e);

#endif
