/*
 * test_torch.c - PyTorch zip files, valid and hostile. The valid pickles are
 * what torch.save() and torch.jit.save() write, by hand.
 */
#include "base/memory.h"
#include "support/made_torch.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(torch, reads)
{
    /* OrderedDict with _metadata, a transposed view, a parameter, a scalar, an
     * expanded one; other objects are skipped. */
    /* clang-format off */
    static const char program[] =
        "\x80\x02" DICT "q\x00("
        W TENSOR(SIX, "\x00", "K\x02K\x03\x86", "K\x03K\x01\x86")
        "\x8c\x01tq\x01"
        TENSOR(SIX, "\x00", "K\x03K\x02\x86", "K\x01K\x03\x86")
        "\x8c\x01p" PARAMETER "("
        TENSOR(SIX, "\x04", "K\x02\x85", "K\x01\x85") "\x88}tR"
        "\x8c\x01s" TENSOR(SIX, "\x05", ")", ")")
        EXPANDED TENSOR(SIX, "\x01", "K\x04\x85", "K\x00\x85")
        EPOCH "M\x10\x27" RATE "u" METADATA ".";
    /* clang-format on */
    static const struct {
        const char *name;
        uint32_t rank;
        uint64_t n;
        float want[6];
    } all[] = {{"w", 2, 6, {1, 2, 3, 4, 5, 6}},
               {"t", 2, 6, {1, 4, 2, 5, 3, 6}},
               {"p", 1, 2, {5, 6}},
               {"s", 0, 1, {6}},
               {"e", 1, 4, {2, 2, 2, 2}}};
    vt_tensors *t = NULL;
    float f[6];

    cr_assert_eq(run(&t, program, sizeof program - 1), VITCL_OK, "%s",
                 vt_message());
    cr_expect_str_eq(vt_tensors_format(t), "torch");
    cr_expect_eq(vt_tensors_count(t), VT_COUNT(all));
    for (size_t i = 0; i < VT_COUNT(all); i++) {
        const vt_tensor *x = vt_tensors_get(t, all[i].name);
        cr_assert(x && x->rank == all[i].rank && x->count == all[i].n, "%s",
                  all[i].name);
        cr_assert_eq(vt_tensor_f32(f, x), VITCL_OK);
        for (size_t k = 0; k < all[i].n; k++)
            cr_expect_eq(f[k], all[i].want[k], "%s[%zu]", all[i].name, k);
    }
    vt_tensors_free(t);
}

Test(torch, finds_the_state_dict)
{
    /* beside a hash of nine bytes and a number of none, 0 */
    static const char training[] =
        "\x80\x02}(\x8a\x09"
        "123456789\x8a\x00"
        "\x8c\x05model}" W ONE "s\x8c\x09optimizer}\x8c\x01v" ONE "su.";
    static const char script[] =
        "\x80\x02"
        "c__torch__\nM\n)\x81}(\x8c\x06visualc__torch__.m\nN\n)\x81}(" W ONE
        "\x8c\x04"
        "listctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02"
        "e\x85Rubub.";
    vt_tensors *t = NULL;

    cr_assert_eq(run(&t, training, sizeof training - 1), VITCL_OK, "%s",
                 vt_message());
    cr_expect(vt_tensors_count(t) == 1 && vt_tensors_get(t, "w"));
    vt_tensors_free(t), t = NULL;
    cr_assert_eq(run(&t, script, sizeof script - 1), VITCL_OK, "%s",
                 vt_message());
    cr_expect(vt_tensors_count(t) == 1 && vt_tensors_get(t, "visual.w"));
    vt_tensors_free(t);
}

/* timm's preference among state dicts (load_state_dict), for any subset and any
 * order in the file. Each dict has a different one of the six numbers. */
