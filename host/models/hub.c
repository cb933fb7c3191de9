/*
 * hub.c - finds a model by its name in the local cache of Hugging Face.
 *
 *   CACHE/models--OWNER--NAME/refs/main          a commit
 *   CACHE/models--OWNER--NAME/snapshots/COMMIT/  the files, links into blobs/
 *
 * Only the disk is asked; `vitcl pull` downloads. What a name or a ref may hold
 * is checked before it becomes part of a path.
 */
#define _GNU_SOURCE /* secure_getenv() */
#include "models/hub.h"

#include "base/file.h"
#include "base/memory.h"
#include "models/model_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "models--"
enum { ENTRIES_MAX = 10000, REVISION_MAX = 128 };

static bool __attribute__((format(printf, 2, 3)))
because(char why[VT_HUB_WHY], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, VT_HUB_WHY, format, args);
    va_end(args);
    return false;
}

/* False: longer than a path may be. */
static bool __attribute__((format(printf, 2, 3)))
join(char out[VT_HUB_PATH], const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(out, VT_HUB_PATH, format, args);
    va_end(args);
    return n > 0 && n < VT_HUB_PATH;
}

static bool has_folder(const char *folder, const char *name)
{
    char path[VT_HUB_PATH];

    return join(path, "%s/%s", folder, name) && vt_path_is_folder(path);
}

/* ---- names ---- */

static bool is_plain(char c, const char *others)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || (c && strchr(others, c));
}

