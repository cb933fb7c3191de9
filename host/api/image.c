/*
 * image.c - public picture functions and the loader.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"
#include "models/preprocess.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct vitcl_loader {
    vt_decoder_pool *pool;
    atomic_bool busy; /* a call uses it */
    pid_t owner;      /* the process whose children its workers are */
    bool thumbs_only;
};

/* Decodes in a new process, which then ends. bytes NULL: reads the file. */
static vitcl_status decode_one(vitcl_image *out, const void *bytes, size_t size,
                               const char *path, bool on_white)
{
    vitcl_status st;
    vt_decoder_pool *pool = NULL;
    vt_picture p = {.rgb = NULL};

    VT_TRY(vt_pool_new_one(&pool, on_white));
    VT_TRY(bytes ? vt_pool_push_bytes(pool, bytes, size, path)
                 : vt_pool_push(pool, path));
    VT_TRY(vt_pool_whole(&p, pool));
    *out = (vitcl_image){p.width, p.height, p.rgb};
done:
    vt_pool_free(pool);
    return st;
}

vitcl_status vitcl_image_decode(vitcl_image *out, const void *bytes,
                                size_t size, const char *name)
{
    VT_GIVEN(out);
    VT_GIVEN(bytes);
    return decode_one(out, bytes, size, name ? name : "picture", false);
}

vitcl_status vitcl_image_load(vitcl_image *out, const char *path)
{
    VT_GIVEN(out);
    VT_GIVEN(path);
    return decode_one(out, NULL, 0, path, false);
}

bool vt_model_on_white(const vitcl_model *model)
{
    vt_preprocess how;

    return vt_model_preprocess(&how, model->model, 0, 0) == VITCL_OK &&
           how.on_white;
}

vitcl_status vitcl_model_image(vitcl_image *out, const vitcl_model *model,
                               const void *bytes, size_t size, const char *name)
{
    VT_GIVEN(out);
    VT_GIVEN(model);
    if (!bytes)
        VT_GIVEN(name);
    return decode_one(out, bytes, size, name ? name : "picture",
                      vt_model_on_white(model));
}

static void add_note(char *text, size_t room, const char *note)
{
    const size_t used = strlen(text);

    snprintf(text + used, room - used, "%s%s", used ? "; " : "", note);
}

const char *vitcl_image_note(void)
{
    static _Thread_local char text[512];
    const vt_pool_notes n = vt_pool_noted();

    text[0] = '\0';
    if (n.unlocked)
        add_note(text, sizeof text,
                 "pictures were decoded without the system call filter: the "
                 "kernel or the container refuses seccomp");
    if (n.approximate)
        add_note(text, sizeof text,
                 "pictures were decoded by stb_image: pixels may differ from "
                 "Pillow's by a level or two");
    if (n.clipped)
        add_note(text, sizeof text,
                 "grey of more than 8 bits became white, because values above "
                 "255 are clipped, as in Pillow; convert such pictures to 8 "
                 "bits (-v names them)");
    return text[0] ? text : NULL;
}

vitcl_status vitcl_image_prepare(vitcl_image *out, const vitcl_session *session,
                                 const vitcl_image *image)
{
    vt_picture in, ready = {.rgb = NULL};

    VT_GIVEN(out);
    VT_GIVEN(session);
    VT_GIVEN(image);
    if (!image->rgb || !image->width || !image->height ||
        image->width > VT_SIDE_MAX || image->height > VT_SIDE_MAX)
        return vt_fail(VITCL_EINVAL,
                       "a picture of %ux%u has no pixels or a "
                       "side above %u",
                       image->width, image->height, VT_SIDE_MAX);
    if (session->how_status != VITCL_OK)
        return vt_fail(session->how_status, "%s", session->how_message);
    in = (vt_picture){image->width, image->height, image->rgb};
    VT_RET(vt_prepare(&ready, &in, &session->how));
    *out = (vitcl_image){ready.width, ready.height, ready.rgb};
    return VITCL_OK;
}

void vitcl_image_free(vitcl_image *image)
{
    if (!image)
        return;
    free(image->rgb);
    *image = (vitcl_image){0, 0, NULL};
}

/* ---- loader ---- */

