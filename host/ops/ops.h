/*
 * ops.h - the operations that model code is built from.
 *
 * Each function appends a step and returns its output. Shapes in brackets:
 * B pictures, T tokens, C channels, H heads, D head width, N patches, P patch.
 * VT_NONE is allowed where an argument says "or none".
 */
#ifndef VT_OPS_OPS_H
#define VT_OPS_OPS_H
#include "plan/plan.h"

/* rgb[B,H,W,3] u8 -> [B,3,H,W]: (v * scale - mean[c]) / std[c] */
vt_val vt_normalise(vt_plan *p, vt_val rgb, float scale, const float mean[3],
                    const float std[3]);
/* x[B,c,H,W] -> patch rows [B,N,c*P*P], row-major patches, (c,y,x) inside, as
 * a torch Conv2d weight [C,c,P,P] flattens. */
vt_val vt_patch(vt_plan *p, vt_val x, int patch_h, int patch_w);
/* The same of the first `count` channels; 0: all. */
vt_val vt_patch_first(vt_plan *p, vt_val x, int count, int patch_h,
                      int patch_w);

typedef struct vt_linear_args {
    vt_val w;        /* [N,K] parameter */
    vt_val b;        /* [N] or none */
    vt_val scale;    /* [N] layer scale, or none */
    vt_val residual; /* [..,N] or none */
    vt_act act;
} vt_linear_args;
/* x[..,K] -> residual + scale * act(x w^T + b), [..,N]. In C99:
 * vt_linear(p, x, (vt_linear_args){.w = w, .b = b, .scale = VT_NONE, ...}) */
vt_val vt_linear(vt_plan *p, vt_val x, vt_linear_args a);
/* The product of a step of vt_linear(): rows x K times K x N. False for other
 * ops, and for x of less than three dimensions. */
bool vt_linear_product(int *rows, int *n, int *k, const vt_plan *p,
                       const vt_step *s);
/* The usual case: w and b are named prefix.weight and prefix.bias (bias =
 * false: no b); K from x, N = n. */
vt_val vt_dense(vt_plan *p, vt_val x, const char *prefix, int n, bool bias,
                vt_act act, vt_val scale, vt_val residual);

/* x[..,C], gamma[C] or none, beta[C] or none; variance in two passes. */
vt_val vt_layernorm(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, float eps);
/* Only rows 0..count-1 of each picture's T: x[B,T,C] -> [B,count,C]. */
vt_val vt_layernorm_rows(vt_plan *p, vt_val x, vt_val gamma, vt_val beta,
                         float eps, int count);
/* The same with a mean of 0 and no beta: x / sqrt(mean(x^2) + eps) * gamma.
 * count 0: all rows. */
vt_val vt_rmsnorm(vt_plan *p, vt_val x, vt_val gamma, float eps, int count);
/* One of the two, of each picture's first token: x[B,T,C] -> [B,C]. */
vt_val vt_norm_token(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, float eps,
                     bool rms);
/* qkv[B,T,3C]: layer norm over each head's D of q and k (qk-norm); v is copied.
 * gammas and betas [D]. */
vt_val vt_qknorm(vt_plan *p, vt_val qkv, int heads, vt_val q_gamma,
                 vt_val q_beta, vt_val k_gamma, vt_val k_beta, float eps);
/* The same with means of 0 and no betas. */
vt_val vt_qk_rmsnorm(vt_plan *p, vt_val qkv, int heads, vt_val q_gamma,
                     vt_val k_gamma, float eps);
/* Such a norm of each head's D of x[B,T,C]; gamma[D]. */
vt_val vt_head_rmsnorm(vt_plan *p, vt_val x, int heads, vt_val gamma,
                       float eps);
/* qkv[B,T,3C]: rotates pairs of q and k of the tokens from `skip` on: adjacent
 * elements, or with `halves` those half a head apart. table[T-skip,2,D] or, for
 * each head, [H,T-skip,2,D]: sin and cos of each element's angle. */
vt_val vt_rope(vt_plan *p, vt_val qkv, int heads, vt_val table, int skip,
               bool halves);

