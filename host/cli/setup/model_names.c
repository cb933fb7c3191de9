/*
 * model_names.c - see model_names.h.
 */
#include "model_names.h"

#include "cli/terminal/terminal.h"

/* A short name, and what it stands for: said once. */
static char short_name[VT_HUB_NAME], long_name[VT_HUB_NAME];
static bool is_said;

static void remember(const char *word, const char *full)
{
    if (!full[0])
        return;
    snprintf(short_name, sizeof short_name, "%s", word);
    snprintf(long_name, sizeof long_name, "%s", full);
}

void say_full_name(void)
{
    if (!short_name[0] || is_said || is_quiet())
        return;
    is_said = true;
    note("%s is %s", short_name, long_name);
}

bool parse_name(vt_hub_named *out, const char *word)
{
    static char room[VT_HUB_PATH];
    char full[VT_HUB_NAME];
    const bool good = vt_hub_parse(out, full, room, word);

    is_said = false; /* of several */
    short_name[0] = '\0';
    remember(word, full);
    return good;
}

int find_model(const char **path, const char *word)
{
    static vt_hub_place place;
    const bool found = vt_hub_locate(&place, word);

    *path = place.path;
    remember(word, place.full);
    if (!found)
        return fail("%s", place.why);
    if (is_verbose() && place.path != word)
        note("%s is %s", word, place.path);
    return EXIT_OK;
}
