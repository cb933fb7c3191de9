/*
 * checksum.c - sums of memory, of pieces, and of files. A file is read as a
 * stream that adds up what passes and fails at its end if it is damaged.
 */
#define _GNU_SOURCE /* fopencookie */
#include "base/checksum.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#ifdef VT_XXHASH_DISPATCH
#include <xxh_x86dispatch.h> /* AVX2 and AVX-512 where the CPU has them */
#else
#include <xxhash.h>
#endif

enum { PIECE = 1 << 16 };

uint64_t vt_checksum(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

struct vt_summing {
    XXH3_state_t *state;
};

vitcl_status vt_summing_new(vt_summing **out)
{
    vitcl_status st;
    vt_summing *s = NULL;

    VT_TRY(VT_NEW(&s, 1));
    s->state = XXH3_createState();
    if (!s->state || XXH3_64bits_reset(s->state) != XXH_OK)
        VT_TRY(vt_fail(VITCL_ENOMEM, "out of memory for a checksum"));
    *out = s, s = NULL;
done:
    vt_summing_free(s);
    return st;
}

void vt_summing_add(vt_summing *s, const void *data, size_t size)
{
    if (size) /* data may be NULL */
        (void)XXH3_64bits_update(s->state, data, size);
}

uint64_t vt_summing_take(vt_summing *s)
{
    const uint64_t sum = XXH3_64bits_digest(s->state);

    (void)XXH3_64bits_reset(s->state);
    return sum;
}

void vt_summing_free(vt_summing *s)
{
    if (!s)
        return;
    (void)XXH3_freeState(s->state);
    free(s);
}

void vt_checksum_print(char out[VT_CHECKSUM_DIGITS], uint64_t sum)
{
    for (int i = VT_CHECKSUM_DIGITS; i-- > 0; sum >>= 4)
        out[i] = "0123456789abcdef"[sum & 15];
}

bool vt_checksum_read(uint64_t *out, const char *digits)
{
    static const char all[] = "0123456789abcdef";
    uint64_t sum = 0;

    for (int i = 0; i < VT_CHECKSUM_DIGITS; i++) {
        const char *at = digits[i] ? strchr(all, digits[i]) : NULL;

        if (!at)
            return false;
        sum = sum << 4 | (uint64_t)(at - all);
    }
    *out = sum;
    return true;
}

/* ---- files ---- */

typedef struct stream {
    vt_summing *sum;
    uint64_t want;
    int fd;
    bool wanted, ended, damaged;
} stream;

static ssize_t read_some(void *cookie, char *out, size_t size)
{
    stream *s = cookie;
    ssize_t n;

    do
        n = read(s->fd, out, size);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        vt_summing_add(s->sum, out, (size_t)n);
    if (n == 0 && !s->ended) { /* stdio may ask again */
        s->ended = true;
        s->damaged = s->wanted && vt_summing_take(s->sum) != s->want;
    }
    if (n > 0 || !s->damaged)
        return n;
    errno = EBADMSG;
    return -1;
}

static int close_stream(void *cookie)
{
    stream *s = cookie;

    vt_summing_free(s->sum);
    close(s->fd);
    free(s);
    return 0;
}

vitcl_status vt_checksum_open(FILE **out, const char *path,
                              const uint64_t *want)
{
    const cookie_io_functions_t calls = {.read = read_some,
                                         .close = close_stream};
    vitcl_status st;
    stream *s = NULL;
    size_t size;
    int fd = -1;

    VT_TRY(VT_NEW(&s, 1));
    VT_TRY(vt_file_open(&fd, &size, path));
    VT_TRY(vt_summing_new(&s->sum));
    s->fd = fd;
    s->wanted = want != NULL;
    s->want = want ? *want : 0;
    *out = fopencookie(s, "r", calls);
    if (!*out)
        VT_TRY(vt_fail(VITCL_ENOMEM, "%s: out of memory", path));
    s = NULL, fd = -1;
done:
    if (s)
        vt_summing_free(s->sum);
    free(s);
    if (fd >= 0)
        close(fd);
    return st;
}

vitcl_status vt_checksum_end(FILE *f, const char *path)
{
    char piece[4096];

    clearerr(f); /* it fails again, and sets errno */
    while (!ferror(f) && fread(piece, 1, sizeof piece, f) > 0)
        ;
    if (!ferror(f))
        return VITCL_OK;
    return errno == EBADMSG
               ? vt_fail(VITCL_ECORRUPT, "%s: is damaged: its checksum differs",
                         path)
               : vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
}

vitcl_status vt_checksum_tail(uint64_t *out, size_t *size, const char *path)
{
    enum { TAIL = 4096 };
    vitcl_status st;
    char tail[TAIL];
    size_t n;
    int fd = -1;

    VT_TRY(vt_file_open(&fd, size, path));
    n = VT_MIN(*size, (size_t)TAIL);
    if (vt_read_at(fd, tail, n, *size - n) == 0)
        *out = vt_checksum(tail, n);
    else
        st = vt_fail(VITCL_EIO, "%s: cannot be read", path);
    close(fd);
done:
    return st;
}

vitcl_status vt_checksum_file(uint64_t *out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_summing *sum = NULL;
    char *piece = NULL;
    size_t size;
    int fd = -1;

    VT_TRY(vt_summing_new(&sum));
    VT_TRY(VT_NEW(&piece, PIECE));
    VT_TRY(vt_file_open(&fd, &size, path));
    for (size_t at = 0, n; at < size; at += n) {
        int error;

        n = VT_MIN(size - at, (size_t)PIECE);
        error = vt_read_at(fd, piece, n, at);
        if (error)
            VT_TRY(vt_fail(VITCL_EIO, "%s: %s", path,
                           error == VT_SHORT ? "the file shrank"
                                             : strerror(error)));
        vt_summing_add(sum, piece, n);
    }
    *out = vt_summing_take(sum);
done:
    if (fd >= 0)
        close(fd);
    free(piece);
    vt_summing_free(sum);
    return st;
}
