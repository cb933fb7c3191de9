/*
 * device_pool.c - which devices there are, and a session on each.
 */
#include "device_pool.h"

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

static void say_kinds(const device_pool *p)
{
    for (size_t i = 1; i < p->count && !is_quiet(); i++) {
        const vitcl_device_info *a = &p->item[0].info, *b = &p->item[i].info;

        if (alike(a, b))
            continue;
        note("%s (%.80s) and %s (%.80s) are different kinds of devices: the "
             "last bits of a picture's numbers depend on which computes it",
             a->id, a->name, b->id, b->name);
        return;
    }
}

/* Opens a device by a word, and the model on it. */
static int add(device_pool *p, const model_options *o, const char *word)
{
    model_options own = *o;
    pool_device *d = &p->item[p->count];

    if (p->count == MOST)
        return usage("--devices: more than %d", MOST);
    *d = (pool_device){.pool = p, .info.size = sizeof d->info};
    own.device = word;
    RET(open_model(&d->device, &d->model, &own));
    p->count++;
    RET(vitcl_device_describe(&d->info, d->device));
    for (size_t i = 0; i + 1 < p->count; i++)
        if (strcmp(p->item[i].info.id, d->info.id) == 0)
            return usage("--devices: %s is named twice", d->info.id);
    return EXIT_OK;
}

static int add_all(device_pool *p, const model_options *o)
{
    vitcl_device_info info = {.size = sizeof info};

    guard_begin();
    for (uint32_t i = 0; vitcl_device_at(&info, i) == VITCL_OK; i++)
        if (!info.error[0])
            RET(add(p, o, info.id));
    return p->count ? EXIT_OK : fail("--devices all: there is no device");
}

static int add_named(device_pool *p, const model_options *o)
{
    const char *at = o->devices;
    char word[WORD];

    do {
        const size_t n = strcspn(at, ",");

        if (n == 0 || n >= sizeof word)
            return usage("--devices must be all or devices with commas between "
                         "them, such as 0:0,0:1, not '%s'",
                         o->devices);
        memcpy(word, at, n), word[n] = '\0';
        RET(add(p, o, word));
        at += n + (at[n] == ',');
    } while (*at || at[-1] == ',');
    return EXIT_OK;
}

int pool_open(device_pool *p, const model_options *o)
{
    p->item = calloc(MOST, sizeof *p->item);
    if (!p->item)
        return fail("out of memory");
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->news, NULL);
    RET(!o->devices                      ? add(p, o, o->device)
        : strcmp(o->devices, "all") == 0 ? add_all(p, o)
                                         : add_named(p, o));
    say_kinds(p);
    return EXIT_OK;
}

/* ---- sessions ---- */

static void forget(pool_device *d)
{
    vitcl_session_free(d->session);
    vitcl_model_free(d->model);
    vitcl_device_free(d->device);
}

int pool_sessions(device_pool *p, const vitcl_session_options *options)
{
    const size_t all = p->count;

    p->left = all;
    for (size_t i = 0; i < all; i++) {
        pool_device *d = &p->item[i];

        if (try_session(&d->session, d->device, d->model, options) != VITCL_OK)
            pool_lose(d);
    }
    if (p->left == 0)
        return fail("%s", p->item[0].why);
    pool_tell(p);
    p->count = 0;
    for (size_t i = 0; i < all; i++)
        if (p->item[i].lost)
            forget(&p->item[i]);
        else
            p->item[p->count++] = p->item[i];
    return EXIT_OK;
}

bool pool_cpu(const device_pool *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->item[i].info.type, "cpu") == 0)
            return true;
    return false;
}

void pool_text(char *out, size_t size, const device_pool *p)
{
    const int most = p->count > 1 ? 50 : 100;
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < p->count; i++) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = alike(&p->item[i].info, &p->item[k].info);
        if (seen || used >= size)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                 used ? " + " : "", most, p->item[i].info.name);
    }
}

void pool_close(device_pool *p)
{
    if (!p->item)
        return;
    pool_end(p);
    for (size_t i = 0; i < p->count; i++)
        forget(&p->item[i]);
    pthread_cond_destroy(&p->news);
    pthread_mutex_destroy(&p->lock);
    free(p->item);
    *p = (device_pool){.count = 0};
}
