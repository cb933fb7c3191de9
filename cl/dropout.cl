/*
 * dropout.cl - elements, or whole pictures, set to 0 at random.
 *
 *     out[i] = keep(i / per) ? x[i] / (1 - rate) : 0
 *
 * dropout  out[n] <- x[n], step[1]; backward: the same kernel on dout
 *
 * keep(j) compares hash(hash(salt, step), j) with a limit, so it depends only
 * on the random state and the op (both in salt), the training step and the
 * index. per: 1 for dropout, the elements of a picture for stochastic depth.
 * With a negative step nothing is dropped and out = x (evaluation between two
 * steps).
 *
 * Launch    global {ceil(n / (PER*V))}
 * Defines   V, PER (common.cl).
 *
 * Paper     Srivastava et al. 2014; Huang et al. 2016, arXiv:1603.09382.
 * Host      host/ops/dropout.c        Test  tests/ops/test_dropout.c
 */
kernel void dropout(global float *restrict out, global const float *restrict x,
                    global const int *restrict step, int n, int per, int salt,
                    int limit, float factor)
{
    const uint state = vt_hash((uint)salt, (uint)step[0]);
    const uint most = step[0] < 0 ? 0u : (uint)limit;
    const float f = step[0] < 0 ? 1.0f : factor;
    const int end = block_end(n);

    for (int i = block_begin(n); i < end; i++)
        out[i] = vt_hash(state, (uint)(i / per)) >= most ? x[i] * f : 0.0f;
}
