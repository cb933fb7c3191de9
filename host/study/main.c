/*
 * main.c - the program vitcl-study, which `vitcl study` becomes: makes the
 * paper's experiments again at a small size.
 */
#include "study/study.h"

#include "base/status.h"
#include "cli/cmd_study.h"
#include "cli/setup/setup.h"
#include "cli/setup/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int program; /* vitcl's descriptor */

/* ---- the list ---- */

static int list_studies(void)
{
    enum { WIDE = sizeof "inductive-bias" - 1 }; /* the longest name */
    const int columns = text_columns();
    const vt_study *s;

    put_wrapped(
        "Experiments of the paper (arXiv 2010.11929), at a small scale:", 0, 0,
        columns);
    printf("    vitcl study NAME --data PATH\n\n");
    for (size_t i = 0; (s = vt_study_at(i)); i++) {
        char text[256];

        printf("  %-*s  ", (int)WIDE, s->name);
        snprintf(text, sizeof text, "%s (%s)", s->what, s->paper);
        put_wrapped(text, WIDE + 4, WIDE + 4, columns);
    }
    putchar('\n');
    put_wrapped("Not repeated, because the data is not public, or needs a "
                "cluster: pre-training on JFT-300M, the 19 tasks of VTAB, "
                "ObjectNet, and the models of Table 2 at their full size.",
                0, 0, columns);
    return EXIT_OK;
}

static int unknown_study(const char *word)
{
    const char *names[64] = {NULL}, *guess;
    const vt_study *s;

    for (size_t i = 0; (s = vt_study_at(i)) && i < 63; i++)
        names[i] = s->name;
    guess = nearest(word, names);
    if (guess)
        return usage("unknown study %s; did you mean vitcl study %s?", word,
                     guess);
    return usage("unknown study %s; `vitcl study` lists the studies", word);
}

/* ---- what it will take ---- */

static void print_plan(const vt_experiment *e)
{
    double flop = 0, seconds = 0;
    const vt_run *r;
    size_t n = 0;
    int wide = 3;

    for (; (r = vt_run_at(e, n)); n++)
        if ((int)strlen(r->name) > wide)
            wide = (int)strlen(r->name);
    put_cells("%-*s %8s %6s  %13s %7s", wide, "run", "pictures", "epochs",
              "work", "minutes");
    for (n = 0; (r = vt_run_at(e, n)); n++) {
        const vt_run_cost c = vt_run_costs(e, r);

        put_cells("%-*s %8u %6u  %7.2f %cFLOP %7.2f%s", wide, r->name,
                  c.pictures, c.epochs, c.flop / (c.flop >= 1e15 ? 1e15 : 1e12),
                  c.flop >= 1e15 ? 'P' : 'T', c.seconds / 60,
                  r->done ? "  done" : "");
        flop += c.flop;
        seconds += r->done ? 0 : c.seconds;
    }
    putchar('\n');
    put_cells(
        "%zu run%s, %.2f TFLOP, about %.1f minutes on this device; %u test "
        "pictures",
        n, vt_plural(n), flop / 1e12, seconds / 60, vt_study_tests(e));
}

/* ---- results ---- */

/* Is this the cell of a column of words, which stand at the left? */
static bool is_word(const char *s)
{
    return s[0] >= 'A' && s[0] <= 'z';
}

static int column_width(const vt_sheet *s, size_t column)
{
    size_t wide = strlen(s->head[column]);

    for (size_t i = 0; i < s->rows; i++)
        if (strlen(s->cell[i][column]) > wide)
            wide = strlen(s->cell[i][column]);
    return (int)wide;
}

/* Columns as wide as their widest cell. */
static void print_sheet(const vt_sheet *s)
{
    for (size_t r = 0; r <= s->rows; r++) {
        char row[1024];
        int n = 0;

        for (size_t c = 0; c < s->columns && n < (int)sizeof row; c++)
            n += snprintf(row + n, sizeof row - (size_t)n,
                          is_word(s->cell[0][c]) ? "%s%-*s" : "%s%*s",
                          c ? "  " : "", column_width(s, c),
                          r ? s->cell[r - 1][c] : s->head[c]);
        put_cells("%s", row);
    }
    put_wrapped(s->caption, 0, 0, text_columns());
    putchar('\n');
}

static void print_sheets(const vt_experiment *e)
{
    const vt_sheet *s;

    for (size_t i = 0; (s = vt_sheet_at(e, i)); i++)
        print_sheet(s);
}

enum { NUMBER = 32 };
static const char *number(char out[NUMBER], bool fixed, double v)
{
    if (isfinite(v))
        snprintf(out, NUMBER, fixed ? "%.4f" : "%.4g", v);
    return isfinite(v) ? out : "-";
}

static void print_results(const vt_experiment *e, const vt_study *s)
{
    char x[NUMBER], mean[NUMBER], sd[NUMBER], paper[NUMBER];
    const vt_study_result *r;

    if (vt_sheet_at(e, 0)) {
        print_sheets(e);
        put_wrapped(vt_study_verdict(e), 0, 0, text_columns());
        return;
    }
    put_cells("%-24s %10s %10s %10s %5s %9s", "arm", "x", "mean", "+-", "tries",
              "paper");
    for (size_t i = 0; (r = vt_study_result_at(e, i)); i++)
        put_cells("%-24s %10s %10s %10s %5u %9s", r->arm,
                  number(x, false, r->x), number(mean, true, r->mean),
                  number(sd, true, r->sd), r->tries,
                  number(paper, false, r->paper));
    put_cells("x: %s, mean: %s", s->x, s->y);
    putchar('\n');
    put_wrapped(vt_study_verdict(e), 0, 0, text_columns());
}

