/* search_by_words.c - how near pictures are to a text:
 * search_by_words MODEL TEXT PICTURE...; a model with a text tower */
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

/* The vector of a picture. */
static int embed(float *out, vitcl_session *session, const char *path)
{
    vitcl_image image = {0, 0, NULL};
    const int failed =
        vitcl_image_load(&image, path) || vitcl_embed(out, session, &image, 1);

    vitcl_image_free(&image);
    return failed;
}

int main(int argc, char **argv)
{
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    vitcl_text *text = NULL;
    vitcl_text_info info = {.size = sizeof info};
    float *words = NULL, *picture = NULL;
    const char *why = NULL; /* what no call of the library said */

    if (argc < 4)
        return fprintf(stderr,
                       "usage: search_by_words MODEL TEXT PICTURE...\n"),
               2;
    int failed = vitcl_device_open(&device, NULL) ||
                 vitcl_text_new(&text, device, argv[1], NULL) ||
                 vitcl_text_describe(&info, text) ||
                 vitcl_model_load(&model, device, argv[1]) ||
                 vitcl_session_new(&session, model, NULL);
    if (!failed) {
        words = calloc(info.features, sizeof *words);
        picture = calloc(info.features, sizeof *picture);
        if (!words || !picture)
            why = "out of memory";
        else if (vitcl_session_features(session) != info.features)
            why = "the towers give vectors of different lengths";
        failed = why || vitcl_text_embed(words, text,
                                         (const char *const *)&argv[2], 1);
    }
    for (int i = 3; i < argc && !failed; i++) {
        failed = embed(picture, session, argv[i]);
        if (!failed)
            printf("%.4f\t%s\n", cosine(words, picture, info.features),
                   argv[i]);
    }
    if (failed)
        fprintf(stderr, "search_by_words: %s\n",
                why ? why : vitcl_last_error());
    free(words);
    free(picture);
    vitcl_text_free(text);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return failed;
}
