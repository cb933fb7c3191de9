/*
 * unpack.c - the program vitcl-unpack: reads a tar archive on descriptor 0 and
 * writes its pictures to descriptor 1, as frames.h says.
 *
 *   vitcl-unpack K N FIRST    shard K of N (N 0: all); FIRST is the position of
 *                             the archive's first picture in the whole input
 *
 * It alone is linked with libarchive. Nothing is ever extracted: names are only
 * told. Before the first byte is read it gives up everything but reading,
 * writing to its pipe and memory, so that an archive that takes it over reaches
 * no file, network or process. Members are passed on in pieces: memory does not
 * grow with the archive.
 */
#include "archives/frames.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/seccomp.h"
#include "parts/shard.h"
#include "walk/magic.h"
#include "walk/suffix.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IN = 0, OUT = 1, PIECE = 1 << 16, MEMORY_MIB = 512, DAMAGED = 100 };
/* What is no picture's data, uncompressed: at most OVER_MIB, and OVER_TIMES the
 * archive's bytes. */
enum { OVER_MIB = 256, OVER_TIMES = 100 };

/* ---- the sandbox ---- */

#if defined(ARCH) && !SANITIZED
static const struct sock_filter filter[] = {
    USUAL_CALLS, UNLESS(__NR_write, 3), LOAD(args[0]), UNLESS(OUT, 1), ALLOW,
    DENY,
};
#endif

/* False: without the filter of system calls. */
static bool enter(void)
{
    struct sigaction usual = {0};
    const int flags = fcntl(IN, F_GETFL);
    sigset_t none;

    usual.sa_handler = SIG_IGN; /* the parent decides when to end */
    sigaction(SIGHUP, &usual, NULL);
    sigaction(SIGTERM, &usual, NULL);
    sigaction(SIGINT, &usual, NULL);
    sigaction(SIGPIPE, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (flags >= 0 && (flags & O_NONBLOCK)) /* the filter has no poll() */
        (void)fcntl(IN, F_SETFL, flags & ~O_NONBLOCK);
    vt_close_from(SANITIZED ? 3 : 2);
    vt_lower_limit(RLIMIT_CORE, 0);
    if (!SANITIZED)
        vt_lower_limit(RLIMIT_AS, (rlim_t)MEMORY_MIB << 20);
    return LOCK_UP(filter);
}

/* ---- frames ---- */

static void put(const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size) {
        const ssize_t n = write(OUT, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1); /* the parent is gone */
        at += n, size -= (size_t)n;
    }
}

static void frame(vt_frame_kind kind, const void *bytes, size_t size)
{
    const vt_frame head = {(uint32_t)kind, (uint32_t)size};

    put(&head, sizeof head);
    put(bytes, size);
}

static void say(vt_frame_kind kind, const char *text)
{
    frame(kind, text, strnlen(text, VT_MEMBER_NAME - 1));
}

/* ---- members ---- */

typedef struct reading {
    struct archive *a;
    vt_shard shard;
    uint64_t position; /* of the next picture */
    uint64_t data;     /* bytes read for pictures so far, of all shards */
    uint64_t begin;    /* where the member's bytes begin */
    uint64_t left[2];  /* members: no pictures, hidden */
    char head[VT_MAGIC_BYTES]; /* of the member, as far as it was read */
    size_t head_size;
    char piece[PIECE];
} reading;

static ssize_t refill(struct archive *a, void *context, const void **out)
{
    reading *r = context;
    ssize_t n;

    (void)a;
    do {
        n = read(IN, r->piece, sizeof r->piece);
    } while (n < 0 && errno == EINTR);
    *out = r->piece;
    return n;
}

/* Is the name one that stays below a folder? */
static bool stays(const char *name)
{
    if (name[0] == '/')
        return false;
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (!at[2] || at[2] == '/'))
            return false;
    }
    return true;
}

