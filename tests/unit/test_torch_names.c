/*
 * test_torch_names.c - PyTorch zip files: where the state dict is found, long
 * names, empty tensors and large pickles.
 */
#include "base/memory.h"
#include "support/made_torch.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* What is below four of these keys is part of the names; a key without a dict,
 * or with an empty one, does not count. */
Test(torch, looks_four_deep)
{
#define MODEL "}\x8c\x05model"
    static const char deep[] =
        MODEL MODEL MODEL MODEL MODEL "}" W ONE "ssssss.";
    static const char none[] =
        "}(\x8c\x0astate_dict}\x8c\x09model_emaN\x8c\x05model}" W ONE
        "s\x8c\x06module" ONE "u.";
    vt_tensors *t = NULL;

    cr_assert_eq(run(&t, deep, sizeof deep - 1), VITCL_OK, "%s", vt_message());
    cr_expect(vt_tensors_count(t) == 1 && vt_tensors_get(t, "model.w"));
    vt_tensors_free(t), t = NULL;
    cr_assert_eq(run(&t, none, sizeof none - 1), VITCL_OK, "%s", vt_message());
    cr_expect(vt_tensors_count(t) == 1 && vt_tensors_get(t, "w"));
    vt_tensors_free(t);
}

/* Tensors without elements, which may lie anywhere. */
Test(torch, reads_empty_tensors)
{
    static const char program[] = "}(" W TENSOR(
        SIX, "\x00", "K\x00K\x03\x86",
        "K\x03K\x01\x86") "\x8c\x01v" TENSOR(SIX, "\x09", "K\x03K\x00\x86",
                                             "K\x01K\x01\x86") "u.";
    vt_tensors *t = NULL;

    cr_assert_eq(run(&t, program, sizeof program - 1), VITCL_OK, "%s",
                 vt_message());
    for (int i = 0; i < 2; i++) {
        const vt_tensor *x = vt_tensors_get(t, i ? "v" : "w");

        cr_assert(x && x->rank == 2 && x->count == 0 && x->size == 0);
        cr_expect_eq(x->shape[0], i ? 3 : 0);
        cr_expect_eq(x->shape[1], i ? 0 : 3);
    }
    vt_tensors_free(t);
}

/* The archive's own folder may have a long name, but no endless one; tensors'
 * names likewise. */
Test(torch, long_names)
{
    static const char program[] = "}" W ONE "s.";
    static char nested[4096];
    char name[600];

    for (size_t n = 511; n <= 512; n++) {
        vt_tensors *t = NULL;
        vitcl_status st;

        memset(&z, 0, sizeof z);
        memset(name, 'x', n - 1);
        strcpy(name + n - 1, "/data.pkl");
        made_add(&z, name, program, sizeof program - 1, (made_lie){0});
        strcpy(name + n - 1, "/data/0");
        made_add(&z, name, six, 24, (made_lie){0});
        made_end(&z);
        st = open_zip(&t);
        cr_expect_eq(st, n < 512 ? VITCL_OK : VITCL_EUNSUPPORTED, "%zu: %s", n,
                     vt_message());
        if (st != VITCL_OK)
            cr_expect(strstr(vt_message(), "PyTorch's data.pkl"));
        vt_tensors_free(t);
    }
    for (unsigned inner = 252; inner <= 257; inner++) {
        /* a dict of 254 letters and a point, and a tensor of `inner` */
        const size_t one = sizeof ONE - 1;
        const bool good = inner + 256 <= 511;
        size_t n = 0;
        vt_tensors *t = NULL;

        memcpy(nested, "}X\xff\0\0\0", 6);
        memset(nested + 6, 'a', 255);
        n = 6 + 255;
        nested[n++] = '}';
        nested[n++] = 'X';
        nested[n++] = (char)inner;
        nested[n++] = (char)(inner >> 8);
        nested[n++] = 0;
        nested[n++] = 0;
        memset(nested + n, 'b', inner);
        n += inner;
        memcpy(nested + n, ONE "ss.", one + 3);
        n += one + 3;
        if (!good) {
            refused(nested, n, "name is too long");
            continue;
        }
        cr_expect_eq(run(&t, nested, n), VITCL_OK, "%s", vt_message());
        cr_expect_eq(vt_tensors_count(t), 1);
        vt_tensors_free(t);
    }
    memset(nested, 'a', sizeof nested);
    memcpy(nested, "}X\x01\x02\0\0", 6); /* 513 letters, before any sum */
    memcpy(nested + 6 + 513, "}s.", 3);
    refused(nested, 6 + 513 + 3, "name is too long");
}

