/*
 * pad.cl - zeros added around planes, or their edges cropped.
 *
 *     out[p,y,x] = in[p,y-top,x-left], 0 where there is none
 *
 * pad  out[P,OH,OW] <- x[P,H,W]; top and left may be negative
 *
 * Backward is the same kernel with top and left negated.
 *
 * Launch    global {ceil(OW / (PER*V)), P*OH}
 * Defines   V, PER (common.cl); XT and YT: how x and out are stored.
 *
 * Host      host/ops/pad.c            Test  tests/ops/test_pad.c
 */
kernel void pad(global VT_TYPE(YT) *restrict out,
                global const VT_TYPE(XT) *restrict x, int H, int W, int OH,
                int OW, int top, int left)
{
    const int row = block_row(OW), y = row % OH - top;
    const int end = block_end(OW);

    out += (size_t)row * OW;
    x += ((size_t)(row / OH) * H + clamp(y, 0, H - 1)) * W;
    for (int i = block_begin(OW); i < end; i++) {
        const int at = i - left;
        VT_STORE(YT, out, i,
                 y >= 0 && y < H && at >= 0 && at < W ? VT_LOAD(XT, x, at)
                                                      : 0.0f);
    }
}
