/*
 * training_log.c - writes a record for each step, whole or not at all.
 */
#include "training_log.h"

#include "cli/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
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

/* Writes a complete record or nothing. An empty one had no memory: errno. */
static void append(training_log *l, const char *record, size_t size,
                   training_line *line)
{
    const off_t before = lseek(l->file, 0, SEEK_END);
    size_t at = 0;

    do {
        const ssize_t n = size ? write(l->file, record + at, size - at) : -1;

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
    } while (at < size);
}

void training_log_write(training_log *l, const vitcl_train_event *e,
                        training_line *line)
{
    vt_json_writer w = {.spaced = true};
    char *text = NULL;
    size_t n = 0;

    if (!l->path || l->file < 0)
        return;
    if ((w.f = open_memstream(&text, &n))) {
        vt_json_put(&w,
                    "{step:%llu epoch:%u loss:%.9g accuracy:%.9g lr:%.9g "
                    "pictures_per_second:%.9g",
                    (unsigned long long)e->step, e->epoch, e->loss, e->accuracy,
                    e->lr, line->rate);
        if (!isnan(e->grad_norm))
            vt_json_put(&w, "grad_norm:%.9g", e->grad_norm);
        if (e->scored)
            vt_json_put(&w, "held_out_loss:%.9g held_out_accuracy:%.9g",
                        e->held_out_loss, e->held_out_accuracy);
        if (e->scored && !isnan(e->held_out_top5))
            vt_json_put(&w, "held_out_top5:%.9g", e->held_out_top5);
        vt_json_put(&w, "saved:%i}\n", e->saved != 0);
        if (fclose(w.f) != 0)
            n = 0;
    }
    append(l, text, n, line);
    free(text);
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
