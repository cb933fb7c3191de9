/*
 * test_file.c - files are read whole, up to a limit. New files are complete or
 * do not appear, have the usual permissions, and replace only regular files.
 */
#include "base/file.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
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