/* ---- the command ---- */

static bool table_given(const table_options *t)
{
    return t->column.count || t->separator;
}

/* An option that a study without runs does not have; NULL: none. */
static const char *idle_option(const study_options *o)
{
    const struct {
        bool given;
        const char *name;
    } all[] = {{o->data != NULL, "--data"},
               {o->follow, "--follow"},
               {table_given(&o->table), "--column or --sep"},
               {o->minutes > 0, "--minutes"},
               {o->tries > 0, "--tries"},
               {o->jobs > 0, "--jobs"},
               {o->pictures > 0, "--pictures"},
               {o->epochs > 0, "--epochs"},
               {o->tests > 0, "--test-pictures"},
               {o->model != NULL, "-m"},
               {o->precision != NULL, "--precision"}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given)
            return all[i].name;
    return NULL;
}

/* An option that the list does not have; NULL: none. */
static const char *list_option(const study_options *o)
{
    return o->output    ? "-o"
           : o->dry_run ? "--dry-run"
           : o->device  ? "-d"
                        : idle_option(o);
}

static void say(void *context, const char *line)
{
    (void)context;
    if (!is_quiet())
        note("%s", line);
}

static bool stop(void *context)
{
    (void)context;
    return stopped();
}

static int work(const study_options *o, const vt_study *s, vt_experiment *e,
                const char *output)
{
    vitcl_status st = vt_experiment_plan(e);

    if (st == VITCL_OK && o->dry_run) {
        if (s->measure)
            print_sheets(e);
        else
            print_plan(e);
        return EXIT_OK;
    }
    if (st == VITCL_OK)
        st = vt_experiment_run(e);
    if (st == VITCL_OK)
        st = vt_experiment_report(e);
    if (st == VITCL_ESTOPPED) {
        note("stopped; the same command continues from here");
        return EXIT_STOPPED;
    }
    if (st != VITCL_OK)
        return failed();
    print_results(e, s);
    say(NULL, "its files are in:");
    say(NULL, output);
    return EXIT_OK;
}

/* f32 is the default: its runs are the same when it is named. */
static const char *named_precision(const char *word)
{
    return word && strcmp(word, "f32") != 0 ? word : NULL;
}

static int run(void *into, const words *operands)
{
    const study_options *o = into;
    const vt_study *s;
    vt_experiment *e = NULL;
    char output[64], model[VT_STUDY_PATH], columns[TABLE_COLUMNS];
    vt_study_options given = {.data = o->data,
                              .output = o->output,
                              .device = o->device,
                              .precision = named_precision(o->precision),
                              .minutes = o->minutes,
                              .tries = o->tries,
                              .jobs = o->jobs,
                              .epochs = o->epochs,
                              .pictures = o->pictures,
                              .tests = o->tests,
                              .program = program,
                              .dry = o->dry_run,
                              .follow = o->follow,
                              .say = say,
                              .stop = stop};
    int code;

    if (!operands->count ||
        (operands->count == 1 && strcmp(operands->item[0], "list") == 0))
        return list_option(o)
                   ? usage("no study given for %s; `vitcl study` lists the "
                           "studies",
                           list_option(o))
                   : list_studies();
    if (operands->count > 1)
        return usage("unexpected argument '%s'; one study at a time",
                     operands->item[1]);
    s = vt_study_find(operands->item[0]);
    if (!s)
        return unknown_study(operands->item[0]);
    if (!o->data && !s->measure && !s->drawn)
        return usage("--data PATH is required");
    if ((o->data || o->follow || table_given(&o->table)) && s->drawn)
        return usage("study %s draws its pictures: it has no %s", s->name,
                     o->data     ? "--data"
                     : o->follow ? "--follow"
                                 : "--column or --sep");
    if (s->measure && idle_option(o))
        return usage("study %s trains nothing: it has no %s", s->name,
                     idle_option(o));
    if (table_columns(columns, &o->table) != EXIT_OK)
        return EXIT_USAGE;
    given.columns = columns[0] ? columns : NULL;
    if (o->model && !s->model)
        return usage("-m is for the study transfer; %s trains its own models",
                     s->name);
    if (o->model && (code = find_model(&given.model, o->model)) != EXIT_OK)
        return code;
    if (o->model && realpath(given.model, model))
        given.model = model;
    if (!o->output) {
        snprintf(output, sizeof output, "study-%.40s", s->name);
        given.output = output;
    }
    catch_stop();
    if (vt_experiment_open(&e, s, &given) != VITCL_OK)
        return failed();
    code = work(o, s, e, given.output);
    vt_experiment_free(e);
    return code;
}

int main(int argc, char **argv)
{
    command c = cmd_study;
    int code = begin_program(argv);

    c.run = run;
    program = starter();
    if (program < 0)
        code = usage("this is a part of vitcl; start it as: vitcl study");
    if (code == EXIT_OK)
        code = command_run(&c, argc, argv);
    return exit_status(close_results(code));
}
