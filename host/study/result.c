/*
 * result.c - the file with a run's result.
 */
#include "base/file.h"
#include "base/json.h"
#include "study/private.h"

#include <math.h>

enum { SMALL_FILE = 1 << 16 };

vitcl_status vt_study_result_path(char out[VT_STUDY_PATH],
                                  const vt_experiment *e, const vt_run *r)
{
    return vt_study_path(out, e, "files/%s.result.json", r->id);
}

vitcl_status vt_study_result_load(vt_run *r, const vt_experiment *e)
{
    char path[VT_STUDY_PATH];
    vitcl_status st = VITCL_OK;
    vt_json *json = NULL;
    const vt_rate *rate = vt_rate_of(e, r);

    VT_TRY(vt_study_result_path(path, e, r));
    if (!vt_path_exists(path))
        goto done;
    VT_TRY(vt_json_load(&json, path, SMALL_FILE, 8));
    r->accuracy = (double)NAN;
    vt_json_number(&r->accuracy, vt_json_get(json, "accuracy"));
    vt_json_number(&r->seconds, vt_json_get(json, "seconds"));
    for (size_t i = 0; i < VT_SHOTS; i++) {
        const vt_json *mean = vt_json_at(vt_json_get(json, "shot_mean"), i);
        const vt_json *sd = vt_json_at(vt_json_get(json, "shot_sd"), i);

        if (r->shots[i] && (!vt_json_number(&r->shot_mean[i], mean) ||
                            !vt_json_number(&r->shot_sd[i], sd)))
            VT_TRY(vt_fail(VITCL_ECORRUPT,
                           "%s: lacks few-shot scores; delete it to score the "
                           "run again",
                           path));
    }
    r->gmac = rate ? rate->gmac : 0;
    r->parameters = rate ? rate->parameters : 0;
    r->done = true;
done:
    vt_json_free(json);
    return st;
}
