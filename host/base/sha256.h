/*
 * sha256.h - SHA-256 (FIPS 180-4): names and checks files kept on disk.
 */
#ifndef VT_BASE_SHA256_H
#define VT_BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

#ifdef VT_WITH_NETTLE
#include <nettle/sha2.h>
#endif

typedef struct vt_sha256_state {
#ifdef VT_WITH_NETTLE
    struct sha256_ctx nettle;
#else
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
#endif
} vt_sha256_state;

void vt_sha256_begin(vt_sha256_state *s);
void vt_sha256_add(vt_sha256_state *s, const void *data, size_t size);
/* A text with its NUL, so that two texts are not one. */
void vt_sha256_text(vt_sha256_state *s, const char *text);
void vt_sha256_end(vt_sha256_state *s, uint8_t out[32]);
void vt_sha256_end_hex(vt_sha256_state *s, char out[65]);

void vt_sha256(const void *data, size_t size, uint8_t out[32]);
void vt_sha256_hex(char out[65], const uint8_t hash[32]);

#endif
