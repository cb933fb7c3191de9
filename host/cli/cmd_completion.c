/*
 * cmd_completion.c - prints completions for a shell, made from the tables of
 * all commands. The build runs it, and installs what it prints.
 */
#include "cli/setup/options.h"

#include <string.h>

static const opt options[] = {OPT_DONE};

/* Text inside '...': shells have no escapes there. */
static void quoted(const char *s, const char *escape)
{
    for (; *s; s++) {
        if (*s == '\'') {
            printf("'\\''");
            continue;
        }
        if (strchr(escape, *s))
            putchar('\\');
        putchar(*s);
    }
}

/* Is its value a path? */
static bool takes_file(const opt *o)
{
    return o->kind == OPT_TEXT || o->kind == OPT_FILE;
}

/* The words of "a|b|c" between spaces. */
static void choices(const char *s)
{
    for (; *s; s++)
        putchar(*s == '|' ? ' ' : *s);
}

/* ---- bash ---- */

/* What follows an option that takes a value. */
static void bash_values(const command *c)
{
    for (const opt *o = c->options; o->name; o++) {
        if (o->kind == OPT_FLAG)
            continue;
        printf("            %s:--%s", c->name, o->name);
        if (o->letter)
            printf(" | %s:-%c", c->name, o->letter);
        if (o->kind == OPT_CHOICE) {
            printf(") words='");
            choices(o->value);
            printf("' ;;\n");
        } else {
            printf(") return ;;\n");
        }
    }
}

static void names_of_commands(void)
{
    for (const command *const *c = commands; *c; c++)
        printf("%s ", (*c)->name);
}

static void bash(void)
{
    printf("# bash completion of vitcl. Where no word is known, files are "
           "offered.\n"
           "_vitcl() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} words\n"
           "    local before=${COMP_WORDS[COMP_CWORD - 1]} "
           "command=${COMP_WORDS[1]}\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
           "        words='");
    names_of_commands();
    printf("help --help --version'\n"
           "    elif [ \"$command\" = help ]; then\n"
           "        words='");
    names_of_commands();
    printf("'\n"
           "    else\n"
           "        case $command:$before in\n");
    for (const command *const *c = commands; *c; c++)
        bash_values(*c);
    printf("            *)\n"
           "                [[ $current == -* ]] || return\n"
           "                case $command in\n");
    for (const command *const *c = commands; *c; c++) {
        printf("                    %s) words='", (*c)->name);
        for (const opt *o = (*c)->options; o->name; o++)
            printf("--%s ", o->name);
        printf("--help' ;;\n");
    }
    printf("                esac ;;\n"
           "        esac\n"
           "    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
           "\"$current\")\n"
           "}\n"
           "complete -o default -F _vitcl vitcl\n");
}

/* ---- zsh ---- */

static void zsh_option(const opt *o)
{
    printf("        '");
    if (o->letter)
        printf("(-%c --%s)'{-%c%s,--%s%s}'", o->letter, o->name, o->letter,
               o->kind == OPT_FLAG ? "" : "+", o->name,
               o->kind == OPT_FLAG ? "" : "=");
    else
        printf("%s--%s%s", o->kind == OPT_LIST ? "*" : "", o->name,
               o->kind == OPT_FLAG ? "" : "=");
    printf("[");
    quoted(o->help, "[]:\\");
    printf("]");
    if (o->kind == OPT_CHOICE) {
        printf(": :(");
        choices(o->value);
        printf(")");
    } else if (o->kind != OPT_FLAG) {
        printf(":");
        quoted(o->value, ":\\");
        printf(":%s", takes_file(o) ? "_files" : "");
    }
    printf("' \\\n");
}

static void zsh(void)
{
    printf("#compdef vitcl\n"
           "_vitcl() {\n"
           "    local -a commands=(\n");
    for (const command *const *c = commands; *c; c++) {
        printf("        '%s:", (*c)->name);
        quoted((*c)->summary, ":\\");
        printf("'\n");
    }
    printf("        'help:describe a command')\n"
           "    if ((CURRENT == 2)); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    local command=$words[2]\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $command in\n"
           "    help) _describe command commands ;;\n");
    for (const command *const *c = commands; *c; c++) {
        printf("    %s)\n        _arguments -s -S \\\n", (*c)->name);
        for (const opt *o = (*c)->options; o->name; o++)
            zsh_option(o);
        printf("        '(-h --help)'{-h,--help}'[help]' '*:file:_files' ;;\n");
    }
    printf("    esac\n"
           "}\n"
           "_vitcl \"$@\"\n");
}

/* ---- fish ---- */

static void fish(void)
{
    printf("# fish completion of vitcl\n");
    for (const command *const *c = commands; *c; c++) {
        printf("complete -c vitcl -n __fish_use_subcommand -f -a %s -d '",
               (*c)->name);
        quoted((*c)->summary, "\\");
        printf("'\n");
        for (const opt *o = (*c)->options; o->name; o++) {
            printf("complete -c vitcl -n '__fish_seen_subcommand_from %s' "
                   "-l %s",
                   (*c)->name, o->name);
            if (o->letter)
                printf(" -s %c", o->letter);
            if (o->kind == OPT_CHOICE) {
                printf(" -x -a '");
                choices(o->value);
                printf("'");
            } else if (o->kind != OPT_FLAG) {
                printf(takes_file(o) ? " -r -F" : " -x");
            }
            printf(" -d '");
            quoted(o->help, "\\");
            printf("'\n");
        }
    }
    printf("complete -c vitcl -n __fish_use_subcommand -f -a help -d "
           "'describe a command'\n"
           "complete -c vitcl -n '__fish_seen_subcommand_from help' -f -a '");
    names_of_commands();
    printf("'\n");
}

static int run(void *unused, const words *operands)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

    (void)unused;
    if (operands->count != 1)
        return usage("name one shell: bash, zsh or fish");
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(operands->item[0], shells[i].name) == 0) {
            shells[i].print();
            return EXIT_OK;
        }
    return usage("the shell must be bash, zsh or fish, not '%s'",
                 operands->item[0]);
}

const command cmd_completion = {
    "completion", "SHELL", "Print completions for bash, zsh or fish",
    NULL,         options, 0,
    run};
