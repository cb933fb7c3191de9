/*
 * machines.c - see machines.h.
 */
#include "machines.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, WORD = 256 };

/* ---- which ---- */

static bool alike(const vitcl_device_info *a, const vitcl_device_info *b)
{
    return strcmp(a->name, b->name) == 0 &&
           strcmp(a->platform, b->platform) == 0 &&
           strcmp(a->driver, b->driver) == 0;
}

static void say_kinds(const machines *m)
{
    for (size_t i = 1; i < m->count && !is_quiet(); i++) {
        const vitcl_device_info *a = &m->item[0].info, *b = &m->item[i].info;

        if (alike(a, b))
            continue;
        note("%s (%.80s) and %s (%.80s) are different kinds of devices: the "
             "last bits of a picture's numbers depend on which computes it",
             a->id, a->name, b->id, b->name);
        return;
    }
}

/* Opens a device by a word, and the model on it. */
static int add(machines *m, const model_options *o, const char *word)
{
    model_options own = *o;
    machine *at = &m->item[m->count];
    int code;

    if (m->count == MOST)
        return usage("--devices: more than %d", MOST);
    *at = (machine){.info.size = sizeof at->info};
    own.device = word;
    code = open_model(&at->device, &at->model, &own);
    if (code != EXIT_OK)
        return code;
    m->count++;
    if (vitcl_device_describe(&at->info, at->device) != VITCL_OK)
        return failed();
    for (size_t i = 0; i + 1 < m->count; i++)
        if (strcmp(m->item[i].info.id, at->info.id) == 0)
            return usage("--devices: %s is named twice", at->info.id);
    return EXIT_OK;
}

static int add_all(machines *m, const model_options *o)
{
    vitcl_device_info info = {.size = sizeof info};
    int code = EXIT_OK;

    for (uint32_t i = 0;
         code == EXIT_OK && vitcl_device_at(&info, i) == VITCL_OK; i++)
        if (!info.error[0])
            code = add(m, o, info.id);
    if (code == EXIT_OK && !m->count)
        return fail("--devices all: there is no device");
    return code;
}

int machines_open(machines *m, const model_options *o)
{
    const char *at = o->devices;
    char word[WORD];
    int code = EXIT_OK;

    m->item = calloc(MOST, sizeof *m->item);
    if (!m->item)
        return fail("out of memory");
    guard_begin();
    if (strcmp(at, "all") == 0)
        code = add_all(m, o);
    else
        do {
            const size_t n = strcspn(at, ",");

            if (n == 0 || n >= sizeof word)
                return usage("--devices must be all or devices with commas "
                             "between them, such as 0:0,0:1, not '%s'",
                             o->devices);
            memcpy(word, at, n), word[n] = '\0';
            code = add(m, o, word);
            at += n + (at[n] == ',');
        } while (code == EXIT_OK && (*at || at[-1] == ','));
    if (code == EXIT_OK)
        say_kinds(m);
    return code;
}

/* ---- sessions ---- */

static void forget(machine *m)
{
    vitcl_session_free(m->session);
    vitcl_model_free(m->model);
    vitcl_device_free(m->device);
}

int machines_start(machines *m, const vitcl_session_options *options)
{
    size_t left = 0;

    for (size_t i = 0; i < m->count; i++) {
        machine *at = &m->item[i];

        if (try_session(&at->session, at->device, at->model, options) !=
            VITCL_OK)
            machine_lose(at);
        left += !at->lost;
    }
    if (left == 0)
        return fail("%s", m->item[0].why);
    for (size_t i = 0, kept = 0, all = m->count; i < all; i++) {
        machine *at = &m->item[i];

        if (!at->lost) {
            m->item[kept++] = *at;
            continue;
        }
        machine_say(at, left);
        forget(at);
        m->count--;
    }
    return EXIT_OK;
}

bool machines_cpu(const machines *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->item[i].info.type, "cpu") == 0)
            return true;
    return false;
}

bool machine_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all, before;
    bool begun;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* of a driver: guard.c */
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    begun = pthread_create(thread, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

void machine_lose(machine *m)
{
    m->lost = true;
    snprintf(m->why, sizeof m->why, "%s", vitcl_last_error());
}

void machine_say(const machine *m, size_t left)
{
    if (left)
        fail("device %s (%.80s) failed and is left out; its pictures go to the "
             "other%s: %.300s",
             m->info.id, m->info.name, left == 1 ? "" : "s", m->why);
    else
        fail("%s", m->why);
}

void machines_text(char *out, size_t size, const machines *m)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < m->count; i++) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = alike(&m->item[i].info, &m->item[k].info);
        if (seen || used >= size)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%.50s",
                                 used ? " + " : "", m->item[i].info.name);
    }
}

void machines_close(machines *m)
{
    for (size_t i = 0; i < m->count; i++)
        forget(&m->item[i]);
    free(m->item);
    *m = (machines){.count = 0};
}
