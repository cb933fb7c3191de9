/*
 * params_file.c - the user's tuned parameters in $XDG_CONFIG_HOME/vitcl/tuned
 * (or ~/.config/vitcl/tuned), which `vitcl tune` writes and people may edit:
 *
 *   vitcl tuned 1
 *   # device <tab> driver <tab> entry, as params.c has it; blank lines count
 * not pthread-AMD EPYC<tab>3.1<tab>rows f32 lanes 8 vectors 2 block 6 terms ...
 *
 * A line is used if its device and driver are exactly those in use; of several
 * lines for one kernel and precision, the last counts. Invalid lines, or the
 * whole file if it is invalid, are ignored; info->warning says why.
 */
#include "base/memory.h"
#include "base/user_dir.h"
#include "tune/params.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FORMAT "vitcl tuned 1"
#define NAME "tuned"
#define LIMIT ((size_t)256 << 10)
#define LINE ((size_t)512 + VT_ENTRY)

bool vt_params_path(char *out, size_t size)
{
    const size_t n = sizeof "/" NAME;

    if (size < n || !vt_user_path(out, size - n, VT_USER_CONFIG))
        return false;
    strcat(out, "/" NAME);
    return true;
}

/* Cuts off the first line of *text; NULL at the end. */
static char *next_line(char **text)
{
    char *line = *text;
    size_t n;

    if (!line || !*line)
        return NULL;
    n = strcspn(line, "\n");
    *text = line + n + (line[n] != '\0');
    line[n] = '\0';
    return line;
}

/* Splits "device<tab>driver<tab>entry"; false: wrong format. */
static bool cut(char *line, const char **device, const char **driver,
                const char **entry)
{
    char *a = strchr(line, '\t'), *b = a ? strchr(a + 1, '\t') : NULL;

    if (!b)
        return false;
    *a = *b = '\0';
    *device = line, *driver = a + 1, *entry = b + 1;
    return true;
}

static void warn(vitcl_device_info *info, int line, const char *why)
{
    char path[4096] = NAME;

    if (info->warning[0]) /* keep the first */
        return;
    vt_params_path(path, sizeof path);
    if (line)
        snprintf(info->warning, sizeof info->warning,
                 "%.150s:%d is ignored: %.80s", path, line, why);
    else
        snprintf(info->warning, sizeof info->warning,
                 "%.150s is ignored: %.80s", path, why);
}

static void take(vt_params_table *table, vitcl_device_info *info, int number,
                 char *line)
{
    const char *device, *driver, *entry;
    vt_params_kind kind;
    vt_params t;
    int type;

    if (!cut(line, &device, &driver, &entry)) {
        warn(info, number,
             "it must be device, driver and entry, separated by tabs");
        return;
    }
    if (strcmp(device, info->name) != 0 || strcmp(driver, info->driver) != 0)
        return;
    if (vt_params_parse(&kind, &type, &t, entry) != VITCL_OK) {
        warn(info, number, vt_message());
        return;
    }
    info->tuned += !(*table)[kind][type].set;
    (*table)[kind][type] = t;
}

void vt_params_text(vt_params_table *table, vitcl_device_info *info, char *text)
{
    char *line = next_line(&text);

    if (!line || strcmp(line, FORMAT) != 0) {
        warn(info, 0, "its first line must be \"" FORMAT "\"");
        return;
    }
    for (int n = 2; (line = next_line(&text)); n++)
        if (line[0] && line[0] != '#')
            take(table, info, n, line);
}

void vt_params_load(vt_params_table *table, vitcl_device_info *info)
{
    const int folder = vt_user_folder(VT_USER_CONFIG, false);
    char *text = NULL;
    const char *why = NULL;
    bool there;

    memset(table, 0, sizeof *table);
    info->tuned = 0;
    info->warning[0] = '\0';
    if (folder < 0)
        return;
    there = vt_user_text(&text, &why, folder, NAME, LIMIT);
    close(folder);
    if (why)
        warn(info, 0, why);
    if (there)
        vt_params_text(table, info, text);
    free(text);
}

