/*
 * cache.h - built programs kept on disk. For program.c.
 */
#ifndef VT_OCL_CACHE_H
#define VT_OCL_CACHE_H
#include "ocl/objects.h"

#include "base/kept.h"
#include "base/sha256.h"

/* The key: everything that affects how the two texts are compiled. In two
 * steps, for many keys with the same common text. */
vt_sha256_state vt_cache_key_begin(const char *common);
vt_kept_key vt_cache_key_end(vt_sha256_state s, const vt_dev *dev,
                             const char *text, const char *options);
/* Loads a built program. False: absent, damaged (then removed), rejected by the
 * driver, or the cache is disabled. Never an error. */
bool vt_cache_load(cl_program *out, vt_dev *dev, const vt_kept_key *key,
                   const char *options);
/* A built program's binary and a zero behind it, which the caller frees; or
 * NULL. */
unsigned char *vt_program_binary(size_t *size, cl_program program);
/* Logs, once, that NVIDIA's driver has no folder for what it makes of PTX: each
 * start then assembles that again, also of programs that are in our cache. */
void vt_cache_tell_nvidia(void);
void vt_cache_save(vt_dev *dev, const vt_kept_key *key, cl_program program);
/* Keeps that the program of `key` is part of `joint`. */
void vt_cache_refer(vt_dev *dev, const vt_kept_key *key,
                    const vt_kept_key *joint);
bool vt_cache_referred(vt_kept_key *joint, const vt_kept_key *key);
/* Is there a file, alone or joint? */
bool vt_cache_has(const vt_kept_key *key);

#endif
