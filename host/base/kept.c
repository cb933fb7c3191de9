/*
 * kept.c - a file of the cache begins with two lines:
 *
 *   vitcl KIND 2
 *   KEY CHECKSUM
 *
 * It is written atomically (temporary name, rename), so processes need no
 * locks. A read marks it as used. The first that a process writes makes it
 * evict: files not used for as long as their kind allows are removed, then the
 * least recently used until the rest is within the limit. Others may read and
 * write meanwhile: a file that disappears under them is made again, and the
 * files that they write are the newest and so the last to be removed. Files
 * with other names are never touched.
 */
#include "base/kept.h"

#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY ((time_t)86400)
#define MOST_BYTES ((uint64_t)256 << 20) /* of all files together */

/* What is kept. Contents that a version reads otherwise need another number in
 * FORMAT, or another name. */
static const struct {
    const char *name;
    size_t most; /* bytes of a file */
    int days;    /* for which it is kept unused */
} kinds[] = {
    [VT_KEPT_PROGRAM] = {"program", VT_KEPT_MOST, 90},
    [VT_KEPT_JOINT] = {"joint", sizeof(vt_kept_key), 90},
    [VT_KEPT_VERDICT] = {"verdict", 1024, 90},
    [VT_KEPT_PICTURES] = {"pictures", VT_KEPT_MOST, 90},
    [VT_KEPT_LABELS] = {"labels", VT_KEPT_MOST, 90},
    [VT_KEPT_WORDS] = {"words", VT_KEPT_MOST, 90},
    /* programs and verdicts of vitcl 0.2.0, which this version only removes */
    {"bin", 0, 30},
    {"choice", 0, 30},
};
#define FORMAT "vitcl %s 2\n%s "

enum { HEAD_MAX = 128, PARTS_MAX = 8 };

/* ---- names ---- */

vitcl_status vt_kept_setting(void)
{
    const char *word = vt_getenv("VITCL_CACHE");

    return !word || !*word || vt_kept_off()
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL,
                         "VITCL_CACHE is \"%.40s\"; it can be off", word);
}

bool vt_kept_off(void)
{
    const char *word = vt_getenv("VITCL_CACHE");

    return word && strcmp(word, "off") == 0;
}

/* -1: none. */
static int open_folder(bool make)
{
    return vt_kept_off() ? -1 : vt_user_folder(VT_USER_CACHE, make);
}

bool vt_kept_on(void)
{
    const int folder = open_folder(true);

    if (folder >= 0)
        close(folder);
    return folder >= 0;
}

void vt_kept_tell(void)
{
    char path[4096] = "";

    if (!vt_logs())
        return;
    (void)vt_user_path(path, sizeof path, VT_USER_CACHE);
    if (vt_kept_on())
        vt_log("cache: %s", path);
    else if (vt_kept_off())
        vt_log("cache: disabled by VITCL_CACHE=off");
    else
        vt_log("cache: none; %s%s", path[0] ? path : "HOME is not set",
               path[0] ? " cannot be used" : "");
}

/* Names the file, and opens the folder; -1: none. */
static int find(char name[88], vt_kept_kind kind, const vt_kept_key *key,
                bool make)
{
    vt_sha256_hex(name, key->hash);
    snprintf(name + 64, 24, ".%s", kinds[kind].name);
    return open_folder(make);
}

/* The first lines, up to the checksum. */
static size_t begin_head(char out[HEAD_MAX], vt_kept_kind kind,
                         const vt_kept_key *key)
{
    char hex[65];

    vt_sha256_hex(hex, key->hash);
    return (size_t)snprintf(out, HEAD_MAX, FORMAT, kinds[kind].name, hex);
}

/* Of what follows the head. Numbers are in the machine's order of bytes, which
 * is summed, too. */
static bool begin_sum(vt_summing **out)
{
    const uint32_t order = 0x01020304;

    if (vt_summing_new(out) != VITCL_OK)
        return false;
    vt_summing_add(*out, &order, sizeof order);
    return true;
}

/* ---- reading ---- */

static bool read_head(vt_kept_file *f, vt_kept_kind kind,
                      const vt_kept_key *key)
{
    char want[HEAD_MAX], head[HEAD_MAX];
    const size_t n = begin_head(want, kind, key),
                 all = n + VT_CHECKSUM_DIGITS + 1;
    struct stat st;

    if (!vt_user_file(f->fd) || fstat(f->fd, &st) != 0 ||
        st.st_size < (off_t)all || vt_read_at(f->fd, head, all, 0) != 0 ||
        memcmp(head, want, n) != 0 || !vt_checksum_read(&f->sum, head + n) ||
        head[all - 1] != '\n')
        return false;
    f->at = all;
    f->left = (size_t)st.st_size - all;
    return f->left <= kinds[kind].most && begin_sum(&f->summing);
}

bool vt_kept_open(vt_kept_file *f, vt_kept_kind kind, const vt_kept_key *key)
{
    *f = (vt_kept_file){.fd = -1};
    f->folder = find(f->name, kind, key, false);
    if (f->folder < 0)
        return false;
    f->fd = vt_user_open(f->folder, f->name);
    if (f->fd < 0) {
        close(f->folder);
        return false;
    }
    return read_head(f, kind, key) || vt_kept_close(f, false);
}

