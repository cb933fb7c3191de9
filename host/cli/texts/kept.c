/*
 * kept.c - labels' vectors in the cache, so that a second start with the same
 * labels needs no text tower.
 *
 * A file's name is the SHA-256 of all that the vectors depend on, and ends in
 * .labels. The file holds that hash again and a checksum. Whatever is wrong
 * with it, the vectors are computed; host/ocl/evict.c removes what has not been
 * used for long.
 */
#include "base/checksum.h"
#include "base/sha256.h"
#include "base/user_dir.h"
#include "label_set.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct kept_head {
    char format[16];
    uint8_t key[KEPT_KEY];
    uint64_t sum; /* of what follows, and of the vectors' own checksum */
    uint64_t vectors;
    uint32_t labels, width, answer;
    float scale, bias;
    uint32_t zero;
} kept_head;
static const char format[16] = "vitcl labels 1\n";
enum { NAME = 80 };

static void name_of(char out[NAME], const uint8_t key[KEPT_KEY])
{
    char hex[65];

    vt_sha256_hex(hex, key);
    snprintf(out, NAME, "%s.labels", hex);
}

static uint64_t head_sum(const kept_head *h)
{
    return vt_checksum(&h->vectors, sizeof *h - offsetof(kept_head, vectors));
}

static size_t bytes(const label_set *s)
{
    return s->labels.count * s->width * sizeof *s->vector;
}

static bool fits(const kept_head *h, const label_set *s,
                 const uint8_t key[KEPT_KEY])
{
    return memcmp(h->format, format, sizeof format) == 0 &&
           memcmp(h->key, key, KEPT_KEY) == 0 && h->sum == head_sum(h) &&
           h->labels == s->labels.count && h->width == s->width &&
           (h->answer == VITCL_ONE_CLASS || h->answer == VITCL_ANY_CLASSES) &&
           isfinite(h->scale) && isfinite(h->bias);
}

static bool read_all(label_set *s, int fd, const uint8_t key[KEPT_KEY])
{
    kept_head h;
    struct stat st;

    if (!vt_user_file(fd) || fstat(fd, &st) != 0 ||
        (uintmax_t)st.st_size != sizeof h + bytes(s) ||
        !vt_user_read(fd, &h, sizeof h) || !fits(&h, s, key) ||
        !vt_user_read(fd, s->vector, bytes(s)) ||
        vt_checksum(s->vector, bytes(s)) != h.vectors)
        return false;
    s->answer = (vitcl_answer)h.answer;
    s->scale = h.scale, s->bias = h.bias;
    return true;
}

bool kept_load(label_set *s, const uint8_t key[KEPT_KEY])
{
    const int folder = vt_user_cache();
    char name[NAME];
    bool good = false;
    int fd;

    if (folder < 0)
        return false;
    name_of(name, key);
    fd = vt_user_open(folder, name);
    if (fd >= 0) {
        good = read_all(s, fd, key);
        if (good)
            vt_user_used(fd);
        close(fd);
    }
    close(folder);
    return good;
}

void kept_save(const label_set *s, const uint8_t key[KEPT_KEY])
{
    const int folder = vt_user_cache();
    kept_head h = {.labels = (uint32_t)s->labels.count,
                   .width = s->width,
                   .answer = (uint32_t)s->answer,
                   .scale = s->scale,
                   .bias = s->bias};
    char name[NAME];

    if (folder < 0)
        return;
    memcpy(h.format, format, sizeof format);
    memcpy(h.key, key, KEPT_KEY);
    h.vectors = vt_checksum(s->vector, bytes(s));
    h.sum = head_sum(&h);
    name_of(name, key);
    vt_user_write(folder, name, &h, sizeof h, s->vector, bytes(s));
    close(folder);
}
