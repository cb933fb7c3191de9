/*
 * piped.c - a picture whose bytes come on standard input.
 */
#include "piped.h"

#include "walk/magic.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST ((size_t)1 << 30) /* bytes of a picture, as for a file */

static const char tga_kinds[] = {1, 2, 3, 9, 10, 11},
                  tga_bits[] = {8, 16, 24, 32};

/* Also films and parts of a header, which are no pictures in a folder. */
bool piped_begins_picture(const char *head, size_t size)
{
    if (vt_begins_picture(head, size) ||
        (size >= 8 && memcmp(head + 4, "ftyp", 4) == 0) ||
        (size >= 2 && memcmp(head, "\xff\x0a", 2) == 0))
        return true;
    if (size >= 3 && head[0] == 'P' && head[1] >= '1' && head[1] <= '7' &&
        strchr(" \t\r\n", head[2]))
        return true;
    /* TGA: no path begins with numbers like these */
    return size >= 18 && (unsigned char)head[1] <= 1 &&
           memchr(tga_kinds, head[2], sizeof tga_kinds) &&
           memchr(tga_bits, head[16], sizeof tga_bits);
}

bool piped_is_name(const char *path)
{
    static const char *const names[] = {"/dev/stdin", "/dev/fd/0",
                                        "/proc/self/fd/0"};
    struct stat st;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(path, names[i]) == 0)
            return fstat(STDIN_FILENO, &st) == 0 && !S_ISREG(st.st_mode) &&
                   !S_ISDIR(st.st_mode);
    return false;
}

ssize_t piped_get(int fd, void *to, size_t room)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    ssize_t n;

    do {
        n = read(fd, to, room);
    } while (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) &&
             poll(&input, 1, -1) > 0);
    return n;
}

bool piped_among(const words *operands)
{
    for (size_t i = 0; i < operands->count; i++)
        if (strcmp(operands->item[i], "-") == 0 ||
            piped_is_name(operands->item[i]))
            return true;
    return false;
}

const char *piped_read(char **out, size_t *size, const char *head, size_t n)
{
    size_t room = n < 1 << 16 ? 1 << 16 : 2 * n;
    char *bytes = malloc(room), *more;

    if (bytes && n)
        memcpy(bytes, head, n);
    guard_spent();
    while (bytes && !stopped()) {
        ssize_t got;

        if (n == room) {
            if (room > MOST) {
                free(bytes);
                return "the picture is larger than 1 GiB";
            }
            room *= 2;
            more = realloc(bytes, room);
            if (!more)
                break;
            bytes = more;
        }
        got = piped_get(STDIN_FILENO, bytes + n, room - n);
        if (got == 0) {
            *out = bytes;
            *size = n;
            return NULL;
        }
        if (got > 0) {
            n += (size_t)got;
        } else if (errno != EINTR) {
            free(bytes);
            return strerror(errno);
        }
    }
    free(bytes);
    return stopped() ? "stopped" : "out of memory";
}
