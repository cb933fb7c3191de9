/*
 * fuzz_manifest.c - any bytes as the manifest of a part: what is accepted is in
 * range and agrees with itself.
 */
#include "parts/partition.h"
#include "support/fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vt_manifest m;

    memset(&m, 0xa5, sizeof m);
    if (vt_manifest_load(&m, fuzz_file(data, size)) != VITCL_OK)
        return 0;
    if (m.shard.k < 1 || m.shard.k > m.shard.n || m.failed > m.rows ||
        strlen(m.model_id) != 64 || strlen(m.pictures_id) != 64 ||
        !memchr(m.file, 0, sizeof m.file) || strchr(m.file, '/') ||
        !memchr(m.settings, 0, sizeof m.settings) ||
        vt_manifest_agrees(&m, &m, "input") != VITCL_OK)
        __builtin_trap();
    return 0;
}
