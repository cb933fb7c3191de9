/*
 * sha256.c - SHA-256 by Nettle, which uses the processor's instructions; where
 * Nettle is missing, as in FIPS 180-4, section 6.2.
 */
#include "base/sha256.h"

#include <string.h>

#ifdef VT_WITH_NETTLE

void vt_sha256_begin(vt_sha256_state *s)
{
    sha256_init(&s->nettle);
}

void vt_sha256_add(vt_sha256_state *s, const void *data, size_t size)
{
    if (size > 0) /* data may be NULL */
        sha256_update(&s->nettle, size, data);
}

void vt_sha256_end(vt_sha256_state *s, uint8_t out[32])
{
    sha256_digest(&s->nettle, 32, out);
}

#else

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void add_block(vt_sha256_state *s, const uint8_t *p)
{
    uint32_t w[64], v[8];

    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
               (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[0], e = v[4];
        uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                      ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        s->h[i] += v[i];
}

void vt_sha256_begin(vt_sha256_state *s)
{
    *s = (vt_sha256_state){{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
                           0,
                           {0}};
}

void vt_sha256_add(vt_sha256_state *s, const void *data, size_t size)
{
    const uint8_t *p = data;

    while (size > 0) {
        size_t at = s->bytes % 64, n = 64 - at < size ? 64 - at : size;

        if (at == 0 && n == 64) {
            add_block(s, p);
        } else {
            memcpy(s->block + at, p, n);
            if (at + n == 64)
                add_block(s, s->block);
        }
        s->bytes += n, p += n, size -= n;
    }
}

void vt_sha256_end(vt_sha256_state *s, uint8_t out[32])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = s->bytes * 8;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    vt_sha256_add(s, padding, 1 + (119 - s->bytes % 64) % 64);
    vt_sha256_add(s, length, 8);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

#endif

void vt_sha256_text(vt_sha256_state *s, const char *text)
{
    vt_sha256_add(s, text, strlen(text) + 1);
}

void vt_sha256_end_hex(vt_sha256_state *s, char out[65])
{
    uint8_t hash[32];

    vt_sha256_end(s, hash);
    vt_sha256_hex(out, hash);
}

void vt_sha256(const void *data, size_t size, uint8_t out[32])
{
    vt_sha256_state s;

    vt_sha256_begin(&s);
    vt_sha256_add(&s, data, size);
    vt_sha256_end(&s, out);
}

void vt_sha256_hex(char out[65], const uint8_t hash[32])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[64] = 0;
}
