/*
 * params_file.c - the user's tuned parameters in $XDG_CONFIG_HOME/vitcl/tuned
 * (or ~/.config/vitcl/tuned), which `vitcl tune` writes and people may edit
 * (base/kept.h):
 *
 *   vitcl tuned 1
 *   # device <tab> driver <tab> entry, as params.c has it; blank lines count
 * not pthread-AMD EPYC<tab>3.1<tab>rows f32 lanes 8 vectors 2 block 6 terms ...
 *
 * A line is used if its device and driver are exactly those in use; of several
 * lines for one kernel and precision, the last counts. Invalid lines, or the
 * whole file if it is invalid, are ignored; info->warning says why.
 */
#include "base/kept.h"
#include "tune/params.h"

#include <stdio.h>
#include <string.h>

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
    char path[4096] = "", number[16] = "";

    if (info->warning[0]) /* keep the first */
        return;
    vt_lines_path(path, sizeof path, VT_LINES_TUNED);
    if (line)
        snprintf(number, sizeof number, ":%d", line);
    snprintf(info->warning, sizeof info->warning, "%.150s%s is ignored: %.80s",
             path, number, why);
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

void vt_params_read(vt_params_table *table, vitcl_device_info *info,
                    vt_lines *l)
{
    char *line;

    while ((line = vt_lines_next(l)))
        if (line[0] && line[0] != '#')
            take(table, info, l->number, line);
}

void vt_params_load(vt_params_table *table, vitcl_device_info *info)
{
    vt_lines l;

    memset(table, 0, sizeof *table);
    info->tuned = 0;
    info->warning[0] = '\0';
    vt_lines_open(&l, VT_LINES_TUNED);
    if (l.why[0])
        warn(info, 0, l.why);
    vt_params_read(table, info, &l);
    vt_lines_close(&l);
}

vitcl_status vt_params_save(const vt_dev *dev, const char *entry)
{
    const char *name = vt_dev_info(dev)->name,
               *driver = vt_dev_info(dev)->driver, *behind = entry;
    char start[512 + VT_ENTRY], line[512 + VT_ENTRY];
    vitcl_status st;
    vt_lines l;

    for (int word = 0; word < 2; word++) { /* the kernel and the precision */
        behind += strcspn(behind, " ");
        behind += strspn(behind, " ");
    }
    snprintf(start, sizeof start, "%s\t%s\t%.*s", name, driver,
             (int)(behind - entry), entry);
    snprintf(line, sizeof line, "%s\t%s\t%s", name, driver, entry);
    VT_TRY(vt_lines_change(&l, VT_LINES_TUNED));
    VT_TRY(vt_lines_put(&l, start, line));
done:
    vt_lines_close(&l);
    return st;
}
