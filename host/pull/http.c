/*
 * http.c - load the module that talks HTTP, and follow redirections.
 */
#include "pull/http.h"

#include "base/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { HOPS_MAX = 10 };

/* ---- the module ---- */

static vt_module module = {
    .file = "vitcl-pull.so",
    .variable = "VITCL_PULL",
    .symbol = VT_PULL_SYMBOL,
    .purpose = "downloads models",
    .fails = "models cannot be downloaded",
#ifndef VT_PULL_CURL
    .absent = "this build cannot download: install libcurl and Nettle (on "
              "Debian libcurl4-openssl-dev and nettle-dev), then build vitcl "
              "again",
#endif
};

vitcl_status vt_pull_ready(void)
{
    return vt_module_load(&module);
}

const vt_pull_calls *vt_pull_module_calls(void)
{
    return module.loaded;
}

/* ---- the head of an answer ---- */

typedef struct hop {
    const vt_pull *p;
    const vt_request *r;
    vt_answer *answer;
} hop;

/* The value of a header line, if it has this name. */
static bool value_of(char *out, size_t room, const char *line, size_t size,
                     const char *name)
{
    const size_t n = strlen(name);

    if (size <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
        return false;
    line += n + 1, size -= n + 1;
    while (size && (*line == ' ' || *line == '\t'))
        line++, size--;
    while (size && strchr("\r\n \t", line[size - 1]))
        size--;
    if (size >= room)
        return false;
    memcpy(out, line, size);
    out[size] = '\0';
    return true;
}

static bool number_of(uint64_t *out, const char *text)
{
    uint64_t v = 0;

    if (!*text || strlen(text) > 18)
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        v = 10 * v + (uint64_t)(*text - '0');
    *out = v;
    return !*text;
}

/* "bytes 100-199/200" */
static bool range_of(uint64_t *from, char *text)
{
    char *end = strchr(text, '-');

    if (strncmp(text, "bytes ", 6) != 0 || !end)
        return false;
    *end = '\0';
    return number_of(from, text + 6);
}

static void on_line(void *context, const char *line, size_t size)
{
    const hop *h = context;
    vt_answer *a = h->answer;
    char text[VT_ETAG];

    if (size > 5 && strncmp(line, "HTTP/", 5) == 0)
        *a = (vt_answer){.status = 0};
    else if (value_of(text, sizeof text, line, size, "ETag"))
        strcpy(a->etag, text);
    else if (value_of(text, sizeof text, line, size, "X-Linked-Etag"))
        strcpy(a->linked_etag, text);
    else if (value_of(text, sizeof a->commit, line, size, "X-Repo-Commit"))
        strcpy(a->commit, text);
    else if (value_of(text, sizeof a->code, line, size, "X-Error-Code"))
        strcpy(a->code, text);
    else if (value_of(text, sizeof text, line, size, "Content-Length"))
        a->has_length = number_of(&a->length, text);
    else if (value_of(text, sizeof text, line, size, "X-Linked-Size"))
        a->has_linked_size = number_of(&a->linked_size, text);
    else if (value_of(text, sizeof text, line, size, "Content-Range"))
        a->has_from = range_of(&a->from, text);
}

static bool on_body(void *context, const void *data, size_t size, long status)
{
    const hop *h = context;

    h->answer->status = status;
    return !h->p->stopped() && h->r->body(h->r->context, h->answer, data, size);
}

static bool on_wait(void *context)
{
    const hop *h = context;

    return !h->p->stopped();
}

/* ---- redirections ---- */

/* "https://host:port" of a URL. */
static size_t origin(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
}

/* Compared as text: another spelling of one host is another host. */
static bool same_origin(const char *a, const char *b)
{
    const size_t n = origin(a);

    return n > 0 && n == origin(b) && strncmp(a, b, n) == 0;
}

static bool one_hop(vt_answer *out, char next[VT_URL], const vt_pull *p,
                    const vt_request *r, const char *url)
{
    char range[64], authorization[1024], match[VT_ETAG + 16];
    const char *headers[6] = {"Accept-Encoding: identity"};
    size_t n = 1;
    hop h = {p, r, out};
    vt_transfer t = {.url = url,
                     .headers = headers,
                     .head = r->head,
                     .brisk = r->brisk,
                     .line = on_line,
                     .body = on_body,
                     .wait = on_wait,
                     .context = &h};
    bool whole;

    if (r->from) {
        snprintf(range, sizeof range, "Range: bytes=%llu-",
                 (unsigned long long)r->from);
        headers[n++] = range;
    }
    if (same_origin(url, p->endpoint)) {
        if (p->token) {
            snprintf(authorization, sizeof authorization,
                     "Authorization: Bearer %s", p->token);
            headers[n++] = authorization;
        }
        if (r->from && r->etag) {
            snprintf(match, sizeof match, "If-Range: \"%s\"", r->etag);
            headers[n++] = match;
        }
    }
    headers[n] = NULL;
    *out = (vt_answer){.status = 0};
    whole = vt_pull_module_calls()->transfer(&t);
    out->status = t.status;
    out->unreachable = t.unreachable;
    snprintf(out->why, sizeof out->why, "%s", whole ? "" : t.why);
    memcpy(next, t.redirect, VT_URL);
    return whole;
}

vitcl_status vt_http(vt_answer *out, const vt_pull *p, const vt_request *r)
{
    static char url[VT_URL], next[VT_URL];

    if (snprintf(url, sizeof url, "%s", r->url) >= (int)sizeof url)
        return vt_fail(VITCL_EINVAL, "%.100s..: the address is too long",
                       r->url);
    for (int i = 0; i < HOPS_MAX; i++) {
        const bool whole = one_hop(out, next, p, r, url);

        if (p->stopped())
            return vt_fail(VITCL_ESTOPPED, "stopped");
        if (!whole || out->status < 300 || out->status >= 400 || !next[0] ||
            (r->head && out->linked_etag[0]))
            return VITCL_OK;
        if (strncmp(url, "https:", 6) == 0 && strncmp(next, "https:", 6) != 0)
            return vt_fail(VITCL_EIO,
                           "%.*s redirects to an address without encryption, "
                           "%.*s",
                           (int)origin(url), url, (int)origin(next), next);
        memcpy(url, next, sizeof url);
    }
    return vt_fail(VITCL_EIO, "%.*s redirects in circles", (int)origin(r->url),
                   r->url);
}

bool vt_http_transient(const vt_answer *a)
{
    return a->why[0] ? !a->unreachable
                     : a->status == 408 || a->status == 429 ||
                           (a->status >= 500 && a->status != 501);
}

vitcl_status vt_http_pause(const vt_pull *p, int trial)
{
    const struct timespec tenth = {.tv_nsec = 100000000};

    for (int i = 0; i < 5 << (trial - 1); i++) {
        if (p->stopped())
            return vt_fail(VITCL_ESTOPPED, "stopped");
        nanosleep(&tenth, NULL);
    }
    return VITCL_OK;
}