Test(torch, prefers_timms_state_dict)
{
    static const struct {
        const char *entry;
        size_t size;
    } dicts[] = {
#define STATE(key, offset)                                                     \
    {key "}" W TENSOR(SIX, offset, "K\x01\x85", "K\x01\x85") "s",              \
     sizeof(key "}" W TENSOR(SIX, offset, "K\x01\x85", "K\x01\x85") "s") - 1}
        STATE("\x8c\x0estate_dict_ema", "\x00"),
        STATE("\x8c\x09model_ema", "\x01"),
        STATE("\x8c\nstate_dict", "\x02"),
        STATE("\x8c\x05model", "\x03"),
#undef STATE
    };

    for (unsigned have = 1; have < 16; have++)
        for (unsigned turn = 0; turn < 2; turn++) {
            char program[4096] = "\x80\x02}(";
            size_t n = 4;
            unsigned best = 4;
            float got = 0;
            vt_tensors *t = NULL;

            for (unsigned i = 0; i < 4; i++) {
                const unsigned k = turn ? 3 - i : i;
                if (!(have >> k & 1))
                    continue;
                memcpy(program + n, dicts[k].entry, dicts[k].size);
                n += dicts[k].size;
                best = k < best ? k : best;
            }
            memcpy(program + n, "u.", 2);
            cr_assert_eq(run(&t, program, n + 2), VITCL_OK, "%s", vt_message());
            cr_assert_eq(vt_tensors_count(t), 1);
            cr_assert_eq(vt_tensor_f32(&got, vt_tensors_get(t, "w")), VITCL_OK);
            cr_expect_eq(got, six[best], "of %x: %g", have, got);
            vt_tensors_free(t);
        }
}

#define P(text) text, sizeof text - 1
#define HUGE "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
#define EIGHTY                                                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"
#define LONG_STORAGE                                                           \
    "(\x8c\x07storagectorch\nFloatStorage\n\x8c\x01"                           \
    "0\x8c\x03"                                                                \
    "cpu" HUGE "tQ"
#define BIG "\x8a\x06\x00\x00\x00\x00\x00\x01"
#define KEY65                                                                  \
    "0123456789012345678901234567890123456789012345678901234567890123x"

