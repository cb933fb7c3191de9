/*
 * cache.h - built programs kept on disk. For program.c and decisions.c.
 */
#ifndef VT_OCL_CACHE_H
#define VT_OCL_CACHE_H
#include "ocl/objects.h"

#include <time.h>

typedef struct vt_cache_key {
    uint8_t hash[32];
} vt_cache_key;

/* Everything that decides what a compiler makes of the two texts. */
vt_cache_key vt_cache_key_of(const vt_dev *dev, const char *common,
                             const char *text, const char *options);
/* Opened; -1: the cache is off or there is no safe place for one. */
int vt_cache_folder(void);
/* A built program, or false: not there, damaged (then removed), refused by the
 * driver, or the cache is off. Never an error. */
bool vt_cache_load(cl_program *out, vt_dev *dev, const vt_cache_key *key,
                   const char *options);
bool vt_cache_on(void);
void vt_cache_tell(void);                   /* where it is, for vt_log() */
bool vt_cache_has(const vt_cache_key *key); /* a file of that name */
/* Removes from the open folder what nobody has used for long, and the least
 * recently used beyond most_bytes. */
void vt_cache_evict(int folder, uint64_t most_bytes, time_t now);
void vt_cache_save(vt_dev *dev, const vt_cache_key *key, cl_program program);

#endif
