/*
 * suffix.c - the endings of pictures' names, in folders and in archives.
 */
#include "walk/suffix.h"

#include <string.h>
#include <strings.h>

const char *vt_picture_suffix(size_t at)
{
    /* also formats that are reported as an error instead of skipped */
    static const char *const suffixes[] = {
        "jpg", "jpeg", "jpe",  "jfif", "png",  "bmp", "dib",  "psd",
        "pbm", "ppm",  "pgm",  "pnm",  "gif",  "tga", "webp", "tiff",
        "tif", "heic", "heif", "hif",  "avif", "jp2", "jxl",  "dng",
        "cr2", "cr3",  "crw",  "nef",  "arw",  "raf", "orf",  "rw2",
        "pef", "srw",  "mrw",  "x3f",  NULL};

    return suffixes[at];
}

bool vt_is_picture_name(const char *name)
{
    const char *dot = strrchr(name, '.'), *suffix;

    for (size_t i = 0; dot && dot != name && (suffix = vt_picture_suffix(i));
         i++)
        if (strcasecmp(dot + 1, suffix) == 0)
            return true;
    return false;
}
