/*
 * status.c - status texts and this thread's last message.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    LONG = 3 * 4096, /* a message with two paths */
    START = 200      /* bytes that a message that is cut begins with */
};

#undef vt_fail /* the analyzer's */

static _Thread_local char text[512];

/* Keeps a message on one line, whatever a file name or a driver contains. */
static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127)
            *s = ' ';
}

/* Not the first byte of a character. */
static bool continues(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Cuts a long message in the middle, between characters: it begins with the
 * file and ends with the reason. */
static void set_text(const char *s)
{
    const size_t n = strlen(s);
    size_t head = START, tail = n + START + sizeof "..." - sizeof text;

    if (n < sizeof text) {
        memcpy(text, s, n + 1);
    } else {
        for (int i = 0; i < 3 && continues(s[head]); i++)
            head--;
        for (int i = 0; i < 3 && continues(s[tail]); i++)
            tail++;
        snprintf(text, sizeof text, "%.*s...%s", (int)head, s, s + tail);
    }
    one_line(text);
}

vitcl_status vt_fail(vitcl_status code, const char *format, ...)
{
    char whole[LONG];
    va_list args;

    va_start(args, format);
    vsnprintf(whole, sizeof whole, format, args);
    va_end(args);
    set_text(whole);
    return code;
}

vitcl_status vt_fail_in(vitcl_status code, const char *format, ...)
{
    char whole[LONG];
    size_t n;
    va_list args;

    va_start(args, format);
    vsnprintf(whole, sizeof whole - sizeof text - 2, format, args);
    va_end(args);
    n = strlen(whole);
    snprintf(whole + n, sizeof whole - n, ": %s", text);
    set_text(whole);
    return code;
}

const char *vt_message(void)
{
    return text;
}

const char *vitcl_last_error(void)
{
    return text;
}

const char *vitcl_status_text(vitcl_status status)
{
    switch (status) {
#define X(name, value, words)                                                  \
    case VITCL_##name:                                                         \
        return words;
        VITCL_STATUS_MAP(X)
#undef X
    case VITCL_STATUS_END_:
        break;
    }
    return "unknown status";
}

const char *vt_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}
