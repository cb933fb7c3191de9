/*
 * reader.h - what the reader of a file format fills in: for host/weights only.
 *
 * A reader adds tensors one by one with vt_tensors_add(), which makes the
 * checks that all formats share (name, rank, product, size, number), and hands
 * over decoded memory with vt_tensors_keep(). Readers use tensors.c alone;
 * weights.c opens the file and chooses the reader.
 */
#ifndef VT_WEIGHTS_READER_H
#define VT_WEIGHTS_READER_H
#include "weights/weights.h"

#define VT_TENSORS_MAX 100000
#define VT_NAME_MAX 512

struct vt_tensors {
    char *path;
    const char *format;
    vt_tensor *items; /* sorted by name, once open */
    size_t count, cap;
    vt_weight_file **sources; /* files that hold tensors ... */
    size_t source_count, source_cap;
    void **blocks; /* ... or memory that holds them */
    size_t block_count, block_cap;
    bool damaged; /* a head is not as its checksum says */
};

struct vt_weight_file {
    int fd;
    char *path;
};

/* The input of a reader: a file, or bytes in memory. */
typedef struct vt_reader_input {
    const uint8_t *bytes;         /* NULL: use source */
    const vt_weight_file *source; /* NULL: use bytes */
    size_t size;
    const char *file; /* for messages */
} vt_reader_input;
vitcl_status vt_reader_input_read(void *out, const vt_reader_input *in,
                                  uint64_t at, size_t n);
/* Opens a file that will hold tensors of t, which keeps it. */
vitcl_status vt_tensors_file(vt_reader_input *out, vt_tensors *t,
                             const char *path);

/* An element type: its size in a file, and our type for it. */
typedef struct vt_element {
    const char *name;
    uint32_t size;
    vt_file_dtype dtype;
} vt_element;

/* `file` is used in messages. data is borrowed for the life of t; NULL: the
 * caller sets source and offset in the last item. */
vitcl_status vt_tensors_add(vt_tensors *t, const char *file, const char *name,
                            const vt_element *element, uint32_t rank,
                            const uint64_t *shape, const uint8_t *data,
                            size_t size);
/* Takes ownership of a malloc()ed block, also on failure. */
vitcl_status vt_tensors_keep(vt_tensors *t, void *block);
/* When all are added: by name, which must be unique. `path`: for messages. */
vitcl_status vt_tensors_sort(vt_tensors *t, const char *path);

typedef struct vt_reader {
    const char *format;
    bool (*sniff)(const uint8_t *head, size_t size); /* a file's beginning */
    vitcl_status (*open)(vt_tensors *t, const vt_reader_input *in);
} vt_reader;

extern const vt_reader vt_read_safetensors, vt_read_npz, vt_read_torch;

#endif
