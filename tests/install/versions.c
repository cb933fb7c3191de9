/* versions.c - a program that is compiled with a header of another version; see
 * versions.sh. */

#include <stdio.h>
#include <vitcl.h>

int main(void)
{
    static const uint8_t rgb[4 * 32 * 32 * 3];
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    struct {
        vitcl_model_info info;
        double behind;
    } m = {.info = {.size = sizeof m.info}, .behind = 1.5};
    vitcl_session_options options = {.size = sizeof options, .batch = 3};
    int wrong = vitcl_device_open(&device, NULL) ||
                vitcl_model_new(&model, device, "vit-ti/16", 32) ||
                vitcl_model_describe(&m.info, model, 0, 0, 1) ||
                vitcl_session_new(&session, model, &options);

    if (wrong)
        fprintf(stderr, "%s\n", vitcl_last_error());
    wrong = wrong || m.info.layers != 12 || m.info.gmac <= 0 ||
            m.behind != 1.5 || vitcl_session_run_rgb(session, rgb, 3) ||
            vitcl_session_run_rgb(session, rgb, 4) != VITCL_EINVAL;
#ifdef LATER
    vitcl_session *none = NULL;

    wrong = wrong || m.info.later != 0;
    options.later = 1;
    wrong = wrong ||
            vitcl_session_new(&none, model, &options) != VITCL_EUNSUPPORTED ||
            none;
#endif
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return wrong;
}