/* Sizes may be lists, as in files that were not written by torch.save(). */
Test(torch, sizes_as_lists)
{
    static const char program[] =
        "}" W "ctorch._utils\n_rebuild_tensor_v2\n(" SIX "K\x00](K\x03K\x02"
        "e](K\x01K\x03"
        "e\x89" DICT "tRs.";
    static const float want[6] = {1, 4, 2, 5, 3, 6};
    vt_tensors *t = NULL;
    const vt_tensor *x;
    float f[6];

    cr_assert_eq(run(&t, program, sizeof program - 1), VITCL_OK, "%s",
                 vt_message());
    x = vt_tensors_get(t, "w");
    cr_assert(x && x->rank == 2 && x->shape[0] == 3 && x->shape[1] == 2);
    cr_assert_eq(vt_tensor_f32(f, x), VITCL_OK);
    cr_expect(memcmp(f, want, sizeof f) == 0);
    vt_tensors_free(t);
}

/* A list that holds itself as often as there may be values in all, then once
 * more. */
Test(torch, refuses_many_items)
{
    enum { ITEMS = 1 << 22, TURN = 1 << 20 };
    char *const program = malloc(2 * ITEMS + 64);
    size_t n = 4;

    cr_assert(program);
    memcpy(program, "]q\0(", 4);
    for (int i = 0; i <= ITEMS; i++) {
        if (i && i % TURN == 0)
            program[n++] = 'e', program[n++] = '(';
        program[n++] = 'h', program[n++] = 0;
    }
    memcpy(program + n, "e.", 2);
    refused(program, n + 2, "too many items");
    memcpy(program + n - 2, "e.", 2);
    refused(program, n, "too many names");
    free(program);
}

/* A pickle of more than 64 MiB, which is no pickle of weights. */
Test(torch, refuses_large_pickles)
{
    enum { SIZE = (64 << 20) + 1 };
    char *const large = malloc(SIZE);
    vt_tensors *t = NULL;

    cr_assert(large);
    memset(large, '(', SIZE);
    for (int more = 1; more >= 0; more--) {
        memset(&z, 0, sizeof z);
        made_add(&z, "x/data.pkl", large, SIZE - 1u + (unsigned)more,
                 (made_lie){.deflate = 1});
        made_end(&z);
        cr_expect_eq(open_zip(&t), VITCL_ECORRUPT);
        cr_expect(strstr(vt_message(),
                         more ? "a pickle of 67108865 bytes" : "too deep"),
                  "%s", vt_message());
    }
    free(large);
}

/* What lies beside a state dict: the arguments of a training, numbers of numpy,
 * sets, bytes. Nothing of it is called. */
Test(torch, skips_foreign_objects)
{
#define NAMED "cargparse\nNamespace\n"
#define SCALAR                                                                 \
    "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n\x8c\x02"                  \
    "f8\x89\x88\x87R(K\x03\x8c\x01<NNNJ\xff\xff\xff\xffK\x00tb"                \
    "C\x02"                                                                    \
    "ab\x86R"
#define B(text)                                                                \
    {                                                                          \
        text, sizeof(text) - 1                                                 \
    }
    static const struct {
        const char *text;
        size_t size;
    } beside[] = {
        B(NAMED ")\x81}\x8c\x02lrK\x01sb"),
        B(NAMED ")}\x92"),
        B(NAMED),
        B(SCALAR),
        B("cposix\nsystem\n\x8c\x04true\x85R"),
        B("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(K\x01K\x02u"),
        B("cx\nMine\n)\x81(K\x01K\x02"
          "e"),
        B("cx\nMaker\n)R\x85\x85\x94K\x01\x85"
          "0"),
        B("\x8f(K\x01K\x02\x90"),
        B("(K\x01K\x02\x91"),
        B("\x8e\x02\0\0\0\0\0\0\0xy"),
        B("B\x01\0\0\0x"),
    };
    char program[600];

    for (size_t i = 0; i < VT_COUNT(beside); i++)
        for (int flat = 0; flat < 2; flat++) {
            vt_tensors *t = NULL;
            size_t n = 0;
#define PUT(text, size) memcpy(program + n, text, size), n += size
            PUT("}(", 2);
            if (flat)
                PUT(W ONE, sizeof(W ONE) - 1);
            else
                PUT("\x8c\x05model}" W ONE "s",
                    sizeof("\x8c\x05model}" W ONE "s") - 1);
            PUT("\x8c\x04"
                "args",
                6);
            PUT(beside[i].text, beside[i].size);
            PUT("u.", 2);
#undef PUT
            cr_assert_eq(run(&t, program, n), VITCL_OK, "%zu: %s", i,
                         vt_message());
            cr_expect_eq(vt_tensors_count(t), 1);
            vt_tensors_free(t);
        }
}

