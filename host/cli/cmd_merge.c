/*
 * cmd_merge.c - joins the parts that workers wrote.
 */
#include "base/file.h"
#include "base/status.h"
#include "cli/training/scores.h"

#include <string.h>

typedef struct merge {
    const char *output;
    score_options how;
} merge;

static const opt options[] = {
    OPT_ROW(merge, 'o', "output", OPT_FILE,
            "FILE.jsonl|FILE.npy|FILE.safetensors",
            "the joined file (default: all.jsonl and so on, in DIR)", output),
    OPT_SCORES(merge, how), OPT_DONE};

static void say_differences(const vt_parts *p)
{
    bool device = false, gemm = false; /* said */

    for (uint32_t i = 0; i < p->of; i++)
        make_text(p->part[i].gemm);
    for (uint32_t i = 1; i < p->of; i++) {
        if (!device && strcmp(p->part[i].device, p->part[0].device) != 0) {
            note("shards 1 and %u were computed on different devices: the last "
                 "bits of their numbers may differ from one run's",
                 i + 1);
            device = true;
        }
        if (!gemm && strcmp(p->part[i].gemm, p->part[0].gemm) != 0) {
            note("shards 1 and %u were multiplied by different providers (%s; "
                 "%s): the last bits of their numbers may differ from one "
                 "run's; --gemm selects one for all shards",
                 i + 1, p->part[0].gemm, p->part[i].gemm);
            gemm = true;
        }
    }
}

static int join(const vt_parts *p, const merge *o, const char *folder)
{
    char own[4096 + 64];
    const char *path = o->output;

    snprintf(own, sizeof own, "%s/all%s", folder, p->ending);
    path = path ? path : own;
    if (o->how.json || o->how.classes || o->how.confusion)
        return usage("--json, --classes and --confusion are for the counts of "
                     "eval");
    if (!vt_path_ends(path, p->ending))
        return usage("%s: the parts are %s files", path, p->ending);
    RET(vt_parts_join(p, path));
    note("%s: %llu row%s of %u shard%s, %llu of pictures that could not be "
         "read",
         path, (unsigned long long)p->rows, vt_plural(p->rows), p->of,
         vt_plural(p->of), (unsigned long long)p->failed);
    return EXIT_OK;
}

/* The report of eval. */
static int add_up(const vt_parts *p, const merge *o)
{
    vt_tally t = {.rows = 0};
    int code;

    if (o->output)
        return usage("-o is for rows; the scores of eval are printed");
    RET(scores_ready(&o->how));
    RET(vt_tally_sum(&t, p));
    code = scores_tell(&t, &o->how);
    if (t.failed)
        note("%llu picture%s could not be decoded and %s left out of the "
             "scores",
             (unsigned long long)t.failed, vt_plural(t.failed),
             t.failed == 1 ? "is" : "are");
    vt_tally_free(&t);
    return code;
}

static int run(void *into, const words *operands)
{
    const merge *o = into;
    vt_parts p;
    int code;

    if (operands->count != 1)
        return usage("name one folder that has the parts; see vitcl merge "
                     "--help");
    if (strlen(operands->item[0]) > 4096)
        return usage("the path is too long");
    RET(vt_parts_open(&p, operands->item[0]));
    if (p.missing[0])
        code = fail("%s: of %u shards these are missing: %s; run them again",
                    operands->item[0], p.of, p.missing);
    else if (strcmp(p.ending, ".json") == 0)
        code = add_up(&p, o);
    else
        code = join(&p, o, operands->item[0]);
    if (code == EXIT_OK)
        say_differences(&p);
    vt_parts_close(&p);
    return code;
}

const command cmd_merge = {
    "merge",
    "DIR",
    "Join the parts that workers wrote with --shard",
    "The result has the same bytes as one run without --shard. If shards are "
    "missing, or were made from other pictures, with another model or with "
    "other settings, that is an error and nothing is written. For the parts of "
    "eval it prints the scores.",
    options,
    sizeof(merge),
    run};
