/*
 * speed.c - measures models with `vitcl bench`, one file for each measurement,
 * so that a study that goes on does not measure again.
 */
#include "study/speed.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "study/table_6.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *const vt_speed_models[] = {"vit-b/32", "vit-b/16", "resnet50x1"};
const unsigned vt_speed_sizes[] = {64, 128, 192, 256, 384, 512};
enum { FILE_MOST = 1 << 20 };

/* Where the answer of a measurement is. */
static vitcl_status answer_path(char out[VT_STUDY_PATH], const vt_experiment *e,
                                size_t model, size_t size)
{
    char name[32];

    vt_snprint(name, sizeof name, "%s", vt_speed_models[model]);
    for (char *s = name; *s; s++)
        if (*s == '/')
            *s = '-';
    return vt_study_path(out, e, "files/speed-%s-%u.json", name,
                         vt_speed_sizes[size]);
}

/* The rate stays 0 if there is no answer of this device yet. */
static vitcl_status read_answer(vt_speed *s, const char *path,
                                const char *device)
{
    vitcl_status st = VITCL_OK;
    vt_json *json = NULL;
    const char *of;

    if (!vt_path_exists(path))
        return VITCL_OK;
    VT_TRY(vt_json_load(&json, path, FILE_MOST, 8));
    if (vt_json_string(&of, vt_json_get(json, "device")) &&
        strcmp(of, device) != 0)
        goto done;
    if (!vt_json_number(&s->rate, vt_json_get(json, "images_per_s")) ||
        !vt_json_number(&s->load, vt_json_get(json, "load_ms")) ||
        !(s->rate > 0))
        st = vt_fail(VITCL_EIO,
                     "%s: has no rate; remove it to measure it again", path);
    s->load /= 1e3;
done:
    vt_json_free(json);
    return st;
}

vitcl_status vt_speed_measure(vt_speed *s, const vt_experiment *e,
                              const char *device, size_t model, size_t size)
{
    char to[VT_STUDY_PATH], part[VT_STUDY_PATH], messages[VT_STUDY_PATH],
        pixels[16], line[96];
    const char *words[12] = {"bench",  "--preset", vt_speed_models[model],
                             "--size", pixels,     "--seconds",
                             "0.5",    "--json"};
    vitcl_status st;

    VT_TRY(answer_path(to, e, model, size));
    VT_TRY(read_answer(s, to, device));
    if (s->rate > 0)
        goto done;
    vt_snprint(line, sizeof line, "measurement %zu of %d: %s, %u pixels",
               model * VT_SPEED_SIZES + size + 1,
               VT_SPEED_MODELS * VT_SPEED_SIZES, vt_speed_models[model],
               vt_speed_sizes[size]);
    if (e->options.say)
        e->options.say(e->options.context, line);
    vt_snprint(pixels, sizeof pixels, "%u", vt_speed_sizes[size]);
    VT_TRY(vt_study_path(part, e, "measure/bench.json"));
    VT_TRY(vt_study_path(messages, e, "measure/messages.txt"));
    if (e->options.device)
        words[8] = "--device", words[9] = e->options.device;
    VT_TRY(vt_process_run(e, words, part, messages, "a measurement"));
    VT_TRY(read_answer(s, part, device));
    /* a dry run writes nothing, and its `files` may be the study's */
    if (!e->options.dry && rename(part, to) != 0)
        st = vt_fail(VITCL_EIO, "%s: %s", to, strerror(errno));
done:
    return st;
}

/* ---- arithmetic ---- */

/* The largest batch by the memory that plans of one and two pictures need, of
 * which no tensor may be larger than a buffer. */
static vitcl_status largest_batch(vt_speed *s, const vt_speeds *all,
                                  const vt_experiment *e, size_t model,
                                  size_t size)
{
    const unsigned pixels = vt_speed_sizes[size];
    vt_size one, two;
    double each, tensor;

    VT_RET(vt_table_6_size(&one, e, vt_speed_models[model], pixels, 1));
    VT_RET(vt_table_6_size(&two, e, vt_speed_models[model], pixels, 2));
    each = two.activations - one.activations;
    tensor = two.tensor - one.tensor;
    s->gmac = one.gmac;
    if (each > 0 && tensor > 0)
        s->batch =
            VT_MIN(floor((all->memory - one.weights - one.activations) / each),
                   floor((all->buffer - one.tensor) / tensor)) +
            1;
    s->batch = VT_MAX(s->batch, 0.0);
    return VITCL_OK;
}

static vitcl_status describe_device(vt_speeds *out, const vt_experiment *e)
{
    vitcl_status st;
    vitcl_device *device = NULL;
    vitcl_device_info info = {.size = sizeof info};

    VT_TRY(vitcl_device_open(&device, e->options.device));
    VT_TRY(vitcl_device_describe(&info, device));
    out->memory = (double)info.memory_bytes;
    out->buffer = (double)info.max_alloc_bytes;
    vt_snprint(out->device, sizeof out->device, "%s", info.name);
done:
    vitcl_device_free(device);
    return st;
}

vitcl_status vt_speeds_known(vt_speeds *out, const vt_experiment *e)
{
    char path[VT_STUDY_PATH];

    memset(out, 0, sizeof *out);
    VT_RET(describe_device(out, e));
    for (size_t m = 0; m < VT_SPEED_MODELS; m++)
        for (size_t i = 0; i < VT_SPEED_SIZES; i++) {
            VT_RET(answer_path(path, e, m, i));
            VT_RET(read_answer(&out->of[m][i], path, out->device));
            VT_RET(largest_batch(&out->of[m][i], out, e, m, i));
        }
    return VITCL_OK;
}

double vt_speed_slope(const double y[VT_SPEED_SIZES])
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    const double n = VT_SPEED_SIZES;

    for (size_t i = 0; i < VT_SPEED_SIZES; i++) {
        const double x = log10(vt_speed_sizes[i]), v = log10(y[i]);

        sx += x, sy += v, sxx += x * x, sxy += x * v;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}
