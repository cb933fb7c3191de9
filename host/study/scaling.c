/*
 * scaling.c - figure 5: accuracy over the compute of training, for three
 * families, three sizes of each and two lengths of training.
 *
 * One run of each: the trend is in the eighteen points. The learning rate is
 * chosen for the middle size of each family.
 */
#include "study/families.h"

#include <math.h>
#include <stdio.h>

static const double rates[] = {1.5e-3, 4e-3};
enum {
    RATES = sizeof rates / sizeof *rates,
    LENGTHS = 2,
    EACH = VT_FAMILY_SIZES * LENGTHS
};
static const char *const sizes[] = {"small", "middle", "large"};

static vt_run like(const vt_experiment *e, int family, int size, int length)
{
    vt_run r = {.score = VT_SCORE_TEST,
                .epochs = vt_study_epochs(e) << length,
                .state = 1};

    vt_run_family(&r, e, family, size);
    snprintf(r.arm, sizeof r.arm, "%s-%s", vt_family_names[family],
             sizes[size]);
    snprintf(r.name, sizeof r.name, "%.40s-x%d", r.arm, 1 << length);
    return r;
}

static void list(vt_experiment *e)
{
    for (int f = 0; f < VT_FAMILIES; f++) {
        const vt_run middle = like(e, f, 1, 0);
        const double rate = vt_study_sweep(e, &middle, rates, RATES);

        for (int i = 0; i < EACH; i++) {
            vt_run r = like(e, f, i / LENGTHS, i % LENGTHS);

            r.lr = rate;
            vt_run_add(e, &r);
        }
    }
}

typedef struct point {
    double x, y; /* log10 of TFLOP, accuracy */
} point;

/* In the order of x, and only those with more accuracy than all before. */
static int front(point *out, const point *all, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        int k = count++;

        for (; k > 0 && (out[k - 1].x > all[i].x ||
                         (out[k - 1].x == all[i].x && out[k - 1].y < all[i].y));
             k--)
            out[k] = out[k - 1];
        out[k] = all[i];
    }
    n = count, count = 0;
    for (int i = 0; i < n; i++)
        if (!count || out[i].y > out[count - 1].y)
            out[count++] = out[i];
    return count;
}

/* log10 of the compute at which a front reaches y; NAN: outside of it. */
static double compute_at(const point *f, int n, double y)
{
    for (int i = 0; i + 1 < n; i++)
        if (y >= f[i].y && y <= f[i + 1].y)
            return f[i].x +
                   (y - f[i].y) / (f[i + 1].y - f[i].y) * (f[i + 1].x - f[i].x);
    return (double)NAN;
}

/* How many times the compute of front a front b needs for equal accuracy: the
 * geometric mean over the points of both; 0: no accuracy is reached by both. */
static double factor(const point *a, int na, const point *b, int nb)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < na + nb; i++) {
        const double y = i < na ? a[i].y : b[i - na].y;
        const double d = compute_at(b, nb, y) - compute_at(a, na, y);

        if (isfinite(d))
            sum += d, n++;
    }
    return n ? pow(10, sum / n) : 0;
}

static void add(vt_experiment *e, const char *arm, point p)
{
    vt_study_result r = {.x = p.x,
                         .mean = p.y,
                         .sd = (double)NAN,
                         .tries = 1,
                         .paper = (double)NAN};

    snprintf(r.arm, sizeof r.arm, "%s", arm);
    vt_study_add_result(e, &r);
}

static int points(point *out, const vt_experiment *e, int family)
{
    int n = 0;

    for (int i = 0; i < EACH; i++) {
        const vt_run r = like(e, family, i / LENGTHS, i % LENGTHS);
        const vt_run *run = vt_run_named(e, r.name);

        if (run && run->done)
            out[n++] =
                (point){log10(vt_run_costs(e, run).flop / 1e12), run->accuracy};
    }
    return n;
}

static void say_factor(vt_experiment *e, const char *name, double f)
{
    if (f > 0)
        vt_study_say(
            e, " For equal accuracy %s needs %.2f times the ViT's compute.",
            name, f);
    else
        vt_study_say(e, " No accuracy is reached by both the ViT and %s.",
                     name);
}

static void read(vt_experiment *e)
{
    point all[VT_FAMILIES * EACH], of[VT_FAMILIES][EACH], own[EACH];
    int n = 0, count[VT_FAMILIES], on[VT_FAMILIES] = {0};
    double net, hybrid;

    for (int f = 0; f < VT_FAMILIES; f++) {
        const int m = points(own, e, f);

        count[f] = front(of[f], own, m);
        for (int i = 0; i < m; i++) {
            add(e, vt_family_names[f], own[i]);
            all[n++] = own[i];
        }
    }
    {
        point pareto[VT_FAMILIES * EACH];
        const int m = front(pareto, all, n);

        for (int i = 0; i < m; i++) {
            add(e, "pareto-front", pareto[i]);
            for (int f = 0; f < VT_FAMILIES; f++)
                for (int k = 0; k < count[f]; k++)
                    on[f] +=
                        of[f][k].x == pareto[i].x && of[f][k].y == pareto[i].y;
        }
    }
    net = factor(of[0], count[0], of[1], count[1]);
    hybrid = factor(of[0], count[0], of[2], count[2]);
    vt_study_say(e, net >= 2 ? "Reproduced: the ViT needs less than half of a "
                               "ResNet's compute."
                    : net > 0
                        ? "Not reproduced at this size: the ViT does not need "
                          "less than half of a ResNet's compute."
                        : "Undecided at this size.");
    say_factor(e, "the ResNet", net);
    say_factor(e, "the hybrid", hybrid);
    vt_study_say(
        e,
        " On the Pareto front are %d of the ViT's, %d of the ResNet's and "
        "%d of the hybrid's points.",
        on[0], on[1], on[2]);
}

const vt_study vt_study_scaling = {
    .name = "scaling",
    .paper = "Figure 5",
    .what = "three families, three sizes, two lengths of training: accuracy "
            "over compute",
    .list = list,
    .read = read,
    .x = "log10 of a training's TFLOP",
    .y = "test accuracy",
    .note = "On JFT a ResNet needs 2 to 4 times the compute of a ViT for the "
            "same accuracy, and hybrids are better at small sizes.",
};