static const struct {
    const char *program;
    size_t size;
    const char *says;
} weapons[] = {
    {P("cos\nsystem\n\x8c\x04true\x85R."), "os.system"},
    {P("cposix\nsystem\n\x8c\x04true\x85R."), "posix.system"},
    {P("\x80\x04\x8c\x08"
       "builtins\x8c\x04"
       "eval\x93\x8c\x01"
       "1\x85R."),
     "builtins.eval"},
    {P("c__builtin__\nexec\n."), "__builtin__.exec"},
    {P("ctorch\nload\n."), "torch.load"},
    {P("ctorch.storage\nUntypedStorage\n."), "UntypedStorage"},
    {P("cargparse\nNamespace\n)\x81."), "argparse.Namespace"},
    {P("c__torch__x\ny\n."), "__torch__x"},
    {P("ccollections\nOrderedDict\n)R)R."), "not a function"},
    {P("ccollections\nOrderedDict\n]\x85R."), "invalid arguments"},
    {P("ctorch\nFloatStorage\n)R."), "invalid arguments"},
    {P("c__torch__\nM\n)R."), "invalid arguments"},
    {P("ctorch._utils\n_rebuild_parameter\n)R."), "invalid arguments"},
    {P("ctorch._utils\n_rebuild_tensor_v2\n)R."), "is invalid"},
    {P("ccollections\nOrderedDict\n)\x81."), "TorchScript"},
    {P("(ios\nsystem\n."), "INST"},
    {P("(cos\nsystem\no."), "OBJ"},
    {P("(No."), "OBJ"},
    {P(")}\x92."), "NEWOBJ_EX"},
    {P("\x82\x01."), "EXT1"},
    {P("Pabc\n."), "PERSID"},
    {P("I1\n."), "INT"},
    {P("\xff"), "0xff"},
    {P("NQ."), "not a storage"},
    {P(")Q."), "not a storage"},
    {P("(\x8c\x06moduleNNNNtQ."), "not a storage"},
/* ids that are no ('storage', type, key, location, elements) */
#define ID(tag, type, key, n)                                                  \
    P("(" tag type key "\x8c\x03"                                              \
      "cpu" n "tQ.")
#define TAG "\x8c\x07storage"
#define FLOAT "ctorch\nFloatStorage\n"
#define ZERO                                                                   \
    "\x8c\x01"                                                                 \
    "0"
    {ID("N", FLOAT, ZERO, "K\x06"), "not a storage"},
    {ID("\x8c\x07storagf", FLOAT, ZERO, "K\x06"), "not a storage"},
    {ID("\x8c\x06storag", FLOAT, ZERO, "K\x06"), "not a storage"},
    {ID(TAG, "N", ZERO, "K\x06"), "not a storage"},
    {ID(TAG, "ccollections\nOrderedDict\n", ZERO, "K\x06"), "not a storage"},
    {ID(TAG, FLOAT, "K\x00", "K\x06"), "not a storage"},
    {ID(TAG, FLOAT, ZERO,
        "\x8c\x01"
        "6"),
     "not a storage"},
    {ID(TAG, FLOAT, ZERO, "J\xff\xff\xff\xff"), "not a storage"},
    {P("(" TAG FLOAT ZERO "K\x06tQ."), "not a storage"},
    {P("]Q."), "not a storage"},
#define REBUILT(offset, size, stride)                                          \
    P("}" W "ctorch._utils\n_rebuild_tensor_v2\n(" SIX offset size stride      \
      "\x89" DICT "tRs.")
    {REBUILT("\x8c\x01"
             "0",
             "K\x06\x85", "K\x01\x85"),
     "is invalid"},
    {REBUILT("J\xff\xff\xff\xff", "K\x06\x85", "K\x01\x85"), "is invalid"},
    {REBUILT("K\x00", "K\x06", "K\x01"), "is invalid"},
    {REBUILT("K\x00", "K\x06\x85", "}"), "is invalid"},
    {P("ccollections\nOrderedDict\nNR."), "not a function"},
    {P("N)\x81."), "TorchScript"},
    {P("c" EIGHTY "tail\n" EIGHTY "tail\n."),
     ": " EIGHTY "." EIGHTY " is not allowed"},
    {P("N)b."), "state"},
    {P("N}b."), "state"},
    {P("a."), "stack"},
    {P("NNa."), "container"},
    {P("NNNs."), "container"},
    {P("(Ne."), "container"},
    {P("](Nu."), "container"},
    {P("}(Nu."), "container"},
    {P("N((Ne."), "container"},
    {P("t."), "no mark"},
    {P("1."), "no mark"},
    {P("0."), "stack"},
    {P("(0."), "stack"},
    /* Stack entries below a mark cannot be reached until the mark is gone. */
    {P("N(0."), "stack underflow"},
    {P("N(0t."), "stack underflow"},
    {P("NN(N\x86."), "stack underflow"},
    {P("](Na."), "stack underflow"},
    {P("}N(Ns."), "stack underflow"},
    {P("N(q\x00."), "empty stack"},
    {P("N(\x94."), "empty stack"},
    {P("NN(\x93."), "stack underflow"},
    {P("N(NR."), "stack underflow"},
    {P("N(N\x81."), "stack underflow"},
    {P("}(}b."), "stack underflow"},
    {P(")(Q."), "stack underflow"},
    {P("](N(e."), "container"},
    {P("R."), "stack"},
    {P("N\x93."), "stack"},
    {P("NN\x93."), "not a string"},
    {P("q\x00."), "empty stack"},
    {P("h\x05."), "empty memo entry"},
    {P("j\xff\xff\xff\xff."), "empty memo entry"},
    {P("Nr\xff\xff\xff\x7f."), "memo too large"},
    {P("X\xff\xff\xff\xff."), "unexpected end"},
    {P("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."), "unexpected end"},
    {P("\x8c\x05"
       "ab."),
     "unexpected end"},
    {P("ccollections"), "unexpected end"},
    {P("J\x01."), "unexpected end"},
    {P("\x8a\xff."), "unexpected end"},
    {P("\x95\x01"), "unexpected end"},
    {P("N"), "unexpected end"},
    {P(""), "unexpected end"},
    {P("."), "one value"},
    {P("NN."), "one value"},
    {P("(N."), "one value"},
    {P("N."), "no state dict"},
    {P("}q\x00\x8c\x01"
       "ah\x00s."),
     "too deep"},
    {P("}" W TENSOR(SIX, "\x01", "K\x06\x85", "K\x01\x85") "s."), "beyond"},
    {P("}" W TENSOR(SIX, "\x00", "K\x06\x85", "K\x02\x85") "s."), "beyond"},
    {P("}" W TENSOR(SIX, "\x00", "K\x07\x85", "K\x01\x85") "s."), "beyond"},
    {P("}" W TENSOR(SIX, "\x00", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85",
                    "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85") "s."),
     "beyond"},
    {P("}" W TENSOR(SIX, "\x00", "\x8a\x06\x00\x00\x00\x00\x00\x10\x85",
                    "K\x00\x85") "s."),
     "more memory than the file"},
    {P("}" W TENSOR(SIX, "\x00", "J\xff\xff\xff\xff\x85", "K\x01\x85") "s."),
     "is invalid"},
    {P("}" W TENSOR(SIX, "\x00", "K\x06\x85", "J\xff\xff\xff\xff\x85") "s."),
     "is invalid"},
    {P("}" W TENSOR(SIX, "\x00", "\x8a\x01\xff\x85", "K\x01\x85") "s."),
     "is invalid"},
    {P("}" W TENSOR(SIX, "\x00", "K\x06\x85", "\x8a\x03\x00\x00\x80\x85") "s."),
     "is invalid"},
    {P("}" W TENSOR(SIX, "\x00", "K\x06\x85", ")") "s."), "is invalid"},
    {P("}" W TENSOR(SIX, "\x00", "N\x85", "N\x85") "s."), "is invalid"},
    {P("}" W TENSOR("N", "\x00", "K\x06\x85", "K\x01\x85") "s."), "is invalid"},
    {P("}" W TENSOR(SIX, "\x00",
                    "(K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x06t",
                    "(K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x01t") "s."),
     "is invalid"},
    {P("}" W TENSOR(STORAGE("Float", "0", "\x05"), "\x00", "K\x05\x85",
                    "K\x01\x85") "s."),
     "24 bytes for 5"},
    {P("}" W TENSOR(STORAGE("Half", "0", "\x06"), "\x00", "K\x06\x85",
                    "K\x01\x85") "s."),
     "24 bytes for 6"},
    {P("}" W TENSOR(STORAGE("Float", "1", "\x06"), "\x00", "K\x06\x85",
                    "K\x01\x85") "s."),
     "is missing"},
    {P("}" W TENSOR(STORAGE("Float", "/", "\x06"), "\x00", "K\x06\x85",
                    "K\x01\x85") "s."),
     "invalid name"},
    {P("}" W TENSOR(LONG_STORAGE, "\x00", "K\x06\x85", "K\x01\x85") "s."),
     "24 bytes for 9223372036854775807"},
    {P("}" W TENSOR("(\x8c\x07storagectorch\nFloatStorage\n\x8c\x41" KEY65
                    "\x8c\x03"
                    "cpuK\x06tQ",
                    "\x00", "K\x06\x85", "K\x01\x85") "s."),
     "invalid name"},
    /* products and sums of 2^64 and more */
    {P("}" W TENSOR(SIX, "\x00", BIG BIG "\x86", "K\x00K\x00\x86") "s."),
     "beyond"},
    {P("}" W "ctorch._utils\n_rebuild_tensor_v2\n(" SIX HUGE
       "K\x02K\x02\x86" HUGE HUGE "\x86\x89" DICT "tRs."),
     "beyond"},
    {P("}" W "ctorch._utils\n_rebuild_tensor_v2\n(" SIX HUGE
       "K\x02K\x02\x86" HUGE "K\x01\x86\x89" DICT "tRs."),
     "beyond"},
    {P("Nq\x00h\x05."), "empty memo entry"},
    {P("N\x8c\x01"
       "a\x93."),
     "not a string"},
    {P("c__torch__\nM\n)\x81Nb."), "state"},
    {P("c__torch__\nM\n)\x81}\x8c\x01"
       "aNsb}b."),
     "state"},
    {P("G\x00."), "unexpected end"},
    {P("}K\x01" ONE "s."), "no state dict"},
    {P("}\x8c\x05modelNs."), "no state dict"},
    {P("}\x8c\x01\xff" ONE "s."), "UTF-8"},
    {P("}\x8c\x00" ONE "s."), "name"},
    {P("}\x8c\x02\x00x" ONE "s."), "NUL"},
    {P("}(" W ONE W ONE "u."), "duplicate tensor"},
};

