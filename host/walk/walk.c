/*
 * walk.c - a stack of the folders that are open, each sorted by name.
 *
 * No folder is walked twice below the one that was begun: a few dozen links
 * can make an endless tree.
 */
#define _GNU_SOURCE /* tdestroy */
#include "walk/walk.h"

#include "base/memory.h"
#include "walk/magic.h"
#include "walk/seen.h"
#include "walk/suffix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 64 };

typedef struct folder {
    char *path;
    struct dirent **entry;
    int count, at;
} folder;

typedef struct folder_id { /* identifies a folder by device and inode */
    dev_t device;
    ino_t inode;
} folder_id;

struct vt_walk {
    bool flat;
    char *begin; /* the folder to enter next, or NULL */
    uint32_t mark;
    folder stack[DEEPEST];
    int depth;
    void *walked; /* tree of the folders walked below the one begun */
    vt_seen seen; /* all pictures */
    vt_left left;
    char *path; /* returned last */
    char error[256];
};

/* ---- what was left out ---- */

static void add_text(char out[VT_LEFT_TEXT], uint64_t n, const char *what)
{
    const size_t used = strlen(out);

    if (n)
        snprintf(out + used, VT_LEFT_TEXT - used, ", %llu %s",
                 (unsigned long long)n, what);
}

void vt_left_text(char out[VT_LEFT_TEXT], const vt_left *left)
{
    static const char *const links[2][2] = {
        {"links to folders not followed (--follow)",
         "link to a folder not followed (--follow)"},
        {"links to folders not followed", "link to a folder not followed"}};

    out[0] = '\0';
    add_text(out, left->others, "skipped");
    add_text(out, left->hidden, "hidden");
    add_text(out, left->again, "found before");
    add_text(out, left->links, links[left->follow][left->links == 1]);
    add_text(out, left->loose, "outside of class folders");
}

void vt_walk_left(vt_left *out, const vt_walk *w)
{
    *out = w->left;
}

