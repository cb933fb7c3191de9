/*
 * made_zip.h - zip files made in memory for tests, valid or not.
 */
#ifndef VT_TESTS_MADE_ZIP_H
#define VT_TESTS_MADE_ZIP_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct made_zip {
    uint8_t bytes[1 << 19], central[1 << 14];
    size_t size, central_size;
    unsigned count;
} made_zip;

/* What is special or false about an entry. */
typedef struct made_lie {
    int deflate;       /* honest: compressed */
    int zip64;         /* honest: sizes in the zip64 extra field */
    uint16_t flags;    /* 1: encrypted, with the length of that form */
    uint16_t method;   /* instead of 0 or 8 */
    uint32_t crc;      /* added to the right one */
    uint32_t size;     /* added to the right one, in both headers */
    const char *local; /* another name in the local header, as long */
} made_lie;

static inline void made_put(uint8_t *out, size_t *at, uint64_t v, size_t n)
{
    while (n-- > 0) {
        out[(*at)++] = (uint8_t)v;
        v >>= 8;
    }
}

static inline size_t made_deflate(uint8_t *out, size_t cap, const void *data,
                                  size_t size)
{
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)data,
                  .avail_in = (unsigned)size,
                  .next_out = out,
                  .avail_out = (unsigned)cap};
    deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return z.total_out;
}

static inline void made_fields(uint8_t *out, size_t *at, const made_lie *l,
                               uint16_t method, uint32_t crc, uint64_t packed,
                               uint64_t size, size_t name)
{
    made_put(out, at, l->zip64 ? 45 : 20, 2);
    made_put(out, at, l->flags, 2);
    made_put(out, at, method, 2);
    made_put(out, at, 0, 4);
    made_put(out, at, crc + l->crc, 4);
    made_put(out, at, l->zip64 ? UINT32_MAX : packed, 4);
    made_put(out, at, l->zip64 ? UINT32_MAX : size + l->size, 4);
    made_put(out, at, name, 2);
    made_put(out, at, l->zip64 ? 20 : 0, 2);
}

static inline void made_extra(uint8_t *out, size_t *at, uint64_t packed,
                              uint64_t size)
{
    made_put(out, at, 1, 2);
    made_put(out, at, 16, 2);
    made_put(out, at, size, 8);
    made_put(out, at, packed, 8);
}

static inline void made_add(made_zip *z, const char *name, const void *data,
                            size_t size, made_lie lie)
{
    static uint8_t packed[1 << 17];
    const size_t head = lie.flags & 1 ? 12 : 0; /* before encrypted bytes */
    size_t n = strlen(name), start = z->size, body = size, length;
    uint32_t crc = (uint32_t)crc32(0, data, (unsigned)size);
    uint16_t method = lie.method ? lie.method : lie.deflate ? 8 : 0;

    if (lie.deflate) {
        body = made_deflate(packed, sizeof packed, data, size);
        data = packed;
    }
    length = head + body;
    made_put(z->bytes, &z->size, 0x04034b50, 4);
    made_fields(z->bytes, &z->size, &lie, method, crc, length, size, n);
    memcpy(z->bytes + z->size, lie.local ? lie.local : name, n);
    z->size += n;
    if (lie.zip64)
        made_extra(z->bytes, &z->size, length, size);
    memset(z->bytes + z->size, 0, head);
    if (body)
        memcpy(z->bytes + z->size + head, data, body);
    z->size += length;

    made_put(z->central, &z->central_size, 0x02014b50, 4);
    made_put(z->central, &z->central_size, 45, 2);
    made_fields(z->central, &z->central_size, &lie, method, crc, length, size,
                n);
    made_put(z->central, &z->central_size, 0, 2 + 2 + 2 + 4);
    made_put(z->central, &z->central_size, start, 4);
    memcpy(z->central + z->central_size, name, n);
    z->central_size += n;
    if (lie.zip64)
        made_extra(z->central, &z->central_size, length, size);
    z->count++;
}

static inline void made_end(made_zip *z)
{
    size_t start = z->size;

    memcpy(z->bytes + z->size, z->central, z->central_size);
    z->size += z->central_size;
    made_put(z->bytes, &z->size, 0x06054b50, 4);
    made_put(z->bytes, &z->size, 0, 4);
    made_put(z->bytes, &z->size, z->count, 2);
    made_put(z->bytes, &z->size, z->count, 2);
    made_put(z->bytes, &z->size, z->central_size, 4);
    made_put(z->bytes, &z->size, start, 4);
    made_put(z->bytes, &z->size, 0, 2);
}

#endif
