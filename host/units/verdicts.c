/*
 * verdicts.c - results of trials on a device, kept so that each trial runs once
 * (base/kept.h).
 *
 * The key is the question, the device, its driver, the version of vitcl, and
 * the sources of all kernels that the trial compiles, so that a mended kernel
 * is tried anew. The text is for people, too. A caller accepts only verdicts
 * that it could have given.
 */
#include "units/verdicts.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static vitcl_status key_of(vt_kept_key *key, const vt_dev *dev,
                           const vt_subject *s)
{
    char *what = NULL;
    vitcl_status st;

    VT_TRY(vt_format(&what, "verdict %s %s", VITCL_VERSION, s->question));
    VT_TRY(vt_dev_key(key, dev, s->sources, what));
done:
    free(what);
    return st;
}

bool vt_verdict_load(char out[VT_VERDICT], const vt_dev *dev,
                     const vt_subject *s)
{
    const size_t from = strlen(s->question) + strlen(": ");
    vt_kept_key key;
    size_t size, n = 0;
    void *text;

    if (key_of(&key, dev, s) != VITCL_OK ||
        !vt_kept_get(&text, &size, VT_KEPT_VERDICT, &key))
        return false;
    if (from < size)
        n = strcspn((char *)text + from, "\n");
    if (n < VT_VERDICT)
        snprintf(out, VT_VERDICT, "%.*s", (int)n, (char *)text + from);
    free(text);
    return n > 0 && n < VT_VERDICT;
}

void vt_verdict_save(const vt_dev *dev, const vt_subject *s,
                     const char *verdict)
{
    vt_kept_key key;
    char *text = NULL;

    if (key_of(&key, dev, s) == VITCL_OK &&
        vt_format(&text, "%s: %s\n%s, driver %s\n", s->question, verdict,
                  vt_dev_info(dev)->name, vt_dev_info(dev)->driver) == VITCL_OK)
        vt_kept_put(VT_KEPT_VERDICT, &key, &(vt_user_part){text, strlen(text)},
                    1);
    free(text);
}

void vt_verdict_turn(vt_turn *t, const vt_dev *dev, const char *what)
{
    char kind[544];

    snprintf(kind, sizeof kind, "%s, driver %s", vt_dev_info(dev)->name,
             vt_dev_info(dev)->driver);
    vt_turn_begin(t, what, kind);
}
