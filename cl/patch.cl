/*
 * patch.cl - pictures to rows of patches.
 *
 * patch       out[B,N,K] <- x[B,S,H,W]; K = C*Ph*Pw in the order (c, y, x) of
 *             the first C of S channels, N patches row by row; pixels beyond
 *             the last whole patch are not read
 * patch_grad  dx[B,S,H,W] <- dout[B,N,K]; 0 beyond the last whole patch and in
 *             other channels
 *
 * Launch    patch: global {ceil(K / (PER*V)), B*N}
 *           patch__rows: the CPU's, global {B*N}: one work-item a patch copies
 *           rows of Pw pixels
 *           patch_grad: global {ceil(W / (PER*V)), B*S*H}
 * Defines   V, PER (common.cl); patch: XT and YT, how x and out are
 *           stored.
 *
 * Paper     Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1.
 * Host      host/ops/patch.c          Test  tests/ops/test_patch.c
 */
kernel void patch(global VT_TYPE(YT) *restrict out,
                  global const VT_TYPE(XT) *restrict x, int S, int C, int H,
                  int W, int Ph, int Pw)
{
    const int row = block_row(C * Ph * Pw);
    const int nx = W / Pw, N = H / Ph * nx, K = C * Ph * Pw;
    const int b = row / N, py = row % N / nx, px = row % N % nx;
    const int end = block_end(K);

    out += (size_t)row * K;
    x += (size_t)b * S * H * W + (size_t)py * Ph * W + px * Pw;
    for (int k = block_begin(K); k < end; k++) {
        const int c = k / (Ph * Pw), i = k / Pw % Ph, j = k % Pw;
        VT_STORE(YT, out, k, VT_LOAD(XT, x, ((size_t)c * H + i) * W + j));
    }
}

static inline OUTLINED void copy_patch(global float *restrict out,
                                       global const float *restrict x, int S,
                                       int C, int H, int W, int Ph, int Pw,
                                       int row)
{
    const int nx = W / Pw, N = H / Ph * nx;
    const int b = row / N, py = row % N / nx, px = row % N % nx;

    x += (size_t)b * S * H * W + (size_t)py * Ph * W + px * Pw;
    out += (size_t)row * C * Ph * Pw;
    for (int c = 0; c < C; c++)
        for (int i = 0; i < Ph; i++, out += Pw) {
            global const float *from = x + ((size_t)c * H + i) * W;
            int j = 0;
            for (; j + V <= Pw; j += V)
                vstorev(vloadv(0, from + j), 0, out + j);
            for (; j < Pw; j++)
                out[j] = from[j];
        }
}

kernel void patch__rows(global float *restrict out,
                        global const float *restrict x, int S, int C, int H,
                        int W, int Ph, int Pw)
{
    copy_patch(out, x, S, C, H, W, Ph, Pw, get_global_id(0));
}

kernel void patch_grad(global float *restrict dx,
                       global const float *restrict dout, int S, int C, int H,
                       int W, int Ph, int Pw)
{
    const int row = block_row(W);
    const int y = row % H, c = row / H % S, b = row / H / S;
    const int nx = W / Pw, ny = H / Ph, py = y / Ph;
    const int end = block_end(W);

    dx += (size_t)row * W;
    for (int x = block_begin(W); x < end; x++) {
        const int px = x / Pw;
        const size_t n = ((size_t)b * ny + py) * nx + px;
        dx[x] = c < C && py < ny && px < nx
                    ? dout[((n * C + c) * Ph + y % Ph) * Pw + x % Pw]
                    : 0.0f;
    }
}
