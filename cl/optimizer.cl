/*
 * optimizer.cl - one step of each optimiser, and the moving average of weights.
 *
 *     g = grad * min(1, limit / (norm + 1e-6))
 *
 * adam  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *       w = w - lr * (m / c1) / (sqrt(v / c2) + eps),
 *       c1 = 1 - b1^t, c2 = 1 - b2^t
 *       before that w *= 1 - lr * decay (decoupled: AdamW), or g += decay w
 * sgd   v = momentum v + g + decay w;  w = w - lr v
 * ema   average += (1 - rate) (w - average)
 *
 * hyper: lr, c1, c2; lr is multiplied by `share`. norm may be NULL: nothing is
 * clipped. adam and sgd set grad to 0 for the next step.
 *
 * No backward: nothing is differentiated through an update.
 *
 * Launch    global {ceil(n / (PER*V))}
 * Defines   V, PER (common.cl).
 *
 * Paper     Kingma, Ba 2015, arXiv:1412.6980; Loshchilov, Hutter 2019,
 *           arXiv:1711.05101; torch.optim for the order of operations.
 * Host      host/ops/optimizer.c      Test  tests/ops/test_optimizer.c
 */
static inline float clip(global const float *norm, float limit)
{
    return norm ? fmin(1.0f, limit / (norm[0] + 1e-6f)) : 1.0f;
}

kernel void adam(global float *restrict w, global float *restrict grad,
                 global float *restrict m, global float *restrict v,
                 global const float *restrict hyper,
                 global const float *restrict norm, int n, float limit,
                 float b1, float b2, float eps, float decay, int decoupled,
                 float share)
{
    const float scale = clip(norm, limit), lr = hyper[0] * share;
    const float rate = lr / hyper[1], root = sqrt(hyper[2]);
    const int end = block_end(n);

    for (int i = block_begin(n); i < end; i++) {
        float g = grad[i] * scale, x = w[i];

        if (decoupled)
            x *= 1.0f - lr * decay;
        else
            g = fma(decay, x, g);
        const float a = fma(1.0f - b1, g - m[i], m[i]);
        const float b = fma((1.0f - b2) * g, g, b2 * v[i]);
        m[i] = a;
        v[i] = b;
        w[i] = x - rate * (a / (sqrt(b) / root + eps));
        grad[i] = 0.0f;
    }
}

kernel void sgd(global float *restrict w, global float *restrict grad,
                global float *restrict v, global const float *restrict hyper,
                global const float *restrict norm, int n, float limit,
                float momentum, float decay, float share)
{
    const float scale = clip(norm, limit), lr = hyper[0] * share;
    const int end = block_end(n);

    for (int i = block_begin(n); i < end; i++) {
        const float g = fma(decay, w[i], grad[i] * scale);
        const float a = fma(momentum, v[i], g);

        v[i] = a;
        w[i] = fma(-lr, a, w[i]);
        grad[i] = 0.0f;
    }
}

kernel void ema(global float *restrict average, global const float *restrict w,
                int n, float rate)
{
    const int end = block_end(n);

    for (int i = block_begin(n); i < end; i++)
        average[i] = fma(1.0f - rate, w[i] - average[i], average[i]);
}
