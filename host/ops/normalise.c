/*
 * normalise.c - 8-bit pictures to floats.
 */
#include "ops/common.h"

enum { IN_RGB };
enum { OUT_Y };
enum { F_SCALE, F_MEAN, F_STD = F_MEAN + 3 }; /* mean and std of 3 channels */

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_RGB]);

    VT_RET(vt_op_need(x && x->dtype == VT_U8 && x->rank == 4 && x->dim[3] == 3,
                      "pictures must be 8-bit [B,H,W,3]"));
    return vt_op_out(p, s, OUT_Y, 4,
                     (int[]){x->dim[0], 3, x->dim[1], x->dim[2]});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int h = vt_dim(p, s->in[IN_RGB], 1), w = vt_dim(p, s->in[IN_RGB], 2);

    VT_RET(vt_op_kernel(&k, p, s, "normalise", "normalise"));
    VT_RET(vt_args(p, k, "vviifffffff", s->out[OUT_Y], s->in[IN_RGB], h, w,
                   (double)s->f[F_SCALE], (double)s->f[F_MEAN],
                   (double)s->f[F_MEAN + 1], (double)s->f[F_MEAN + 2],
                   (double)s->f[F_STD], (double)s->f[F_STD + 1],
                   (double)s->f[F_STD + 2]));
    vt_op_blocks(k, p, w, vt_dim(p, s->in[IN_RGB], 0) * h);
    return VITCL_OK;
}

/* No grad: pictures need none. No half_out: vitcl_session_run_values() writes
 * f32. */
const vt_op vt_op_normalise = {
    .name = "normalise", .shape = shape, .prepare = prepare};

vt_val vt_normalise(vt_plan *p, vt_val rgb, float scale, const float mean[3],
                    const float std[3])
{
    vt_step *s = vt_step_new(p, &vt_op_normalise);

    if (!s)
        return VT_NONE;
    s->in[IN_RGB] = rgb;
    s->f[F_SCALE] = scale;
    for (int c = 0; c < 3; c++) {
        s->f[F_MEAN + c] = mean[c];
        s->f[F_STD + c] = std[c];
    }
    return vt_step_add(p, s);
}