Test(torch, refuses)
{
    for (size_t i = 0; i < VT_COUNT(weapons); i++)
        refused(weapons[i].program, weapons[i].size, weapons[i].says);

    static uint8_t many[(1 << 22) + 16];
    memset(many, 'N', sizeof many);
    refused(many, sizeof many, "stack too deep");
    /* The most values there may be, on a stack emptied half-way; one more. */
    many[0] = many[1 << 21] = '(';
    many[(1 << 21) - 1] = many[1 << 22] = '1';
    refused(many, sizeof many, "too many values");
    memset(many, '(', sizeof many);
    refused(many, sizeof many, "too deep");
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = i % 2 ? '0' : ')';
    refused(many, sizeof many, "unexpected end");

    /* A dict of twice a dict of twice ...: 2^28 names in 300 bytes. */
    size_t n = 0;
    memcpy(many,
           "}q\x00"
           "0",
           4);
    for (uint8_t i = 1; i < 28; i++) {
        uint8_t level[] = {'}', '(', 0x8c, 1, 'a', 'h', 0, 0x8c,
                           1,   'b', 'h',  0, 'u', 'q', i, '0'};
        level[6] = level[11] = (uint8_t)(i - 1);
        memcpy(many + 4 + n, level, sizeof level);
        n += sizeof level;
    }
    memcpy(many + 4 + n, "h\x1b.", 3);
    refused(many, n + 7, "too many names");
}

