/*
 * input.c - the next picture, from a walk over paths or from an archive.
 *
 * Every worker goes through the whole input and leaves out what is another's:
 * names cost little, and nobody has to count first.
 */
#include "input.h"

#include "archives/tar.h"
#include "parts/partition.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a: finds mistakes, not attacks. */
#define HASH_FIRST 0xcbf29ce484222325u
#define HASH_PRIME 0x100000001b3u

struct input {
    picture_paths *paths; /* NULL: archives */
    const words *operands;
    size_t at; /* of the archives */
    uint64_t number, last;
    bool inside; /* a range of them */
    char archive[PATH_MAX];
    vt_tar *tar;
    vt_left left; /* of the archives so far */
    vt_shard shard;
    uint64_t count, names, sample, sampled;
    char path[2 * PATH_MAX], error[512];
};

input *input_open(const words *operands, const picture_options *how)
{
    input *s = calloc(1, sizeof *s);

    if (!s) {
        fail("out of memory");
        return NULL;
    }
    s->operands = operands;
    s->names = HASH_FIRST;
    if (how->shard && vt_shard_parse(&s->shard, how->shard) != VITCL_OK) {
        failed();
    } else if (!how->tar && !(s->paths = paths_open(operands, how))) {
        fail("out of memory");
    } else {
        return s;
    }
    free(s);
    return NULL;
}

void input_close(input *s)
{
    if (!s)
        return;
    paths_close(s->paths);
    vt_tar_close(s->tar);
    free(s);
}

void input_left(vt_left *out, const input *s)
{
    *out = s->left;
    if (s->paths)
        paths_left(out, s->paths);
}

void input_whole(vt_manifest *into, const input *s)
{
    into->input = s->count;
    into->names = s->names;
    into->sample = s->sample;
    into->sampled = s->shard.n > 0;
}

/* The first of a part tell whether the pictures are others. */
static void sample(input *s, const char *path)
{
    enum { SAMPLED = 256 };

    if (s->shard.n && s->sampled++ < SAMPLED)
        vt_manifest_sample(&s->sample, path);
}

bool input_ready(input *s, int ms)
{
    if (s->paths)
        return paths_ready(s->paths, ms);
    return !s->tar || vt_tar_ready(s->tar, ms);
}

/* Counts a picture; true: it is this worker's. */
static bool take(input *s, const char *path)
{
    for (const char *c = path;; c++) { /* with the NUL */
        s->names = (s->names ^ (unsigned char)*c) * HASH_PRIME;
        if (!*c)
            break;
    }
    return vt_shard_has(s->shard, s->count++);
}

/* ---- paths ---- */

static input_picture next_path(input *s)
{
    input_picture p = {.path = NULL};

    do {
        p.path = paths_next(s->paths, &p.error);
    } while (p.path && !take(s, p.path) && !stopped());
    p.borrowed = paths_picture(s->paths, &p.size);
    if (p.path && !p.borrowed)
        sample(s, p.path);
    p.position = s->count - 1;
    return p;
}

/* ---- archives ---- */

/* The range in "pics-{0000..0099}.tar": where it is, its ends and its width. */
static bool range(const char *name, size_t *from, size_t *to, uint64_t *low,
                  uint64_t *high, int *width)
{
    const char *open = strchr(name, '{');
    int begin = 0, dots = 0, end = 0;

    if (!open ||
        sscanf(open, "{%n%9" SCNu64 "%n..%9" SCNu64 "}%n", &begin, low, &dots,
               high, &end) != 2 ||
        !end || *low > *high || open[begin] < '0' || open[begin] > '9')
        return false;
    *from = (size_t)(open - name);
    *to = *from + (size_t)end;
    *width = dots - begin;
    return true;
}

/* The next archive's name in s->archive; false: there is none. */
static bool next_archive(input *s)
{
    while (s->at < s->operands->count) {
        const char *name = s->operands->item[s->at];
        size_t from, to;
        uint64_t low, high;
        int width;

        if (!range(name, &from, &to, &low, &high, &width)) {
            s->at++;
            snprintf(s->archive, sizeof s->archive, "%s", name);
            return true;
        }
        if (!s->inside)
            s->inside = true, s->number = low, s->last = high;
        if (s->number <= s->last) {
            snprintf(s->archive, sizeof s->archive, "%.*s%0*llu%s", (int)from,
                     name, width, (unsigned long long)s->number++, name + to);
            return true;
        }
        s->inside = false;
        s->at++;
    }
    return false;
}

static bool on_stdin(const input *s)
{
    return strcmp(s->archive, "-") == 0;
}

/* An error of the archive as a whole is a picture's, under its name. */
static void name_member(input *s, const char *member)
{
    if (!member[0])
        snprintf(s->path, sizeof s->path, "%s",
                 on_stdin(s) ? "standard input" : s->archive);
    else if (on_stdin(s))
        snprintf(s->path, sizeof s->path, "%s", member);
    else
        snprintf(s->path, sizeof s->path, "%s/%s", s->archive, member);
}

/* Opens the next archive; false: `p` is its error, or the end. */
static bool open_archive(input *s, input_picture *p)
{
    *p = (input_picture){.path = NULL};
    if (!next_archive(s))
        return false;
    if (on_stdin(s))
        guard_spent();
    if (vt_tar_open(&s->tar, on_stdin(s) ? NULL : s->archive, s->shard,
                    s->count) == VITCL_OK) {
        if (!on_stdin(s))
            sample(s, s->archive);
        return true;
    }
    if (is_address(s->archive))
        snprintf(
            s->error, sizeof s->error,
            "addresses are not opened; curl -sL ADDRESS | vitcl %s --tar -",
            command_name);
    else
        snprintf(s->error, sizeof s->error, "%s", vitcl_last_error());
    name_member(s, "");
    p->path = s->path, p->error = s->error;
    return false;
}

static input_picture next_member(input *s)
{
    input_picture p;

    for (;;) {
        vt_member m;

        if (stopped())
            return (input_picture){.path = NULL};
        if (!s->tar && !open_archive(s, &p)) {
            if (p.path && !take(s, p.path))
                continue;
            p.position = s->count - 1;
            return p;
        }
        if (!s->tar || !vt_tar_next(&m, s->tar)) {
            if (s->tar)
                vt_tar_left(&s->left, s->tar);
            vt_tar_close(s->tar);
            s->tar = NULL;
            continue;
        }
        name_member(s, m.name);
        if (!take(s, s->path) || m.other) {
            free(m.bytes);
            continue;
        }
        return (input_picture){.path = s->path,
                               .error = m.error,
                               .position = s->count - 1,
                               .bytes = m.bytes,
                               .size = m.size};
    }
}

input_picture input_next(input *s)
{
    return s->paths ? next_path(s) : next_member(s);
}
