/*
 * fuzz_file.h - shared by the fuzz targets of readers that take a path: the
 * bytes as a file in memory, so that nothing is left on a disk.
 */
#ifndef VT_TESTS_FUZZ_FILE_H
#define VT_TESTS_FUZZ_FILE_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Valid until the next call. */
static inline const char *fuzz_file(const uint8_t *bytes, size_t size)
{
    static char path[32];
    static int fd = -1;

    if (fd < 0) {
        fd = (int)syscall(SYS_memfd_create, "input", 1u /* MFD_CLOEXEC */);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 ||
        pwrite(fd, bytes, size, 0) != (ssize_t)size) {
        perror("fuzz_file");
        abort();
    }
    return path;
}

#endif
