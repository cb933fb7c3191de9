/*
 * test_file.c - files are read whole, up to a limit. New files are complete or
 * do not appear, have the usual permissions or those of the file that they
 * replace, and replace only regular files. Nothing is left of a killed writer.
 */
#include "base/file.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_text(const char *path, const char *want)
{
    vt_file f = {0};

    cr_assert_eq(vt_file_read(&f, path, 1 << 20), VITCL_OK, "%s", vt_message());
    cr_expect_eq(f.size, strlen(want));
    cr_expect(f.size == 0 || memcmp(f.data, want, f.size) == 0);
    vt_file_close(&f);
    cr_expect(!f.data && !f.size);
}

Test(file, limits)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "a");
    vt_file f = {0};

    vt_test_text(folder, "a", "12345");
    cr_assert_eq(vt_file_read(&f, path, 5), VITCL_OK, "%s", vt_message());
    cr_expect(f.size == 5 && memcmp(f.data, "12345", 5) == 0);
    vt_file_close(&f);
    cr_expect_neq(vt_file_read(&f, path, 4), VITCL_OK);
    cr_expect_null(f.data);
    vt_test_text(folder, "a", "");
    cr_assert_eq(vt_file_read(&f, path, 5), VITCL_OK);
    cr_expect_eq(f.size, 0);
    vt_file_close(&f);
    expect_text(path, "");
    cr_expect_eq(vt_file_read(&f, vt_test_path(folder, "b"), 5), VITCL_EIO);
    cr_expect_neq(vt_file_read(&f, folder, 5), VITCL_OK);
    cr_expect(vt_path_exists(path) && !vt_path_is_folder(path));
    cr_expect(vt_path_exists(folder) && vt_path_is_folder(folder));
    vt_test_remove(folder);
}

Test(file, new_files_are_complete)
{
    static const mode_t masks[] = {022, 027, 077};
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "new");
    vt_newfile n = {0};
    struct stat st;

    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        unlink(path);
        cr_assert_eq(vt_newfile_open(&n, path), VITCL_OK, "%s", vt_message());
        fputs("first", n.f);
        cr_expect_not(vt_path_exists(path));
        cr_assert_eq(vt_newfile_commit(&n), VITCL_OK, "%s", vt_message());
        cr_assert_eq(stat(path, &st), 0);
        cr_expect_eq(st.st_mode & 0777, 0666 & ~masks[i], "%o",
                     (unsigned)st.st_mode);
    }
    expect_text(path, "first");
    cr_assert_eq(vt_newfile_open(&n, path), VITCL_OK);
    fputs("second", n.f);
    expect_text(path, "first");
    vt_newfile_discard(&n);
    vt_newfile_discard(&n);
    expect_text(path, "first");
    cr_assert_eq(vt_newfile_open(&n, path), VITCL_OK);
    fputs("third", n.f);
    cr_assert_eq(vt_newfile_commit(&n), VITCL_OK);
    expect_text(path, "third");
    cr_expect_eq(unlink(path), 0);
    cr_expect_eq(rmdir(folder), 0, "something was left behind");
}

/* As root, a rename would replace /dev/null itself. */
Test(file, replaces_only_regular_files)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "x");
    vt_newfile n = {0};
    struct stat st;

    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(vt_newfile_open(&n, path), VITCL_EIO);
    cr_expect(strstr(vt_message(), "is not a regular file"), "%s",
              vt_message());
    cr_expect(stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    unlink(path);
    cr_assert_eq(symlink("/dev/null", path), 0);
    cr_expect_eq(vt_newfile_open(&n, path), VITCL_EIO);
    cr_expect(stat(path, &st) == 0 && S_ISCHR(st.st_mode));
    unlink(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect_eq(vt_newfile_open(&n, path), VITCL_EIO);
    cr_expect_null(n.f);
    rmdir(path);
    cr_expect_eq(vt_newfile_open(&n, vt_test_path(folder, "no/x")), VITCL_EIO);
    cr_expect_eq(rmdir(folder), 0, "something was left behind");
}

/* A link stays, and the file that it leads to is replaced. */
Test(file, follows_links)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "link");
    vt_newfile n = {0};
    struct stat st;

    cr_assert_eq(mkdir(vt_test_path(folder, "disk"), 0700), 0);
    cr_assert_eq(symlink("disk/again", path), 0);
    cr_assert_eq(symlink("data", vt_test_path(folder, "disk/again")), 0);
    for (int i = 0; i < 2; i++) { /* at first it leads nowhere */
        cr_assert_eq(vt_newfile_open(&n, path), VITCL_OK, "%s", vt_message());
        fputs(i ? "second" : "first", n.f);
        cr_assert_eq(vt_newfile_commit(&n), VITCL_OK, "%s", vt_message());
        cr_expect(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
        expect_text(vt_test_path(folder, "disk/data"), i ? "second" : "first");
    }
    cr_assert_eq(symlink("circle", vt_test_path(folder, "circle")), 0);
    cr_expect_eq(vt_newfile_open(&n, vt_test_path(folder, "circle")),
                 VITCL_EIO);
    vt_test_remove(folder);
}

