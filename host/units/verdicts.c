/*
 * verdicts.c - results of trials on a device, kept on disk so that each trial
 * runs once: one small text file per question, next to the built programs.
 *
 * The file's name is the hash of the question, the device, its driver, the
 * version of vitcl and the sources of all kernels that the trial compiles, so
 * that a mended kernel is tried anew. The text is for people; it is rejected
 * unless it is exactly what would have been written. A caller accepts only
 * verdicts that it could have given.
 */
#include "units/verdicts.h"

#include "base/memory.h"
#include "base/user_dir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIMIT 1024

/* The file's name, and its text up to the verdict. */
static vitcl_status describe(char name[80], char **text, const vt_dev *dev,
                             const vt_subject *s)
{
    char *what = NULL, hex[65];
    vitcl_status st;

    VT_TRY(vt_format(&what, "choice %s %s", VITCL_VERSION, s->question));
    VT_TRY(vt_dev_key(hex, dev, s->sources, what));
    snprintf(name, 80, "%s.choice", hex);
    VT_TRY(vt_format(
        text, "vitcl choice 1\n%s, driver %s\n%s: ", vt_dev_info(dev)->name,
        vt_dev_info(dev)->driver, s->question));
done:
    free(what);
    return st;
}

/* One word, or two. */
static bool sound(const char *verdict, size_t n)
{
    const size_t word = strspn(verdict, "abcdefghijklmnopqrstuvwxyz0123456789");
    const size_t more = verdict[word] == ' '
                            ? 1 + strspn(verdict + word + 1,
                                         "abcdefghijklmnopqrstuvwxyz0123456789")
                            : 0;

    return word > 0 && more != 1 && word + more == n && n < VT_VERDICT;
}

bool vt_verdict_load(char out[VT_VERDICT], const vt_dev *dev,
                     const vt_subject *s)
{
    const int folder = vt_user_cache();
    char name[80], *head = NULL, *text = NULL;
    const char *why, *verdict;
    bool good = false;

    if (folder < 0)
        return false;
    if (describe(name, &head, dev, s) == VITCL_OK &&
        vt_user_text(&text, &why, folder, name, LIMIT) &&
        strncmp(text, head, strlen(head)) == 0) {
        const size_t n = strcspn(verdict = text + strlen(head), "\n");

        good = sound(verdict, n) && strcmp(verdict + n, "\n") == 0;
        if (good)
            snprintf(out, VT_VERDICT, "%.*s", (int)n, verdict);
    }
    close(folder);
    free(head);
    free(text);
    return good;
}

void vt_verdict_save(const vt_dev *dev, const vt_subject *s,
                     const char *verdict)
{
    const int folder = vt_user_cache();
    char name[80], line[VT_VERDICT + 1], *head = NULL;

    if (folder < 0)
        return;
    snprintf(line, sizeof line, "%s\n", verdict);
    if (describe(name, &head, dev, s) == VITCL_OK)
        vt_user_write(folder, name, head, strlen(head), line, strlen(line));
    close(folder);
    free(head);
}

void vt_verdict_turn(vt_turn *t, const vt_dev *dev, const char *what)
{
    char kind[544];

    snprintf(kind, sizeof kind, "%s, driver %s", vt_dev_info(dev)->name,
             vt_dev_info(dev)->driver);
    vt_turn_begin(t, what, kind);
}
