/*
 * changes.c - which settings a training may change when it is resumed.
 */
#include "train/changes.h"

#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

#include <string.h>

typedef enum { KEEP, CHANGE, RENEW, IGNORE } rule;

static const struct {
    const char *key;
    rule rule;
    const char *why; /* of KEEP */
} rules[] = {
    {"data", IGNORE, NULL}, /* it may have moved */
    {"val", RENEW, NULL},   /* steps do not depend on them */
    {"patience", RENEW, NULL},
    {"epochs", CHANGE, NULL},
    {"lr", CHANGE, NULL},
    {"micro", CHANGE, NULL},
    {"augment", CHANGE, NULL},
    {"slices", KEEP, "its sums would be rounded in another order"},
    {"batch", KEEP, "steps are counted in batches"},
    {"hold_out", KEEP, "held-out pictures would be trained with"},
    {"split", KEEP, "these are other pictures"},
    {"follow", KEEP, "these are other pictures"},
    {"columns", KEEP, "these are other pictures"},
    {"random_state", KEEP, "the order of the pictures depends on it"},
    {"preset", KEEP, "this is another model"},
    {"config", KEEP, "this is another model"},
    {"model", KEEP, "this is another model"},
    {"objective", KEEP, "this is another model"},
    {"pixels", KEEP, "the pictures would be resized in another way"},
    {"height", KEEP, "the model's positions have this size"},
    {"width", KEEP, "the model's positions have this size"},
    {"freeze", KEEP, "the optimiser has no state for other parameters"},
    {"settings", KEEP, "the optimiser's state belongs to them"},
    {"precision", KEEP, "its steps would be rounded in another way"}};

static rule rule_of(const char *key, const char **why)
{
    for (size_t i = 0; i < VT_COUNT(rules); i++)
        if (strcmp(rules[i].key, key) == 0) {
            *why = rules[i].why;
            return rules[i].rule;
        }
    *why = "the steps so far depend on it";
    return KEEP;
}

/* For a message: 0.1, not all digits of the nearest double. */
static vitcl_status to_text(char **out, const vt_json *v, const char *unset)
{
    vitcl_status st;
    double number;
    vt_text t;

    VT_TRY(vt_text_open(&t));
    if (vt_json_number(&number, v))
        vt_print(t.f, "%.9g", number);
    else if (v)
        vt_json_print(t.f, v);
    else
        fputs(unset, t.f);
    VT_TRY(vt_text_take(out, &t));
done:
    return st;
}

static vitcl_status refuse(const char *folder, const char *key, const char *old,
                           const char *given, const char *why)
{
    return vt_fail(VITCL_EINVAL,
                   "%s: this training began with %s %.80s, which cannot become "
                   "%.80s: %s; omit it to resume, or begin a new training run",
                   folder, key, old, given, why);
}

/* How a message shows a member that is not there; a value is its default. */
static const char *unset(const char *key)
{
    return strcmp(key, "slices") == 0      ? "1"
           : strcmp(key, "objective") == 0 ? "\"classes\""
                                           : "unset";
}

/* Whether a member of `given` changes the old one; adds to *what, but for one
 * that is renewed. */
static vitcl_status judge(bool *changes, vt_text *what, const vt_json *old,
                          const vt_json *given, const char *folder)
{
    vitcl_status st = VITCL_OK;
    const char *key = vt_json_key(given), *why;
    const rule r = rule_of(key, &why);
    char *before = NULL, *after = NULL;

    *changes = false;
    if (r == IGNORE)
        return VITCL_OK;
    VT_TRY(to_text(&before, vt_json_get(old, key), unset(key)));
    VT_TRY(to_text(&after, given, unset(key)));
    if (strcmp(before, after) == 0)
        goto done;
    if (r == KEEP) {
        st = refuse(folder, key, before, after, why);
        goto done;
    }
    *changes = true;
    if (r == CHANGE)
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