Test(file, keeps_permissions)
{
    static const mode_t modes[] = {0600, 0644, 0440, 0664};
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "x");
    vt_newfile n = {0};
    struct stat st;

    umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        vt_test_text(folder, "x", "old");
        cr_assert_eq(chmod(path, modes[i]), 0);
        cr_assert_eq(vt_newfile_open(&n, path), VITCL_OK, "%s", vt_message());
        cr_assert_eq(fstat(fileno(n.f), &st), 0);
        cr_expect_eq(st.st_mode & 077, 0, "others can read it too early");
        fputs("new", n.f);
        cr_assert_eq(vt_newfile_commit(&n), VITCL_OK, "%s", vt_message());
        cr_expect(stat(path, &st) == 0 && (st.st_mode & 0777) == modes[i], "%o",
                  (unsigned)st.st_mode);
        expect_text(path, "new");
        unlink(path);
    }
    vt_test_remove(folder);
}

static int entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = -2; /* . and .. */

    cr_assert(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Writes a part of `path` in a process that is killed. */
static void leave(const char *path)
{
    const pid_t child = fork();
    vt_newfile n = {0};

    if (child == 0) {
        if (vt_newfile_open(&n, path) == VITCL_OK)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    cr_assert(child > 0 && waitpid(child, NULL, 0) == child);
}

Test(file, removes_what_a_killed_writer_left)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "x");
    vt_newfile a = {0}, b = {0};

    for (int i = 0; i < 3; i++)
        leave(path);
    cr_expect_eq(entries(folder), 1, "each writer removes the last one's part");
    cr_assert_eq(vt_newfile_open(&a, path), VITCL_OK, "%s", vt_message());
    leave(path);
    leave(path);
    cr_expect_eq(entries(folder), 2, "that of a living one stays");
    cr_assert_eq(vt_newfile_open(&b, path), VITCL_OK, "%s", vt_message());
    fputs("b", b.f);
    cr_assert_eq(vt_newfile_commit(&b), VITCL_OK, "%s", vt_message());
    expect_text(path, "b");
    fputs("a", a.f);
    cr_assert_eq(vt_newfile_commit(&a), VITCL_OK, "%s", vt_message());
    expect_text(path, "a");
    cr_expect_eq(entries(folder), 1);
    /* files of similar names are the user's */
    vt_test_text(folder, "x.backup", "");
    vt_test_text(folder, ".x.vitcl-partner", "");
    cr_expect(vt_newfile_is_part(".x.vitcl-part", "x"));
    cr_expect(vt_newfile_is_part(".x.vitcl-part12", "x"));
    cr_expect_not(vt_newfile_is_part(".x.vitcl-partner", "x"));
    cr_expect_not(vt_newfile_is_part("x.vitcl-part", "x"));
    cr_assert_eq(vt_newfile_open(&a, path), VITCL_OK);
    cr_assert_eq(vt_newfile_commit(&a), VITCL_OK);
    cr_expect_eq(entries(folder), 3);
    vt_test_remove(folder);
}

/* A name may have 255 bytes. */
Test(file, long_names)
{
    const char *folder = vt_test_folder();
    char name[256];
    vt_newfile n = {0};

    memset(name, 'x', 255);
    name[255] = '\0';
    cr_assert_eq(vt_newfile_open(&n, vt_test_path(folder, name)), VITCL_OK,
                 "%s", vt_message());
    cr_assert_eq(vt_newfile_commit(&n), VITCL_OK, "%s", vt_message());
    cr_expect_eq(entries(folder), 1);
    vt_test_remove(folder);
}

Test(file, new_names_only)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "x");
    vt_newfile n = {0};
    bool taken;

    for (int i = 0; i < 2; i++) {
        cr_assert_eq(vt_newfile_open(&n, path), VITCL_OK, "%s", vt_message());
        fputs(i ? "second" : "first", n.f);
        cr_expect_eq(vt_newfile_commit_new(&taken, &n), VITCL_OK, "%s",
                     vt_message());
        cr_expect_eq(taken, i == 1);
        expect_text(path, "first");
    }
    cr_expect_eq(entries(folder), 1);
    vt_test_remove(folder);
}

