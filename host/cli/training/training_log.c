/*
 * training_log.c - writes a record for each step, whole or not at all.
 */
#include "training_log.h"

#include "cli/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool training_log_open(training_log *out, const char *path, bool anew)
{
    struct stat st;
    const bool made = lstat(path, &st) != 0;
    const int file = open(
        path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (anew ? O_TRUNC : 0),
        0666);

    *out = (training_log){path, file, file < 0, made && file >= 0};
    if (file < 0)
        fail("%s: %s", path, strerror(errno));
    return file >= 0;
}

static size_t put_real(char *out, size_t size, const char *key, double v)
{
    return (size_t)(isfinite(v) ? snprintf(out, size, ", \"%s\": %.9g", key, v)
                                : snprintf(out, size, ", \"%s\": null", key));
}

/* Writes a complete record or nothing. */
static void append(training_log *l, const char *record, size_t size,
                   training_line *line)
{
    const off_t before = lseek(l->file, 0, SEEK_END);
    size_t at = 0;

    while (at < size) {
        const ssize_t n = write(l->file, record + at, size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            training_line_clear(line);
            fail("%s: %s; it ends before this step", l->path,
                 strerror(n < 0 ? errno : ENOSPC));
            if (at > 0 && before >= 0 && ftruncate(l->file, before) != 0)
                note("%s: its last line is cut", l->path);
            close(l->file);
            l->file = -1, l->lost = true;
            return;
        }
        at += (size_t)n;
    }
}

void training_log_write(training_log *l, const vitcl_train_event *e,
                        training_line *line)
{
    char text[512]; /* of at most 10 short members */
    size_t n;

    if (!l->path || l->file < 0)
        return;
    n = (size_t)snprintf(text, sizeof text, "{\"step\": %llu, \"epoch\": %u",
                         (unsigned long long)e->step, e->epoch);
#define PUT(key, value) n += put_real(text + n, sizeof text - n, key, value)
    PUT("loss", e->loss);
    PUT("accuracy", e->accuracy);
    PUT("lr", e->lr);
    PUT("pictures_per_second", line->rate);
    if (e->scored) {
        PUT("held_out_loss", e->held_out_loss);
        PUT("held_out_accuracy", e->held_out_accuracy);
        if (!isnan(e->held_out_top5))
            PUT("held_out_top5", e->held_out_top5);
    }
#undef PUT
    n += (size_t)snprintf(text + n, sizeof text - n, ", \"saved\": %s}\n",
                          e->saved ? "true" : "false");
    append(l, text, n, line);
}

int training_log_close(training_log *l)
{
    int code = l->lost ? EXIT_FAILED : EXIT_OK;
    struct stat st;

    if (l->made && l->file >= 0 && fstat(l->file, &st) == 0 && st.st_size == 0)
        unlink(l->path);
    if (l->path && l->file >= 0 && close(l->file) != 0)
        code = fail("%s: %s", l->path, strerror(errno));
    *l = (training_log){0};
    return code;
}
