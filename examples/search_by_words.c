/* search_by_words.c - how near pictures are to a text:
 * search_by_words MODEL TEXT PICTURE...; a model with a text tower. Needs -lm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vitcl_text.h>

static double cosine(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;

    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

/* The vector of the loader's next picture; rgb: room for its pixels. */
static int embed(float *out, size_t n, vitcl_session *session,
                 vitcl_loader *loader, uint8_t *rgb)
{
    return vitcl_loader_next(rgb, loader) ||
           vitcl_session_run_rgb(session, rgb, 1) ||
           vitcl_session_read(out, n, session, "features", 1);
}

int main(int argc, char **argv)
{
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    vitcl_loader *loader = NULL; /* puts transparent pictures on white, if the
                                    model does */
    vitcl_text *text = NULL;
    vitcl_text_info info = {.size = sizeof info};
    float *words = NULL, *picture = NULL;
    uint8_t *rgb = NULL;
    uint32_t height = 0, width = 0;
    const char *why = NULL; /* what no call of the library said */

    if (argc < 4)
        return fprintf(stderr,
                       "usage: search_by_words MODEL TEXT PICTURE...\n"),
               2;
    int failed = vitcl_device_open(&device, NULL) ||
                 vitcl_text_new(&text, device, argv[1], NULL) ||
                 vitcl_text_describe(&info, text) ||
                 vitcl_model_load(&model, device, argv[1]) ||
                 vitcl_session_new(&session, model, NULL) ||
                 vitcl_loader_new(&loader, session, 0);
    if (!failed) {
        vitcl_session_size(&height, &width, session);
        rgb = malloc((size_t)height * width * 3);
        words = calloc(info.features, sizeof *words);
        picture = calloc(info.features, sizeof *picture);
        if (!words || !picture || !rgb)
            why = "out of memory";
        else if (vitcl_session_features(session) != info.features)
            why = "the towers give vectors of different lengths";
        failed = why || vitcl_text_embed(words, text,
                                         (const char *const *)&argv[2], 1);
    }
    for (int i = 3; i < argc && !failed; i++)
        failed = vitcl_loader_push(loader, argv[i]);
    for (int i = 3; i < argc && !failed; i++) {
        failed = embed(picture, info.features, session, loader, rgb);
        if (!failed)
            printf("%.4f\t%s\n", cosine(words, picture, info.features),
                   argv[i]);
    }
    if (failed)
        fprintf(stderr, "search_by_words: %s\n",
                why ? why : vitcl_last_error());
    free(words);
    free(picture);
    free(rgb);
    vitcl_loader_free(loader);
    vitcl_text_free(text);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return failed;
}
