/*
 * main.c - the program vitcl: finds the command and runs it.
 * docs/architecture.md says how a command is added.
 */
#include "archives/tar.h"
#include "cli/setup/setup.h"
#include "cli/setup/start.h"

#include <string.h>
#include <unistd.h>

extern const command cmd_classify, cmd_embed, cmd_forward, cmd_devices,
    cmd_convert, cmd_eval, cmd_fewshot, cmd_train, cmd_finetune, cmd_step,
    cmd_info, cmd_inspect, cmd_plan, cmd_bench, cmd_tune, cmd_selftest,
    cmd_completion, cmd_models, cmd_pull, cmd_search, cmd_dupes, cmd_merge,
    cmd_study;

static const command *const table[] = {
    &cmd_classify, &cmd_embed,    &cmd_search,     &cmd_dupes,   &cmd_merge,
    &cmd_pull,     &cmd_models,   &cmd_info,       &cmd_convert, &cmd_inspect,
    &cmd_train,    &cmd_finetune, &cmd_eval,       &cmd_fewshot, &cmd_study,
    &cmd_devices,  &cmd_selftest, &cmd_bench,      &cmd_tune,    &cmd_plan,
    &cmd_forward,  &cmd_step,     &cmd_completion, NULL,
};
enum { COMMANDS = sizeof table / sizeof *table - 1 };

/* The titles of --help, each above its first command. */
static const struct {
    const command *first;
    const char *title;
} groups[] = {{&cmd_classify, "name and find pictures"},
              {&cmd_pull, "get models and look inside"},
              {&cmd_train, "train and measure"},
              {&cmd_devices, "devices"},
              {&cmd_plan, "for developers"}};

static void help(void)
{
    printf("usage: vitcl COMMAND [options] [arguments]\n\n"
           "Runs Vision Transformers on any OpenCL device.\n");
    for (int i = 0; i < COMMANDS; i++) {
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
            if (groups[g].first == table[i])
                printf("\n%s:\n", groups[g].title);
        printf("  %-10s ", table[i]->name);
        put_wrapped(table[i]->summary, 13, 13, text_columns());
    }
    putchar('\n');
    put_wrapped("`vitcl COMMAND --help` has the options of each; `man vitcl` "
                "has all details. `vitcl photo.jpg` classifies a picture.",
                0, 0, text_columns());
}

static const command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

static int unknown_option(const char *word)
{
    static const char *const names[] = {"help", "version", NULL};
    const char *guess = word[1] == '-' ? nearest(word + 2, names) : NULL;

    if (guess)
        return usage("unknown option %s; did you mean --%s?", word, guess);
    return usage("the command comes before its options: vitcl COMMAND %s",
                 word);
}

/* What other programs call a command of this one. */
static const char *known_as(const char *word)
{
    static const char *const other[][2] = {
        {"download", "pull"},    {"get", "pull"},  {"list", "models"},
        {"ls", "models"},        {"test", "eval"}, {"evaluate", "eval"},
        {"predict", "classify"},
    };

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(other[i][0], word) == 0)
            return other[i][1];
    return NULL;
}

static int unknown(const char *word)
{
    const char *names[COMMANDS + 1] = {NULL}, *guess = known_as(word);

    if (word[0] == '-' && word[1])
        return unknown_option(word);
    for (int i = 0; i < COMMANDS; i++)
        names[i] = table[i]->name;
    if (!guess && !strpbrk(word, "./"))
        guess = nearest(word, names);
    if (guess)
        return usage("unknown command %s; did you mean vitcl %s?", word, guess);
    return usage("%s: neither a file nor a command; `vitcl --help` lists the "
                 "commands",
                 word);
}

static int run(int argc, char **argv)
{
    const command *c;

    if (argc < 2)
        return usage("no command given; `vitcl --help` lists the commands");
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
        (strcmp(argv[1], "version") == 0 && argc == 2)) {
        printf("vitcl %s\n", vitcl_version());
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 &&
         (argc == 2 || strcmp(argv[2], "help") == 0))) {
        help();
        return EXIT_OK;
    }
    if (strcmp(argv[1], "help") == 0) {
        c = find(argv[2]);
        if (c)
            command_help(c);
        return c ? EXIT_OK : unknown(argv[2]);
    }
    c = find(argv[1]);
    if (c)
        return command_run(c, argc - 1, argv + 1);
    if (access(argv[1], F_OK) == 0) /* `vitcl photo.jpg` */
        return command_run(&cmd_classify, argc, argv);
    return unknown(argv[1]);
}

int main(int argc, char **argv)
{
    int code = begin_program(argv);

    commands = table;
    if (code == EXIT_OK)
        code = run(argc, argv);
    if (code == EXIT_OK)
        flush_results(), say_full_name();
    if (!is_quiet() && vitcl_image_note())
        note("%s", vitcl_image_note());
    if (vt_tar_unlocked())
        note("archives were read without the system call filter: the kernel or "
             "the container refuses seccomp");

    return exit_status(close_results(code));
}