Test(file, both_or_none)
{
    const char *folder = vt_test_folder();
    vt_newfile a = {0}, b = {0};

    for (int round = 0; round < 4; round++) {
        const bool old = round & 1, fails = round & 2;

        rmdir(vt_test_path(folder, "b"));
        if (old)
            vt_test_text(folder, "a", "old");
        else
            unlink(vt_test_path(folder, "a"));
        cr_assert_eq(vt_newfile_open(&a, vt_test_path(folder, "a")), VITCL_OK);
        cr_assert_eq(vt_newfile_open(&b, vt_test_path(folder, "b")), VITCL_OK);
        fputs("new", a.f), fputs("new", b.f);
        unlink(vt_test_path(folder, "b"));
        if (fails) /* the second rename is refused */
            cr_assert_eq(mkdir(vt_test_path(folder, "b"), 0700), 0);
        cr_expect_eq(vt_newfile_finish_both(&a, &b),
                     fails ? VITCL_EIO : VITCL_OK);
        vt_newfile_discard(&a), vt_newfile_discard(&b);
        if (old || !fails)
            expect_text(vt_test_path(folder, "a"), fails ? "old" : "new");
        else
            cr_expect_not(vt_path_exists(vt_test_path(folder, "a")));
        cr_expect_eq(entries(folder), 1 + (old || !fails), "%d", round);
    }
    vt_test_remove(folder);
}

/* Beside the file of a link, under names that no file has. */
Test(file, keeps_what_there_is)
{
    static const char *const names[] = {
        "far/x.partial.csv", "far/x.partial3.csv", "far/x.partial4.csv"};
    const char *folder = vt_test_folder();
    const char *link = vt_test_path(folder, "x.csv");
    vt_newfile n = {0}, m = {0};
    vt_partial_rows whole;
    char *name = NULL;

    cr_assert_eq(mkdir(vt_test_path(folder, "far"), 0700), 0);
    cr_assert_eq(symlink("far/x.csv", link), 0);
    vt_test_text(folder, "far/x.partial2.csv", "older");
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(vt_newfile_open(&n, link), VITCL_OK, "%s", vt_message());
        fputs("a\n\"b\n\"\nc", n.f);
        cr_expect_eq(vt_partial_count(&whole, &n, true, UINT64_MAX), VITCL_OK);
        cr_expect(whole.rows == 2 && whole.bytes == 7);
        cr_expect_eq(vt_partial_count(&whole, &n, false, 1), VITCL_OK);
        cr_expect(whole.rows == 1 && whole.bytes == 2);
        cr_expect_eq(vt_partial_keep(&name, &n, 7, NULL, 0, false), VITCL_OK,
                     "%s", vt_message());
        cr_expect_str_eq(name, vt_test_path(folder, names[i]));
        expect_text(name, "a\n\"b\n\"\n");
        free(name);
    }
    expect_text(vt_test_path(folder, "far/x.partial2.csv"), "older");
    cr_assert_eq(vt_newfile_open(&n, link), VITCL_OK);
    cr_assert_eq(vt_newfile_open(&m, vt_test_path(folder, "far/x.paths")),
                 VITCL_OK);
    fputs("new", n.f), fputs("names", m.f);
    vt_test_text(folder, "far/x.partial.paths", "older");
    cr_expect_eq(vt_partial_keep(&name, &n, 2, &m, 5, true), VITCL_OK, "%s",
                 vt_message());
    expect_text(vt_test_path(folder, names[0]), "ne");
    expect_text(vt_test_path(folder, "far/x.partial.paths"), "names");
    cr_expect_not(vt_path_exists(link));
    cr_expect_eq(entries(vt_test_path(folder, "far")), 5);
    free(name);
    vt_test_remove(folder);
}

Test(file, one_holds_it)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "x");
    vt_newfile a = {0}, b = {0};
    bool busy = true;

    cr_assert_eq(vt_newfile_hold(&busy, &a, path, false), VITCL_OK, "%s",
                 vt_message());
    cr_expect_not(busy);
    cr_expect_eq(vt_newfile_hold(&busy, &b, path, false), VITCL_OK);
    cr_expect(busy && !b.path);
    vt_newfile_discard(&a);
    cr_expect_eq(entries(folder), 0);
    vt_test_text(folder, ".x.vitcl-hold", ""); /* its holder was killed */
    cr_expect_eq(vt_newfile_hold(&busy, &b, path, true), VITCL_OK);
    cr_expect_not(busy);
    vt_newfile_discard(&b);
    cr_expect_eq(entries(folder), 0);
    cr_expect_eq(vt_newfile_hold(&busy, &b, vt_test_path(folder, "no/x"), true),
                 VITCL_EIO);
    vt_test_remove(folder);
}
