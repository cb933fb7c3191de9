/*
 * sized.c - copy public structs between header versions: the caller's struct
 * has the size it says, which may differ from ours.
 *
 * A new member must begin after the last member's end and after the padding
 * there; otherwise a caller's padding would be read as that member.
 */
#include "api/handles.h"
#include "base/memory.h"

#include <string.h>

/* No struct is this large: the size was not set. */
enum { ABSURD = 65536 };

static vitcl_status size_of(size_t *size, const void *theirs, const char *type)
{
    memcpy(size, theirs, sizeof *size);
    return *size >= sizeof *size && *size < ABSURD
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL,
                         "the size member of %s is %zu; set it to sizeof(%s)",
                         type, *size, type);
}

vitcl_status vt_sized_options(void *ours, size_t size, const void *theirs,
                              const char *type)
{
    const unsigned char *bytes = theirs;
    size_t given = 0;

    memset(ours, 0, size);
    memcpy(ours, &size, sizeof size);
    if (!theirs)
        return VITCL_OK;
    VT_RET(size_of(&given, theirs, type));
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s sets a member that vitcl %s does not know", type,
                           VITCL_VERSION);
    memcpy(ours, theirs, VT_MIN(size, given));
    memcpy(ours, &size, sizeof size);
    return VITCL_OK;
}

vitcl_status vt_sized_check(const void *theirs, const char *type)
{
    size_t given;

    return size_of(&given, theirs, type);
}

void vt_sized_give(void *theirs, const void *ours, size_t size)
{
    const size_t head = sizeof size; /* keep the caller's size */
    size_t given;

    memcpy(&given, theirs, sizeof given);
    memset((char *)theirs + head, 0, given - head);
    memcpy((char *)theirs + head, (const char *)ours + head,
           VT_MIN(size, given) - head);
}
