/*
 * share.c - cut a batch into slices, and slices into passes.
 */
#include "train/share.h"

#include "base/memory.h"

#include <string.h>

uint32_t vt_share_begin(const vt_share *s, uint32_t slice)
{
    return (uint32_t)((uint64_t)slice * s->pictures / s->slices);
}

uint32_t vt_share_longest(const vt_share *s)
{
    return s->pictures / s->slices + (s->pictures % s->slices > 0);
}

uint32_t vt_share_passes(const vt_share *s)
{
    const uint32_t longest = vt_share_longest(s);

    return longest / s->micro + (longest % s->micro > 0);
}

uint32_t vt_share_pass(uint32_t *at, const vt_share *s, uint32_t pass)
{
    const uint32_t passes = vt_share_passes(s), slice = pass / passes;
    const uint32_t end = vt_share_begin(s, slice + 1);
    const uint32_t begin = vt_share_begin(s, slice) + pass % passes * s->micro;

    *at = begin;
    return begin < end ? VT_MIN(end - begin, s->micro) : 0;
}

/* ---- rows without a picture ---- */

vitcl_status vt_filled_new(vt_filled *out, const vt_batches_options *feed,
                           uint32_t micro)
{
    vitcl_status st = VITCL_OK;
    vt_filled f = {.micro = micro,
                   .picture = 3 * (size_t)feed->height * feed->width,
                   .classes = feed->classes};

    VT_TRY(vt_new(&f.pixels, micro * f.picture, sizeof *f.pixels));
    if (feed->patch_h) {
        f.patches = (size_t)(feed->height / (uint32_t)feed->patch_h) *
                    (feed->width / (uint32_t)feed->patch_w);
        VT_TRY(vt_new(&f.source, micro * f.patches, sizeof *f.source));
        VT_TRY(vt_new(&f.colour, micro * f.patches, sizeof *f.colour));
    } else {
        VT_TRY(vt_new(&f.targets, micro * f.classes, sizeof *f.targets));
    }
    *out = f, f = (vt_filled){0};
done:
    vt_filled_free(&f);
    return st;
}

void vt_filled_free(vt_filled *f)
{
    free(f->pixels);
    free(f->targets);
    free(f->source);
    free(f->colour);
    *f = (vt_filled){0};
}

/* n of all rows, of `each` elements of 4 bytes, and the same byte behind. */
static void fill(void *to, const void *from, size_t n, size_t all, size_t each,
                 int byte)
{
    memcpy(to, from, n * each * 4);
    memset((char *)to + n * each * 4, byte, (all - n) * each * 4);
}

void vt_filled_take(vt_batch *out, vt_filled *f, const vt_batch *b, uint32_t at,
                    uint32_t n)
{
    vt_batch part = {.pixels = b->pixels + at * f->picture};

    if (f->targets) {
        part.targets = b->targets + at * f->classes;
    } else {
        part.source = b->source + at * f->patches;
        part.colour = b->colour + at * f->patches;
    }
    *out = part;
    if (n == f->micro)
        return;
    fill(f->pixels, part.pixels, n, f->micro, f->picture, 0);
    if (f->targets) {
        fill(f->targets, part.targets, n, f->micro, f->classes, 0);
    } else {
        fill(f->source, part.source, n, f->micro, f->patches, 0);
        fill(f->colour, part.colour, n, f->micro, f->patches, 0xff); /* -1 */
    }
    *out = (vt_batch){f->pixels, f->targets, f->source, f->colour};
}