/* ---- opening ---- */

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_itself(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static void free_entries(folder *f)
{
    for (int i = 0; i < f->count; i++)
        free(f->entry[i]);
    free(f->entry);
    free(f->path);
}

static void leave_all(vt_walk *w)
{
    while (w->depth)
        free_entries(&w->stack[--w->depth]);
    tdestroy(w->walked, free);
    w->walked = NULL;
}

vitcl_status vt_walk_new(vt_walk **out, bool flat, bool follow)
{
    VT_RET(VT_NEW(out, 1));
    (*out)->flat = flat;
    (*out)->left.follow = follow;
    return VITCL_OK;
}

void vt_walk_free(vt_walk *w)
{
    if (!w)
        return;
    leave_all(w);
    vt_seen_free(&w->seen);
    free(w->begin);
    free(w->path);
    free(w);
}

/* ---- one entry ---- */

typedef enum { FOLDER, PICTURE, BROKEN, OTHER, HIDDEN, LINK, PASSED } kind;

/* Does the link lead to a walked folder, or above one? */
static bool leads_up(const vt_walk *w, const char *link)
{
    char *to = realpath(link, NULL);
    const size_t n = to ? strlen(to) : 0;
    bool up = !to || n == 1;

    for (int i = 0; !up && i < w->depth; i++) {
        char *here = realpath(w->stack[i].path, NULL);

        up = !here ||
             (strncmp(here, to, n) == 0 && (here[n] == '/' || here[n] == '\0'));
        free(here);
    }
    free(to);
    return up;
}

/* Do the first bytes say so? A file that cannot be read is no picture. */
static bool holds_picture(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char head[VT_MAGIC_BYTES];
    ssize_t n = -1;

    if (fd >= 0) {
        n = read(fd, head, sizeof head);
        close(fd);
    }
    return n > 0 && vt_begins_picture(head, (size_t)n);
}

/* *of: the file, or that which a link leads to. BROKEN: it was to be a picture;
 * errno says more. */
static kind look(struct stat *of, const vt_walk *w, const char *path,
                 const char *name)
{
    const bool named = vt_is_picture_name(name);
    bool link;

    if (name[0] == '.') /* ours are there while a file is written */
        return strstr(name, ".vitcl-") ? PASSED : HIDDEN;
    if (lstat(path, of) != 0)
        return named || errno != ENOENT ? BROKEN : OTHER;
    link = S_ISLNK(of->st_mode);
    if (link && stat(path, of) != 0)
        return named || (errno != ENOENT && errno != ELOOP) ? BROKEN : OTHER;
    if (S_ISREG(of->st_mode))
        return named || holds_picture(path) ? PICTURE : OTHER;
    if (!S_ISDIR(of->st_mode))
        return OTHER;
    if (w->flat)
        return PASSED;
    return link && (!w->left.follow || leads_up(w, path)) ? LINK : FOLDER;
}

static void count(vt_walk *w, kind k)
{
    w->left.others += k == OTHER;
    w->left.hidden += k == HIDDEN;
    w->left.links += k == LINK;
}

/* ---- folders ---- */

static int by_id(const void *a, const void *b)
{
    const folder_id *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* *is_new: this folder was not walked below the one begun. */
static vitcl_status remember(bool *is_new, vt_walk *w, const struct stat *st_)
{
    folder_id *id = NULL;
    vitcl_status st;
    void *node;

    VT_TRY(VT_NEW(&id, 1));
    *id = (folder_id){st_->st_dev, st_->st_ino};
    node = tsearch(id, &w->walked, by_id);
    if (!node)
        st = vt_fail(VITCL_ENOMEM, "out of memory");
    *is_new = node && *(folder_id **)node == id;
    if (*is_new)
        id = NULL;
done:
    free(id);
    return st;
}

/* Pushes the folder w->path on the stack. *entered: that worked; else it was
 * walked before, or w->error says why not. */
static vitcl_status enter(bool *entered, vt_walk *w, const struct stat *of)
{
    folder f = {.path = w->path};

    *entered = false;
    VT_RET(remember(entered, w, of));
    if (!*entered) {
        w->left.links++;
        return VITCL_OK;
    }
    *entered = false;
    if (w->depth == DEEPEST) {
        snprintf(w->error, sizeof w->error, "folders nested more than %d deep",
                 DEEPEST);
        return VITCL_OK;
    }
    f.count = scandir(f.path, &f.entry, not_itself, by_bytes);
    if (f.count < 0) {
        snprintf(w->error, sizeof w->error, "%s", strerror(errno));
        return VITCL_OK;
    }
    w->path = NULL;
    w->stack[w->depth++] = f;
    *entered = true;
    return VITCL_OK;
}

vitcl_status vt_walk_begin(vt_walk *w, const char *path, uint32_t mark)
{
    leave_all(w);
    free(w->begin), w->begin = NULL;
    w->mark = mark;
    return vt_strdup(&w->begin, path);
}

/* Enters the folder to begin with; w->error: that failed. */
static vitcl_status enter_first(vt_walk *w)
{
    struct stat of;
    bool entered;

    free(w->path);
    w->path = w->begin, w->begin = NULL;
    if (stat(w->path, &of) != 0)
        snprintf(w->error, sizeof w->error, "%s", strerror(errno));
    else
        VT_RET(enter(&entered, w, &of));
    return VITCL_OK;
}

/* The path of the top folder's next entry in w->path; *name: its name, NULL:
 * there is none. */
static vitcl_status next_entry(const char **name, vt_walk *w)
{
    folder *f = &w->stack[w->depth - 1];
    const size_t n = strlen(f->path);

    free(w->path), w->path = NULL;
    *name = f->at < f->count ? f->entry[f->at++]->d_name : NULL;
    if (*name)
        VT_RET(vt_format(&w->path, "%s%s%s", f->path,
                         n && f->path[n - 1] == '/' ? "" : "/", *name));
    return VITCL_OK;
}

vitcl_status vt_walk_next(vt_walk_found *out, vt_walk *w)
{
    const char *name;
    struct stat of;
    bool entered;
    kind k;

    *out = (vt_walk_found){.mark = w->mark};
    w->error[0] = '\0';
    if (w->begin)
        VT_RET(enter_first(w));
    out->folder = w->error[0] != '\0';
    while (w->depth && !w->error[0]) {
        VT_RET(next_entry(&name, w));
        if (!name) {
            free_entries(&w->stack[--w->depth]);
            continue;
        }
        k = look(&of, w, w->path, name);
        count(w, k);
        if (k == BROKEN)
            snprintf(w->error, sizeof w->error, "%s", strerror(errno));
        if (k == FOLDER) {
            VT_RET(enter(&entered, w, &of));
            out->folder = w->error[0] != '\0';
        }
        if (k == PICTURE) {
            VT_RET(
                vt_seen_add(&out->again, &out->mark, &w->seen, &of, w->mark));
            w->left.again += out->again;
            out->path = w->path;
            return VITCL_OK;
        }
    }
    out->path = w->error[0] ? w->path : NULL;
    out->error = w->error[0] ? w->error : NULL;
    return VITCL_OK;
}

vitcl_status vt_walk_read(vt_walk *w, const struct stat *file)
{
    uint32_t first;
    bool again;

    return vt_seen_add(&again, &first, &w->seen, file, w->mark);
}

/* ---- class folders ---- */

static void free_names(char **names, size_t n)
{
    while (n)
        free(names[--n]);
    free(names);
}

vitcl_status vt_walk_folders(char ***names, size_t *count_, vt_walk *w,
                             const char *path)
{
    vitcl_status st;
    char **found = NULL;
    size_t n = 0, cap = 0;
    const char *name;
    struct stat of;

    w->error[0] = '\0';
    VT_TRY(vt_walk_begin(w, path, 0));
    VT_TRY(enter_first(w));
    if (w->error[0])
        VT_TRY(vt_fail(VITCL_EIO, "%s: %s", path, w->error));
    for (;;) {
        VT_TRY(next_entry(&name, w));
        if (!name)
            break;
        const kind k = look(&of, w, w->path, name);

        count(w, k);
        w->left.loose += k == PICTURE;
        if (k == BROKEN && !vt_is_picture_name(name))
            VT_TRY(vt_fail(VITCL_EIO, "%s: %s", w->path, strerror(errno)));
        if (k != FOLDER)
            continue;
        VT_TRY(vt_grow(&found, &cap, n + 1, sizeof *found));
        VT_TRY(vt_strdup(&found[n], name));
        n++;
    }
    *names = found, found = NULL;
    *count_ = n, n = 0;
done:
    leave_all(w);
    free_names(found, n);
    return st;
}
