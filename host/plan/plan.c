/*
 * plan.c - the builder: values, steps and the first error.
 */
#include "base/memory.h"
#include "plan/plan_private.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static vitcl_status copy_patterns(char ***out, const char *const *patterns)
{
    size_t n = 0;

    while (patterns && patterns[n])
        n++;
    VT_RET(VT_NEW(out, n + 1));
    for (size_t i = 0; i < n; i++)
        VT_RET(vt_strdup(&(*out)[i], patterns[i]));
    return VITCL_OK;
}

static void free_patterns(char **patterns)
{
    for (size_t i = 0; patterns && patterns[i]; i++)
        free(patterns[i]);
    free(patterns);
}

/* Any product in the plan's type; an error if who was asked for has none. */
static vitcl_status check_type(vt_product *any, const vt_plan *p, bool asked)
{
    const vt_dtype t = vt_plan_type(p);

    VT_RET(vt_product_any(any, p->o.dev, p->o.gemm, t, vt_plan_class(p)));
    if (!any->own && asked)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s does not multiply in %s on %.60s; %s does",
                       p->o.gemm, t == VT_I8 ? "int8" : vt_dtype_name(t),
                       vt_dev_info(p->o.dev)->name, any->form->provider);
    return VITCL_OK;
}

vitcl_status vt_plan_new(vt_plan **out, const vt_plan_options *options)
{
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;
    vt_product any;

    VT_TRY(VT_NEW(&p, 1));
    p->o = *options;
    p->o.keep = p->o.watch = NULL, p->o.gemm = "";
    p->o.dev = options->dev ? vt_dev_ref(options->dev) : NULL;
    p->o.store = options->store ? vt_store_ref(options->store) : NULL;
    if (p->o.dev) {
        VT_TRY(vt_product_provider(&p->o.gemm, p->o.dev, options->gemm));
        VT_TRY(check_type(&any, p, options->gemm));
        VT_TRY(vt_queue_new(&p->queue, p->o.dev, options->times));
    }
    /* Otherwise packed weights are summed in another order (other bits), or
     * weights must be copied or converted anyway. */
    p->o.once = options->once && p->o.dev && options->precision == VITCL_F32 &&
                any.own && any.form->streams;
    VT_TRY(copy_patterns(&p->keep, options->keep));
    VT_TRY(copy_patterns(&p->watch, options->watch));
    *out = p, p = NULL;
done:
    vt_plan_free(p);
    return st;
}

static void free_step(vt_step *s)
{
    for (size_t i = 0; i < VT_COUNT(s->kernel); i++)
        vt_kernel_free(s->kernel[i]);
    vt_gemm_free(s->gemm);
    free(s);
}

void vt_plan_free(vt_plan *p)
{
    if (!p)
        return;
    if (p->upload)
        (void)vt_queue_finish(p->queue);
    vt_upload_free(p->upload);
    for (size_t i = 0; i < p->steps; i++)
        free_step(p->step[i]);
    for (size_t i = 0; i < p->values; i++) {
        vt_buf_free(p->value[i]->buf);
        free(p->value[i]->data);
        free(p->value[i]);
    }
    for (int i = 0; i < VT_SLOTS; i++)
        vt_slot_free(p->slot[i]);
    for (size_t i = 0; i < VT_SEGMENTS; i++)
        vt_buf_free(p->arena[i]);
    free_patterns(p->keep);
    free_patterns(p->watch);
    free(p->step);
    free(p->value);
    vt_queue_free(p->queue);
    vt_store_free(p->o.store);
    vt_dev_free(p->o.dev);
    free(p);
}

vt_val vt_plan_fail(vt_plan *p, vitcl_status st)
{
    if (p->status == VITCL_OK && st != VITCL_OK) {
        p->status = st;
        snprintf(p->message, sizeof p->message, "%s", vt_message());
    }
    return VT_NONE;
}

vitcl_status vt_plan_status(const vt_plan *p)
{
    return p->status == VITCL_OK ? VITCL_OK
                                 : vt_fail(p->status, "%s", p->message);
}

