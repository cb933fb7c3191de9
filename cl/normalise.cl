/*
 * normalise.cl - 8-bit pictures to a model's input.
 *
 *     out[b,c,y,x] = (rgb[b,y,x,c] * scale - mean[c]) / std[c]
 *
 * normalise  out[B,3,H,W] <- rgb[B,H,W,3]
 *
 * No backward: pictures have no gradient.
 *
 * Launch    global {ceil(W / (PER*V)), B * H}
 * Defines   V, PER (common.cl).
 * Numerics  Multiply, subtract, divide, as torchvision and HF do.
 *
 * Host      host/ops/normalise.c      Test  tests/ops/test_normalise.c
 */
static inline OUTLINED_CPU void
normalise_block(global float *restrict out, global const uchar *restrict rgb,
                int H, int W, float scale, float m0, float m1, float m2,
                float s0, float s1, float s2, int row, int begin, int end)
{
    const int b = row / H, y = row % H;
    const size_t plane = (size_t)H * W;

    rgb += (size_t)row * W * 3;
    out += (size_t)b * 3 * plane + (size_t)y * W;
    for (int x = begin; x < end; x++) {
        out[x] = ((float)rgb[3 * x] * scale - m0) / s0;
        out[plane + x] = ((float)rgb[3 * x + 1] * scale - m1) / s1;
        out[2 * plane + x] = ((float)rgb[3 * x + 2] * scale - m2) / s2;
    }
}

kernel void normalise(global float *restrict out,
                      global const uchar *restrict rgb, int H, int W,
                      float scale, float m0, float m1, float m2, float s0,
                      float s1, float s2)
{
    normalise_block(out, rgb, H, W, scale, m0, m1, m2, s0, s1, s2, block_row(W),
                    block_begin(W), block_end(W));
}
