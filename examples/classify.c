/* classify.c - name what a picture shows: classify MODEL PICTURE */
#include <stdio.h>
#include <vitcl.h>

int main(int argc, char **argv)
{
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    vitcl_image image = {0, 0, NULL};
    vitcl_class best;

    if (argc != 3)
        return fprintf(stderr, "usage: classify MODEL PICTURE\n"), 2;
    const int failed = vitcl_device_open(&device, NULL) ||
                       vitcl_model_load(&model, device, argv[1]) ||
                       vitcl_session_new(&session, model, NULL) ||
                       vitcl_image_load(&image, argv[2]) ||
                       vitcl_classify(&best, 1, session, &image, 1);
    if (failed) {
        fprintf(stderr, "classify: %s\n", vitcl_last_error());
    } else {
        const char *name = vitcl_class_name(model, best.label);
        if (!name)
            name = vitcl_class_label(model, best.label);
        printf("%s %.1f %%\n", name ? name : "?", 100 * best.probability);
    }
    vitcl_image_free(&image);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return failed;
}
