/*
 * loss.cl - softmax cross-entropy with soft targets.
 *
 *     loss = factor * sum_b (lse[b] * sum_k t[b,k] - sum_k t[b,k] z[b,k])
 *     lse  = max_k z + log sum_k exp(z - max)
 *     dz   = factor * (softmax(z) * sum_k t - t)
 *
 * loss_rows  rows[B,3] = (loss, lse, sum of t) <- z[B,K], t[B,K]
 * loss       out[1] = factor * sum of rows[b,0], in the order of b
 * loss_grad  dz[B,K] <- z, t, rows
 *
 * Label smoothing and mixup are already in t. factor is 1 / B times the share
 * of a micro-batch.
 *
 * Launch    loss_rows, loss_grad: global {B * WG}, local {WG}: one work-group
 *           per row, WG=1 on CPUs
 *           loss: global {1}
 * Local     WG floats.
 * Defines   WG, V (common.cl).
 * Numerics  The maximum is subtracted first: no overflow for finite logits.
 *
 * Host      host/ops/loss.c           Test  tests/ops/test_loss.c
 */
kernel WHOLE_GROUPS void loss_rows(global float *restrict rows,
                                   global const float *restrict z,
                                   global const float *restrict t, int K)
{
    local float tmp[WG];
    const size_t row = get_group_id(0);
    const int lid = get_local_id(0);
    float top = -INFINITY, sum = 0.0f, dot = 0.0f, all = 0.0f;

    z += row * K;
    t += row * K;
    for (int k = lid; k < K; k += WG)
        top = fmax(top, z[k]);
    top = wg_max(top, tmp);
    for (int k = lid; k < K; k += WG) {
        sum += vt_exp(z[k] - top);
        all += t[k];
        /* minus the maximum here too, so that huge logits cancel exactly */
        dot = t[k] != 0.0f ? fma(t[k], z[k] - top, dot) : dot;
    }
    sum = log(wg_sum(sum, tmp));
    dot = wg_sum(dot, tmp);
    all = wg_sum(all, tmp);
    if (lid == 0) {
        rows[3 * row] = sum * all - dot;
        rows[3 * row + 1] = top + sum;
        rows[3 * row + 2] = all;
    }
}

kernel void loss(global float *restrict out, global const float *restrict rows,
                 int B, float factor)
{
    float s = 0.0f;

    for (int b = 0; b < B; b++)
        s += rows[3 * b];
    out[0] = s * factor;
}

kernel WHOLE_GROUPS void loss_grad(global float *restrict dz,
                                   global const float *restrict z,
                                   global const float *restrict t,
                                   global const float *restrict rows, int K,
                                   float factor)
{
    const size_t row = get_group_id(0);
    const float lse = rows[3 * row + 1], all = rows[3 * row + 2];

    z += row * K;
    t += row * K;
    dz += row * K;
    for (int k = get_local_id(0); k < K; k += WG)
        dz[k] = factor * (vt_exp(z[k] - lse) * all - t[k]);
}