bool vt_kept_read(vt_kept_file *f, void *out, size_t size)
{
    if (size > f->left || vt_read_at(f->fd, out, size, f->at) != 0)
        return false;
    f->at += size, f->left -= size;
    if (f->summing)
        vt_summing_add(f->summing, out, size);
    return true;
}

bool vt_kept_close(vt_kept_file *f, bool good)
{
    good = good && f->left == 0 && vt_summing_take(f->summing) == f->sum;
    if (good)
        vt_user_used(f->fd);
    else
        unlinkat(f->folder, f->name, 0);
    vt_summing_free(f->summing);
    close(f->fd);
    close(f->folder);
    return good;
}

bool vt_kept_get(void **out, size_t *size, vt_kept_kind kind,
                 const vt_kept_key *key)
{
    vt_kept_file f;
    char *bytes = NULL;

    if (!vt_kept_open(&f, kind, key))
        return false;
    *size = f.left;
    if (!vt_kept_close(&f, VT_NEW(&bytes, f.left + 1) == VITCL_OK &&
                               vt_kept_read(&f, bytes, f.left))) {
        free(bytes);
        return false;
    }
    *out = bytes;
    return true;
}

bool vt_kept_has(vt_kept_kind kind, const vt_kept_key *key)
{
    char name[88];
    const int folder = find(name, kind, key, false);
    struct stat st;
    const bool found = folder >= 0 &&
                       fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISREG(st.st_mode);

    if (folder >= 0)
        close(folder);
    return found;
}

/* ---- writing ---- */

bool vt_kept_put(vt_kept_kind kind, const vt_kept_key *key,
                 const vt_user_part *parts, size_t n)
{
    static atomic_bool evicted;
    char name[88], head[HEAD_MAX];
    const int folder = find(name, kind, key, true);
    vt_user_part all[1 + PARTS_MAX];
    vt_summing *sum = NULL;
    size_t used, size = 0;
    bool good;

    if (folder < 0)
        return false;
    good = n <= PARTS_MAX && begin_sum(&sum);
    for (size_t i = 0; i < n && good; i++) {
        vt_summing_add(sum, parts[i].data, parts[i].size);
        good = parts[i].size <= kinds[kind].most - size;
        size += parts[i].size;
        all[1 + i] = parts[i];
    }
    if (good) {
        used = begin_head(head, kind, key);
        vt_checksum_print(head + used, vt_summing_take(sum));
        head[used + VT_CHECKSUM_DIGITS] = '\n';
        all[0] = (vt_user_part){head, used + VT_CHECKSUM_DIGITS + 1};
        good = vt_user_write(folder, name, all, n + 1);
    }
    if (!atomic_exchange(&evicted, true))
        vt_kept_evict(folder, MOST_BYTES, time(NULL));
    vt_summing_free(sum);
    close(folder);
    return good;
}

void vt_kept_drop(vt_kept_kind kind, const vt_kept_key *key)
{
    char name[88];
    const int folder = find(name, kind, key, false);

    if (folder < 0)
        return;
    unlinkat(folder, name, 0);
    close(folder);
}

/* ---- evicting ---- */

typedef struct file {
    char name[128];
    time_t used;
    uint64_t bytes;
} file;

static int by_use(const void *a, const void *b)
{
    const time_t x = ((const file *)a)->used, y = ((const file *)b)->used;

    return (x > y) - (x < y);
}

/* The days of a file's kind: 64 hex digits and its name; -1: it is none of
 * ours. A temporary name adds a process id: its writer is gone after a day. */
static int days_of(const char *name)
{
    if (strspn(name, "0123456789abcdef") != 64 || name[64] != '.')
        return -1;
    for (size_t i = 0; i < VT_COUNT(kinds); i++) {
        const size_t n = strlen(kinds[i].name);

        if (strncmp(name + 65, kinds[i].name, n) == 0 &&
            (name[65 + n] == '.' || !name[65 + n]))
            return name[65 + n] ? 1 : kinds[i].days;
    }
    return -1;
}

/* Lists what has not expired. */
static size_t list(file **out, DIR *dir, int folder, time_t now)
{
    size_t n = 0, cap = 0;
    const struct dirent *e;
    struct stat st;

    while ((e = readdir(dir))) {
        const int days = days_of(e->d_name);

        if (days < 0 ||
            fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (st.st_mtime < now - days * DAY) {
            unlinkat(folder, e->d_name, 0);
            continue;
        }
        if (vt_grow(out, &cap, n + 1, sizeof **out) != VITCL_OK)
            break;
        (*out)[n].used = st.st_mtime;
        (*out)[n].bytes = (uint64_t)st.st_size;
        snprintf((*out)[n++].name, sizeof(*out)->name, "%.127s", e->d_name);
    }
    return n;
}

void vt_kept_evict(int folder, uint64_t most_bytes, time_t now)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    file *files = NULL;
    uint64_t total = 0;
    size_t n;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    n = list(&files, dir, folder, now);
    for (size_t i = 0; i < n; i++)
        total += files[i].bytes;
    if (n)
        qsort(files, n, sizeof *files, by_use);
    for (size_t i = 0; i < n && total > most_bytes; i++) {
        unlinkat(folder, files[i].name, 0);
        total -= files[i].bytes;
    }
    free(files);
    closedir(dir);
}
