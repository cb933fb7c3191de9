/*
 * state.c - what host/product keeps with a device.
 */
#include "product/state.h"

#include "base/memory.h"

static void drop(void *state)
{
    vt_product_state *s = state;

    pthread_mutex_destroy(&s->lock);
    for (size_t i = 0; i < s->fastests; i++)
        free(s->fastest[i].question);
    free(s->fastest);
    free(s);
}

vitcl_status vt_product_state_open(vt_dev *dev)
{
    vt_product_state *s = NULL;
    const vitcl_status st = VT_NEW(&s, 1);

    if (st == VITCL_OK) {
        pthread_mutex_init(&s->lock, NULL);
        vt_dev_attach(dev, VT_ATTACHED_PRODUCT, s, drop);
    }
    return st;
}

vt_product_state *vt_product_state_of(const vt_dev *dev)
{
    return vt_dev_attached(dev, VT_ATTACHED_PRODUCT);
}
