/*
 * test_json_print.c - JSON that is written by a format.
 */
#include "base/json_print.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t size;
static vt_json_writer w;

static void setup(void)
{
    w = (vt_json_writer){.f = open_memstream(&text, &size)};
}

static void check(const char *want)
{
    fclose(w.f);
    cr_expect_str_eq(text, want);
    free(text);
}

Test(json_print, objects_in_parts, .init = setup)
{
    vt_json_put(&w, "{name:%s empty:{} none:[]", "a \"b\"\n");
    vt_json_put(&w, "sizes:[");
    for (unsigned i = 0; i < 3; i++)
        vt_json_put(&w, "%u", i);
    vt_json_put(&w, "] rows:[{n:%d}{n:%d}]}\n", -1, 2);
    vt_json_put(&w, "{}\n");
    check(
        "{\"name\":\"a \\\"b\\\"\\n\",\"empty\":{},\"none\":[],\"sizes\":[0,1,"
        "2],\"rows\":[{\"n\":-1},{\"n\":2}]}\n{}\n");
}

Test(json_print, every_conversion, .init = setup)
{
    const char *volatile none = NULL; /* hidden from warnings */

    vt_json_put(&w, "[%s %s %i %i %llu %lu %zu %.2f %.9g %.9g %f]", "s", none,
                true, false, 1ull << 63, 7ul, (size_t)8, 0.125, 0.1,
                (double)NAN, (double)INFINITY);
    check("[\"s\",null,true,false,9223372036854775808,7,8,0.12,0.1,null,null]");
}

Test(json_print, strings_and_keys, .init = setup)
{
    vt_json_put(&w,
                "{size:'%ux%u' hash:'%016lx' %s:%u '%u':%u GFLOP/s:1 b:", 3u,
                4u, 171ul, "a:b", 5u, 6u, 7u);
    vt_json_put(&w, "null");
    vt_json_put_path(&w, "path", "bytes", "x\xff");
    vt_json_put_path(&w, "good", "bytes", "y");
    vt_json_put(&w, "raw:");
    fputs("[1,2]", vt_json_raw(&w));
    vt_json_put(&w, "last:'a b{}%s'}", "\"c");
    check("{\"size\":\"3x4\",\"hash\":\"00000000000000ab\",\"a:b\":5,\"6\":7,"
          "\"GFLOP/"
          "s\":1,\"b\":null,\"path\":\"x\xEF\xBF\xBD\",\"bytes\":\"eP8=\","
          "\"good\":\"y\",\"raw\":[1,2],\"last\":\"a b{}\\\"c\"}");
}

Test(json_print, lines, .init = setup)
{
    w.spaced = true;
    vt_json_put(&w, "{a:1\n b:[");
    for (int i = 0; i < 2; i++)
        vt_json_put(&w, "\n  {c:%d d:%d}", i, i);
    vt_json_put(&w, "\n ]\n}\n");
    check("{\"a\": 1,\n \"b\": [\n  {\"c\": 0, \"d\": 0},\n  {\"c\": 1, \"d\": "
          "1}\n ]\n}\n");
}
