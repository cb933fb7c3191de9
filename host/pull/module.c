/*
 * module.c - the module vitcl-pull.so: HTTP by libcurl, and SHA-1 by Nettle.
 *
 * libcurl reads the variables of proxies itself. The handle is kept, so that
 * requests to one host share a connection.
 */
#include "pull/module.h"

#include <curl/curl.h>
#include <nettle/sha1.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    CONNECT_SECONDS = 20,
    SILENT_SECONDS = 30,  /* nothing came: the connection is dead */
    BRISK_LEAST = 1024,   /* bytes a second, over so long */
    OTHER_MOST = 1 << 20, /* of a body that nobody reads */
    BUFFER = 256 << 10
};

/* ---- HTTP ---- */

typedef struct call {
    vt_transfer *t;
    CURL *curl;
    double since;   /* of the window of so many seconds */
    uint64_t bytes; /* that came in it */
    bool other;     /* a body of an error or a redirection */
    bool enough;    /* of such a body */
    bool slow;
    char location[VT_URL]; /* as the head has it */
} call;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t on_line(char *text, size_t one, size_t size, void *context)
{
    static const char key[] = "location:";
    call *c = context;
    size_t n = one * size;

    c->t->line(c->t->context, text, n);
    if (n >= sizeof key && strncasecmp(text, key, sizeof key - 1) == 0) {
        text += sizeof key - 1, n -= sizeof key - 1;
        while (n && strchr(" \t", *text))
            text++, n--;
        while (n && strchr(" \t\r\n", text[n - 1]))
            n--;
        snprintf(c->location, sizeof c->location, "%.*s",
                 n < sizeof c->location ? (int)n : 0, text);
    }
    return one * size;
}

static size_t on_body(char *data, size_t one, size_t size, void *context)
{
    call *c = context;
    long status = 0;

    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    if (c->since == 0)
        c->since = seconds();
    c->bytes += one * size;
    c->other = status != 200 && status != 206;
    if (c->other) {
        c->enough = c->bytes > OTHER_MOST;
        return c->enough ? 0 : one * size;
    }
    return c->t->body(c->t->context, data, one * size, status) ? one * size : 0;
}

static int on_wait(void *context, curl_off_t total, curl_off_t done,
                   curl_off_t all_up, curl_off_t up)
{
    call *c = context;

    (void)total, (void)done, (void)all_up, (void)up;
    if (c->since > 0 && seconds() - c->since >= SILENT_SECONDS) {
        c->enough = c->other;
        c->slow = c->t->brisk && c->bytes < BRISK_LEAST * SILENT_SECONDS;
        if (c->enough || c->slow)
            return 1;
        c->since = seconds(), c->bytes = 0;
    }
    return c->t->wait(c->t->context) ? 0 : 1;
}

static void set_up(call *c, const struct curl_slist *headers, char *why)
{
    CURL *curl = c->curl;

    curl_easy_setopt(curl, CURLOPT_URL, c->t->url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "vitcl/" VITCL_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOBODY, c->t->head ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)BUFFER);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS,
                     (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_line);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_wait);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, c);
}

/* Where a redirection leads whose body was broken off: of these libcurl does
 * not say it. */
static void resolve(vt_transfer *t, const char *location)
{
    CURLU *u = curl_url();
    char *whole = NULL;

    if (u && location[0] && curl_url_set(u, CURLUPART_URL, t->url, 0) == 0 &&
        curl_url_set(u, CURLUPART_URL, location, 0) == 0 &&
        curl_url_get(u, CURLUPART_URL, &whole, 0) == 0 &&
        strlen(whole) < sizeof t->redirect)
        strcpy(t->redirect, whole);
    curl_free(whole);
    curl_url_cleanup(u);
}

static bool transfer(vt_transfer *t)
{
    static CURL *curl; /* kept */
    char why[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = NULL;
    const char *next = NULL;
    static call c; /* large */
    CURLcode code = CURLE_OUT_OF_MEMORY;

    c = (call){.t = t};
    t->status = 0, t->redirect[0] = t->why[0] = '\0', t->unreachable = false;
    if (!curl && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        curl = curl_easy_init();
    c.curl = curl;
    for (size_t i = 0; t->headers[i]; i++) {
        struct curl_slist *more = curl_slist_append(headers, t->headers[i]);

        if (!more)
            c.curl = NULL;
        else
            headers = more;
    }
    if (c.curl) {
        curl_easy_reset(curl);
        set_up(&c, headers, why);
        code = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &t->status);
        curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &next);
        if (next && strlen(next) < sizeof t->redirect)
            strcpy(t->redirect, next);
        /* The handle lives on, this buffer does not. */
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
    }
    curl_slist_free_all(headers);
    if (c.enough) { /* the head says all */
        code = CURLE_OK;
        if (t->status >= 300 && t->status < 400 && !t->redirect[0])
            resolve(t, c.location);
    }
    if (c.slow)
        snprintf(t->why, sizeof t->why, "less than %d bytes a second came",
                 BRISK_LEAST);
    else if (code != CURLE_OK)
        snprintf(t->why, sizeof t->why, "%s",
                 why[0] ? why : curl_easy_strerror(code));
    t->unreachable =
        c.slow || code == CURLE_COULDNT_RESOLVE_HOST ||
        code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT ||
        code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
        code == CURLE_PEER_FAILED_VERIFICATION ||
        code == CURLE_SSL_CACERT_BADFILE;
    return code == CURLE_OK;
}

/* ---- git's hash ---- */

static void *hash_new(void)
{
    struct sha1_ctx *h = malloc(sizeof *h);

    if (h)
        sha1_init(h);
    return h;
}

static void hash_add(void *h, const void *data, size_t size)
{
    sha1_update(h, size, data);
}

static void hash_end(void *h, char out[65])
{
    uint8_t digest[SHA1_DIGEST_SIZE];

    sha1_digest(h, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    free(h);
}

__attribute__((
    visibility("default"))) extern const vt_pull_calls vt_pull_module;
const vt_pull_calls vt_pull_module = {VITCL_VERSION, transfer, hash_new,
                                      hash_add, hash_end};