/* Would it be hidden in a folder? macOS adds ._x.jpg to each x.jpg. */
static bool hidden(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        const size_t n = strcspn(at, "/");

        if (at[0] == '.' && n > 1 && (n > 2 || at[1] != '.'))
            return true;
    }
    return false;
}

/* Why this member is no picture, though it should be one; NULL: it may be. */
static const char *refusal(struct archive_entry *e, const char *name)
{
    const la_int64_t size = archive_entry_size(e);

    if (archive_entry_hardlink(e))
        return "a link in an archive, not a picture";
    switch (archive_entry_filetype(e)) {
    case AE_IFREG:
        break;
    case AE_IFLNK:
        return "a link in an archive, not a picture";
    default:
        return "a device or a pipe in an archive, not a picture";
    }
    if (!stays(name))
        return "its name leads out of the archive";
    if (strlen(name) >= VT_MEMBER_NAME - 1)
        return "its name is too long";
    if (!archive_entry_size_is_set(e) || size < 0 ||
        size > (la_int64_t)VT_MEMBER_MIB << 20)
        return "larger than 256 MiB";
    return NULL;
}

/* An error of the archive, which is a row as well. */
static void fail(reading *r, const char *why)
{
    r->position++;
    say(VT_FRAME_NAME, "");
    say(VT_FRAME_ERROR, why);
}

/* Has it grown too large? This must not depend on the shard: all workers count
 * the same pictures. */
static bool bursts(reading *r)
{
    const uint64_t all = (uint64_t)archive_filter_bytes(r->a, 0),
                   in = (uint64_t)archive_filter_bytes(r->a, -1);

    if (all <= r->data + ((uint64_t)OVER_MIB << 20) + OVER_TIMES * in)
        return false;
    fail(r, "apart from pictures, the archive grows to more than 100 times its "
            "size; what follows is lost");
    return true;
}

/* Another worker's picture is read to its end too: the archive may end in it.
 * False: it does. */
static bool pass_on(reading *r, bool mine)
{
    uint64_t left = (uint64_t)VT_MEMBER_MIB << 20;

    left -= r->head_size;
    if (mine && r->head_size)
        frame(VT_FRAME_DATA, r->head, r->head_size);
    for (;;) {
        static char bytes[VT_FRAME_MAX];
        const la_ssize_t n = archive_read_data(r->a, bytes, sizeof bytes);

        if (n == 0) {
            r->data += (uint64_t)archive_filter_bytes(r->a, 0) - r->begin;
            frame(mine ? VT_FRAME_PICTURE : VT_FRAME_OTHER, NULL, 0);
            return true;
        }
        if (n < 0 || (uint64_t)n > left) {
            if (mine)
                say(VT_FRAME_ERROR, "the archive is cut or damaged here");
            else
                frame(VT_FRAME_OTHER, NULL, 0);
            return n == ARCHIVE_WARN;
        }
        left -= (uint64_t)n;
        if (mine)
            frame(VT_FRAME_DATA, bytes, (size_t)n);
    }
}

/* False: the archive ends here, which has been said. */
static bool pass_over(reading *r)
{
    const void *bytes;
    size_t size;
    la_int64_t at;

    while (archive_read_data_block(r->a, &bytes, &size, &at) == ARCHIVE_OK)
        if (bursts(r))
            return false;
    return true; /* if it is cut, the next header says so */
}

/* Was a part of the member's header dropped, such as a path above 1 MB? Then
 * its name is a short one for old programs. Names that are no UTF-8, and rights
 * or attributes that are not understood, are only warnings. */
static bool lacks(struct archive *a, int code)
{
    static const char *const harmless[] = {"convert", "ACL", "acl", "xattr",
                                           "Parse error"};
    const char *text = archive_error_string(a);
    bool lost = code == ARCHIVE_WARN;

    for (size_t i = 0; text && i < VT_COUNT(harmless); i++)
        lost = lost && !strstr(text, harmless[i]);
    return lost;
}

