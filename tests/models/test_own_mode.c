/*
 * test_own_mode.c - pictures for a folder of open_clip, which are resized in
 * the mode that their file has, by decoder processes, against open_clip
 * itself.
 */
#include "base/sha256.h"
#include "models/preprocess.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 24, BYTES = SIDE * SIDE * 3 };
#define OC VT_DATA "/text/oc_clip"

/* A pool for oc_clip with this preprocess_cfg. */
static vt_decoder_pool *begin(const char *preprocess)
{
    static const char key[] = "\"preprocess_cfg\": ";
    const char *folder = vt_test_folder();
    char text[4096];
    vt_decoder_pool *pool = NULL;
    vt_model *m = NULL;
    vt_preprocess how;
    size_t size = 0;
    unsigned char *config = vt_test_bytes(&size, OC, "open_clip_config.json");
    const char *at;

    cr_assert(config && size < sizeof text / 2);
    memcpy(text, config, size);
    text[size] = '\0';
    free(config);
    at = strstr(text, key);
    cr_assert(at);
    snprintf(text + (at - text), sizeof text - (size_t)(at - text), "%s%s}",
             key, preprocess);
    vt_test_text(folder, "open_clip_config.json", text);
    cr_assert_eq(symlink(OC "/open_clip_model.safetensors",
                         vt_test_path(folder, "open_clip_model.safetensors")),
                 0);
    cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_model_preprocess(&how, m, SIDE, SIDE), VITCL_OK, "%s",
                 vt_message());
    cr_expect(how.own_mode);
    cr_assert_eq(vt_pool_new(&pool, &how, 1), VITCL_OK, "%s", vt_message());
    vt_model_close(m);
    vt_test_remove(folder);
    return pool;
}

static void check(vt_decoder_pool *pool, const char *picture, const char *want,
                  const char *config)
{
    uint8_t rgb[BYTES], sum[32];
    char path[2048], hex[65];
    vitcl_status st;

    snprintf(path, sizeof path, VT_DATA "/%s", picture);
    cr_assert_eq(vt_pool_push(pool, path), VITCL_OK, "%s", vt_message());
    st = vt_pool_next(rgb, pool);
    if (st == VITCL_EUNSUPPORTED &&
        strstr(vt_message(), "which this build lacks")) {
        cr_log_warn("not compared: %s", vt_message());
        return;
    }
    cr_expect_eq(st, VITCL_OK, "%s %s: %s", config, picture, vt_message());
    vt_sha256(rgb, sizeof rgb, sum);
    vt_sha256_hex(hex, sum);
    if (st == VITCL_OK)
        cr_expect_str_eq(hex, want, "%s %s: other pixels", config, picture);
}

Test(own_mode, as_open_clip)
{
    char line[1024], config[256] = "";
    vt_decoder_pool *pool = NULL;
    int n = 0;
    FILE *f = fopen(VT_DATA "/open_clip/own.tsv", "r");

    cr_assert(f);
    while (fgets(line, sizeof line, f)) {
        char *second = strchr(line, '\t');

        line[strcspn(line, "\n")] = '\0';
        cr_assert(second, "%s", line);
        *second++ = '\0';
        if (strcmp(line, "config") == 0) {
            vt_pool_free(pool);
            snprintf(config, sizeof config, "%s", second);
            pool = begin(config);
            continue;
        }
        check(pool, line, second, config);
        n++;
    }
    vt_pool_free(pool);
    fclose(f);
    cr_expect_geq(n, 700);
}
