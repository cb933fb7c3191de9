/*
 * cmd_probe.c - what this program asks a child of its own to do, because it may
 * crash: no command for people, so --help does not list it.
 *
 *   vitcl probe try PRECISION      tries a processor's instructions
 *   vitcl probe measure CANDIDATE  prints a candidate's time as a ratio
 */
#include "cmd.h"

#include <vitcl_tune.h>

#include <string.h>
#include <sys/resource.h>

typedef struct probe {
    model_options common;
} probe;

static const opt options[] = {OPT_DEVICE(probe), OPT_DONE};

static int try_instructions(const probe *o, const char *word)
{
    vitcl_device *device = NULL;
    int code = EXIT_OK;

    guard_caches();
    if (vitcl_device_open(&device, o->common.device) != VITCL_OK ||
        vitcl_device_try(device, precision_of(word)) != VITCL_OK)
        code = failed();
    vitcl_device_free(device);
    return code;
}

static int run(void *into, const words *operands)
{
    const struct rlimit none = {0, 0};
    const probe *o = into;
    double ratio;

    setrlimit(RLIMIT_CORE, &none);
    if (operands->count == 2 && strcmp(operands->item[0], "try") == 0)
        return try_instructions(o, operands->item[1]);
    if (operands->count != 2 || strcmp(operands->item[0], "measure") != 0)
        return usage("try PRECISION, or measure CANDIDATE");
    guard_caches();
    if (vitcl_candidate_measure(&ratio, o->common.device, operands->item[1]) !=
        VITCL_OK)
        return failed();
    printf("%.9g\n", ratio);
    return EXIT_OK;
}

const command cmd_probe = {"probe", "WHAT WITH",   NULL, NULL,
                           options, sizeof(probe), run};
