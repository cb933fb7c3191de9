/*
 * partition.c - names, manifests and temporary files of parts.
 */
#define _GNU_SOURCE /* memmem */
#include "parts/partition.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "vitcl partition 1"
#define OWN_SUM "manifest_xxh3"
enum { MANIFEST_MAX = 65536, DEPTH = 3 };

vitcl_status vt_partition_path(char **out, const char *path, vt_shard s)
{
    static const char word[] = "{shard}";
    const char *at = strstr(path, word);

    if (!at)
        return vt_format(out, "%s", path);
    return vt_format(out, "%.*s%05u-of-%05u%s", (int)(at - path), path, s.k,
                     s.n, at + sizeof word - 1);
}

vitcl_status vt_partition_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    vitcl_status st = VITCL_OK;
    char *folder = NULL;

    if (!slash || slash == path)
        return VITCL_OK;
    VT_TRY(vt_format(&folder, "%.*s", (int)(slash - path), path));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        st = vt_fail(VITCL_EIO, "%s: cannot be created: %s", folder,
                     strerror(errno));
done:
    free(folder);
    return st;
}

/* ---- manifests ---- */

vitcl_status vt_manifest_identify(char id[65], const char *path)
{
    enum { LIMIT = 1 << 28 };
    uint8_t hash[32];
    vt_file f;

    VT_RET(vt_file_read(&f, path, LIMIT));
    vt_sha256(f.data, f.size, hash);
    vt_sha256_hex(id, hash);
    vt_file_close(&f);
    return VITCL_OK;
}

static void put_sum(vt_json_writer *w, const char *key, uint64_t sum)
{
    char digits[VT_CHECKSUM_DIGITS + 1] = "";

    vt_checksum_print(digits, sum);
    vt_json_put(w, "%s:%s", key, digits);
}

static void put_manifest(vt_json_writer *w, const vt_manifest *m)
{
    vt_json_put(w,
                "{format:'" FORMAT "' version:%s command:%s shard:%u shards:%u "
                "model_id:%s pictures_id:%s settings:%s",
                m->version, m->command, m->shard.k, m->shard.n, m->model_id,
                m->pictures_id, m->settings);
    if (m->sorted[0])
        vt_json_put(w, "sorted:%s", m->sorted);
    vt_json_put(w,
                "device:%s gemm:%s rows:%" PRIu64 " failed:%" PRIu64
                " input:%" PRIu64 " names:'%016" PRIx64 "' bytes:%" PRIu64
                " file:%s",
                m->device, m->gemm, m->rows, m->failed, m->input, m->names,
                m->bytes, m->file);
    if (m->sampled)
        put_sum(w, "sample_xxh3", m->sample);
    put_sum(w, "xxh3", m->sum);
    put_sum(w, "paths_xxh3", m->paths);
}

/* The text, and last the checksum of all before it. */
static vitcl_status write_manifest(FILE *f, const vt_manifest *m)
{
    vitcl_status st;
    vt_json_writer end = {.f = f, .more = true};
    vt_text t;
    char *head = NULL;

    VT_TRY(vt_text_open(&t));
    put_manifest(&(vt_json_writer){.f = t.f}, m);
    VT_TRY(vt_text_take(&head, &t));
    fputs(head, f);
    put_sum(&end, OWN_SUM, vt_checksum(head, strlen(head)));
    vt_json_put(&end, "}\n");
done:
    free(head);
    return st;
}

static bool text(char *out, size_t room, const vt_json *root, const char *key)
{
    const char *s;

    if (!vt_json_string(&s, vt_json_get(root, key)) || strlen(s) >= room)
        return false;
    memcpy(out, s, strlen(s) + 1);
    return true;
}

static bool number(uint64_t *out, const vt_json *root, const char *key)
{
    return vt_json_uint(out, vt_json_get(root, key));
}

