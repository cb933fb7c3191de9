/*
 * magic.c - stricter than the decoder: most of the files that are asked about
 * here are none. A text may begin with BM or P1; TGA has no magic number.
 */
#include "walk/magic.h"

#include "base/memory.h"

#include <string.h>

static bool is_pnm(const char *head, size_t size)
{
    size_t at = 2;

    if (size < 4 || head[0] != 'P' || head[1] < '1' || head[1] > '6')
        return false;
    while (at < size && head[at] && strchr(" \t\r\n", head[at]))
        at++;
    return at > 2 && at < size &&
           (head[at] == '#' || (head[at] >= '0' && head[at] <= '9'));
}

/* The size of the second header, which is small, ends with zeros. */
static bool is_bmp(const char *head, size_t size)
{
    return size >= 18 && memcmp(head, "BM", 2) == 0 && head[14] >= 12 &&
           memcmp(head + 15, "\0\0", 3) == 0;
}

bool vt_begins_picture(const char *head, size_t size)
{
    static const struct {
        const char *magic;
        size_t at, length;
    } kinds[] = {
#define KIND(at, text) {text, at, sizeof text - 1}
        KIND(0, "\xff\xd8\xff"),
        KIND(0, "\x89PNG\r\n"),
        KIND(0, "8BPS\0"),
        KIND(8, "WEBPVP8"),
        KIND(0, "II*\0"),
        KIND(0, "MM\0*"),
        KIND(0, "II+\0"),
        KIND(0, "MM\0+"),
        KIND(4, "ftypavi"),
        KIND(4, "ftyphei"),
        KIND(4, "ftyphev"),
        KIND(4, "ftypmif1"),
        KIND(4, "ftypmsf1"),
        KIND(4, "ftypcrx "),
        KIND(0, "FUJIFILMCCD-RAW"),
        KIND(0, "IIRO"),
        KIND(0, "IIRS"),
        KIND(0, "MMOR"),
        KIND(0, "IIU\0"),
        KIND(6, "HEAPCCDR"),
        KIND(0, "\0MRM"),
        KIND(0, "FOVb"),
        KIND(4, "jP  \r\n\x87\n"),
        KIND(4, "JXL \r\n\x87\n"),
#undef KIND
    };

    for (size_t i = 0; i < VT_COUNT(kinds); i++)
        if (size >= kinds[i].at + kinds[i].length &&
            memcmp(head + kinds[i].at, kinds[i].magic, kinds[i].length) == 0)
            return true;
    /* a path may begin with GIF89a, too, but has no NUL */
    if (size >= 16 && memchr(head, 0, 16) &&
        (memcmp(head, "GIF87a", 6) == 0 || memcmp(head, "GIF89a", 6) == 0))
        return true;
    return is_pnm(head, size) || is_bmp(head, size);
}
