/*
 * sidecar.c - the files next to a checkpoint's weights; the embedded model has
 * its config embedded, too.
 */
#include "weights/sidecar.h"

#include "base/memory.h"
#include "weights/builtin.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)128 << 20) /* tokenizers can be large */

static vitcl_status copy(vt_file *out, const char *data, size_t size)
{
    char *own = NULL;

    VT_RET(VT_NEW(&own, size));
    memcpy(own, data, size);
    *out = (vt_file){.data = (uint8_t *)own, .size = size};
    return VITCL_OK;
}

vitcl_status vt_sidecar_read(vt_file *out, char **file, const char *path,
                             const char *name)
{
    vitcl_status st = VITCL_OK;
    char *at = NULL;
    vt_builtin own;

    *out = (vt_file){0};
    if (vt_builtin_find(&own, path)) {
        VT_TRY(vt_strdup(&at, path));
        if (strcmp(name, "config.json") == 0)
            VT_TRY(copy(out, own.config, own.config_size));
    } else {
        VT_TRY(vt_path_beside(&at, path, name));
        if (vt_path_exists(at))
            VT_TRY(vt_file_read(out, at, FILE_MAX));
    }
    if (file)
        *file = at, at = NULL;
done:
    free(at);
    return st;
}

vitcl_status vt_sidecar_json(vt_json **out, const char *path, const char *name)
{
    vitcl_status st;
    char *file = NULL;
    vt_file text = {0};

    VT_TRY(vt_sidecar_read(&text, &file, path, name));
    if (text.data)
        VT_TRY(
            vt_json_parse(out, (const char *)text.data, text.size, 32, file));
done:
    vt_file_close(&text);
    free(file);
    return st;
}