static bool is_id(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static bool sum(uint64_t *out, const vt_json *root, const char *key)
{
    char digits[VT_CHECKSUM_DIGITS + 1];

    return text(digits, sizeof digits, root, key) &&
           vt_checksum_read(out, digits);
}

/* An older version's has no checksums. */
static bool read_sums(vt_manifest *m, const vt_json *root, const vt_file *file)
{
    static const char key[] = ",\"" OWN_SUM "\":";
    const char *text = (const char *)file->data,
               *at = memmem(text, file->size, key, sizeof key - 1);
    uint64_t own;

    m->summed = vt_json_get(root, OWN_SUM) || vt_json_get(root, "xxh3");
    return !m->summed ||
           (at && sum(&own, root, OWN_SUM) &&
            own == vt_checksum(text, (size_t)(at - text)) &&
            sum(&m->sum, root, "xxh3") && sum(&m->paths, root, "paths_xxh3"));
}

static bool read_manifest(vt_manifest *m, const vt_json *root)
{
    char format[32], hash[17];
    uint64_t k, n;

    if (!text(format, sizeof format, root, "format") ||
        strcmp(format, FORMAT) != 0 ||
        !text(m->version, sizeof m->version, root, "version") ||
        !text(m->command, sizeof m->command, root, "command") ||
        !number(&k, root, "shard") || !number(&n, root, "shards") || k < 1 ||
        k > n || n > VT_SHARDS_MAX ||
        !text(m->model_id, sizeof m->model_id, root, "model_id") ||
        !text(m->pictures_id, sizeof m->pictures_id, root, "pictures_id") ||
        !is_id(m->model_id) || !is_id(m->pictures_id) ||
        !text(m->settings, sizeof m->settings, root, "settings") ||
        (vt_json_get(root, "sorted") &&
         !text(m->sorted, sizeof m->sorted, root, "sorted")) ||
        !text(m->device, sizeof m->device, root, "device") ||
        !text(m->gemm, sizeof m->gemm, root, "gemm") ||
        !number(&m->rows, root, "rows") ||
        !number(&m->failed, root, "failed") || m->failed > m->rows ||
        !number(&m->input, root, "input") ||
        !text(hash, sizeof hash, root, "names") ||
        strspn(hash, "0123456789abcdef") != 16 ||
        !number(&m->bytes, root, "bytes") ||
        !text(m->file, sizeof m->file, root, "file") || !m->file[0] ||
        strchr(m->file, '/'))
        return false;
    m->shard = (vt_shard){(uint32_t)k, (uint32_t)n};
    m->names = strtoull(hash, NULL, 16);
    m->sampled = vt_json_get(root, "sample_xxh3") != NULL;
    return !m->sampled || sum(&m->sample, root, "sample_xxh3");
}

vitcl_status vt_manifest_load(vt_manifest *out, const char *path)
{
    vitcl_status st;
    vt_json *root = NULL;
    vt_manifest m = {.rows = 0};
    vt_file file = {0};

    VT_TRY(vt_file_read(&file, path, MANIFEST_MAX));
    VT_TRY(
        vt_json_parse(&root, (const char *)file.data, file.size, DEPTH, path));
    if (!read_manifest(&m, root) || !read_sums(&m, root, &file))
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: not a manifest of vitcl, or damaged; remove it "
                       "and run the shard again",
                       path));
    *out = m;
done:
    vt_json_free(root);
    vt_file_close(&file);
    return st;
}

vitcl_status vt_manifest_agrees(const vt_manifest *a, const vt_manifest *b,
                                const char *path)
{
    const char *what = NULL;

    if (strcmp(a->command, b->command) != 0)
        what = "by another command";
    else if (strcmp(a->version, b->version) != 0)
        what = "by another version of vitcl";
    else if (a->shard.n != b->shard.n)
        what = "with another number of shards";
    else if (strcmp(a->model_id, b->model_id) != 0)
        what = "with another model";
    else if (strcmp(a->pictures_id, b->pictures_id) != 0)
        what = "with another preparation of pictures";
    else if (strcmp(a->settings, b->settings) != 0)
        what = "with other settings";
    if (what)
        return vt_fail(VITCL_EINVAL, "%s: was written %s (%.200s)", path, what,
                       b->settings);
    return VITCL_OK;
}

static vitcl_status beside(char **out, const char *path)
{
    return vt_format(out, "%s" VT_MANIFEST, path);
}

vitcl_status vt_partition_finished(bool *out, vt_manifest *found,
                                   const char *path, const vt_manifest *wanted)
{
    vitcl_status st;
    char *name = NULL;
    struct stat s;
    vt_manifest m;

    VT_TRY(beside(&name, path));
    *out = false;
    if (!vt_path_exists(name) || stat(path, &s) != 0)
        goto done;
    VT_TRY(vt_manifest_load(&m, name));
    VT_TRY(vt_manifest_agrees(wanted, &m, path));
    if (m.shard.k != wanted->shard.k)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: is shard %u of %u; put {shard} into the name", path,
                       m.shard.k, m.shard.n));
    *out = (uint64_t)s.st_size == m.bytes; /* else it is damaged */
    *found = m;
