/*
 * decisions.c - results of trials on a device, kept on disk so that each trial
 * runs once: one small text file per question, next to the built programs.
 *
 * The file's name is the hash of the question, the device, its driver, the
 * version of vitcl and the kernels that were tried. The text is for people; it
 * is rejected unless it is exactly what would have been written. A caller
 * accepts only answers that it could have given.
 */
#include "gemm/decisions.h"

#include "base/memory.h"
#include "base/sha256.h"
#include "base/user_dir.h"
#include "ocl/cache.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIMIT 1024

/* The file's name, and its text up to the answer. */
static vitcl_status describe(char name[80], char **text, const vt_dev *dev,
                             const char *question)
{
    char *a = NULL, *b = NULL, *c = NULL, *d = NULL, *options = NULL, hex[65];
    vt_cache_key key;
    vitcl_status st;

    VT_TRY(vt_source_read(&a, "gemm_rows"));
    VT_TRY(vt_source_read(&b, "gemm_dot"));
    VT_TRY(vt_source_read(&c, "gemm_dot_pack"));
    VT_TRY(vt_source_read(&d, "gemm_dot_rows"));
    VT_TRY(vt_format(&options, "choice %s %s\n%s%s", VITCL_VERSION, question, c,
                     d));
    key = vt_cache_key_of(dev, a, b, options);
    vt_sha256_hex(hex, key.hash);
    snprintf(name, 80, "%s.choice", hex);
    VT_TRY(vt_format(
        text, "vitcl choice 1\n%s, driver %s\n%s: ", vt_dev_info(dev)->name,
        vt_dev_info(dev)->driver, question));
done:
    free(a);
    free(b);
    free(c);
    free(d);
    free(options);
    return st;
}

bool vt_decision_load(char out[VT_DECISION], const vt_dev *dev,
                      const char *question)
{
    const int folder = vt_cache_folder();
    char name[80], *head = NULL, *text = NULL;
    const char *why, *answer;
    bool good = false;
    size_t n;

    if (folder < 0)
        return false;
    if (describe(name, &head, dev, question) == VITCL_OK &&
        vt_user_text(&text, &why, folder, name, LIMIT) &&
        strncmp(text, head, strlen(head)) == 0) {
        answer = text + strlen(head);
        n = strspn(answer, "abcdefghijklmnopqrstuvwxyz0123456789");
        good = n > 0 && n < VT_DECISION && strcmp(answer + n, "\n") == 0;
        if (good)
            snprintf(out, VT_DECISION, "%.*s", (int)n, answer);
    }
    close(folder);
    free(head);
    free(text);
    return good;
}

void vt_decision_save(const vt_dev *dev, const char *question,
                      const char *answer)
{
    const int folder = vt_cache_folder();
    char name[80], line[VT_DECISION + 1], *head = NULL;

    if (folder < 0)
        return;
    snprintf(line, sizeof line, "%s\n", answer);
    if (describe(name, &head, dev, question) == VITCL_OK)
        vt_user_write(folder, name, head, strlen(head), line, strlen(line));
    close(folder);
    free(head);
}

void vt_decision_turn(vt_turn *t, const vt_dev *dev, const char *what)
{
    char kind[544];

    snprintf(kind, sizeof kind, "%s, driver %s", vt_dev_info(dev)->name,
             vt_dev_info(dev)->driver);
    vt_turn_begin(t, what, kind);
}