/* One part of a name, as Hugging Face allows it: "--" joins parts on disk. */
static bool is_part(const char *s, size_t n)
{
    if (n == 0 || strchr("-.", s[0]) || strchr("-.", s[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_plain(s[i], "-_.") ||
            (i && strchr("-.", s[i]) && s[i] == s[i - 1]))
            return false;
    return true;
}

/* A branch, a tag or a commit; it may have slashes. */
static bool is_revision(const char *s)
{
    if (!s[0] || strlen(s) > REVISION_MAX)
        return false;
    for (const char *at = s;; at++) {
        const size_t n = strcspn(at, "/");

        if (n == 0 || at[0] == '.')
            return false;
        for (size_t i = 0; i < n; i++)
            if (!is_plain(at[i], "-_.+"))
                return false;
        at += n;
        if (!*at)
            return true;
    }
}

/* OWNER/NAME or OWNER/NAME@REVISION */
static bool parse(vt_hub_named *out, const char *word)
{
    const size_t n = strcspn(word, "@"), first = strcspn(word, "/");

    if (n >= VT_HUB_NAME || first >= n || !is_part(word, first) ||
        !is_part(word + first + 1, n - first - 1) ||
        (word[n] && !is_revision(word + n + 1)))
        return false;
    snprintf(out->owner, VT_HUB_NAME, "%.*s", (int)first, word);
    snprintf(out->name, VT_HUB_NAME, "%.*s", (int)(n - first - 1),
             word + first + 1);
    out->revision = word[n] ? word + n + 1 : NULL;
    return true;
}

bool vt_hub_name(char out[VT_HUB_NAME], const char *folder)
{
    const char *owner = folder + strlen(FOLDER), *end;
    vt_hub_named n;

    if (strncmp(folder, FOLDER, strlen(FOLDER)) != 0 ||
        strlen(owner) > VT_HUB_NAME || !(end = strstr(owner, "--")))
        return false;
    snprintf(out, VT_HUB_NAME, "%.*s/%s", (int)(end - owner), owner, end + 2);
    return parse(&n, out) && !n.revision;
}

/* ---- the cache ---- */

bool vt_hub_variable(char out[VT_HUB_PATH], const char *name, const char *below)
{
    const char *value = secure_getenv(name), *home = secure_getenv("HOME");

    if (!value || !value[0])
        return false;
    if (value[0] == '~' && (value[1] == '/' || !value[1]) && home)
        return join(out, "%s%s%s", home, value + 1, below);
    return join(out, "%s%s", value, below);
}

bool vt_hub_cache(char out[VT_HUB_PATH])
{
    return vt_hub_variable(out, "HF_HUB_CACHE", "") ||
           vt_hub_variable(out, "HF_HOME", "/hub") ||
           vt_hub_variable(out, "XDG_CACHE_HOME", "/huggingface/hub") ||
           vt_hub_variable(out, "HOME", "/.cache/huggingface/hub");
}

/* ---- a repository of it ---- */

typedef enum { REF_GOOD, REF_ABSENT, REF_BAD } ref;

/* Reads the commit of a ref: hexadecimal digits, then perhaps white space. */
static ref read_ref(char commit[VT_HUB_COMMIT], const char *path)
{
    /* Non-blocking: it may be a pipe. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[VT_HUB_COMMIT + 8];
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? REF_ABSENT : REF_BAD;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        n = read(fd, text, sizeof text);
    close(fd);
    while (n > 0 && text[n - 1] && strchr(" \t\r\n", text[n - 1]))
        n--;
    if (n < 1 || n >= VT_HUB_COMMIT)
        return REF_BAD;
    for (ssize_t i = 0; i < n; i++)
        if (!strchr("0123456789abcdef", text[i]) || !text[i])
            return REF_BAD;
    memcpy(commit, text, (size_t)n);
    commit[n] = '\0';
    return REF_GOOD;
}

static bool is_npz(const char *file)
{
    return vt_path_ends(file, ".npz");
}

static bool is_weights(const char *file)
{
    static const char *const endings[] = {
        ".safetensors", ".npz",     ".bin",  ".pth",
        ".pt",          ".pth.tar", ".ckpt", ".index.json",
    };

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (vt_path_ends(file, endings[i]))
            return true;
    return false;
}

/* Is a download in progress, or was it broken off? */
static bool is_incomplete(const char *folder)
{
    char path[VT_HUB_PATH];
    DIR *dir = join(path, "%s/blobs", folder) ? opendir(path) : NULL;
    const struct dirent *e;
    bool found = false;

    for (int i = 0; dir && !found && i < ENTRIES_MAX && (e = readdir(dir)); i++)
        found = vt_path_ends(e->d_name, ".incomplete");
    if (dir)
        closedir(dir);
    return found;
}

/* Of timm and Hugging Face, or of OpenCLIP. */
static bool is_config(const char *name)
{
    return strcmp(name, "config.json") == 0 ||
           strcmp(name, "open_clip_config.json") == 0;
}

typedef struct contents {
    bool config, weights, npz;
    char lost[256]; /* a link that leads nowhere */
    uint64_t bytes;
} contents;

static bool look_inside(contents *c, const char *snapshot)
{
    DIR *dir = opendir(snapshot);
    const struct dirent *e;

    if (!dir)
        return false;
    for (int i = 0; i < ENTRIES_MAX && (e = readdir(dir)); i++) {
        const bool config = is_config(e->d_name);
        const bool weights = is_weights(e->d_name);
        struct stat st;

        if (fstatat(dirfd(dir), e->d_name, &st, 0) != 0) {
            if ((config || weights) && (errno == ENOENT || errno == ELOOP))
                snprintf(c->lost, sizeof c->lost, "%s", e->d_name);
        } else if (S_ISREG(st.st_mode)) {
            c->bytes += st.st_size > 0 ? (uint64_t)st.st_size : 0;
            c->config = c->config || config;
            c->weights = c->weights || weights;
            c->npz = c->npz || is_npz(e->d_name);
        }
    }
    closedir(dir);
    return true;
}

/* again: what to do about a download that is not complete */
static bool check_snapshot(vt_hub_snapshot *out, char why[VT_HUB_WHY],
                           const char *folder, const char *again)
{
    const char *lack;
    contents c = {.config = false};

    if (!look_inside(&c, out->path))
        return because(why, "%s: %s", out->path, strerror(errno));
    out->bytes = c.bytes;
    if (c.lost[0])
        return because(why,
                       "%s/%s is a link to a file that is missing: the "
                       "download is not complete; %s",
                       out->path, c.lost, again);
    if (c.weights && (c.config || c.npz))
        return true;
    lack = c.weights ? "config.json" : "weights (safetensors, .npz or PyTorch)";
    if (is_incomplete(folder))
        return because(why, "%s has no %s: the download is not complete; %s",
                       out->path, lack, again);
    return because(why, "%s has no %s", out->path, lack);
}

/* Of timm's models: those of the cache with another tag. */
static void add_tagged(char why[VT_HUB_WHY], const char *cache,
                       const vt_hub_named *n)
{
    const int base = (int)strcspn(n->name, ".");
    char begin[2 * VT_HUB_NAME], name[VT_HUB_NAME];
    const char *between = "; the cache has ";
    DIR *dir;
    const struct dirent *e;

    if (strcmp(n->owner, "timm") != 0)
        return;
    snprintf(begin, sizeof begin, FOLDER "timm--%.*s.", base, n->name);
    dir = opendir(cache);
    for (int i = 0; dir && i < ENTRIES_MAX && (e = readdir(dir)); i++)
        if (strncmp(e->d_name, begin, strlen(begin)) == 0 &&
            vt_hub_name(name, e->d_name)) {
            const size_t used = strlen(why);

            snprintf(why + used, VT_HUB_WHY - used, "%s%s", between, name);
            between = ", ";
        }
    if (dir)
        closedir(dir);
}

/* The snapshot of a revision, which is a ref or a commit. */
static bool open_repository(vt_hub_snapshot *out, char why[VT_HUB_WHY],
                            const char *folder, const char *revision,
                            const char *again)
{
    char path[VT_HUB_PATH];
    ref kind;

    if (!join(path, "%s/refs/%s", folder, revision))
        return because(why, "%.200s..: the path is too long", folder);
    kind = read_ref(out->commit, path);
    if (kind == REF_BAD)
        return because(why,
                       "%s is not a file with a commit; delete it, then %s",
                       path, again);
    if (kind == REF_ABSENT) {
        if (strlen(revision) >= sizeof out->commit || strchr(revision, '/') ||
            !join(path, "%s/snapshots/%s", folder, revision) ||
            !vt_path_is_folder(path))
            return because(why, "%s has no revision %s; %s", folder, revision,
                           again);
        snprintf(out->commit, sizeof out->commit, "%s", revision);
    }
    if (!join(out->path, "%s/snapshots/%s", folder, out->commit))
        return because(why, "%.200s..: the path is too long", folder);
    if (!vt_path_is_folder(out->path))
        return because(why, "%s has no snapshots/%s, which refs/%s names; %s",
                       folder, out->commit, revision, again);
    return check_snapshot(out, why, folder, again);
}

bool vt_hub_find(vt_hub_snapshot *out, char why[VT_HUB_WHY], const char *cache,
                 const char *word)
{
    char folder[VT_HUB_PATH], get[512];
    vt_hub_named n;

    if (!parse(&n, word))
        return because(why, "a name is OWNER/NAME or OWNER/NAME@REVISION");
    snprintf(get, sizeof get, "`vitcl pull %s/%s%s%s`", n.owner, n.name,
             n.revision ? "@" : "", n.revision ? n.revision : "");
    if (!join(folder, "%s/" FOLDER "%s--%s", cache, n.owner, n.name))
        return because(why, "%.200s..: the path is too long", cache);
    if (!vt_path_is_folder(folder)) {
        because(why,
                "no such path, and no " FOLDER "%s--%s in %s; "
                "download it with %s or `git clone "
                "https://huggingface.co/%s/%s`",
                n.owner, n.name, cache, get, n.owner, n.name);
        add_tagged(why, cache, &n);
        return false;
    }
    strcat(get, " downloads it");
    return open_repository(out, why, folder, n.revision ? n.revision : "main",
                           get);
}

/* ---- the word after -m ---- */

/* timm's spelling, and the address of a model's page. */
static size_t prefix(const char *word)
{
    static const char *const prefixes[] = {
        "hf-hub:",
        "hf_hub:",
        "https://huggingface.co/",
        "https://hf.co/",
    };

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
            return strlen(prefixes[i]);
    return 0;
}

/* A repository's folder, one above its snapshots. */
static bool is_repository(const char *path)
{
    char config[VT_HUB_PATH];

    return has_folder(path, "snapshots") &&
           (has_folder(path, "refs") || has_folder(path, "blobs")) &&
           join(config, "%s/config.json", path) && access(config, F_OK) != 0;
}

/* The full name of a short one, as timm, OpenCLIP and OpenAI have them, which
 * is also written to `full`; timm/NAME for another bare NAME; else the word. */
static const char *full_name(char room[VT_HUB_PATH], char full[VT_HUB_NAME],
                             const char *word)
{
    if (vt_hub_full_name(full, word))
        return join(room, "%s", full) ? room : word;
    full[0] = '\0';
    return !strchr(word, '/') && !is_weights(word) &&
                   join(room, "timm/%s", word)
               ? room
               : word;
}

bool vt_hub_parse(vt_hub_named *out, char full[VT_HUB_NAME],
                  char room[VT_HUB_PATH], const char *word)
{
    const size_t skip = prefix(word);

    full[0] = '\0';
    return parse(out, skip ? word + skip : full_name(room, full, word));
}

static bool find_named(vt_hub_place *out, const char *word)
{
    char cache[VT_HUB_PATH], room[VT_HUB_PATH], why[VT_HUB_WHY];
    const size_t skip = prefix(word);
    const char *name = skip ? word + skip : full_name(room, out->full, word);
    vt_hub_named n;

    if (!parse(&n, name))
        return !skip || /* a path: who opens it says what it lacks */
               because(out->why,
                       "%s: a name is %.*sOWNER/NAME or "
                       "%.*sOWNER/NAME@REVISION",
                       word, (int)skip, word, (int)skip, word);
    if (!vt_hub_cache(cache))
        return name == room ||
               because(out->why,
                       "%s: no such path, and neither HF_HOME nor HOME says "
                       "where the cache of Hugging Face is",
                       word);
    if (vt_hub_find(&out->found, why, cache, name)) {
        out->path = out->found.path;
        return true;
    }
    return skip || out->full[0] || strpbrk(word, "/_.")
               ? because(out->why, "%s: %s", word, why)
               : because(out->why,
                         "%s: no such file, folder or model; a model is named "
                         "like vit_base_patch16_224 or OWNER/NAME, and `vitcl "
                         "models` lists those here",
                         word);
}

/* An architecture's short name, which is not timm's, is no model's name. */
static bool is_preset(char why[VT_HUB_WHY], const char *word)
{
    char timm[96], full[VT_HUB_NAME];
    vt_shape shape;

    if (vt_hub_full_name(full, word) || !vt_preset_shape(&shape, timm, word) ||
        strcmp(timm, word) == 0)
        return false;
    because(why,
            "%s: no such path; %s is a preset, an architecture without "
            "weights: `vitcl pull %s` downloads a model, and --preset is for "
            "random weights",
            word, word, timm);
    return true;
}

bool vt_hub_locate(vt_hub_place *out, const char *word)
{
    out->path = word;
    out->full[0] = '\0';
    if (access(word, F_OK) != 0)
        return !is_preset(out->why, word) && find_named(out, word);
    if (!is_repository(word))
        return true;
    out->path = out->found.path;
    return open_repository(&out->found, out->why, word, "main",
                           "download it again");
}

vitcl_status vt_hub_path(char **out, const char *word)
{
    vt_hub_place *place = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&place, 1));
    VT_TRY(vt_hub_locate(place, word) ? vt_strdup(out, place->path)
                                      : vt_fail(VITCL_EIO, "%s", place->why));
done:
    free(place);
    return st;
}
