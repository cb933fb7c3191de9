/*
 * grad_norm.cl - the global norm of all gradients, in a fixed order.
 *
 * grad_norm_part  part[at + g] = sum of squares of piece g of each gradient in
 *                 grad[]. table[gradients,3]: its first element, its elements,
 *                 and at.
 * grad_norm       out[1] = sqrt(sum of part[n])
 *
 * No backward: only the optimiser reads it.
 *
 * Launch    grad_norm_part: global {gradients * pieces * WG}, local {WG}
 *           grad_norm: global {WG}, local {WG}; WG=1 on CPUs
 * Local     WG floats.
 * Defines   WG, V (common.cl).
 *
 * Host      host/ops/grad_norm.c      Test  tests/ops/test_optimizer.c
 */
kernel WHOLE_GROUPS void grad_norm_part(global float *restrict part,
                                        global const float *restrict grad,
                                        global const int *restrict table,
                                        int pieces)
{
    local float tmp[WG];
    const int group = get_group_id(0), g = group % pieces;
    global const int *const row = table + group / pieces * 3;
    const int n = row[1], each = (n + pieces - 1) / pieces;
    const int begin = min(g * each, n), end = min(begin + each, n);
    const float s =
        wg_row_square(grad + row[0] + begin, end - begin, 0.0f, tmp);

    if (get_local_id(0) == 0)
        part[row[2] + g] = s;
}

kernel WHOLE_GROUPS void grad_norm(global float *restrict out,
                                   global const float *restrict part, int n)
{
    local float tmp[WG];
    const float s = wg_row_sum(part, n, tmp);

    if (get_local_id(0) == 0)
        out[0] = sqrt(s);
}
