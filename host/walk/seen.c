/*
 * seen.c - a hash table of files. Some file systems give an inode's number
 * to several files, or to another one later: size and time must agree, too.
 */
#include "walk/seen.h"

#include "base/memory.h"

enum { FIRST = 256 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static uint64_t tag_of(const struct stat *file)
{
    uint64_t x = mix((uint64_t)file->st_dev);

    x = mix(x ^ (uint64_t)file->st_size);
    x = mix(x ^ (uint64_t)file->st_mtim.tv_sec);
    x = mix(x ^ (uint64_t)file->st_mtim.tv_nsec);
    return x ? x : 1;
}

/* Where the file is, or a free slot. */
static vt_seen_file *find(const vt_seen *s, const vt_seen_file *f)
{
    size_t i = (size_t)mix(f->inode ^ f->tag) & (s->slots - 1);

    while (s->slot[i].tag &&
           (s->slot[i].tag != f->tag || s->slot[i].inode != f->inode))
        i = (i + 1) & (s->slots - 1);
    return &s->slot[i];
}

static vitcl_status grow(vt_seen *s)
{
    vt_seen more = {.slots = s->slots ? 2 * s->slots : FIRST,
                    .count = s->count};

    VT_RET(VT_NEW(&more.slot, more.slots));
    for (size_t i = 0; i < s->slots; i++)
        if (s->slot[i].tag)
            *find(&more, &s->slot[i]) = s->slot[i];
    vt_seen_free(s);
    *s = more;
    return VITCL_OK;
}

vitcl_status vt_seen_add(bool *again, uint32_t *first, vt_seen *s,
                         const struct stat *file, uint32_t mark)
{
    const vt_seen_file f = {(uint64_t)file->st_ino, tag_of(file), mark};
    vt_seen_file *at;

    if (s->count >= s->slots / 4 * 3)
        VT_RET(grow(s));
    at = find(s, &f);
    *again = at->tag != 0;
    if (!*again) {
        *at = f;
        s->count++;
    }
    *first = at->mark;
    return VITCL_OK;
}

void vt_seen_free(vt_seen *s)
{
    free(s->slot);
    *s = (vt_seen){.count = 0};
}
