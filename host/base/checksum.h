/*
 * checksum.h - XXH3 of 64 bits (libxxhash) finds damage in files that vitcl
 * writes for itself. It is no protection from someone who wants to deceive.
 */
#ifndef VT_BASE_CHECKSUM_H
#define VT_BASE_CHECKSUM_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

uint64_t vt_checksum(const void *data, size_t size);

/* The same piece by piece. */
typedef struct vt_summing vt_summing;
vitcl_status vt_summing_new(vt_summing **out);
void vt_summing_add(vt_summing *s, const void *data, size_t size);
/* Of all pieces since the last call. */
uint64_t vt_summing_take(vt_summing *s);
void vt_summing_free(vt_summing *s);

/* As 16 hexadecimal digits, without a NUL; read: false if they are none. */
enum { VT_CHECKSUM_DIGITS = 16 };
void vt_checksum_print(char out[VT_CHECKSUM_DIGITS], uint64_t sum);
bool vt_checksum_read(uint64_t *out, const char *digits);

/* Of a whole file. */
vitcl_status vt_checksum_file(uint64_t *out, const char *path);
/* Of a file's last 4096 bytes, which tell nearly all pictures apart; *size: of
 * the file, once it is open. */
vitcl_status vt_checksum_tail(uint64_t *out, size_t *size, const char *path);
/* Opens a file to read. Where its end is reached and its checksum is not `want`
 * (NULL: unknown), reading fails with EBADMSG. */
vitcl_status vt_checksum_open(FILE **out, const char *path,
                              const uint64_t *want);
/* Reads what is left; an error if the stream has failed, or the checksum is not
 * right. The stream stays open. */
vitcl_status vt_checksum_end(FILE *f, const char *path);

#endif