/* ---- writing ---- */

/* Is this line for another device, driver, kernel or precision? */
static bool stays(const char *line, const char *key)
{
    return line[0] && strncmp(line, key, strlen(key)) != 0;
}

static bool append(char **out, size_t *used, size_t *cap, const char *line)
{
    const size_t n = strlen(line);

    if (vt_grow(out, cap, *used + n + 2, 1) != VITCL_OK)
        return false;
    memcpy(*out + *used, line, n);
    *used += n;
    (*out)[(*used)++] = '\n';
    return true;
}

/* The user's file, and its lines behind the first; NULL: it has none. Lines of
 * a file that is ignored would be lost where it is written. */
static vitcl_status read_lines(char **text, char **lines, int folder,
                               const char *path)
{
    const char *why = NULL, *first;

    vt_user_text(text, &why, folder, NAME, LIMIT - LINE);
    *lines = *text;
    first = next_line(lines);
    if (!first)
        *lines = NULL;
    else if (strcmp(first, FORMAT) != 0)
        why = "its first line is not \"" FORMAT "\"";
    return why ? vt_fail(VITCL_EIO,
                         "%s: %s, so nothing can be added; correct or remove "
                         "it",
                         path, why)
               : VITCL_OK;
}

/* The folder of the user's file, made if it is missing; path: the file's. */
static vitcl_status open_folder(int *folder, char path[4096])
{
    if (!vt_params_path(path, 4096))
        return vt_fail(VITCL_EIO,
                       "there is no place to keep what is found: neither "
                       "XDG_CONFIG_HOME nor HOME is the path of a folder");
    *folder = vt_user_folder(VT_USER_CONFIG, true);
    if (*folder >= 0)
        return VITCL_OK;
    return vt_fail(VITCL_EIO, "%s: cannot write: %s", path,
                   errno ? strerror(errno)
                         : "the folder is another user's, or others can write "
                           "to it");
}

vitcl_status vt_params_check(void)
{
    int folder = -1;
    vitcl_status st;
    char path[4096], *text = NULL, *lines;

    VT_TRY(open_folder(&folder, path));
    if (faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) != 0)
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", path, strerror(errno));
    else
        VT_TRY(read_lines(&text, &lines, folder, path));
done:
    if (folder >= 0)
        close(folder);
    free(text);
    return st;
}

vitcl_status vt_params_save(const vt_dev *dev, const char *entry)
{
    const char *behind = entry;
    char path[4096], key[LINE], line[LINE];
    char *text = NULL, *rest, *old, *out = NULL;
    size_t used = 0, cap = 0;
    int folder = -1, error = ENOMEM; /* if nothing is written */
    vitcl_status st;
    bool good;

    VT_TRY(open_folder(&folder, path));
    behind += strcspn(behind, " ");
    behind += strspn(behind, " ");
    behind += strcspn(behind, " ");
    snprintf(key, sizeof key, "%s\t%s\t%.*s ", vt_dev_info(dev)->name,
             vt_dev_info(dev)->driver, (int)(behind - entry), entry);
    snprintf(line, sizeof line, "%s\t%s\t%s", vt_dev_info(dev)->name,
             vt_dev_info(dev)->driver, entry);
    (void)flock(folder, LOCK_EX); /* until it is closed */
    VT_TRY(read_lines(&text, &rest, folder, path));
    good = append(&out, &used, &cap, FORMAT);
    if (!rest && good)
        good = append(&out, &used, &cap, "# device, driver, parameters");
    while (good && (old = next_line(&rest)))
        good = !stays(old, key) || append(&out, &used, &cap, old);
    good = good && append(&out, &used, &cap, line);
    if (good && !vt_user_write(folder, NAME, &(vt_user_part){out, used}, 1))
        good = false, error = errno;
    if (!good)
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", path, strerror(error));
done:
    if (folder >= 0)
        close(folder);
    free(text);
    free(out);
    return st;
}
