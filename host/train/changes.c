/*
 * changes.c - which settings a training may change when it is resumed.
 */
#include "train/changes.h"

#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "train/settings_rules.h"

#include <string.h>

/* For a message: 0.1, not all digits of the nearest double. */
static vitcl_status to_text(char **out, const vt_json *v, const char *unset)
{
    double number;
    vt_text t;

    VT_RET(vt_text_open(&t));
    if (vt_json_number(&number, v))
        vt_print(t.f, "%.9g", number);
    else if (v)
        vt_json_print(t.f, v);
    else
        fputs(unset, t.f);
    return vt_text_take(out, &t);
}

static vitcl_status refuse(const char *folder, const char *key, const char *old,
                           const char *given, const char *why)
{
    return vt_fail(VITCL_EINVAL,
                   "%s: this training began with %s %.80s, which cannot become "
                   "%.80s: %s; omit it to resume, or begin a new training run",
                   folder, key, old, given, why);
}

/* Whether a member of `given` changes the old one; adds to *what, but for one
 * that is renewed. */
static vitcl_status judge(bool *changes, vt_text *what, const vt_json *old,
                          const vt_json *given, const char *folder)
{
    vitcl_status st = VITCL_OK;
    const char *key = vt_json_key(given);
    const vt_setting *r = vt_setting_find(key);
    const char *unset = r->unset ? r->unset : "unset";
    char *before = NULL, *after = NULL;

    *changes = false;
    if (r->rule == VT_SETTING_IGNORE)
        return VITCL_OK;
    VT_TRY(to_text(&before, vt_json_get(old, key), unset));
    VT_TRY(to_text(&after, given, unset));
    if (strcmp(before, after) == 0)
        goto done;
    if (r->rule == VT_SETTING_KEEP) {
        st = refuse(folder, key, before, after, r->why);
        goto done;
    }
    *changes = true;
    if (r->rule == VT_SETTING_CHANGE)
        fprintf(what->f, "%s%s %s -> %s", ftell(what->f) > 0 ? ", " : "", key,
                before, after);
done:
    free(before);
    free(after);
    return st;
}

static void put_member(FILE *f, const char *separator, const char *key,
                       const vt_json *value)
{
    fputs(separator, f);
    vt_json_print_string(f, key);
    fputs(": ", f);
    vt_json_print(f, value);
}

vitcl_status vt_changes_apply(vt_json **merged, char **what, bool *any,
                              const vt_json *old, const vt_json *given,
                              const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_text text = {0}, list = {0};
    char *json = NULL, *changes = NULL;
    const char *separator = "{";
    bool changed = false;

    *any = false;
    VT_TRY(vt_text_open(&text));
    VT_TRY(vt_text_open(&list));
    for (const vt_json *m = vt_json_first(old); m; m = vt_json_next(m)) {
        const vt_json *other = vt_json_get(given, vt_json_key(m));

        changed = false;
        if (other)
            VT_TRY(judge(&changed, &list, old, other, folder));
        put_member(text.f, separator, vt_json_key(m), changed ? other : m);
        separator = ", ";
        *any |= changed;
    }
    for (const vt_json *m = vt_json_first(given); m; m = vt_json_next(m)) {
        if (vt_json_get(old, vt_json_key(m)))
            continue;
        VT_TRY(judge(&changed, &list, old, m, folder));
        if (changed)
            put_member(text.f, separator, vt_json_key(m), m);
        *any |= changed;
    }
    fputs("}", text.f);
    VT_TRY(vt_text_take(&json, &text));
    VT_TRY(vt_json_parse(merged, json, strlen(json), 10, folder));
    VT_TRY(vt_text_take(&changes, &list));
    *what = NULL;
    if (changes[0])
        *what = changes, changes = NULL;
done:
    if (text.f)
        fclose(text.f), free(text.s);
    if (list.f)
        fclose(list.f), free(list.s);
    free(json);
    free(changes);
    return st;
}
