/*
 * cmd_pull.c - downloads models into the local cache of Hugging Face. The only
 * command that uses the network. Needs no device.
 */
#define _GNU_SOURCE /* secure_getenv() */
#include "cli/setup/model_names.h"
#include "cli/setup/options.h"
#include "pull/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const opt options[] = {OPT_DONE};

#define HUB "https://huggingface.co"
enum { TOKEN_ROOM = 512, ENDPOINT_ROOM = 1024, SIZE_ROOM = 16, MB = 1000000 };

/* ---- settings ---- */

static bool is_true(const char *name)
{
    static const char *const yes[] = {"1", "on", "yes", "true"};
    const char *value = secure_getenv(name);

    for (size_t i = 0; value && i < sizeof yes / sizeof *yes; i++)
        if (strcasecmp(value, yes[i]) == 0)
            return true;
    return false;
}

/* Without the white space around it; false: it cannot be a token. */
static bool tidy(char token[TOKEN_ROOM])
{
    static const char white[] = " \t\r\n";
    size_t n = strlen(token), skip = strspn(token, white);

    while (n > skip && strchr(white, token[n - 1]))
        n--;
    memmove(token, token + skip, n - skip);
    token[n - skip] = '\0';
    for (const char *s = token; *s; s++)
        if (*s <= ' ' || *s > '~')
            return false;
    return true;
}

static bool read_token(char token[TOKEN_ROOM], const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd < 0 ? -1 : read(fd, token, TOKEN_ROOM - 1);

    if (fd >= 0)
        close(fd);
    token[n > 0 ? n : 0] = '\0';
    return n < TOKEN_ROOM - 1;
}

/* Leaves the token empty if there is none. */
static int find_token(char token[TOKEN_ROOM])
{
    static char path[VT_HUB_PATH];
    const char *value = secure_getenv("HF_TOKEN"), *from = "HF_TOKEN";
    bool good = true;

    token[0] = '\0';
    if (value && value[0]) {
        good = snprintf(token, TOKEN_ROOM, "%s", value) < TOKEN_ROOM;
    } else if (vt_hub_variable(path, "HF_TOKEN_PATH", "") ||
               vt_hub_variable(path, "HF_HOME", "/token") ||
               vt_hub_variable(path, "XDG_CACHE_HOME", "/huggingface/token") ||
               vt_hub_variable(path, "HOME", "/.cache/huggingface/token")) {
        good = read_token(token, path);
        from = path;
    }
    return good && tidy(token)
               ? EXIT_OK
               : fail("%s: is not a token: one line of letters and digits",
                      from);
}

static int find_endpoint(char endpoint[ENDPOINT_ROOM])
{
    const char *value = secure_getenv("HF_ENDPOINT");
    size_t n;

    value = value && value[0] ? value : HUB;
    n = strlen(value);
    while (n && value[n - 1] == '/')
        n--;
    if ((strncmp(value, "https://", 8) != 0 &&
         strncmp(value, "http://", 7) != 0) ||
        n >= ENDPOINT_ROOM || strpbrk(value, " \t\r\n?#@"))
        return fail(
            "HF_ENDPOINT=%.200s: must be the address of a hub, such as " HUB,
            value);
    snprintf(endpoint, ENDPOINT_ROOM, "%.*s", (int)n, value);
    return EXIT_OK;
}

/* ---- what is said ---- */

typedef struct showing {
    progress bar;
    uint64_t before; /* bytes that were there before */
    bool started;
} showing;

static void moved(void *context, const char *file, uint64_t done,
                  uint64_t total)
{
    showing *s = context;

    if (!s->started) {
        s->started = true, s->before = done;
        progress_start(&s->bar, "MB", 0);
    }
    s->bar.total = (total - s->before) / MB; /* shards come later */
    if (s->bar.total && done >= s->before)
        progress_show(&s->bar, (done - s->before) / MB, file);
}

static const char *size_text(char out[SIZE_ROOM], uint64_t bytes)
{
    const double b = (double)bytes;

    if (bytes < 1000)
        snprintf(out, SIZE_ROOM, "%d bytes", (int)bytes);
    else if (bytes < MB)
        snprintf(out, SIZE_ROOM, "%.1f kB", b / 1e3);
    else if (b < 1e9)
        snprintf(out, SIZE_ROOM, "%.1f MB", b / 1e6);
    else
        snprintf(out, SIZE_ROOM, "%.2f GB", b / 1e9);
    return out;
}