/* ---- values ---- */

static vitcl_status too_long(const char *name, size_t characters)
{
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%.60s..: a name of %zu characters is too long", name,
                   characters);
}

static vt_val new_value(vt_plan *p, const char *name, vt_val_kind kind,
                        vt_dtype t, int rank, const int *dim)
{
    vitcl_status st = VITCL_OK;
    size_t count = 1, bytes = 0;
    vt_value v = {.kind = kind,
                  .dtype = t,
                  .rank = rank,
                  .first = -1,
                  .grad = VT_NONE,
                  .slab = VT_NONE};

    if (p->status != VITCL_OK)
        return VT_NONE;
    if (rank < 1 || rank > 4)
        return vt_plan_fail(
            p, vt_fail(VITCL_EINVAL, "%s: rank %d is not 1-4", name, rank));
    for (int i = 0; i < rank; i++) {
        v.dim[i] = dim[i];
        if (dim[i] < 1 || !vt_mul(&count, count, (size_t)dim[i]))
            return vt_plan_fail(p,
                                vt_fail(VITCL_EINVAL, "%s: dimension %d is %d",
                                        name, i, dim[i]));
    }
    /* Kernels index with int. */
    if (!vt_mul(&bytes, count, vt_dtype_size(t)) || count > INT32_MAX)
        return vt_plan_fail(
            p, vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %zu elements are more than kernels can index; "
                       "use a smaller batch or picture",
                       name[0] ? name : "a tensor", count));
    v.bytes = bytes;
    v.ld = dim[rank - 1];
    if (snprintf(v.name, sizeof v.name, "%s", name) >= VT_NAME)
        return vt_plan_fail(p, too_long(name, strlen(name)));
    VT_TRY(vt_grow(&p->value, &p->value_cap, p->values + 1, sizeof *p->value));
    VT_TRY(VT_NEW(&p->value[p->values], 1));
    *p->value[p->values] = v;
    return (vt_val)p->values++;
done:
    return vt_plan_fail(p, st);
}