/* Views may repeat bytes up to a limit: one view of 40 MB of a file of a few
 * hundred bytes is accepted, two are not. */
Test(torch, refuses_copies)
{
#define LARGE TENSOR(SIX, "\x00", "J\x80\x96\x98\x00\x85", "K\x00\x85")
    static const char one[] = "}" W LARGE "s.";
    static const char two[] = "}(" W LARGE "\x8c\x01v" LARGE "u.";
    vt_tensors *t = NULL;

    cr_assert_eq(run(&t, one, sizeof one - 1), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_tensors_get(t, "w")->count, 10000000);
    vt_tensors_free(t);
    refused(two, sizeof two - 1, "views need much more");
}

Test(torch, refuses_archives)
{
    vt_tensors *t = NULL;
    static const char program[] = "}" W ONE "s.";

    memset(&z, 0, sizeof z);
    made_add(&z, "hello.txt", "hello", 5, (made_lie){0});
    made_end(&z);
    cr_expect_eq(open_zip(&t), VITCL_EUNSUPPORTED);
    memset(&z, 0, sizeof z);
    made_add(&z, "x/data.pkl", program, sizeof program - 1, (made_lie){0});
    made_add(&z, "x/byteorder", "big", 3, (made_lie){0});
    made_add(&z, "x/data/0", six, 24, (made_lie){0});
    made_end(&z);
    cr_expect_eq(open_zip(&t), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "big-endian"), "%s", vt_message());
    memset(&z, 0, sizeof z);
    made_add(&z, "x/data.pkl", program, sizeof program - 1, (made_lie){0});
    made_add(&z, "x/byteorder", "middle", 6, (made_lie){0});
    made_add(&z, "x/data/0", six, 24, (made_lie){0});
    made_end(&z);
    cr_expect_eq(open_zip(&t), VITCL_EUNSUPPORTED);
    memset(&z, 0, sizeof z);
    made_add(&z, "x/data.pkl", program, sizeof program - 1, (made_lie){0});
    made_add(&z, "x/data/0", six, 24, (made_lie){.crc = 1});
    made_end(&z);
    cr_expect_eq(open_zip(&t), VITCL_ECORRUPT);
    cr_expect_eq(vt_tensors_open_memory(&t, "\x80\x02}q\x00.", 6, "old.pth"),
                 VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "1.6"), "%s", vt_message());
    cr_expect_null(t);
}
