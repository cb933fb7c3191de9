/*
 * status.h - how every function of the library reports an error.
 *
 * vt_fail() sets this thread's one-line message and returns its code; callers
 * pass the code on with VT_TRY and clean up at one label, `done`; or, if there
 * is nothing to clean up, with VT_RET.
 */
#ifndef VT_BASE_STATUS_H
#define VT_BASE_STATUS_H
#include <vitcl.h>

#define VT_TRY(expr)                                                           \
    do {                                                                       \
        if ((st = (expr)) != VITCL_OK)                                         \
            goto done;                                                         \
    } while (0)
/* The same in a function that has nothing to free: it returns the error. */
#define VT_RET(expr)                                                           \
    do {                                                                       \
        const vitcl_status st_ = (expr);                                       \
        if (st_ != VITCL_OK)                                                   \
            return st_;                                                        \
    } while (0)

/* Sets the message (one line, no trailing full stop) and returns `code`. */
vitcl_status vt_fail(vitcl_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#ifdef __clang_analyzer__ /* which does not know that it returns `code` */
#define vt_fail(code, ...) (vt_fail((code), __VA_ARGS__), (code))
#endif
/* Prepends "prefix: " to the current message; returns `code`. */
vitcl_status vt_fail_in(vitcl_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *vt_message(void);
/* For messages: "s", for one thing "". */
const char *vt_plural(uint64_t n);

#endif
