/*
 * ref.h - the expected results of ops: plain C in double, written from the
 * formula, without code of host/ or cl/. Shapes as in host/ops/ops.h.
 */
#ifndef VT_TESTS_REF_H
#define VT_TESTS_REF_H

/* act: 0 none, 1 GELU (erf), 2 GELU (tanh), 3 quick, 4 tanh, 5 ReLU, 6 SiLU */
double ref_act(double x, int act);
void ref_activation(double *out, const double *x, int n, int act);
void ref_swiglu(double *out, const double *x, int N, int C);
void ref_add(double *out, const double *a, const double *b, int n);
void ref_add_rows(double *out, const double *x, const double *y, int N, int R);
/* x[B,C,S], b[C], residual[B,C,S] or NULL */
void ref_add_channels(double *out, const double *x, const double *b,
                      const double *residual, int B, int C, int S, int relu);
/* x[B,R+gh*gw,C], across[gw,C/2], down[gh,C/2] */
void ref_add_grid(double *out, const double *x, const double *across,
                  const double *down, int B, int R, int gh, int gw, int C);
void ref_mul(double *out, const double *a, const double *b, int n);
void ref_mul_rows(double *out, const double *x, const double *y, int N, int R);
void ref_layernorm(double *out, const double *x, const double *gamma,
                   const double *beta, int B, int T, int C, int count,
                   double eps, int rms);
void ref_qknorm(double *out, const double *qkv, const double *const *weights,
                int N, int H, int D, double eps, int parts, int rms);
void ref_rope(double *out, const double *qkv, const double *table, int B, int T,
              int H, int D, int skip, int halves, int each);
void ref_relpos(double *out, const double *table, const int *index, int H,
                int pairs);
/* q rows 3*H*D apart in qkv[B,T,..]; keys[L,H*D]; R prefix tokens */
void ref_relkeys(double *out, const double *qkv, const double *keys, int B,
                 int H, int D, int T, int R);
void ref_linear(double *out, const double *x, const double *w, const double *b,
                const double *scale, const double *residual, int M, int N,
                int K, int act);
void ref_normalise(double *out, const double *rgb, int B, int H, int W,
                   double scale, const double *mean, const double *std);
void ref_patch(double *out, const double *x, int B, int C, int H, int W, int Ph,
               int Pw);
void ref_conv(double *out, const double *x, const double *w, const double *b,
              int B, int C, int H, int W, int O, int kh, int kw, int stride,
              const int pad[4]);
void ref_embed(double *out, const double *x, const double *const *prefix,
               const int *rows, int n, const double *pos, int Q, int B, int N,
               int C);
/* source below 0: the mask */
void ref_mask_patches(double *out, const double *x, const double *source,
                      const double *mask, int B, int N, int C);
/* kind: 0 token, 1 mean, 2 class token and mean, 3 maximum */
void ref_pool(double *out, const double *x, int B, int T, int C, int kind,
              int first);
void ref_slice(double *out, const double *x, int B, int T, int C, int first,
               int count);
void ref_pick(double *out, const double *x, const double *token, int B, int T,
              int C);
void ref_to_tokens(double *out, const double *x, int B, int R, int S);
void ref_weight_standardise(double *out, const double *w, int O, int K,
                            double eps);
void ref_groupnorm(double *out, const double *x, const double *gamma,
                   const double *beta, const double *residual, int B, int C,
                   int S, int G, double eps, int relu);
void ref_maxpool(double *out, const double *x, int planes, int H, int W,
                 int size, int stride, const int pad[4]);
/* To the first of equals, as torch has it; of NaNs to the last. */
void ref_maxpool_grad(double *dx, const double *dout, const double *x,
                      int planes, int H, int W, int size, int stride,
                      const int pad[4]);
/* Adjacent windows; one at the edge has the mean of its pixels inside x. */
void ref_avgpool(double *out, const double *x, int planes, int H, int W,
                 int size);
/* pad: top, left, bottom, right */
void ref_pad(double *out, const double *x, int planes, int H, int W,
             const int pad[4]);
/* q[B,Tq,H*D] and k, v as [B,T,H*D], token rows ldq and ldk apart; bias[H,Tq,T]
 * or NULL; own: bias[B,H,Tq,T] */
void ref_heads(double *out, const double *q, const double *k, const double *v,
               const double *bias, int B, int H, int D, int Tq, int T, int ldq,
               int ldk, double scale, int own);
/* The same for qkv[B,T,3*H*D] of a grid with `wide` tokens in a row: a token
 * attends to those in its row or, with `columns`, in its column. */
void ref_axial(double *out, const double *qkv, int B, int H, int D, int T,
               int wide, int columns);
/* -mean over B of sum_k t log softmax(z) */
double ref_cross_entropy(const double *z, const double *t, int B, int K);
typedef struct ref_optimiser {
    double lr, b1, b2, eps, decay, momentum, max_norm;
    int decoupled;
} ref_optimiser;
/* One update of w[n] at step t (from 1), as torch.optim has it; grad is not
 * changed. norm: the global norm of all gradients. */
void ref_adam(double *w, double *m, double *v, const double *grad, int n,
              double norm, int t, const ref_optimiser *o);
void ref_sgd(double *w, double *v, const double *grad, int n, double norm,
             const ref_optimiser *o);

#endif
