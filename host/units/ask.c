/*
 * ask.c - which instruction does a device multiply with?
 *
 * Compilers crash on such instructions, and a processor may not have what it
 * reports. So all trials run in vitcl-try, one process for each: an instruction
 * that crashes, hangs or gives wrong results has failed its trial.
 */
#include "units/ask.h"

#include "base/attempt.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const vt_question *q, int kind)
{
    return kind ? q->name(kind) : q->none;
}

/* ---- verdicts: the kind in use, then the one that failed ---- */

/* False: there is none, or it names something else. */
static bool load(vt_known *k, const vt_dev *dev, const vt_question *q)
{
    char verdict[VT_VERDICT], *failed;
    bool found;

    *k = (vt_known){.known = true};
    if (!vt_verdict_load(verdict, dev, &q->subject))
        return false;
    failed = strchr(verdict, ' ');
    if (failed)
        *failed++ = '\0';
    found = strcmp(verdict, q->none) == 0;
    for (int i = 0; i < q->n; i++) {
        const char *name = q->name(q->candidate[i]);

        if (strcmp(verdict, name) == 0)
            k->kind = q->candidate[i], found = true;
        if (failed && strcmp(failed, name) == 0)
            k->failed = q->candidate[i];
    }
    return found;
}

static void save(const vt_dev *dev, const vt_question *q, const vt_known *k)
{
    char verdict[VT_VERDICT];

    snprintf(verdict, sizeof verdict, "%s%s%s", name_of(q, k->kind),
             k->failed ? " " : "", k->failed ? q->name(k->failed) : "");
    vt_verdict_save(dev, &q->subject, verdict);
}

/* ---- trials ---- */

/* False: the result is unknown, and the message says why. */
static bool try_one(vt_known *k, const vt_dev *dev, const vt_question *q,
                    int kind)
{
    char answer[16] = "";
    const vitcl_device_info *info = vt_dev_info(dev);
    const vt_attempt a = {.words = {q->request, info->id, info->name,
                                    info->driver, q->name(kind), q->type}};
    const vitcl_status st = vt_attempt_run(answer, sizeof answer, &a);

    if (st != VITCL_OK && st != VITCL_EDEVICE)
        return false;
    if (st == VITCL_OK && strcmp(answer, q->good) == 0) {
        k->kind = kind;
        return true;
    }
    if (!k->lost) {
        const char *const why = st == VITCL_OK ? answer : vt_message();

        k->lost = kind;
        snprintf(k->why, sizeof k->why, "%.*s", (int)strcspn(why, "\n"), why);
    }
    if (st == VITCL_OK && strcmp(answer, q->slower) == 0)
        vt_log("%s, %s: %s", q->subject.question, q->name(kind), answer);
    else {
        k->failed = kind;
        vt_log("%s failed its trial: %s", q->name(kind),
               st == VITCL_OK ? answer : vt_message());
    }
    return true;
}

static void try_all(vt_known *k, const vt_dev *dev, const vt_question *q)
{
    *k = (vt_known){.known = true};
    for (int i = 0; i < q->n && !k->kind; i++)
        if (!try_one(k, dev, q, q->candidate[i])) {
            k->untried = q->candidate[i];
            vt_log("%s cannot be tried and is not used: %s",
                   q->name(k->untried), vt_message());
            return; /* keep nothing: a later process may try it */
        }
    save(dev, q, k);
    if (q->lost && k->lost && !k->kind)
        q->lost(dev, q, k);
}

/* ---- questions ---- */

void vt_known_describe(char *out, size_t size, const vt_known *k,
                       const vt_question *q)
{
    const int named = k->untried ? k->untried : k->failed;

    snprintf(out, size, "%s%s%s%s", k->known ? name_of(q, k->kind) : "untried",
             named ? "; " : "", named ? q->name(named) : "",
             k->untried  ? " cannot be tried"
             : k->failed ? " failed its trial"
                         : "");
}

static void decide(vt_known *k, const vt_dev *dev, const vt_question *q)
{
    char text[96];

    if (!q->n)
        *k = (vt_known){.known = true};
    else if (!load(k, dev, q))
        try_all(k, dev, q);
    if (k->kind && q->permitted && !q->permitted(k->kind))
        k->untried = k->kind, k->kind = 0;
    vt_known_describe(text, sizeof text, k, q);
    vt_log("%s %s", q->subject.question, text);
}

int vt_ask(vt_known *k, const vt_dev *dev, const vt_question *q)
{
    vt_turn turn;
    int kind;

    vt_verdict_turn(&turn, dev, "units");
    if (!k->known)
        decide(k, dev, q);
    kind = k->kind;
    vt_turn_end(&turn);
    return kind;
}

bool vt_ask_known(int *kind, const vt_known *k, const vt_dev *dev)
{
    vt_turn turn;
    bool known;

    vt_verdict_turn(&turn, dev, "units");
    known = k->known;
    *kind = k->kind;
    vt_turn_end(&turn);
    return known;
}

vt_known vt_ask_kept(const vt_known *k, const vt_dev *dev, const vt_question *q)
{
    vt_known now;
    vt_turn turn;

    vt_verdict_turn(&turn, dev, "units");
    now = *k;
    if (!now.known && !q->n)
        now.known = true;
    else if (!now.known && !load(&now, dev, q))
        now = (vt_known){.known = false};
    vt_turn_end(&turn);
    return now;
}

void vt_ask_use(vt_known *k, const vt_dev *dev, int kind)
{
    vt_turn turn;

    vt_verdict_turn(&turn, dev, "units");
    *k = (vt_known){.known = true, .kind = kind};
    vt_turn_end(&turn);
}
