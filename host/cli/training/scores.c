/*
 * scores.c - shares of the counts, as text or as JSON.
 */
#include "scores.h"

#include "confusion.h"

#include <math.h>

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void print_json(const vt_tally *t, const confusion *c)
{
    const double error = vt_bins_error(t->bins, t->pictures);

    json_put("{pictures:%llu failed:%llu classes:%u",
             (unsigned long long)t->pictures, (unsigned long long)t->failed,
             t->rows);
    if (!isnan(error))
        json_put("calibration_error:%.9g", error);
    json_put("top1:%.9g", share(t->right1, t->pictures));
    if (t->columns > 5)
        json_put("top5:%.9g", share(t->right5, t->pictures));
    if (t->real)
        json_put("real_pictures:%llu real:%.9g",
                 (unsigned long long)t->real_pictures,
                 share(t->real_right, t->real_pictures));
    if (c)
        confusion_json(c, t);
    json_put("}\n");
}

static void print_text(const vt_tally *t, const confusion *c)
{
    const double error = vt_bins_error(t->bins, t->pictures);

    printf("pictures\t%llu\ntop1\t%.4f\n", (unsigned long long)t->pictures,
           share(t->right1, t->pictures));
    if (t->columns > 5) /* of fewer, all are among the first five */
        printf("top5\t%.4f\n", share(t->right5, t->pictures));
    if (t->real)
        printf("real_pictures\t%llu\nreal\t%.4f\n",
               (unsigned long long)t->real_pictures,
               share(t->real_right, t->real_pictures));
    if (!isnan(error))
        printf("calibration_error\t%.4f\n", error);
    if (t->failed)
        printf("failed\t%llu\n", (unsigned long long)t->failed);
    if (c)
        confusion_print(c);
}

int scores_ready(const score_options *o)
{
    return o->confusion ? confusion_ready(o->confusion) : EXIT_OK;
}

int scores_tell(const vt_tally *t, const score_options *o)
{
    confusion c = {0};
    int code = EXIT_OK;

    if (t->answers)
        RET(confusion_make(&c, t));
    (o->json ? print_json : print_text)(t,
                                        t->answers && o->classes ? &c : NULL);
    if (o->confusion && t->answers)
        code = confusion_write(&c, o->confusion);
    confusion_free(&c);
    return code;
}

void scores_number(const vitcl_scores *s, const char *name, double value,
                   bool json)
{
    if (!json) {
        printf("pictures\t%u\n%s\t%.4f\n", s->pictures, name, value);
        if (s->failed)
            printf("failed\t%u\n", s->failed);
        return;
    }
    json_put("{pictures:%u failed:%u", s->pictures, s->failed);
    if (s->ranked_classes)
        json_put("classes:%u", s->ranked_classes);
    json_put("%s:%.9g}\n", name, value);
}
