/*
 * hub.c - a repository's commit and files, and a file's size and hash.
 *
 *   GET  ENDPOINT/api/models/OWNER/NAME/revision/REVISION
 *   HEAD ENDPOINT/OWNER/NAME/resolve/COMMIT/FILE
 *
 * All that the hub says is checked before it becomes part of a path.
 */
#include "pull/hub.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list is read without a look at Ctrl-C: its length limits the time. That of
 * 100000 files has about 8 MB. */
enum { TRIALS = 3, LIST_MAX = 10 << 20, DEPTH = 32 };

static bool is_hash(const char *s)
{
    const size_t n = strspn(s, "0123456789abcdef");

    return !s[n] && (n == 40 || n == 64);
}

/* A name that may stand in a snapshot's folder: no path, not hidden. */
static bool is_safe_name(const char *file)
{
    const size_t n = strspn(file, "0123456789-_."
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz");

    return n > 0 && n < VT_FILE_NAME && !file[n] && file[0] != '.';
}

/* ---- answers that are of no use ---- */

static vitcl_status refused_as_unknown(const vt_pull *p, const vt_answer *a,
                                       const char *what)
{
    if (what[0] && strcmp(a->code, "RevisionNotFound") != 0)
        return vt_fail(VITCL_EIO, "%s/%s has no file %s in revision %s (404)",
                       p->owner, p->name, what, p->revision);
    if (what[0] || strcmp(a->code, "RevisionNotFound") == 0)
        return vt_fail(VITCL_EIO,
                       "%s/%s has no revision %s: check the branch, tag or "
                       "commit (404)",
                       p->owner, p->name, p->revision);
    return vt_fail(VITCL_EIO,
                   "%s has no model %s/%s%s%s: check its name%s (404)",
                   p->endpoint, p->owner, p->name,
                   strcmp(p->revision, "main") ? " with revision " : "",
                   strcmp(p->revision, "main") ? p->revision : "",
                   p->token ? "" : ", or set HF_TOKEN if it is private");
}

vitcl_status vt_refused(const vt_pull *p, const vt_answer *a, const char *what)
{
    const char *mark = what[0] ? ": " : "";

    if (a->unreachable)
        return vt_fail(VITCL_EIO,
                       "%s cannot be reached: %s; check the network, "
                       "HF_ENDPOINT and the proxy",
                       p->endpoint, a->why);
    if (a->why[0])
        return vt_fail(VITCL_EIO,
                       "%s/%s%s%s: the connection was lost: %s; the same "
                       "command continues from there",
                       p->owner, p->name, mark, what, a->why);
    if (a->status == 404)
        return refused_as_unknown(p, a, what);
    if (a->status == 401)
        return vt_fail(VITCL_EIO,
                       p->token
                           ? "%s/%s: the token is refused, or there is no such "
                             "model: check HF_TOKEN and the name (401)"
                           : "%s/%s: no such model, or a private or gated one: "
                             "check its name, or set HF_TOKEN to a token that "
                             "may read it (401)",
                       p->owner, p->name);
    if (a->status == 403)
        return vt_fail(VITCL_EIO,
                       "%s/%s is gated or not open to you: accept its terms at "
                       "%s/%s/%s, and set HF_TOKEN to a token that may read it "
                       "(403)",
                       p->owner, p->name, p->endpoint, p->owner, p->name);
    if (a->status == 429)
        return vt_fail(VITCL_EIO,
                       "too many requests to %s: try again later%s (429)",
                       p->endpoint,
                       p->token ? "" : ", or set HF_TOKEN for a higher limit");
    return vt_fail(VITCL_EIO, "%s/%s%s%s: %s answers with status %ld", p->owner,
                   p->name, mark, what, p->endpoint, a->status);
}

/* The request, again after a failure that may go away. */
static vitcl_status ask(vt_answer *out, const vt_pull *p, const vt_request *r,
                        size_t *used)
{
    for (int trial = 1;; trial++) {
        if (used)
            *used = 0;
        VT_RET(vt_http(out, p, r));
        if (trial == TRIALS || !vt_http_transient(out))
            break;
        VT_RET(vt_http_pause(p, trial));
    }
    return VITCL_OK;
}

/* ---- the repository ---- */

typedef struct text {
    char *data;
    size_t used, room;
    bool too_long;
} text;

static bool keep(void *context, const vt_answer *head, const void *data,
                 size_t size)
{
    text *t = context;

    (void)head;
    t->too_long = size > LIST_MAX - t->used;
    if (t->too_long ||
        vt_grow(&t->data, &t->room, t->used + size, 1) != VITCL_OK)
        return false;
    memcpy(t->data + t->used, data, size);
    t->used += size;
    return true;
}

/* A revision in an address: refs/pr/1 is refs%2Fpr%2F1 */
static void escape(char *out, size_t room, const char *s)
{
    size_t n = 0;

    for (; *s && n + 4 < room; s++) {
        if (*s == '/' || *s == '+')
            n += (size_t)snprintf(out + n, room - n, "%%%02X", *s);
        else
            out[n++] = *s;
    }
    out[n] = '\0';
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const vt_listed *)a)->file, ((const vt_listed *)b)->file);
}

