/*
 * grad_norm.cl - the global norm of all gradients, in a fixed order.
 *
 * grad_norm_part  part[at + g] = sum of squares of piece g of grad[n], which is
 *                 cut into as many pieces as there are work-groups
 * grad_norm       out[1] = sqrt(sum of part[n])
 *
 * No backward: only the optimiser reads it.
 *
 * Launch    grad_norm_part: global {pieces * WG}, local {WG}
 *           grad_norm: global {WG}, local {WG}; WG=1 on CPUs
 * Local     WG floats.
 * Defines   WG, V (common.cl).
 *
 * Host      host/ops/grad_norm.c      Test  tests/ops/test_optimizer.c
 */
kernel WHOLE_GROUPS void grad_norm_part(global float *restrict part,
                                        global const float *restrict grad,
                                        int n, int at)
{
    local float tmp[WG];
    const int g = get_group_id(0), pieces = get_num_groups(0);
    const int each = (n + pieces - 1) / pieces;
    const int begin = min(g * each, n), end = min(begin + each, n);
    const float s = wg_row_square(grad + begin, end - begin, 0.0f, tmp);

    if (get_local_id(0) == 0)
        part[at + g] = s;
}

kernel WHOLE_GROUPS void grad_norm(global float *restrict out,
                                   global const float *restrict part, int n)
{
    local float tmp[WG];
    const float s = wg_row_sum(part, n, tmp);

    if (get_local_id(0) == 0)
        out[0] = sqrt(s);
}
