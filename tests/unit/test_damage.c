/*
 * test_damage.c - a training is not resumed from a state, or with a best model,
 * of which a bit has changed.
 */
#include "support/pictures.h"
#include "support/rng.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

static int stop(void *context, const vitcl_train_event *e)
{
    (void)context;
    return e->step >= 3;
}

static vitcl_status resume(vitcl_device *device, const char *folder)
{
    vitcl_train_event last = {.size = sizeof last};

    return vitcl_train(
        &last, device,
        &(vitcl_train_options){
            .size = sizeof(vitcl_train_options), .output = folder, .resume = 1},
        stop, NULL);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    cr_assert(f && fwrite(bytes, 1, size, f) == size);
    cr_assert_eq(fclose(f), 0);
}

static void flip_bits(vitcl_device *device, const char *folder,
                      const char *name, int n)
{
    const char *path = vt_test_path(folder, name);
    vt_rng r = {5};
    size_t size;
    unsigned char *bytes = vt_test_bytes(&size, folder, name);

    cr_assert(bytes);
    for (int i = 0; i < n; i++) {
        /* each other one in the head */
        const size_t at = vt_rng_bits(&r) % (i % 2 ? size : 4000);
        const unsigned char bit =
            (unsigned char)(1 << (vt_rng_bits(&r) >> 20) % 8);

        bytes[at] ^= bit;
        write_bytes(path, bytes, size);
        cr_expect_neq(resume(device, folder), VITCL_OK, "%s: byte %zu", name,
                      at);
        cr_expect(strstr(vitcl_last_error(), name), "%s", vitcl_last_error());
        bytes[at] ^= bit;
    }
    write_bytes(path, bytes, size);
    free(bytes);
}

Test(damage, of_a_training_is_noticed)
{
    char *root = vt_test_folder(), *folder = vt_test_path(root, "out");
    vitcl_train_event last = {.size = sizeof last};
    vitcl_device *device = NULL;
    vt_tensors *t = NULL;
    vt_tensor *all;
    size_t n;

    cr_assert_eq(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")),
                 VITCL_OK, "%s", vitcl_last_error());
    vt_test_cifar(root, 60, 4);
    cr_assert_eq(vitcl_train(&last, device,
                             &(vitcl_train_options){
                                 .size = sizeof(vitcl_train_options),
                                 .config = vt_test_config(root, ""),
                                 .data = root,
                                 .output = folder,
                                 .hold_out = 40,
                                 .batch = 10,
                                 .epochs = 4,
                             },
                             stop, NULL),
                 VITCL_OK, "%s", vitcl_last_error());
    flip_bits(device, folder, "training.safetensors", 24);
    flip_bits(device, folder, "best/model.safetensors", 16);
    cr_expect_eq(resume(device, folder), VITCL_OK, "%s", vitcl_last_error());

    /* as older versions wrote it: without checksums */
    cr_assert_eq(
        vt_tensors_open(&t, vt_test_path(folder, "training.safetensors")),
        VITCL_OK, "%s", vt_message());
    n = vt_tensors_count(t);
    all = calloc(n, sizeof *all);
    cr_assert(all);
    for (size_t i = 0; i < n; i++) {
        void *bytes;

        all[i] = *vt_tensors_at(t, i);
        bytes = malloc(all[i].size + 1);
        cr_assert(bytes);
        cr_assert_eq(vt_tensor_bytes(bytes, &all[i], 0, all[i].size), VITCL_OK);
        all[i].data = bytes;
    }
    cr_assert_eq(
        vt_safetensors_write(vt_test_path(folder, "training.safetensors"), all,
                             n, NULL),
        VITCL_OK, "%s", vt_message());
    cr_expect_eq(resume(device, folder), VITCL_OK, "%s", vitcl_last_error());
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)all[i].data);
    free(all);
    vt_tensors_free(t);
    vitcl_device_free(device);
    vt_test_remove(root);
}
