/*
 * relpos.cl - a bias for each pair of tokens from a table of distances.
 *
 * relpos       bias[H,P] = table[index[p],h], P = Tq * Tk pairs
 * relpos_grad  dtable[L,H] += sum of dbias[h,p] over the pairs p of l
 *
 * index[P] chooses a row of table[L,H]. The backward pass adds the pairs of l,
 * order[start[l]..start[l+1]-1], always in the same order: no atomics, equal
 * bits.
 *
 * Launch    relpos: global {ceil(P / (PER*V)), H}; relpos_grad: global {H, L}
 * Defines   V, PER (common.cl).
 *
 * Paper     Bao et al. 2022, arXiv:2106.08254 (after Raffel et al. 2020).
 * Host      host/ops/relpos.c         Test  tests/ops/test_relpos.c
 */
kernel void relpos(global float *restrict bias,
                   global const float *restrict table,
                   global const int *restrict index, int P, int H)
{
    const int h = block_row(P);
    const int end = block_end(P);

    for (int p = block_begin(P); p < end; p++)
        bias[(size_t)h * P + p] = table[(size_t)index[p] * H + h];
}

kernel void relpos_grad(global float *restrict dtable,
                        global const float *restrict dbias,
                        global const int *restrict start,
                        global const int *restrict order, int P, int H)
{
    const int h = item_x(H), l = item_y(H);
    float s = 0.0f;

    if (h >= H)
        return;
    for (int i = start[l]; i < start[l + 1]; i++)
        s += dbias[(size_t)h * P + order[i]];
    dtable[(size_t)l * H + h] += s;
}