/* A tuple in a tuple, a million times, is looked through once. */
Test(torch, many_tuples_in_one, .timeout = 60)
{
    enum { N = 1 << 20, FETCHES = 2 * N };
    static const char beside[] = "\x8c\x04"
                                 "args"
                                 "cx\nMine\n";
    char *const program = malloc(2 * FETCHES + 200), *at = program;
    vt_tensors *t = NULL;

    cr_assert(program);
#define PUT(text) memcpy(at, text, sizeof(text) - 1), at += sizeof(text) - 1
    PUT("}(" W ONE);
    PUT(beside);
    for (int deep = 0; deep < 2; deep++) {
        if (!deep)
            PUT("Nq\x00"
                "0");
        PUT("(");
        for (int i = 0; i < N; i++, at += 2)
            at[0] = 'h', at[1] = (char)deep;
        if (!deep)
            PUT("tq\x01"
                "0");
    }
    PUT("tRu.");
#undef PUT
    cr_assert_eq(run(&t, program, (size_t)(at - program)), VITCL_OK, "%s",
                 vt_message());
    cr_expect_eq(vt_tensors_count(t), 1);
    vt_tensors_free(t);
    free(program);
}

/* In place of a tensor, or of all, they are refused by their names. */
Test(torch, refuses_foreign_tensors)
{
#define QUANTISED                                                              \
    "ctorch._utils\n_rebuild_qtensor\n(" SIX "K\x00K\x06\x85K\x01\x85tR"
#define WRAPPED "cx\nfrom_type\n(N(" SIX "K\x00ttR"
    static const char q[] = "}" W QUANTISED "s.";
    static const char mixed[] = "}(" W ONE "\x8c\x01v" QUANTISED "u.";
    static const char wrapped[] =
        "}\x8c\x05model}(" W ONE "\x8c\x01v" WRAPPED "us.";
    static const char deeper[] =
        "}" W "cx\nfrom_type\n(((((" SIX "K\x00tttttRs.";
    static const char whole[] = "ctimm.x\nViT\n)\x81}" W ONE "sb.";
    static const char inside[] =
        "}(\x8c\x05modelctimm.x\nViT\n)\x81}" W ONE "sb\x8c\x05"
        "epochK\x01u.";
    static const char unknown[] =
        "}" W "ctorch._utils\n_rebuild_tensor_v2\n((\x8c\x07storage"
        "ctorch.storage\nUntypedStorage\n\x8c\x01"
        "0\x8c\x03"
        "cpuK\x18tQ"
        "K\x00K\x06\x85K\x01\x85\x89NtRs.";

    refused(q, sizeof q - 1, "torch._utils._rebuild_qtensor is not allowed");
    refused(mixed, sizeof mixed - 1, "_rebuild_qtensor is not allowed");
    refused(wrapped, sizeof wrapped - 1, "x.from_type is not allowed");
    refused(deeper, sizeof deeper - 1, "x.from_type is not allowed");
    refused(whole, sizeof whole - 1, "timm.x.ViT is not allowed");
    refused(inside, sizeof inside - 1, "timm.x.ViT is not allowed");
    refused(unknown, sizeof unknown - 1, "UntypedStorage is not allowed");
}