typedef enum {               /* which tokens a token attends to: */
               VT_TO_ALL,    /* all of its picture */
               VT_TO_ROWS,   /* those in its row of the grid */
               VT_TO_COLUMNS /* those in its column */
} vt_attention_to;
typedef struct vt_attention_args {
    int heads;
    float scale;       /* 0: 1 / sqrt(D) */
    vt_val bias;       /* added to scaled logits: [H,Tq,T]; [Tq,T] for all
                        * heads; [B,H,Tq,T], one for each picture; or none */
    const char *probs; /* name of the [B,H,Tq,T] value to keep; or NULL */
    vt_attention_to to;
    int wide; /* tokens in a row of the grid, which has no other tokens; not
               * for VT_TO_ALL */
    int rows; /* of the first so many queries alone, 0: of all. In
               * self-attention to all, without a bias, for no gradient */
} vt_attention_args;
/* qkv[B,T,3C], thirds q, k, v, heads of D side by side -> [B,T,C].
 * Stores T x T only if a keep pattern matches `probs`. In a backward pass, if a
 * pattern matches "relevance.<i>" and probs is "attention.<i>", the
 * probabilities times their gradient have that name. Axial attention, to rows
 * or columns, has no bias and no relevance; its probabilities are [B,N*H,L,L]
 * of N lines of L tokens, a line's heads one after the other. */
vt_val vt_attention(vt_plan *p, vt_val qkv, vt_attention_args a);
/* q[B,Tq,C] or [1,Tq,C] (shared by all), kv[B,T,2C] -> [B,Tq,C]. */
vt_val vt_attention_cross(vt_plan *p, vt_val q, vt_val kv, vt_attention_args a);
/* table[L,H] gathered by index[Tq*T] (host, copied) -> bias [H,Tq,T]. */
vt_val vt_relpos_bias(vt_plan *p, vt_val table, int heads, int tq, int tk,
                      const int *index);

/* qkv[B,T,3C], keys[L,C]: logits of each query against a learnt key of the
 * relative position, [B,H,T,T], a bias for vt_attention(). The offset of two
 * patches in row-major order selects the key: L = 2N-1 for N = T-prefix
 * patches, and three more if there are prefix tokens (prefix to patch, patch to
 * prefix, prefix to prefix). */
vt_val vt_relkeys(vt_plan *p, vt_val qkv, vt_val keys, int heads, int prefix);

vt_val vt_activation(vt_plan *p, vt_val x, vt_act act);
/* x[..,2C]: silu(first half) * second half -> [..,C] */
vt_val vt_swiglu(vt_plan *p, vt_val x);
vt_val vt_add(vt_plan *p, vt_val a, vt_val b);
/* x[..,C] + y[C] or y[T,C], repeated over the leading dimensions. */
vt_val vt_add_rows(vt_plan *p, vt_val x, vt_val y);
/* x[B,R+gh*gw,C]: to each patch (they follow R prefix tokens) is added the
 * concatenation of across[gw,C/2] at its column and down[gh,C/2] at its row. */
vt_val vt_add_grid(vt_plan *p, vt_val x, vt_val across, vt_val down);
/* x[B,C,H,W] + b[C] (residual: x's shape, added before relu; or none) */
vt_val vt_add_channels(vt_plan *p, vt_val x, vt_val b, vt_val residual,
                       bool relu);
vt_val vt_multiply(vt_plan *p, vt_val a, vt_val b);
vt_val vt_scale(vt_plan *p, vt_val x, float factor);

/* x[B,N,C], prefix tokens [R,C] or none, pos[Q+N,C] or none ->
 * [B,R+N,C]: prefix, then patches; pos is added to the first Q = pos_prefix
 * prefix tokens and to every patch. `prefix` has n parameters [1,r,C], such as
 * class, distillation and register tokens, concatenated in this order. */
vt_val vt_embed(vt_plan *p, vt_val x, const vt_val *prefix, int n, vt_val pos,
                int pos_prefix);

/* Masked patch prediction: in x[B,N,C] patch n is replaced by patch source[B,N]
 * (i32) of the same picture, or by mask[C] where source is below 0. */
vt_val vt_mask_patches(vt_plan *p, vt_val x, vt_val source, vt_val mask);

typedef enum {
    VT_POOL_TOKEN,    /* token `first` -> [B,C] */
    VT_POOL_MEAN,     /* mean of tokens first.. -> [B,C] */
    VT_POOL_CLS_MEAN, /* token 0, then the mean of first.. -> [B,2C] */
    VT_POOL_MAX
} vt_pool_kind;
vt_val vt_pool(vt_plan *p, vt_val x, vt_pool_kind kind, int first);
/* Tokens first..first+count-1: x[B,T,C] -> [B,count,C] */
vt_val vt_slice(vt_plan *p, vt_val x, int first, int count);