/* The cause, without the advice at its end, which is about a later run. */
static void say_again(void)
{
    const char *why = vitcl_last_error(), *end = why + strlen(why);

    for (const char *s = why; (s = strstr(s, "; ")); s++)
        end = s;
    note("%.*s; trying again", (int)(end - why), why);
}

static void say_news(void *context, vt_pull_news news, const char *file,
                     uint64_t bytes)
{
    showing *s = context;
    char size[SIZE_ROOM];

    progress_clear(&s->bar);
    size_text(size, bytes);
    switch (news) {
    case VT_PULL_FETCHED:
        note("%s: %s, hash verified", file, size);
        break;
    case VT_PULL_PRESENT:
        note("%s: %s, was there already, hash verified", file, size);
        break;
    case VT_PULL_DAMAGED:
        note("%s: the copy in the cache is damaged and is replaced", file);
        break;
    case VT_PULL_WAITING:
        note("%s: another program is downloading it; waiting for it to end",
             file);
        break;
    case VT_PULL_AGAIN:
        say_again();
        break;
    }
}

/* ---- the command ---- */

static int no_name(const char *word)
{
    return usage("%s: a name is OWNER/NAME, OWNER/NAME@REVISION, or a short "
                 "one such as vit_base_patch16_224 or ViT-B-32",
                 word);
}

static int pull_one(const char *word, const vt_pull *common)
{
    static char path[VT_PULL_PATH];
    vt_pull p = *common;
    showing s = {.started = false};
    vt_hub_named n;
    vitcl_status st;

    if (!parse_name(&n, word))
        return no_name(word);
    say_full_name();
    p.owner = n.owner, p.name = n.name;
    p.revision = n.revision ? n.revision : "main";
    p.context = &s;
    if (is_verbose())
        note("%s/%s@%s from %s into %s, %s a token", n.owner, n.name,
             p.revision, p.endpoint, p.cache, p.token ? "with" : "without");
    st = vt_pull_model(path, &p);
    progress_clear(&s.bar);
    if (st == VITCL_ESTOPPED) {
        note("stopped; the same command continues from here");
        return EXIT_STOPPED;
    }
    if (st != VITCL_OK)
        return failed();
    put_text(path, sizeof path);
    putchar('\n');
    return EXIT_OK;
}

static int run(void *into, const words *operands)
{
    static char cache[VT_HUB_PATH], token[TOKEN_ROOM], endpoint[ENDPOINT_ROOM];
    vt_pull p = {.cache = cache,
                 .endpoint = endpoint,
                 .stopped = stopped,
                 .say = say_news,
                 .moved = moved};
    vt_hub_named n;
    int code = EXIT_OK;

    (void)into;
    if (!operands->count)
        return usage(
            "no model given; name one as OWNER/NAME, or short, such as "
            "vit_base_patch16_224");
    for (size_t i = 0; i < operands->count; i++)
        if (!parse_name(&n, operands->item[i]))
            return no_name(operands->item[i]);
    RET(vt_pull_ready());
    if (is_true("HF_HUB_OFFLINE"))
        return fail("HF_HUB_OFFLINE is set: nothing is downloaded; unset it");
    if (!vt_hub_cache(cache))
        return fail("neither HF_HOME nor HOME says where the cache of Hugging "
                    "Face is");
    RET(find_endpoint(endpoint));
    RET(find_token(token));
    p.token = token[0] ? token : NULL;
    signal(SIGPIPE, SIG_IGN); /* a lost connection is an error */
    catch_stop();
    for (size_t i = 0; i < operands->count && code != EXIT_STOPPED; i++) {
        const int one = pull_one(operands->item[i], &p);

        code = one == EXIT_OK ? code : one;
    }
    return code;
}

const command cmd_pull = {
    "pull",
    "NAME|OWNER/NAME[@REVISION]...",
    "Download models by name",
    "A short NAME is one of timm's, such as vit_base_patch16_224, or of "
    "OpenCLIP's and OpenAI's, such as ViT-B-32 and ViT-B/32. Puts config and "
    "weights into the local cache of Hugging Face "
    "(HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub), where -m, timm "
    "and transformers find them by the same name, and prints the folder. Sizes "
    "and hashes are verified. After an interruption the same command "
    "continues. HF_TOKEN opens private and gated models.",
    options,
    0,
    run};
