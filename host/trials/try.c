/*
 * try.c - the program vitcl-try: runs what may crash or hang, so that no host
 * of the library has to, and reports the result (base/attempt.h).
 *
 *   form DEVICE NAME DRIVER INSTRUCTION  "faster", "slower" or "wrong"
 *   unit DEVICE NAME DRIVER INSTRUCTION TYPE    "right" or "wrong"
 *   groups DEVICE NAME DRIVER INSTRUCTION TYPE    the same, of wgmma
 *   attention DEVICE NAME DRIVER INSTRUCTION TYPE    the same, or "slower"
 *   gradient DEVICE NAME DRIVER INSTRUCTION TYPE    as attention, bf16
 *   training DEVICE NAME DRIVER INSTRUCTION TYPE    "right" or "wrong", bf16
 *   half DEVICE NAME DRIVER PROVIDER TYPE    milliseconds of a product, bf16 or
 *       f16
 *   xgemm DEVICE NAME DRIVER ENTRY       milliseconds of CLBlast's product
 *   measure DEVICE CANDIDATE             vt_candidate_try()'s ratio
 *
 * It ends with its parent or at its time limit, and leaves no core: a crash is
 * a valid result. It exits without releasing anything, because drivers crash
 * there, too.
 */
#include "base/attempt.h"
#include "base/file.h"
#include "base/memory.h"
#include "ocl/precision.h"
#include "product/device.h"
#include "trials/trials.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER = 0, TALK = 2 };

static void talk(void *context, const char *line)
{
    (void)context;
    dprintf(TALK, "%s\n", line);
}

static void enter(const char *seconds, const char *logs)
{
    /* 1, not 0: with 0 the kernel still pipes a core to a program */
    struct rlimit core = {1, 1};

    vt_close_from(3);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (setrlimit(RLIMIT_CORE, &core) != 0) {
        core = (struct rlimit){0, 0};
        setrlimit(RLIMIT_CORE, &core);
    }
    alarm((unsigned)strtoul(seconds, NULL, 10));
    if (logs[0] == '1')
        vitcl_log_set(talk, NULL);
}

/* Opens the parent's device; checks that the number means the same one here. */
static vitcl_status open_same(vt_dev **out, char **words)
{
    vt_dev *dev = NULL;
    vitcl_status st;

    VT_TRY(vt_product_open(&dev, words[0]));
    if (strcmp(vt_dev_info(dev)->name, words[1]) != 0 ||
        strcmp(vt_dev_info(dev)->driver, words[2]) != 0)
        VT_TRY(vt_fail(VITCL_EIO,
                       "device %s is a different one in this process: %s",
                       words[0], vt_dev_info(dev)->name));
    *out = dev, dev = NULL;
done:
    vt_dev_free(dev);
    return st;
}

static vitcl_status attempt(char *answer, size_t size, int n, char **words)
{
    vt_dev *dev = NULL;
    vitcl_precision precision;
    double figure;
    const char *word;

    if (n == 5 && strcmp(words[0], "form") == 0) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_dot(&word, dev, words[4]));
        snprintf(answer, size, "%s", word);
    } else if (n == 6 && strcmp(words[0], "unit") == 0 &&
               vt_precision_parse(&precision, words[5])) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_unit(&word, dev, words[4], vt_precision_type(precision),
                             true));
        snprintf(answer, size, "%s", word);
    } else if (n == 6 && strcmp(words[0], "groups") == 0 &&
               vt_precision_parse(&precision, words[5])) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_groups(&word, dev,
                               (vt_mma_choice){.kind = vt_mma_named(words[4])},
                               vt_precision_type(precision)));
        snprintf(answer, size, "%s", word);
    } else if (n == 6 && strcmp(words[0], "attention") == 0 &&
               vt_precision_parse(&precision, words[5])) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_attention(
            &word, dev, (vt_mma_choice){.kind = vt_mma_named(words[4])},
            vt_precision_type(precision), true));
        snprintf(answer, size, "%s", word);
    } else if (n == 6 && strcmp(words[0], "gradient") == 0) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_gradient(
            &word, dev, (vt_mma_choice){.kind = vt_mma_named(words[4])}, true));
        snprintf(answer, size, "%s", word);
    } else if (n == 6 && strcmp(words[0], "training") == 0) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_training(
            &word, dev, (vt_mma_choice){.kind = vt_mma_named(words[4])}));
        snprintf(answer, size, "%s", word);
    } else if (n == 6 && strcmp(words[0], "half") == 0 &&
               vt_precision_parse(&precision, words[5])) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_half(&figure, dev, words[4],
                             vt_precision_type(precision)));
        snprintf(answer, size, "%.9g", figure);
    } else if (n == 5 && strcmp(words[0], "xgemm") == 0) {
        VT_RET(open_same(&dev, words + 1));
        VT_RET(vt_trial_xgemm(&figure, dev, words[4]));
        snprintf(answer, size, "%.9g", figure);
    } else if (n == 3 && strcmp(words[0], "measure") == 0) {
        VT_RET(vt_trial_candidate(&figure, words[1], words[2]));
        snprintf(answer, size, "%.9g", figure);
    } else {
        return vt_fail(VITCL_EINVAL, "unknown request");
    }
    return VITCL_OK;
}

int main(int argc, char **argv)
{
    char answer[32] = "", line[VT_ATTEMPT_ROOM];
    struct stat s;
    vitcl_status st;
    int n;

    if (argc < 4 || fstat(ANSWER, &s) != 0 || !S_ISFIFO(s.st_mode)) {
        dprintf(TALK,
                "vitcl-try: only libvitcl starts this program; see vitcl(1)\n");
        return 2;
    }
    enter(argv[1], argv[2]);
    st = attempt(answer, sizeof answer, argc - 3, argv + 3);
    if (st == VITCL_OK)
        n = snprintf(line, sizeof line, "ok %s\n", answer);
    else
        n = snprintf(line, sizeof line, "no %d %.512s\n", (int)st,
                     vt_message());
    if (n > 0 && write(ANSWER, line, (size_t)n) != n)
        _exit(1);
    _exit(0);
}
