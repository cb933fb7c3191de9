/*
 * join.c - find the finished parts in a folder and join them in the order of
 * the input: the first row of each shard, the second of each, and so on.
 */
#include "parts/partition.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/memory.h"
#include "index/index.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- finding ---- */

static const char *ending_of(const char *file)
{
    static const char *const known[] = {".jsonl", ".npy", ".safetensors",
                                        ".json"};

    for (size_t i = 0; i < VT_COUNT(known); i++)
        if (vt_path_ends(file, known[i]))
            return known[i];
    return NULL;
}

/* The part of this manifest, which must be of the run of the others. */
static vitcl_status add(vt_parts *p, const char *folder, const char *manifest)
{
    vitcl_status st;
    char *path = NULL, *part = NULL;
    vt_manifest m;
    struct stat s;
    uint32_t at;

    VT_TRY(vt_format(&path, "%s/%s", folder, manifest));
    VT_TRY(vt_manifest_load(&m, path));
    VT_TRY(vt_format(&part, "%s/%s", folder, m.file));
    if (stat(part, &s) != 0) /* the worker is to run again */
        goto done;
    if ((uint64_t)s.st_size != m.bytes || !ending_of(m.file))
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: is not as its manifest says; remove both and run "
                       "shard %u again",
                       part, m.shard.k));
    if (!p->part) {
        p->of = m.shard.n, p->ending = ending_of(m.file);
        VT_TRY(VT_NEW(&p->part, p->of));
        VT_TRY(VT_NEW(&p->path, p->of));
        p->part[m.shard.k - 1] = m; /* for the comparison */
    }
    at = m.shard.k - 1;
    for (uint32_t i = 0; i < p->of; i++) {
        const vt_manifest *other = &p->part[i];

        if (!other->shard.n)
            continue;
        VT_TRY(vt_manifest_agrees(other, &m, part));
        if (strcmp(p->ending, ending_of(m.file)) != 0)
            VT_TRY(vt_fail(VITCL_EINVAL, "%s: has another format than %s", part,
                           other->file));
        if (other->input != m.input || other->names != m.names)
            VT_TRY(vt_fail(VITCL_EINVAL,
                           "%s: its worker saw other pictures (%" PRIu64
                           ") than that of %s (%" PRIu64 ")",
                           part, m.input, other->file, other->input));
        break; /* one stands for all */
    }
    if (p->path[at])
        VT_TRY(vt_fail(VITCL_EINVAL, "%s: is shard %u, and so is %s", part,
                       m.shard.k, p->path[at]));
    if (m.rows != vt_shard_share(m.shard, m.input))
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: has %" PRIu64 " rows, not %" PRIu64,
                       part, m.rows, vt_shard_share(m.shard, m.input)));
    p->part[at] = m;
    p->path[at] = part, part = NULL;
    p->count++;
    p->rows += m.rows, p->failed += m.failed;
done:
    free(path);
    free(part);
    return st;
}

static void tell_missing(vt_parts *p)
{
    size_t used = 0;

    for (uint32_t i = 0; i < p->of; i++) {
        if (p->path[i])
            continue;
        if (used + 24 > sizeof p->missing) {
            snprintf(p->missing + used, sizeof p->missing - used, ", ..");
            return;
        }
        used += (size_t)snprintf(p->missing + used, sizeof p->missing - used,
                                 "%s%u", used ? ", " : "", i + 1);
    }
}

vitcl_status vt_parts_open(vt_parts *out, const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_parts p = {.count = 0};
    const struct dirent *e;
    DIR *d = opendir(folder);

    if (!d)
        return vt_fail(VITCL_EIO, "%s: %s", folder, strerror(errno));
    while ((e = readdir(d)))
        if (vt_path_ends(e->d_name, VT_MANIFEST))
            VT_TRY(add(&p, folder, e->d_name));
    if (!p.part)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: no finished parts; write them with --shard K/N -o "
                       "%s/part-{shard}.jsonl",
                       folder, folder));
    tell_missing(&p);
    *out = p, p = (vt_parts){.count = 0};
done:
    closedir(d);
    vt_parts_close(&p);
    return st;
}