/* Token token[b] of each: x[B,T,C], token[B] (i32, an input) -> [B,C]. */
vt_val vt_pick(vt_plan *p, vt_val x, vt_val token);

/* ---- convolutional stems ---- */
/* x[B,c,H,W], w[o,c,kh,kw]; padding for each side (SAME may be asymmetric)
 * -> [B,o,H',W']. */
vt_val vt_conv(vt_plan *p, vt_val x, vt_val w, int stride, int pad_top,
               int pad_left, int pad_bottom, int pad_right);
/* w[o,...] -> (w - mean) / sqrt(var + eps) per o (timm's StdConv2d) */
vt_val vt_weight_standardise(vt_plan *p, vt_val w, float eps);
/* x[B,C,H,W] (residual: x's shape, added before relu; or none) */
vt_val vt_groupnorm(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, int groups,
                    float eps, vt_val residual, bool relu);
/* x[B,C,H,W] padded with zeros; negative numbers crop */
vt_val vt_pad(vt_plan *p, vt_val x, int top, int left, int bottom, int right);
/* padding counts as -inf */
vt_val vt_maxpool(vt_plan *p, vt_val x, int size, int stride, int pad_top,
                  int pad_left, int pad_bottom, int pad_right);
/* The mean of adjacent size x size windows -> [B,C,ceil(H / size),
 * ceil(W / size)]; a window at the edge is the mean of its pixels inside x. */
vt_val vt_avgpool(vt_plan *p, vt_val x, int size);
/* x[B,C,H,W] -> [B,H*W,C] */
vt_val vt_to_tokens(vt_plan *p, vt_val x);

/* ---- training ----
 *
 * One plan has two parts for vt_plan_run_part(): forward, loss and backward
 * (once a micro-batch; gradients of parameters add up), and the update (once a
 * training step; it sets the gradients to zero).
 */
/* logits[..,K], target[..,K] (soft: includes smoothing and mixup) -> loss[1],
 * the mean over rows of -sum_k target log softmax(logits). A target of zeros
 * adds nothing to the loss. weight: factor of loss and gradient (1 /
 * micro-batches if gradients are accumulated). */
vt_val vt_cross_entropy(vt_plan *p, vt_val logits, vt_val target, float weight);
/* Each element of x is dropped with probability `rate`, the others are scaled
 * by 1 / (1 - rate). step[1], an i32 input: the training step, so that the mask
 * depends only on random state, step, op and element; negative: no dropout. */
vt_val vt_dropout(vt_plan *p, vt_val x, vt_val step, unsigned random_state,
                  float rate);
/* Stochastic depth: drops all of a picture's rows of x[B,..] together. */
vt_val vt_drop_path(vt_plan *p, vt_val x, vt_val step, unsigned random_state,
                    float rate);

/* hyper[8], an input: lr, 1 - beta1^t, 1 - beta2^t, the others unused. */
#define VT_HYPER 8
/* norm[1] = sqrt of the sum of squares of all grads, in a fixed order, which
 * does not depend on the slabs that they are in. */
vt_val vt_grad_norm(vt_plan *p, const vt_val *grad, int n);
/* These three take a parameter, or a slab of them and one of their gradients
 * (vt_slab()), in one launch. Their states are in vt_state_like()'s.
 *
 * Decoupled weight decay (AdamW), or coupled: decay * w added to the gradient
 * (Adam). norm: or none; if max_norm > 0, gradients are multiplied by
 * min(1, max_norm / (norm + 1e-6)) as in torch's clip_grad_norm_. share: a
 * factor of lr. Writes w, m and v, and sets grad to zero; no output. */
void vt_adam(vt_plan *p, vt_val w, vt_val grad, vt_val hyper, vt_val norm,
             float max_norm, float beta1, float beta2, float eps, float decay,
             bool decoupled, float share);
/* v = momentum v + (g + decay w); w -= lr v: torch's SGD. */
void vt_sgd(vt_plan *p, vt_val w, vt_val grad, vt_val hyper, vt_val norm,
            float max_norm, float momentum, float decay, float share);
/* ema = rate * ema + (1 - rate) * w; the state is "ema". */
void vt_ema(vt_plan *p, vt_val w, float rate);

#endif
