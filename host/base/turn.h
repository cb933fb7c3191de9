/*
 * turn.h - one thread at a time for each subject, such as a question about a
 * device. Threads with other subjects do not wait.
 */
#ifndef VT_BASE_TURN_H
#define VT_BASE_TURN_H

typedef struct vt_turn {
    char subject[576]; /* of a longer one, this much is compared */
    struct vt_turn *next;
} vt_turn;

/* Waits until no other turn has the subject, "what whose". `t` must stay where
 * it is until vt_turn_end(). A thread may have several turns, of different
 * subjects. */
void vt_turn_begin(vt_turn *t, const char *what, const char *whose);
void vt_turn_end(vt_turn *t);

#endif
