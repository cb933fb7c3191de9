/*
 * embed_folder.c - write the features of a folder's pictures to a NumPy file.
 *
 *     embed_folder MODEL FOLDER OUT.npy
 *
 * Row i of OUT.npy belongs to line i of standard output. Pictures are decoded
 * in other processes while the device computes. A file that is not a picture
 * is reported and skipped.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl.h>

enum { BATCH = 8, AHEAD = 64 };

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int push(vitcl_loader *loader, const char *folder, const char *name)
{
    char path[8192]; /* the system's paths end before */

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return vitcl_loader_push(loader, path);
}

/* Runs the first n pictures of rgb and appends their features to the file. */
static int flush(vitcl_rows *rows, vitcl_session *session, const uint8_t *rgb,
                 float *features, uint32_t n)
{
    return n > 0 && (vitcl_session_run_rgb(session, rgb, n) ||
                     vitcl_session_read(
                         features, (size_t)n * vitcl_session_features(session),
                         session, "features", n) ||
                     vitcl_rows_add(rows, features, n));
}

int main(int argc, char **argv)
{
    const vitcl_session_options options = {.size = sizeof options,
                                           .batch = BATCH};
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    vitcl_loader *loader = NULL;
    vitcl_rows *rows = NULL;
    struct dirent **files = NULL;
    uint8_t *rgb = NULL;
    float *features = NULL;
    uint32_t height, width, n = 0;
    int failed = 1, count, pushed = 0;

    if (argc != 4)
        return fprintf(stderr, "usage: embed_folder MODEL FOLDER OUT.npy\n"), 2;
    count = scandir(argv[2], &files, visible, alphasort);
    if (count < 0)
        return perror(argv[2]), 1;
    if (vitcl_device_open(&device, NULL) ||
        vitcl_model_load(&model, device, argv[1]) ||
        vitcl_session_new(&session, model, &options) ||
        vitcl_loader_new(&loader, session, 0))
        goto done;

    const uint32_t dim = vitcl_session_features(session);
    const vitcl_shape row = {.name = "features", .rank = 1, .shape = {dim}};
    if (vitcl_rows_new(&rows, argv[3], &row))
        goto done;
    vitcl_session_size(&height, &width, session);
    const size_t picture = (size_t)height * width * 3;
    rgb = malloc(BATCH * picture);
    features = malloc((size_t)BATCH * dim * sizeof *features);
    if (!rgb || !features)
        goto done;

    for (int i = 0; i < count; i++) {
        while (pushed < count && vitcl_loader_pending(loader) < AHEAD)
            if (push(loader, argv[2], files[pushed++]->d_name))
                goto done;
        if (vitcl_loader_next(rgb + n * picture, loader)) {
            fprintf(stderr, "skipped: %s\n", vitcl_last_error());
            continue;
        }
        puts(files[i]->d_name);
        if (++n == BATCH) {
            if (flush(rows, session, rgb, features, n))
                goto done;
            n = 0;
        }
    }
    failed = flush(rows, session, rgb, features, n) || vitcl_rows_finish(rows);
done:
    if (failed)
        fprintf(stderr, "embed_folder: %s\n", vitcl_last_error());
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
    free(features);
    free(rgb);
    vitcl_rows_free(rows);
    vitcl_loader_free(loader);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return failed;
}
