/*
 * marks.c - the tasks of marks, as class folders of PPM files.
 */
#include "study/marks.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "study/private.h"

#include <stdio.h>
#include <string.h>

enum {
    SIDE = VT_MARKS_SIDE,
    PATCH = VT_MARKS_PATCH,
    MARK = VT_MARKS_MARK,
    EDGE = (PATCH - MARK) / 2,
    GROUND = 128,
    BRIGHT = 220,
    NOISE = 33 /* of each colour: -16 to 16 */
};
enum { TRAINING = 1, TEST = 2 }; /* states */

/* Mark k of a group, with its noise, in a patch of the picture. */
static void put_mark(uint8_t out[VT_MARKS_BYTES], uint64_t state,
                     uint32_t group, uint32_t k, uint32_t row, uint32_t column)
{
    vt_random r = vt_random_new(state, group, k + 1);

    for (uint32_t y = 0; y < MARK; y++)
        for (uint32_t x = 0; x < 3 * MARK; x++)
            out[3 * ((row * PATCH + EDGE + y) * SIDE + column * PATCH + EDGE) +
                x] =
                (uint8_t)(BRIGHT - NOISE / 2 + (int)vt_random_below(&r, NOISE));
}

void vt_apart_picture(uint8_t out[VT_MARKS_BYTES], uint64_t state,
                      uint32_t index)
{
    static const uint8_t rows[][2] = {{1, 3}, {1, 4}, {2, 4}};
    enum { LEFT = 1, RIGHT = 4 };
    const uint32_t group = index / VT_APART_CLASSES;
    const bool higher = index % VT_APART_CLASSES;
    vt_random r = vt_random_new(state, group, 0);
    const uint8_t *row = rows[vt_random_below(&r, VT_COUNT(rows))];

    memset(out, GROUND, VT_MARKS_BYTES);
    put_mark(out, state, group, 0, row[!higher], LEFT);
    put_mark(out, state, group, 1, row[higher], RIGHT);
}

void vt_shift_picture(uint8_t out[VT_MARKS_BYTES], uint64_t state,
                      uint32_t index, bool right)
{
    const uint32_t group = index / VT_SHIFT_CLASSES;
    vt_random r = vt_random_new(state, group, 0);
    const uint32_t row = 1 + (uint32_t)vt_random_below(&r, 3);
    const uint32_t column = right ? 3 : 1;

    memset(out, GROUND, VT_MARKS_BYTES);
    for (uint32_t k = 0; k < VT_SHIFT_CLASSES - 1; k++) {
        const uint32_t place = (index + 1 + k) % VT_SHIFT_CLASSES;

        put_mark(out, state, group, k, row + place / 2, column + place % 2);
    }
}

/* ---- files ---- */

typedef void (*draw)(uint8_t out[VT_MARKS_BYTES], uint64_t state,
                     uint32_t index);

static void draw_shift(uint8_t out[VT_MARKS_BYTES], uint64_t state,
                       uint32_t index)
{
    vt_shift_picture(out, state, index, state == TEST);
}

static vitcl_status write_picture(const char *path,
                                  const uint8_t pixels[VT_MARKS_BYTES])
{
    vitcl_status st;
    vt_newfile f = {0};

    VT_TRY(vt_newfile_open(&f, path));
    fprintf(f.f, "P6\n%d %d\n255\n", (int)SIDE, (int)SIDE);
    fwrite(pixels, 1, VT_MARKS_BYTES, f.f);
    VT_TRY(vt_newfile_commit(&f));
done:
    vt_newfile_discard(&f);
    return st;
}

/* Whole groups, so that all classes have as many pictures. */
static vitcl_status write_split(const char *folder, const char *split,
                                draw picture, uint64_t state, uint32_t classes,
                                uint32_t count)
{
    char path[VT_STUDY_PATH];
    uint8_t pixels[VT_MARKS_BYTES];

    snprintf(path, sizeof path, "%s/%s", folder, split);
    VT_RET(vt_study_folder(path));
    for (uint32_t c = 0; c < classes; c++) {
        snprintf(path, sizeof path, "%s/%s/%u", folder, split, c);
        VT_RET(vt_study_folder(path));
    }
    for (uint32_t i = 0; i < count; i += classes)
        for (uint32_t c = 0; c < classes; c++) {
            picture(pixels, state, i + c);
            snprintf(path, sizeof path, "%s/%s/%u/%06u.ppm", folder, split, c,
                     i + c);
            VT_RET(write_picture(path, pixels));
        }
    return VITCL_OK;
}

static vitcl_status write_both(const char *folder, draw picture,
                               uint32_t classes, uint32_t pictures,
                               uint32_t tests)
{
    VT_RET(write_split(folder, "train", picture, TRAINING, classes, pictures));
    return write_split(folder, "test", picture, TEST, classes, tests);
}

static vitcl_status write_apart(const char *folder, uint32_t pictures,
                                uint32_t tests)
{
    return write_both(folder, vt_apart_picture, VT_APART_CLASSES, pictures,
                      tests);
}

static vitcl_status write_shift(const char *folder, uint32_t pictures,
                                uint32_t tests)
{
    return write_both(folder, draw_shift, VT_SHIFT_CLASSES, pictures, tests);
}

const vt_made vt_made_apart = {"apart", write_apart};
const vt_made vt_made_shift = {"shift", write_shift};
