/*
 * pictures.h - temporary folders and a small CIFAR-10 for tests of training.
 */
#ifndef VT_TESTS_PICTURES_H
#define VT_TESTS_PICTURES_H
#include <stddef.h>
#include <stdint.h>

#include <vitcl_train.h>

/* A new folder in the temporary folder; valid until the next call. */
char *vt_test_folder(void);
/* Removes the folder with its contents. */
void vt_test_remove(const char *folder);
/* Removes all folders of this test's vt_test_folder() calls. */
void vt_test_tidy(void);
/* Writes data_batch_1.bin to _5.bin to `folder`: n noisy pictures in total, of
 * ten classes, as a function of `state`. */
void vt_test_cifar(const char *folder, size_t n, unsigned state);
/* A file's bytes, NULL if it cannot be read; free() it. */
unsigned char *vt_test_bytes(size_t *size, const char *folder,
                             const char *name);
void vt_test_text(const char *folder, const char *name, const char *text);
/* Sets XDG_CONFIG_HOME to a new folder, whose path it copies, with an empty
 * folder "vitcl". vt_test_user_text() writes one of the user's files there. */
void vt_test_user_folder(char folder[256]);
void vt_test_user_text(const char *folder, const char *name, const char *text);
/* A path in `folder`, valid for the next 64 calls. */
char *vt_test_path(const char *folder, const char *name);
/* config.json of a ViT for 32x32 pixels that trains quickly; `more` is appended
 * to its model_args. Returns its path. */
char *vt_test_config(const char *folder, const char *more);

/* Watches a training: a context for vt_test_look(). */
typedef struct vt_test_watch {
    uint64_t stop, events; /* stop after this step; 0: never */
    double first;          /* the first loss */
} vt_test_watch;
int vt_test_look(void *watch, const vitcl_train_event *e);
/* Fails unless `file` has the same bytes in the folders a and b. */
void vt_test_same(const char *a, const char *b, const char *file);

#endif