static vitcl_status list(vt_repository *r)
{
    const vt_json *all = vt_json_get(r->json, "siblings");
    const size_t n = vt_json_count(all);

    VT_RET(VT_NEW(&r->listed, n + 1));
    for (const vt_json *at = vt_json_first(all); at; at = vt_json_next(at)) {
        const char *name;

        if (vt_json_string(&name, vt_json_get(at, "rfilename")) &&
            is_safe_name(name))
            r->listed[r->count++] = (vt_listed){.file = name};
    }
    qsort(r->listed, r->count, sizeof *r->listed, by_name);
    return VITCL_OK;
}

vitcl_status vt_repository_open(vt_repository *out, const vt_pull *p)
{
    static char url[VT_URL];
    static vt_answer a;
    char revision[512], name[256];
    const char *commit = "";
    vitcl_status st = VITCL_OK;
    text t = {.data = NULL};
    const vt_request r = {
        .url = url, .brisk = true, .body = keep, .context = &t};

    *out = (vt_repository){.json = NULL};
    escape(revision, sizeof revision, p->revision);
    if (snprintf(url, sizeof url, "%s/api/models/%s/%s/revision/%s",
                 p->endpoint, p->owner, p->name, revision) >= (int)sizeof url)
        return vt_fail(VITCL_EINVAL, "HF_ENDPOINT is too long");
    VT_TRY(ask(&a, p, &r, &t.used));
    if (t.too_long)
        VT_TRY(vt_fail(VITCL_EIO, "%s/%s: the list of files is too long",
                       p->owner, p->name));
    if (a.status != 200 || a.why[0]) {
        st = vt_refused(p, &a, "");
        goto done;
    }
    snprintf(name, sizeof name, "the list of files of %s/%s", p->owner,
             p->name);
    VT_TRY(
        vt_json_parse(&out->json, t.data ? t.data : "", t.used, DEPTH, name));
    if (!vt_json_string(&commit, vt_json_get(out->json, "sha")) ||
        !is_hash(commit) ||
        !vt_json_is_array(vt_json_get(out->json, "siblings")))
        VT_TRY(vt_fail(
            VITCL_EIO,
            "%s is not a hub of Hugging Face: %s names no commit or no files",
            p->endpoint, url));
    snprintf(out->commit, sizeof out->commit, "%s", commit);
    VT_TRY(list(out));
done:
    free(t.data);
    if (st != VITCL_OK)
        vt_repository_close(out);
    return st;
}

void vt_repository_close(vt_repository *r)
{
    vt_json_free(r->json);
    free(r->listed);
    *r = (vt_repository){.json = NULL};
}

vt_listed *vt_repository_find(const vt_repository *r, const char *file)
{
    const vt_listed key = {.file = file};

    return r->count ? bsearch(&key, r->listed, r->count, sizeof key, by_name)
                    : NULL;
}

/* ---- a file ---- */

vitcl_status vt_remote_url(char out[VT_URL], const vt_pull *p,
                           const char *commit, const char *file)
{
    if (snprintf(out, VT_URL, "%s/%s/%s/resolve/%s/%s", p->endpoint, p->owner,
                 p->name, commit, file) >= VT_URL)
        return vt_fail(VITCL_EINVAL, "HF_ENDPOINT is too long");
    return VITCL_OK;
}

/* W/"abc" is abc. */
static void unquote(char *s)
{
    const char *from = strncmp(s, "W/", 2) == 0 ? s + 2 : s;
    size_t n = strlen(from);

    if (n >= 2 && from[0] == '"' && from[n - 1] == '"')
        from++, n -= 2;
    memmove(s, from, n);
    s[n] = '\0';
}

vitcl_status vt_remote_ask(vt_remote *out, const vt_pull *p, const char *commit,
                           const char *file)
{
    static char url[VT_URL];
    static vt_answer a;
    const vt_request r = {.url = url, .head = true};
    char *etag;

    VT_RET(vt_remote_url(url, p, commit, file));
    VT_RET(ask(&a, p, &r, NULL));
    if (a.why[0] || (a.status != 200 && !a.linked_etag[0]) || a.status >= 400)
        return vt_refused(p, &a, file);
    if (a.commit[0] && strcmp(a.commit, commit) != 0)
        return vt_fail(VITCL_EIO, "%s: the hub answers with commit %s, not %s",
                       file, a.commit, commit);
    etag = a.linked_etag[0] ? a.linked_etag : a.etag;
    unquote(etag);
    if (!is_hash(etag))
        return vt_fail(VITCL_EIO,
                       "%s: the hub gives neither a SHA-256 nor a git hash, so "
                       "the file cannot be verified",
                       file);
    if (!a.has_linked_size && (a.status != 200 || !a.has_length))
        return vt_fail(VITCL_EIO, "%s: the hub does not give its size", file);
    snprintf(out->file, sizeof out->file, "%s", file);
    memcpy(out->hash, etag, strlen(etag) + 1);
    out->size = a.has_linked_size ? a.linked_size : a.length;
    return VITCL_OK;
}