/* Do its name or its first bytes say that it is a picture? */
static bool is_picture(reading *r, const char *name)
{
    la_ssize_t n;

    if (vt_is_picture_name(name))
        return true;
    n = archive_read_data(r->a, r->head, sizeof r->head);
    r->head_size = n > 0 ? (size_t)n : 0;
    return vt_begins_picture(r->head, r->head_size);
}

/* lost: its name may be another. False: the archive ends here, which has been
 * said. */
static bool member(reading *r, struct archive_entry *e, bool lost)
{
    const char *name = archive_entry_pathname(e), *why;
    bool mine;

    r->begin = (uint64_t)archive_filter_bytes(r->a, 0);
    r->head_size = 0;
    if (!name)
        name = archive_entry_pathname_utf8(e);
    if (!name)
        name = "(a name that cannot be read)";
    if (archive_entry_filetype(e) == AE_IFDIR)
        return pass_over(r);
    if (hidden(name) && !lost) {
        r->left[1]++;
        return pass_over(r);
    }
    if (archive_entry_filetype(e) == AE_IFREG && !lost &&
        !is_picture(r, name)) {
        r->left[0]++;
        return pass_over(r);
    }
    why = lost ? "a part of its header cannot be read, perhaps its name"
               : refusal(e, name);
    say(VT_FRAME_NAME, name);
    mine = vt_shard_has(r->shard, r->position++);
    if (!why)
        return pass_on(r, mine);
    if (mine)
        say(VT_FRAME_ERROR, why);
    else
        frame(VT_FRAME_OTHER, NULL, 0);
    return pass_over(r);
}

static void read_all(reading *r)
{
    struct archive_entry *e;
    bool lost = false; /* it looks for the next header */
    int code, damaged = 0;

    do {
        code = archive_read_next_header(r->a, &e);
        if (code == ARCHIVE_RETRY && !lost && damaged++ < DAMAGED)
            fail(r, "a header in the archive is damaged; what it stands for "
                    "is lost");
        if (damaged > DAMAGED) {
            fail(r, "the archive has more than 100 damaged headers; what "
                    "follows is lost");
            return;
        }
        lost = code == ARCHIVE_RETRY;
        if (bursts(r))
            return;
        if ((code == ARCHIVE_OK || code == ARCHIVE_WARN) &&
            !member(r, e, lacks(r->a, code)))
            return;
    } while (code == ARCHIVE_OK || code == ARCHIVE_WARN ||
             code == ARCHIVE_RETRY);
    if (code != ARCHIVE_EOF)
        fail(r, archive_file_count(r->a)
                    ? "the archive is cut or damaged; what follows is lost"
                    : "not a tar archive");
}

static bool open_archive(reading *r)
{
    r->a = archive_read_new();
    return r->a && archive_read_support_format_tar(r->a) == ARCHIVE_OK &&
           archive_read_support_filter_gzip(r->a) >= ARCHIVE_WARN &&
           archive_read_support_filter_bzip2(r->a) >= ARCHIVE_WARN &&
           archive_read_support_filter_xz(r->a) >= ARCHIVE_WARN &&
           archive_read_support_filter_zstd(r->a) >= ARCHIVE_WARN &&
           archive_read_open(r->a, r, NULL, refill, NULL) == ARCHIVE_OK;
}

int main(int argc, char **argv)
{
    static reading r;

    if (argc != 4) {
        dprintf(2, "vitcl-unpack is started by vitcl, see vitcl(1)\n");
        return 2;
    }
    r.shard = (vt_shard){(uint32_t)strtoul(argv[1], NULL, 10),
                         (uint32_t)strtoul(argv[2], NULL, 10)};
    r.position = strtoull(argv[3], NULL, 10);
    /* libarchive turns the names of some archives into the locale's bytes */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
    if (!enter())
        frame(VT_FRAME_UNLOCKED, NULL, 0);
    if (open_archive(&r))
        read_all(&r);
    else
        fail(&r, "not a tar archive");
    frame(VT_FRAME_LEFT, r.left, sizeof r.left);
    frame(VT_FRAME_END, NULL, 0);
    _exit(0);
}
