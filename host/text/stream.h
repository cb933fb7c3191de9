/*
 * stream.h - the large arrays of a JSON text, value by value: a tree of a
 * vocabulary would take a hundred times its bytes.
 */
#ifndef VT_TEXT_STREAM_H
#define VT_TEXT_STREAM_H
#include "base/json.h"
#include "text/chars.h"

typedef struct vt_stream {
    const char *s, *end;
    const char *begin; /* of the file, for messages */
    const char *name;  /* of the file, for messages */
    vt_chars scratch[2];
} vt_stream;

/* What a stream read: bytes of the text, or of a scratch of the stream. */
typedef struct vt_stretch {
    const char *s;
    size_t n;
} vt_stretch;

/* Takes this character, with white space around it; false: another follows. */
bool vt_stream_take(vt_stream *r, char c);
/* Is there a further element before `close`? Takes the comma or `close`. */
vitcl_status vt_stream_more(bool *more, vt_stream *r, char close, bool first);
/* which: the scratch to use, 0 or 1. */
vitcl_status vt_stream_string(vt_stretch *out, vt_stream *r, unsigned which);
vitcl_status vt_stream_number(double *out, vt_stream *r);
vitcl_status vt_stream_damage(const vt_stream *r);
void vt_stream_free(vt_stream *r);

/* What is left of a JSON object without the values of model.vocab and
 * model.merges, which become 0. It has to be parsed, so that all is checked
 * once. */
typedef struct vt_stream_parts {
    const char *begin;        /* of the text */
    vt_stretch vocab, merges; /* of it, or empty */
    vt_chars rest;
    vt_json_cut cuts[2]; /* of the rest */
    size_t count;
} vt_stream_parts;
vitcl_status vt_stream_cut(vt_stream_parts *out, const char *s, size_t n,
                           const char *name);

#endif
