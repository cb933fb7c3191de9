/*
 * status.c - status texts and this thread's last message.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[512];

/* Keeps a message on one line, whatever a file name or a driver contains. */
static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127)
            *s = ' ';
}

vitcl_status vt_fail(vitcl_status code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    one_line(text);
    return code;
}

vitcl_status vt_fail_in(vitcl_status code, const char *format, ...)
{
    char head[sizeof text], tail[sizeof text];
    va_list args;

    va_start(args, format);
    vsnprintf(head, sizeof head, format, args);
    va_end(args);
    memcpy(tail, text, sizeof tail);
    snprintf(text, sizeof text, "%.200s: %.300s", head, tail);
    one_line(text);
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
