/*
 * pages.c - host memory in large pages, for devices that compute in it.
 *
 * A CPU device's buffers are host memory. What a driver takes from malloc comes
 * in 4 KiB pages, of which the weights of a ViT-B/16 are 84 000, each a fault
 * and a place in the TLB, and goes back to the heap, not to the system. Mapped
 * here it comes in pages of 2 MiB where the system has them, and is gone when
 * the buffer is.
 */
#include "ocl/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

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
#ifdef MADV_HUGEPAGE
    madvise(start, size, MADV_HUGEPAGE); /* refused: small pages do */
#endif
    return start;
}

void vt_pages_free(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, whole_pages(bytes));
}