done:
    free(name);
    return st;
}

vitcl_status vt_partition_same_input(const vt_manifest *found, const char *path,
                                     const vt_manifest *asked)
{
    if (found->input != asked->input || found->names != asked->names)
        return vt_fail(VITCL_EINVAL,
                       "%s: was written for other pictures (%" PRIu64
                       ") than are named now (%" PRIu64
                       "); name those, or remove its " VT_MANIFEST
                       " file to write it anew",
                       path, found->input, asked->input);
    if (found->sampled && asked->sampled && found->sample != asked->sample)
        return vt_fail(VITCL_EINVAL,
                       "%s: its pictures have changed since it was written; "
                       "remove its " VT_MANIFEST " file to write it anew",
                       path);
    return VITCL_OK;
}

void vt_manifest_sample(uint64_t *sample, const char *path)
{
    uint64_t known[3] = {*sample, 0, 0}; /* a file that is missing: zeros */
    size_t size = 0;

    (void)vt_checksum_tail(&known[2], &size, path);
    known[1] = size;
    *sample = vt_checksum(known, sizeof known);
}

/* x.paths of x.npy, which the caller frees; NULL: the part has no such file. */
static vitcl_status paths_of(char **out, const char *path)
{
    *out = NULL;
    if (!vt_path_ends(path, ".npy"))
        return VITCL_OK;
    return vt_format(out, "%.*s.paths", (int)strlen(path) - 4, path);
}

/* Reads the part once more, from memory as a rule. */
static vitcl_status sum_part(vt_manifest *m, const char *path)
{
    vitcl_status st;
    char *paths = NULL;

    m->paths = 0;
    VT_TRY(paths_of(&paths, path));
    VT_TRY(vt_checksum_file(&m->sum, path));
    if (paths)
        VT_TRY(vt_checksum_file(&m->paths, paths));
done:
    free(paths);
    return st;
}

vitcl_status vt_partition_finish(vt_manifest *m, const char *path)
{
    vitcl_status st;
    vt_newfile f = {0};
    char *name = NULL;
    struct stat s;

    VT_TRY(beside(&name, path));
    if (stat(path, &s) != 0)
        VT_TRY(vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno)));
    m->bytes = (uint64_t)s.st_size;
    if (strlen(vt_path_name(path)) >= sizeof m->file)
        VT_TRY(vt_fail(VITCL_EINVAL, "%s: the name is too long", path));
    snprintf(m->file, sizeof m->file, "%s", vt_path_name(path));
    VT_TRY(sum_part(m, path));
    VT_TRY(vt_newfile_open(&f, name));
    VT_TRY(write_manifest(f.f, m));
    VT_TRY(vt_newfile_commit(&f));
done:
    vt_newfile_discard(&f);
    free(name);
    return st;
}

/* ---- text ---- */

struct vt_part {
    vt_newfile file;
};

vitcl_status vt_part_open(vt_part **out, const char *path)
{
    vitcl_status st;
    vt_part *p = NULL;

    VT_TRY(VT_NEW(&p, 1));
    VT_TRY(vt_newfile_open(&p->file, path));
    *out = p, p = NULL;
done:
    vt_part_free(p);
    return st;
}

FILE *vt_part_stream(vt_part *p)
{
    return p->file.f;
}

vitcl_status vt_part_commit(vt_part *p)
{
    return vt_newfile_finish(&p->file);
}

vitcl_status vt_part_keep(char **name, uint64_t *lines, vt_part *p,
                          bool replace)
{
    vt_partial_rows whole;

    *name = NULL, *lines = 0;
    if (!p->file.f)
        return VITCL_OK;
    VT_RET(vt_partial_count(&whole, &p->file, false, UINT64_MAX));
    *lines = whole.rows;
    if (whole.rows)
        VT_RET(vt_partial_keep(name, &p->file, whole.bytes, NULL, 0, replace));
    return VITCL_OK;
}

vitcl_status vt_part_commit_new(bool *taken, vt_part *p)
{
    return vt_newfile_commit_new(taken, &p->file);
}

void vt_part_free(vt_part *p)
{
    if (!p)
        return;
    if (p->file.path)
        vt_newfile_discard(&p->file);
    free(p);
}
