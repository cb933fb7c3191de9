/*
 * counts.c - numbers of things in words: bytes.
 */
#include "terminal.h"

void bytes_text(char text[BYTES_TEXT], double bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
    int i = 0;

    /* As it will be rounded: 999,999 bytes are 1.0 MB. */
    for (; bytes >= (i ? 999.5 : 1000) && i < 4; i++)
        bytes /= 1000;
    snprintf(text, BYTES_TEXT, i && bytes < 99.95 ? "%.1f %s" : "%.0f %s",
             bytes, unit[i]);
}

void print_bytes(double bytes)
{
    char text[BYTES_TEXT];

    bytes_text(text, bytes);
    fputs(text, stdout);
}