/* `side`: of thumbnails, 0: none. */
static vitcl_status loader_new(vitcl_loader **out, const vitcl_session *session,
                               uint32_t workers, uint32_t side)
{
    vitcl_status st = VITCL_OK;
    vitcl_loader *loader = NULL;

    if (session && session->how_status != VITCL_OK)
        return vt_fail(session->how_status, "%s", session->how_message);
    if (vt_ocl_inherited())
        return vt_fail(VITCL_EDEVICE,
                       "a loader cannot be made in a process that was forked "
                       "from one with a device; start a program in the child");
    VT_TRY(VT_NEW(&loader, 1));
    loader->owner = getpid();
    VT_TRY(vt_pool_new_thumbs(&loader->pool, session ? &session->how : NULL,
                              workers, side));
    loader->thumbs_only = !session;
    *out = loader, loader = NULL;
done:
    vitcl_loader_free(loader);
    return st;
}

vitcl_status vitcl_loader_new(vitcl_loader **out, const vitcl_session *session,
                              uint32_t workers)
{
    VT_GIVEN(out);
    VT_GIVEN(session);
    return loader_new(out, session, workers, 0);
}

vitcl_status vt_loader_new_thumbnails(vitcl_loader **out,
                                      const vitcl_session *session,
                                      uint32_t workers, uint32_t side)
{
    if (side == 0 || side > VT_THUMB_MAX)
        return vt_fail(VITCL_EINVAL,
                       "thumbnails must have 1 to %u pixels, not %u",
                       VT_THUMB_MAX, side);
    return loader_new(out, session, workers, side);
}

static vitcl_status ours(const vitcl_loader *loader)
{
    return loader->owner == getpid()
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL,
                         "the loader belongs to the parent process "
                         "and cannot be used after fork()");
}

vitcl_status vitcl_loader_push(vitcl_loader *loader, const char *path)
{
    VT_GIVEN(loader);
    VT_GIVEN(path);
    VT_RET(ours(loader));
    VT_RETURN_ALONE(loader, "loader", vt_pool_push(loader->pool, path));
    return VITCL_OK;
}

vitcl_status vitcl_loader_push_bytes(vitcl_loader *loader, const void *bytes,
                                     size_t size, const char *name)
{
    VT_GIVEN(loader);
    VT_GIVEN(bytes);
    VT_RET(ours(loader));
    VT_RETURN_ALONE(
        loader, "loader",
        vt_pool_push_bytes(loader->pool, bytes, size, name ? name : "picture"));
    return VITCL_OK;
}

uint32_t vitcl_loader_pending(const vitcl_loader *loader)
{
    return loader ? vt_pool_pending(loader->pool) : 0;
}

static vitcl_status next(uint8_t *rgb, vt_decoder_pool *pool)
{
    return vt_pool_pending(pool)
               ? vt_pool_next(rgb, pool)
               : vt_fail(VITCL_EINVAL, "no picture is pending: push one first");
}

vitcl_status vitcl_loader_next(uint8_t *rgb, vitcl_loader *loader)
{
    VT_GIVEN(loader);
    if (!loader->thumbs_only)
        VT_GIVEN(rgb);
    VT_RET(ours(loader));
    VT_RETURN_ALONE(loader, "loader", next(rgb, loader->pool));
    return VITCL_OK;
}

static vitcl_status stamp(int64_t *size, int64_t *changed_ns,
                          const vt_decoder_pool *pool)
{
    const vt_opened opened = vt_pool_opened(pool);

    if (opened.size < 0)
        return vt_fail(VITCL_EINVAL, "there is no file: no picture was taken, "
                                     "or it was not read from a file");
    *size = opened.size;
    *changed_ns = opened.changed;
    return VITCL_OK;
}

/* In this and the next, const is cast away for the flag only. */
vitcl_status vt_loader_stamp(int64_t *size, int64_t *changed_ns,
                             const vitcl_loader *loader)
{
    vitcl_loader *own;

    VT_RET(ours(loader));
    own = (vitcl_loader *)(uintptr_t)loader;
    VT_RETURN_ALONE(own, "loader", stamp(size, changed_ns, own->pool));
    return VITCL_OK;
}

static vitcl_status thumbnail(vitcl_image *out, const vt_decoder_pool *pool)
{
    vt_picture p = {.rgb = NULL};

    VT_RET(vt_pool_thumb(&p, pool));
    *out = (vitcl_image){p.width, p.height, p.rgb};
    return VITCL_OK;
}

vitcl_status vt_loader_thumbnail(vitcl_image *out, const vitcl_loader *loader)
{
    vitcl_loader *own;

    VT_RET(ours(loader));
    own = (vitcl_loader *)(uintptr_t)loader;
    VT_RETURN_ALONE(own, "loader", thumbnail(out, own->pool));
    return VITCL_OK;
}

void vitcl_loader_free(vitcl_loader *loader)
{
    if (!loader)
        return;
    if (loader->owner == getpid())
        vt_pool_free(loader->pool);
    free(loader);
}