static bool matches(char *const *patterns, const char *name)
{
    for (size_t i = 0; patterns[i]; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

vt_val vt_input(vt_plan *p, const char *name, vt_dtype t, int rank,
                const int *dim)
{
    return new_value(p, name, VT_INPUT, t, rank, dim);
}

vt_val vt_param(vt_plan *p, const char *name, int rank, const int *dim)
{
    /* Shared layers: a parameter is one value, however often requested. */
    for (size_t i = 0; i < p->values; i++)
        if (p->value[i]->kind == VT_PARAM &&
            strcmp(p->value[i]->name, name) == 0)
            return (vt_val)i;
    if (strlen(name) > VT_NAME - 17) /* room for prefixes: grad., adam.m. */
        return vt_plan_fail(p, too_long(name, strlen(name)));
    return new_value(p, name, VT_PARAM, VT_F32, rank, dim);
}

static vt_val constant(vt_plan *p, const char *name, vt_dtype t, int rank,
                       const int *dim, const void *data)
{
    vitcl_status st = VITCL_OK;
    vt_val v = new_value(p, name, VT_CONST, t, rank, dim);

    if (v == VT_NONE)
        return VT_NONE;
    VT_TRY(vt_new(&p->value[v]->data, p->value[v]->bytes, 1));
    memcpy(p->value[v]->data, data, p->value[v]->bytes);
    return v;
done:
    return vt_plan_fail(p, st);
}

vt_val vt_const(vt_plan *p, const char *name, int rank, const int *dim,
                const float *data)
{
    return constant(p, name, VT_F32, rank, dim, data);
}

vt_val vt_const_int(vt_plan *p, const char *name, int rank, const int *dim,
                    const int *data)
{
    return constant(p, name, VT_I32, rank, dim, data);
}

vt_val vt_state(vt_plan *p, const char *name, vt_dtype t, int rank,
                const int *dim)
{
    return new_value(p, name, VT_STATE, t, rank, dim);
}

vt_val vt_result(vt_plan *p, vt_dtype t, int rank, const int *dim)
{
    return new_value(p, "", VT_RESULT, t, rank, dim);
}

bool vt_pad_rows(vt_plan *p, vt_val v, int ld)
{
    vt_value *x = p->value[v];
    const size_t rows = (size_t)vt_elements(p, v) / (size_t)x->dim[x->rank - 1];

    if (x->kind != VT_RESULT || x->last > x->first || ld < x->ld ||
        rows > INT32_MAX / (size_t)ld)
        return false;
    x->ld = ld;
    x->bytes = rows * (size_t)ld * vt_dtype_size(x->dtype);
    return true;
}

void vt_name(vt_plan *p, vt_val v, const char *format, ...)
{
    vt_value *x;
    va_list args;
    bool lost;
    int n;

    if (v == VT_NONE || p->status != VITCL_OK)
        return;
    x = p->value[v];
    lost = x->name[0] && vt_wanted(p, "%s", x->name);
    va_start(args, format);
    n = vsnprintf(x->name, VT_NAME, format, args);
    va_end(args);
    if (n >= VT_NAME)
        vt_plan_fail(p, too_long(x->name, (size_t)n));
    else if (lost || vt_plan_find(p, x->name) != v)
        vt_plan_fail(p, vt_fail(VITCL_EINVAL,
                                "%s: a second name of a value, or a second "
                                "value of this name",
                                x->name));
    x->keep = x->keep || matches(p->keep, x->name);
    x->watched = x->watched || matches(p->watch, x->name);
}

void vt_keep(vt_plan *p, vt_val v)
{
    if (v != VT_NONE && p->status == VITCL_OK)
        p->value[v]->keep = true;
}

bool vt_wanted(const vt_plan *p, const char *format, ...)
{
    char name[VT_NAME];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return matches(p->keep, name) || matches(p->watch, name);
}

const vt_value *vt_value_of(const vt_plan *p, vt_val v)
{
    return v == VT_NONE ? NULL : p->value[v];
}

int vt_dim(const vt_plan *p, vt_val v, int axis)
{
    const vt_value *x = vt_value_of(p, v);

    if (!x)
        return 1;
    if (axis < 0)
        axis += x->rank;
    return axis >= 0 && axis < x->rank ? x->dim[axis] : 1;
}

uint64_t vt_elements(const vt_plan *p, vt_val v)
{
    const vt_value *x = vt_value_of(p, v);
    uint64_t n = 1;

    for (int i = 0; x && i < x->rank; i++)
        n *= (uint64_t)x->dim[i];
    return x ? n : 0;
}

const vt_plan_options *vt_plan_settings(const vt_plan *p)
{
    return &p->o;
}

vt_class vt_plan_class(const vt_plan *p)
{
    if (p->o.device_class != VT_CLASS_AUTO)
        return p->o.device_class;
    return p->o.dev ? vt_dev_class(p->o.dev) : VT_CLASS_CPU;
}

vt_dtype vt_plan_type(const vt_plan *p)
{
    return vt_precision_type(p->o.precision);
}

const char *vt_plan_gemm(const vt_plan *p)
{
    return p->o.gemm;
}

void vt_plan_gemms(char *out, size_t size, const vt_plan *p)
{
    enum { MOST = 4 };
    const char *name[MOST];
    double work[MOST];
    int n = 0, k;

    for (size_t i = 0; i < p->steps; i++) {
        const vt_step *s = p->step[i];

        if (!s->gemm)
            continue;
        for (k = 0; k < n && strcmp(name[k], vt_gemm_name(s->gemm)) != 0;)
            k++;
        if (k == MOST)
            continue;
        if (k == n)
            name[n] = vt_gemm_name(s->gemm), work[n++] = 0;
        work[k] += s->op->macs ? s->op->macs(p, s) : 0;
    }
    out[0] = '\0';
    for (int done = 0; done < n; done++) {
        k = 0;
        for (int i = 1; i < n; i++)
            k = work[i] > work[k] ? i : k;
        snprintf(out + strlen(out), size - strlen(out), "%s%s",
                 done ? ", " : "", name[k]);
        work[k] = -1;
    }
    if (n == 0)
        snprintf(out, size, "%s", p->o.gemm);
}

vt_queue *vt_plan_queue(vt_plan *p)
{
    return p->queue;
}

/* ---- steps ---- */

vt_step *vt_step_new(vt_plan *p, const vt_op *op)
{
    vitcl_status st = VITCL_OK;
    vt_step *s = NULL;

    if (p->status != VITCL_OK)
        return NULL;
    VT_TRY(VT_NEW(&s, 1));
    s->op = op;
    s->streamed = VT_NONE;
    for (int i = 0; i < VT_INS; i++)
        s->in[i] = VT_NONE;
    for (int i = 0; i < VT_OUTS; i++)
        s->out[i] = VT_NONE;
    VT_TRY(vt_grow(&p->step, &p->step_cap, p->steps + 1, sizeof *p->step));
    p->step[p->steps++] = s;
    return s;
done:
    free(s);
    vt_plan_fail(p, st);
    return NULL;
}

/* A value with padded rows needs vt_op.padded. */
static vitcl_status check_padding(const vt_plan *p, const vt_step *s)
{
    for (int i = 0; i < VT_INS; i++) {
        const vt_value *v = vt_value_of(p, s->in[i]);

        if (v && v->ld != v->dim[v->rank - 1] && !(s->op->padded >> i & 1u))
            return vt_fail(VITCL_EUNSUPPORTED, "input %d has padded rows", i);
    }
    return VITCL_OK;
}

vt_val vt_step_add(vt_plan *p, vt_step *s)
{
    vitcl_status st;
    int index;

    if (!s || p->status != VITCL_OK)
        return VT_NONE;
    st = s->op->shape ? s->op->shape(p, s) : VITCL_OK;
    if (st == VITCL_OK)
        st = check_padding(p, s);
    if (st != VITCL_OK)
        return vt_plan_fail(
            p, vt_fail_in(st, "step %zu %s", p->steps - 1, s->op->name));
    if (p->status != VITCL_OK)
        return VT_NONE;
    for (index = (int)p->steps - 1; index > 0 && p->step[index] != s;)
        index--;
    for (int i = 0; i < VT_INS; i++)
        if (s->in[i] != VT_NONE)
            p->value[s->in[i]]->last = VT_MAX(p->value[s->in[i]]->last, index);
    for (int i = 0; i < VT_OUTS; i++)
        if (s->out[i] != VT_NONE) {
            vt_value *v = p->value[s->out[i]];
            if (v->first < 0)
                v->first = index;
            v->last = VT_MAX(v->last, index);
        }
    return s->out[0];
}

int vt_plan_values(const vt_plan *p)
{
    return (int)p->values;
}

int vt_plan_steps(const vt_plan *p)
{
    return (int)p->steps;
}

const vt_step *vt_plan_step(const vt_plan *p, int index)
{
    return index >= 0 && (size_t)index < p->steps ? p->step[index] : NULL;
}

double vt_plan_macs(const vt_plan *p)
{
    double sum = 0;

    for (size_t i = 0; i < p->steps; i++)
        if (p->step[i]->op->macs)
            sum += p->step[i]->op->macs(p, p->step[i]);
    return sum;
}

vt_plan_memory vt_plan_memory_of(const vt_plan *p)
{
    return p->memory;
}

vt_val vt_plan_kept(const vt_plan *p, uint32_t index)
{
    for (size_t i = 0; i < p->values; i++)
        if (p->value[i]->keep && p->value[i]->name[0] && index-- == 0)
            return (vt_val)i;
    return VT_NONE;
}

vt_val vt_plan_find(const vt_plan *p, const char *name)
{
    for (size_t i = 0; i < p->values; i++)
        if (strcmp(p->value[i]->name, name) == 0)
            return (vt_val)i;
    return VT_NONE;
}