void vt_parts_close(vt_parts *p)
{
    for (uint32_t i = 0; p->path && i < p->of; i++)
        free(p->path[i]);
    free(p->path);
    free(p->part);
    *p = (vt_parts){.count = 0};
}

/* ---- lines ---- */

/* The next line of a part without its position, which must be this one. */
static vitcl_status copy_line(FILE *to, FILE *from, char **line, size_t *room,
                              uint64_t position, const char *path)
{
    char begin[48];
    const int n =
        snprintf(begin, sizeof begin, "{\"position\":%" PRIu64 ",", position);
    const ssize_t got = getline(line, room, from);

    if (got <= n || (*line)[got - 1] != '\n' ||
        strncmp(*line, begin, (size_t)n) != 0) {
        VT_RET(vt_checksum_end(from, path)); /* the usual cause */
        VT_RET(vt_fail(VITCL_ECORRUPT,
                       "%s: the row of position %" PRIu64 " is missing", path,
                       position));
    }
    fputc('{', to);
    fwrite(*line + n, 1, (size_t)got - (size_t)n, to);
    return VITCL_OK;
}

static vitcl_status no_more(FILE *f, const char *path)
{
    const bool more = fgetc(f) != EOF;

    VT_RET(vt_checksum_end(f, path));
    if (more)
        return vt_fail(VITCL_ECORRUPT, "%s: has more rows than it should",
                       path);
    return VITCL_OK;
}

static vitcl_status merge_lines(const vt_parts *p, const char *path)
{
    vitcl_status st;
    vt_newfile to = {0};
    FILE **from = NULL;
    char *line = NULL;
    size_t room = 0;

    VT_TRY(VT_NEW(&from, p->of));
    for (uint32_t i = 0; i < p->of; i++)
        VT_TRY(vt_checksum_open(&from[i], p->path[i],
                                p->part[i].summed ? &p->part[i].sum : NULL));
    VT_TRY(vt_newfile_open(&to, path));
    for (uint64_t i = 0; i < p->rows; i++)
        VT_TRY(copy_line(to.f, from[i % p->of], &line, &room, i,
                         p->path[i % p->of]));
    for (uint32_t i = 0; i < p->of; i++)
        VT_TRY(no_more(from[i], p->path[i]));
    VT_TRY(vt_newfile_commit(&to));
done:
    for (uint32_t i = 0; from && i < p->of; i++)
        if (from[i])
            fclose(from[i]);
    free(from);
    free(line);
    vt_newfile_discard(&to);
    return st;
}

static vitcl_status merge_vectors(const vt_parts *p, const char *path)
{
    vt_vectors_part *parts = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&parts, p->of));
    for (uint32_t i = 0; i < p->of; i++)
        parts[i] = (vt_vectors_part){.path = p->path[i],
                                     .summed = p->part[i].summed,
                                     .sum = p->part[i].sum,
                                     .paths = p->part[i].paths};
    VT_TRY(vt_vectors_merge(path, parts, p->of));
done:
    free(parts);
    return st;
}

/* All parts are open at once. */
static void raise_limit(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) != 0)
        return;
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
}

/* The joined file must not take the place of a part. */
static vitcl_status check_place(const vt_parts *p, const char *path)
{
    struct stat to, part;

    if (stat(path, &to) != 0)
        return VITCL_OK;
    for (uint32_t i = 0; i < p->of; i++)
        if (stat(p->path[i], &part) == 0 && part.st_ino == to.st_ino &&
            part.st_dev == to.st_dev)
            return vt_fail(VITCL_EINVAL,
                           "%s: is the part of shard %u; name another file "
                           "with -o",
                           path, i + 1);
    return VITCL_OK;
}

vitcl_status vt_parts_join(const vt_parts *p, const char *path)
{
    if (p->missing[0])
        return vt_fail(VITCL_EINVAL, "shards %s of %u are missing", p->missing,
                       p->of);
    VT_RET(check_place(p, path));
    raise_limit();
    return strcmp(p->ending, ".jsonl") == 0 ? merge_lines(p, path)
                                            : merge_vectors(p, path);
}
