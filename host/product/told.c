/*
 * told.c - what a form is told of a product.
 */
#include "product/told.h"

#include "base/memory.h"
#include "product/state.h"
#include "tune/params.h"
#include "units/dots.h"

vt_gemm_desc vt_product_filled(const vt_dev *dev, const vt_gemm_desc *d)
{
    vt_gemm_desc f = *d;

    if (f.batch == 0)
        f.batch = 1;
    if (f.lda == 0)
        f.lda = f.trans_a ? f.M : f.K;
    if (f.ldb == 0)
        f.ldb = f.trans_b ? f.N : f.K;
    if (f.ldc == 0)
        f.ldc = f.N;
    if (f.device_class == VT_CLASS_AUTO)
        f.device_class = vt_dev_class(dev);
    return f;
}

/* The instruction and the parameters that are in use. */
static void tell_parameters(vt_told *t, const vt_dev *dev, const vt_form *f)
{
    const vt_dtype type = t->d.type;
    vt_params_kind kind = VT_PARAMS_ROWS;
    const bool some = vt_params_find(&kind, f->name, 0);
    const bool rows = kind == VT_PARAMS_ROWS || kind == VT_PARAMS_DOT;

    t->rows =
        kind == VT_PARAMS_DOT
            ? vt_params_rows(dev, kind, type, vt_dot_kinds[t->dot].lanes)
            : vt_params_rows(dev, VT_PARAMS_ROWS, type, vt_dev_vector(dev));
    if (!rows)
        vt_params_numbers(t->number, dev, kind);
    t->tuned = some && vt_params_for(dev, kind, rows ? type : VT_F32);
}

/* Whole numbers have the same bits by any instruction. */
static vt_mma_choice unit_of(vt_dev *dev, const vt_gemm_desc *d)
{
    vt_mma_choice c =
        d->b_packed ? vt_mma_ask(dev, d->type) : vt_mma_ask_training(dev);

    if (d->any_batch && d->type != VT_I8) {
        c.groups = false; /* VITCL_MMA may have set it */
        return c;
    }
    return vt_mma_ask_groups(dev, c, d->type);
}

bool vt_product_tell(vt_told *t, vt_dev *dev, const vt_form *f,
                     const vt_gemm_desc *d)
{
    const vt_product_state *s = vt_product_state_of(dev);

    *t = (vt_told){.d = *d, .parts = s->parts, .units = s->units};
    if ((f->class != VT_CLASS_AUTO && f->class != d->device_class) ||
        (d->b != VT_F32 && !f->stored_b) || (f->could && !f->could(dev, d)))
        return false;
    if (f->asks == VT_ASKS_DOT && d->type != VT_F32)
        t->dot = vt_dot_ask(dev, d->type);
    else if (f->asks == VT_ASKS_UNIT)
        t->unit = unit_of(dev, d);
    if (f->takes && !f->takes(dev, t))
        return false;
    tell_parameters(t, dev, f);
    return true;
}

bool vt_product_usable(vt_dev *dev, size_t form)
{
    vt_product_state *s = vt_product_state_of(dev);
    const vt_form *f = vt_forms[form];
    vt_told t = {.dot = VT_DOT_NONE};
    bool yes;

    if (!f->usable)
        return true;
    tell_parameters(&t, dev, f);
    pthread_mutex_lock(&s->lock);
    if (!s->usable[form])
        s->usable[form] = f->usable(dev, t.number) ? 1 : -1;
    yes = s->usable[form] > 0;
    pthread_mutex_unlock(&s->lock);
    return yes;
}
