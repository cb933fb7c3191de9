/*
 * jpeg.c - JPEG through libjpeg-turbo, with the same bytes as Pillow: the
 * default IDCT and "fancy" chroma upsampling, no scaling.
 *
 * At the end of the data, the source suspends instead of inserting an end
 * marker. So a truncated file is an error, but a file that lacks only its end
 * marker is not, as in Pillow.
 */
#include "image/decoders.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
/* needs jpeglib.h */
#include <jerror.h>

/* Limits scans: a hostile file can make a decoder pass over the picture any
 * number of times, while real progressive files have about ten scans. Larger
 * pictures may have fewer: the largest have fifteen. */
enum { SCANS_MAX = 500, APP1 = JPEG_APP0 + 1 };
#define SCANNED_MAX ((uint64_t)15 * VT_PIXELS_MAX)

typedef struct jpeg_state {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    char text[JMSG_LENGTH_MAX];
    const char *name;
    vt_picture picture;
    unsigned orientation;
    bool no_memory;
    uint8_t *row; /* CMYK */
    vt_own *own;
} jpeg_state;

static void on_error(j_common_ptr c)
{
    jpeg_state *s = c->client_data;

    c->err->format_message(c, s->text);
    s->no_memory = c->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(s->jump, 1);
}

static void on_message(j_common_ptr c, int level)
{
    if (level < 0)
        c->err->num_warnings++;
}

static void no_output(j_common_ptr c)
{
    (void)c;
}

static void on_progress(j_common_ptr c)
{
    jpeg_state *s = c->client_data;

    const uint64_t scans = (uint64_t)s->c.input_scan_number;

    if (scans > SCANS_MAX ||
        (scans > 15 &&
         scans * s->c.image_width * s->c.image_height > SCANNED_MAX)) {
        snprintf(s->text, sizeof s->text, "at least %llu scans",
                 (unsigned long long)scans);
        longjmp(s->jump, 1);
    }
}

static void no_source(j_decompress_ptr c)
{
    (void)c;
}

static boolean no_more(j_decompress_ptr c)
{
    (void)c;
    return FALSE;
}

static void skip(j_decompress_ptr c, long n)
{
    struct jpeg_source_mgr *s = c->src;
    size_t step = n < 0 ? 0 : (size_t)n;

    if (step > s->bytes_in_buffer)
        step = s->bytes_in_buffer;
    s->next_input_byte += step;
    s->bytes_in_buffer -= step;
}

static void start(jpeg_state *s, const uint8_t *data, size_t size)
{
    s->c.err = jpeg_std_error(&s->errors);
    s->errors.error_exit = on_error;
    s->errors.emit_message = on_message;
    s->errors.output_message = no_output;
    s->c.client_data = s;
    jpeg_create_decompress(&s->c);
    s->source = (struct jpeg_source_mgr){
        .next_input_byte = data,
        .bytes_in_buffer = size,
        .init_source = no_source,
        .fill_input_buffer = no_more,
        .skip_input_data = skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = no_source,
    };
    s->c.src = &s->source;
    s->progress.progress_monitor = on_progress;
    s->c.progress = &s->progress;
    jpeg_save_markers(&s->c, APP1, 0xffff);
}

/* Of the markers before the first scan: those behind do not count in Pillow. */
static vitcl_status find_orientation(jpeg_state *s)
{
    vt_app1 found = {NULL, 0, 0};
    vitcl_status st = VITCL_OK;

    for (jpeg_saved_marker_ptr m = s->c.marker_list; m; m = m->next)
        if (st == VITCL_OK && m->marker == APP1)
            st = vt_app1_add(&found, m->data, m->data_length);
    s->orientation = vt_app1_orientation(&found);
    return st;
}

/* Files store CMYK inverted, as Adobe does; Pillow always assumes that. */
static void take_cmyk(jpeg_state *s, uint8_t *line)
{
    const size_t n = 4 * (size_t)s->c.output_width;

    for (size_t i = 0; i < n; i++)
        s->row[i] = 255 - s->row[i];
    vt_cmyk_to_rgb(line, s->row, s->c.output_width);
    if (s->own)
        memcpy((uint8_t *)s->own->more + n * (s->c.output_scanline - 1), s->row,
               n);
}

static vitcl_status truncated(const jpeg_state *s)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the JPEG is truncated", s->name);
}

/* libjpeg may longjmp out of any call here. */
static vitcl_status decode(jpeg_state *s)
{
    vitcl_status st = VITCL_OK;
    const size_t stride = 3;

    if (jpeg_read_header(&s->c, TRUE) != JPEG_HEADER_OK)
        return truncated(s);
    st = find_orientation(s);
    if (st != VITCL_OK)
        return st;
    if (s->c.num_components != 1 && s->c.num_components != 3 &&
        s->c.num_components != 4)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: JPEG with %d components is not supported", s->name,
                       s->c.num_components);
    st = vt_picture_new(&s->picture, s->c.image_width, s->c.image_height,
                        s->name);
    if (st != VITCL_OK)
        return st;
    s->c.out_color_space = s->c.num_components == 4 ? JCS_CMYK : JCS_RGB;
    if (s->c.num_components == 4 && !(s->row = malloc(4 * s->c.image_width)))
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
    if (s->row)
        st = vt_own_new(s->own, VT_OWN_CMYK, s->c.image_width,
                        s->c.image_height, s->name);
    if (st != VITCL_OK)
        return st;
    if (!jpeg_start_decompress(&s->c))
        return truncated(s);
    while (s->c.output_scanline < s->c.output_height) {
        uint8_t *line =
            s->picture.rgb + stride * s->c.output_width * s->c.output_scanline;
        JSAMPROW row = s->row ? s->row : line;

        if (jpeg_read_scanlines(&s->c, &row, 1) != 1)
            return truncated(s);
        if (s->row)
            take_cmyk(s, line);
    }
    jpeg_finish_decompress(&s->c); /* may lack its end marker */
    return VITCL_OK;
}

vitcl_status vt_decode_jpeg(vt_picture *out, unsigned *orientation,
                            const uint8_t *data, size_t size,
                            const vt_decode_as *as, const char *name)
{
    vitcl_status st;
    jpeg_state *s = calloc(1, sizeof *s); /* on the heap: survives longjmp */

    if (!s)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    s->name = name, s->own = as->own;
    if (setjmp(s->jump) == 0) {
        start(s, data, size);
        st = decode(s);
    } else {
        st = s->no_memory ? vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name)
                          : vt_fail(VITCL_ECORRUPT, "%s: not a valid JPEG: %s",
                                    s->name, s->text);
    }
    if (st == VITCL_OK) {
        *orientation = s->orientation;
        *out = s->picture, s->picture = (vt_picture){0};
    }
    vt_picture_free(&s->picture);
    free(s->row);
    jpeg_destroy_decompress(&s->c);
    free(s);
    return st;
}
