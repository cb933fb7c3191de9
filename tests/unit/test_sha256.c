/*
 * test_sha256.c - SHA-256 against test vectors of FIPS 180-2 and NIST.
 */
#include "base/sha256.h"

#include <criterion/criterion.h>
#include <string.h>

Test(sha256, vectors)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc",
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    uint8_t hash[32];
    char hex[65];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_sha256(cases[i].text, strlen(cases[i].text), hash);
        vt_sha256_hex(hex, hash);
        cr_expect_str_eq(hex, cases[i].hex, "%s", cases[i].text);
    }
}

/* A million times 'a', in pieces that cross block borders in all ways. */
Test(sha256, steps)
{
    char text[200], hex[65];
    uint8_t hash[32];
    vt_sha256_state s;
    size_t left = 1000000;

    memset(text, 'a', sizeof text);
    vt_sha256_begin(&s);
    for (size_t n = 0; left > 0; n = (n + 7) % sizeof text) {
        size_t step = n < left ? n : left;
        vt_sha256_add(&s, text, step);
        left -= step;
    }
    vt_sha256_end(&s, hash);
    vt_sha256_hex(hex, hash);
    cr_expect_str_eq(
        hex,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
