/*
 * choices.h - what was measured once and decided, in the user's file
 * $XDG_CONFIG_HOME/vitcl/choices (or ~/.config/vitcl/choices), next to the
 * tuned parameters: which device is faster, which form multiplies.
 */
#ifndef VT_PRODUCT_CHOICES_H
#define VT_PRODUCT_CHOICES_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define VT_CHOICE 512 /* a question, or an answer, with its NUL */

/* Appends the variables that say what is multiplied with, as far as they are
 * set, ", VITCL_DOT off": the answer without them may be another. */
void vt_choice_variables(char *out, size_t size);
/* The answer to this question, by this version of vitcl. */
bool vt_choice_load(char out[VT_CHOICE], const char *question);
/* Keeps it, unless another process has kept one meanwhile: *answer is the one
 * that counts. rejected: an answer that was found and is not accepted; NULL:
 * none. False: it cannot be kept, and nobody will find it again. */
bool vt_choice_save(char answer[VT_CHOICE], const char *question,
                    const char *rejected);
/* Can one be kept? Not in a file of another format. Where not, nothing should
 * be measured: the next run might decide otherwise. */
bool vt_choices_possible(void);
/* Calls visit() for each question that begins so, with the rest of it. */
void vt_choices_each(const char *begin,
                     void (*visit)(void *context, const char *question,
                                   const char *answer),
                     void *context);

#endif
