/*
 * arrangement.c - the arrangement task.
 */
#include "study/arrangement.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum {
    GRID = VT_ARRANGED_SIDE / VT_ARRANGED_TILE,
    TILES = GRID * GRID,
    PIXELS = VT_ARRANGED_TILE * VT_ARRANGED_TILE,
    HALF = GRID / 2,
    BRIGHT = HALF * HALF,
    NOISE = 16,
    FILES = 5
};

/* Tile i of a group: noise; the first tiles are the bright ones. */
static void draw_tile(uint8_t out[3][PIXELS], uint64_t state, uint32_t group,
                      int i)
{
    vt_random r = vt_random_new(state, group, (uint64_t)i + 1);
    const uint64_t base = i < BRIGHT ? 192 : 32;

    for (int c = 0; c < 3; c++)
        for (int p = 0; p < PIXELS; p++)
            out[c][p] = (uint8_t)(base + vt_random_below(&r, NOISE));
}

static void shuffle(int *place, int count, vt_random *r)
{
    for (int i = count - 1; i > 0; i--) {
        const int k = (int)vt_random_below(r, (uint64_t)i + 1);
        const int other = place[k];

        place[k] = place[i];
        place[i] = other;
    }
}

/* place[i]: where tile i lies. */
static void arrange(int place[TILES], uint64_t state, uint32_t index)
{
    const int quarter = (int)(index % VT_ARRANGED_CLASSES);
    vt_random r = vt_random_new(state, index, 0);
    int bright = 0, dark = BRIGHT;

    for (int i = 0; i < TILES; i++) {
        const bool in = i / GRID / HALF * 2 + i % GRID / HALF == quarter;

        place[in ? bright++ : dark++] = i;
    }
    shuffle(place, BRIGHT, &r);
    shuffle(place + BRIGHT, TILES - BRIGHT, &r);
}

void vt_arrangement_picture(uint8_t out[VT_ARRANGED_BYTES], uint64_t state,
                            uint32_t index)
{
    int place[TILES];

    arrange(place, state, index);
    for (int i = 0; i < TILES; i++) {
        uint8_t tile[3][PIXELS];
        const int top = place[i] / GRID * VT_ARRANGED_TILE;
        const int left = place[i] % GRID * VT_ARRANGED_TILE;

        draw_tile(tile, state, index / VT_ARRANGED_CLASSES, i);
        for (int c = 0; c < 3; c++)
            for (int p = 0; p < PIXELS; p++)
                out[(c * VT_ARRANGED_SIDE + top + p / VT_ARRANGED_TILE) *
                        VT_ARRANGED_SIDE +
                    left + p % VT_ARRANGED_TILE] = tile[c][p];
    }
}

static vitcl_status write_part(const char *folder, const char *name,
                               uint64_t state, uint32_t from, uint32_t to)
{
    vitcl_status st;
    vt_newfile f = {0};
    char *path = NULL;
    uint8_t pixels[VT_ARRANGED_BYTES];

    VT_TRY(vt_format(&path, "%s/%s", folder, name));
    VT_TRY(vt_newfile_open(&f, path));
    for (uint32_t i = from; i < to; i++) {
        fputc((int)(i % VT_ARRANGED_CLASSES), f.f);
        vt_arrangement_picture(pixels, state, i);
        fwrite(pixels, 1, sizeof pixels, f.f);
    }
    VT_TRY(vt_newfile_commit(&f));
done:
    vt_newfile_discard(&f);
    free(path);
    return st;
}

static uint32_t whole_groups(uint32_t n)
{
    return (n + VT_ARRANGED_CLASSES - 1) / VT_ARRANGED_CLASSES *
           VT_ARRANGED_CLASSES;
}

static vitcl_status write_all(const char *folder, uint32_t pictures,
                              uint32_t tests)
{
    const uint32_t groups = whole_groups(pictures) / VT_ARRANGED_CLASSES;

    for (uint32_t i = 0; i < FILES; i++) {
        char name[32];

        snprintf(name, sizeof name, "data_batch_%u.bin", i + 1);
        VT_RET(write_part(folder, name, 1,
                          (uint32_t)((uint64_t)groups * i / FILES) *
                              VT_ARRANGED_CLASSES,
                          (uint32_t)((uint64_t)groups * (i + 1) / FILES) *
                              VT_ARRANGED_CLASSES));
    }
    return write_part(folder, "test_batch.bin", 2, 0, whole_groups(tests));
}

const vt_made vt_made_arrangement = {"quarters", write_all};
