/*
 * kept.h - what is kept between runs: in the cache, which may be deleted at any
 * time (kept.c), and in the user's files, which people may edit (kept_lines.c).
 * Each has a table of kinds, and one way to read and to write.
 *
 * A file of the cache is for one key, the SHA-256 of all that its contents
 * depend on, and is named by it and its kind. It is trusted if it is of this
 * kind, key and machine's byte order, and its checksum is right; else it is
 * removed. Nothing of it is an error: what cannot be read counts as absent,
 * what cannot be written is not kept. VITCL_CACHE=off disables it all.
 */
#ifndef VT_BASE_KEPT_H
#define VT_BASE_KEPT_H
#include "base/checksum.h"
#include "base/user_dir.h"

#include <time.h>

typedef enum vt_kept_kind {
    VT_KEPT_PROGRAM,  /* as a driver has built it */
    VT_KEPT_JOINT,    /* the key of the program that has this one */
    VT_KEPT_VERDICT,  /* of a trial */
    VT_KEPT_PICTURES, /* of a folder, which can be decoded */
    VT_KEPT_LABELS,   /* their vectors */
    VT_KEPT_WORDS     /* a large vocabulary */
} vt_kept_kind;

#define VT_KEPT_MOST ((size_t)128 << 20) /* bytes of a file */

typedef struct vt_kept_key {
    uint8_t hash[32];
} vt_kept_key;

/* VITCL_EINVAL unless VITCL_CACHE is off or not set. */
vitcl_status vt_kept_setting(void);
bool vt_kept_off(void);  /* by VITCL_CACHE=off */
bool vt_kept_on(void);   /* there is a folder */
void vt_kept_tell(void); /* logs which */

/* A new array with a zero behind it. False: nothing is kept, or it is wrong. */
bool vt_kept_get(void **out, size_t *size, vt_kept_kind kind,
                 const vt_kept_key *key);
bool vt_kept_has(vt_kept_kind kind, const vt_kept_key *key); /* unread */
/* Writes the parts one after the other. False: not kept. */
bool vt_kept_put(vt_kept_kind kind, const vt_kept_key *key,
                 const vt_user_part *parts, size_t n);
void vt_kept_drop(vt_kept_kind kind, const vt_kept_key *key);

/* The same as vt_kept_get(), piece by piece. */
typedef struct vt_kept_file {
    int folder, fd;
    uint64_t at;
    size_t left; /* bytes that are not read yet */
    char name[88];
    uint64_t sum;
    vt_summing *summing; /* NULL: a test's own file */
} vt_kept_file;
/* False: there is none, or not of this kind and key. */
bool vt_kept_open(vt_kept_file *f, vt_kept_kind kind, const vt_kept_key *key);
bool vt_kept_read(vt_kept_file *f, void *out, size_t size);
/* Was all of it read, and is it intact and, for its reader, `good`? */
bool vt_kept_close(vt_kept_file *f, bool good);

/* Removes files not used for long from the open folder, then the least recently
 * used ones beyond most_bytes. For vt_kept_put() and tests. */
void vt_kept_evict(int folder, uint64_t most_bytes, time_t now);

/* ---- $XDG_CONFIG_HOME/vitcl (or ~/.config/vitcl): lines ---- */

typedef enum vt_lines_kind {
    VT_LINES_CHOICES, /* of measurements */
    VT_LINES_TUNED    /* parameters */
} vt_lines_kind;

typedef struct vt_lines {
    vt_lines_kind kind;
    int folder, number; /* number: of the line that was given last */
    char *text, *at;
    char why[64]; /* the file is ignored; "": it is not */
} vt_lines;

bool vt_lines_path(char *out, size_t size, vt_lines_kind kind);
/* Reads the file. If it is absent or ignored, it has no lines. */
void vt_lines_open(vt_lines *l, vt_lines_kind kind);
/* The next line after the first, which tells the format; NULL: none. */
char *vt_lines_next(vt_lines *l);
void vt_lines_close(vt_lines *l); /* also after an error */
/* Opens it for vt_lines_put(); meanwhile no other process changes it.
 * VITCL_EIO: it cannot be written, or is ignored, so its lines would be
 * lost. */
vitcl_status vt_lines_change(vt_lines *l, vt_lines_kind kind);
vitcl_status vt_lines_check(vt_lines_kind kind); /* whether that works */
/* Adds a line in place of those that start so. */
vitcl_status vt_lines_put(vt_lines *l, const char *start, const char *line);

#endif
