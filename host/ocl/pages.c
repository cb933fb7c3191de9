/*
 * pages.c - our own host memory, for devices that compute in it.
 *
 * The buffers of a CPU device are host memory. malloc would keep it in the
 * heap; mapped memory is returned to the system with the buffer, and no child
 * process inherits it. The weights of a ViT-B/16 are 84 000 pages of 4 KiB or
 * 170 of 2 MiB; with large pages, a forward pass is up to 15 % faster. But if
 * the system must first find or clear large pages (a virtual machine whose free
 * memory went back to its host), they cost more than one forward pass gains: so
 * pages start small, and become large for sessions that continue.
 */
#include "ocl/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__) && !defined(MADV_COLLAPSE)
#define MADV_COLLAPSE 25
#endif
#define LARGE ((size_t)2 << 20)

static size_t whole_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return bytes > SIZE_MAX - 2 * LARGE ? 0 : (bytes + page - 1) / page * page;
}

void *vt_pages_new(size_t bytes)
{
    const size_t size = whole_pages(bytes);
    uint8_t *map, *start;
    size_t before;

    if (size == 0)
        return NULL;
    map = mmap(NULL, size + LARGE, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    start = (uint8_t *)(((uintptr_t)map + LARGE - 1) / LARGE * LARGE);
    before = (size_t)(start - map);
    if (before)
        munmap(map, before);
    munmap(start + size, LARGE - before);
    madvise(start, size, MADV_DONTFORK);
    return start;
}

void vt_pages_make_large(void *pages, size_t bytes)
{
    const size_t size = bytes / LARGE * LARGE;

    if (!pages || size == 0)
        return;
#ifdef MADV_HUGEPAGE
    madvise(pages, size,
            MADV_HUGEPAGE); /* before Linux 6.1: in the background */
#endif
#ifdef MADV_COLLAPSE
    madvise(pages, size, MADV_COLLAPSE); /* if it fails, pages stay small */
#endif
}

void vt_pages_free(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, whole_pages(bytes));
}
