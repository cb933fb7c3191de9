/*
 * archive.c - zip files through libzip.
 *
 * ZIP_CHECKCONS makes libzip compare every local header with the central
 * directory and refuse names that occur twice.
 */
#include "weights/archive.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#define ENTRIES_MAX 100000
#define RATIO_MAX 1032 /* the best ratio of deflate */
#define TOTAL_RATIO 64 /* weights compress less, except zeros: 256 MiB */
#define TOTAL_FREE ((size_t)256 << 20)

struct vt_archive {
    zip_t *zip;
    const char *file;
    size_t count, size;
    size_t budget; /* bytes that may still be read */
    size_t packed; /* packed bytes that entries may still take */
};

bool vt_is_zip(const uint8_t *bytes, size_t size)
{
    return size >= 30 && memcmp(bytes, "PK\3\4", 4) == 0;
}

bool vt_zip_starts_with(const uint8_t *bytes, size_t size, const char *ending)
{
    size_t n, m = strlen(ending);

    if (!vt_is_zip(bytes, size))
        return false;
    n = bytes[26] | (size_t)bytes[27] << 8;
    return n >= m && n <= size - 30 &&
           memcmp(bytes + 30 + n - m, ending, m) == 0;
}

static vitcl_status zip_failed(const char *file, zip_error_t *e)
{
    const int code = zip_error_code_zip(e);
    vitcl_status st;

    if (code == ZIP_ER_MEMORY)
        st = vt_fail(VITCL_ENOMEM, "%s: out of memory", file);
    else if (code == ZIP_ER_OPEN || code == ZIP_ER_READ)
        st = vt_fail(VITCL_EIO, "%s: %s", file, zip_error_strerror(e));
    else
        st = vt_fail(VITCL_ECORRUPT, "%s: damaged zip file: %s", file,
                     zip_error_strerror(e));
    zip_error_fini(e);
    return st;
}

/* NULL: *error says why. A file gets its own descriptor. */
static zip_source_t *open_source(const vt_reader_input *in, zip_error_t *error)
{
    zip_source_t *source;
    FILE *f;
    int fd;

    if (!in->source)
        return zip_source_buffer_create(in->bytes, in->size, 0, error);
    fd = fcntl(in->source->fd, F_DUPFD_CLOEXEC, 3);
    f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (!f) {
        zip_error_set(error, ZIP_ER_OPEN, errno);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    source = zip_source_filep_create(f, 0, (zip_int64_t)in->size, error);
    if (!source)
        fclose(f);
    return source;
}

vitcl_status vt_archive_open(vt_archive **out, const vt_reader_input *in)
{
    const size_t size = in->size;
    const char *file = in->file;
    vitcl_status st;
    vt_archive *a = NULL;
    zip_error_t error;
    zip_source_t *source;
    zip_int64_t n;

    zip_error_init(&error);
    VT_TRY(VT_NEW(&a, 1));
    a->file = file;
    a->size = a->packed = size;
    a->budget = size > (SIZE_MAX - TOTAL_FREE) / TOTAL_RATIO
                    ? SIZE_MAX
                    : size * TOTAL_RATIO + TOTAL_FREE;
    source = open_source(in, &error);
    if (!source) {
        st = zip_failed(file, &error);
        goto done;
    }
    a->zip = zip_open_from_source(source, ZIP_CHECKCONS | ZIP_RDONLY, &error);
    if (!a->zip) {
        zip_source_free(source);
        st = zip_failed(file, &error);
        goto done;
    }
    n = zip_get_num_entries(a->zip, 0);
    if (n > ENTRIES_MAX)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: %lld entries, more than %d", file,
                       (long long)n, ENTRIES_MAX));
    a->count = (size_t)n;
    *out = a, a = NULL;
done:
    vt_archive_free(a);
    return st;
}

void vt_archive_free(vt_archive *a)
{
    if (a && a->zip)
        zip_discard(a->zip);
    free(a);
}

size_t vt_archive_count(const vt_archive *a)
{
    return a->count;
}

const char *vt_archive_name(const vt_archive *a, size_t index)
{
    const char *name = zip_get_name(a->zip, index, ZIP_FL_ENC_RAW);
    return name ? name : "";
}

bool vt_archive_find(size_t *index, const vt_archive *a, const char *name)
{
    zip_int64_t i = zip_name_locate(a->zip, name, ZIP_FL_ENC_RAW);
    if (i < 0)
        return false;
    *index = (size_t)i;
    return true;
}

static bool has_dots(const char *name)
{
    for (const char *p = name; (p = strstr(p, "..")); p++)
        if ((p == name || p[-1] == '/' || p[-1] == '\\') &&
            (p[2] == '\0' || p[2] == '/' || p[2] == '\\'))
            return true;
    return false;
}

/* May the entry be read? Returns its size. */
static vitcl_status admit(size_t *size, vt_archive *a, size_t index)
{
    const zip_uint64_t need =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    const char *name = vt_archive_name(a, index);
    zip_stat_t s;

    zip_stat_init(&s);
    if (zip_stat_index(a->zip, index, 0, &s) != 0 || (s.valid & need) != need)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %.100s: the zip file has no size for it", a->file,
                       name);
    if (has_dots(name))
        return vt_fail(VITCL_ECORRUPT, "%s: invalid entry name %.100s", a->file,
                       name);
    if ((s.valid & ZIP_STAT_ENCRYPTION_METHOD) &&
        s.encryption_method != ZIP_EM_NONE)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: %.100s is encrypted", a->file,
                       name);
    if (s.comp_method != ZIP_CM_STORE && s.comp_method != ZIP_CM_DEFLATE)
        return vt_fail(
            VITCL_EUNSUPPORTED,
            "%s: %.100s: unsupported zip method %d (not stored or deflate)",
            a->file, name, (int)s.comp_method);
    if (s.comp_size > a->packed)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %.100s: entries overlap or are larger than the "
                       "file",
                       a->file, name);
    if (s.size > s.comp_size * RATIO_MAX + RATIO_MAX || s.size > a->budget ||
        (s.comp_method == ZIP_CM_STORE && s.size != s.comp_size))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %.100s: %llu bytes from %llu packed, implausible",
                       a->file, name, (unsigned long long)s.size,
                       (unsigned long long)s.comp_size);
    a->packed -= s.comp_size;
    a->budget -= s.size;
    *size = (size_t)s.size;
    return VITCL_OK;
}

vitcl_status vt_archive_read(uint8_t **out, size_t *size, vt_archive *a,
                             size_t index)
{
    vitcl_status st;
    uint8_t *data = NULL, beyond;
    size_t want = 0, at = 0;
    zip_file_t *f = NULL;

    VT_TRY(admit(&want, a, index));
    VT_TRY(VT_NEW(&data, want));
    f = zip_fopen_index(a->zip, index, 0);
    while (f && at < want) {
        zip_int64_t n = zip_fread(f, data + at, want - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    /* libzip checks the CRC at the end of the entry, so read to the end. */
    if (!f || at < want || zip_fread(f, &beyond, 1) != 0)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: %.100s: damaged: %s", a->file,
                       vt_archive_name(a, index),
                       f ? zip_file_strerror(f) : zip_strerror(a->zip)));
    *out = data, data = NULL;
    *size = want;
done:
    if (f)
        zip_fclose(f);
    free(data);
    return st;
}
