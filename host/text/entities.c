/*
 * entities.c - HTML's entities of one character, as HTML 4 has them.
 */
#include "text/clean.h"

#include <string.h>

/* clang-format off: a table, sorted by bytes. The last number: is a semicolon
 * optional? */
static const struct entity {
    char name[9];
    uint16_t code;
    uint8_t legacy;
} entities[] = {
    {"AElig", 198, 1},   {"AMP", 38, 1},       {"Aacute", 193, 1},
    {"Acirc", 194, 1},   {"Agrave", 192, 1},   {"Alpha", 913, 0},
    {"Aring", 197, 1},   {"Atilde", 195, 1},   {"Auml", 196, 1},
    {"Beta", 914, 0},    {"COPY", 169, 1},     {"Ccedil", 199, 1},
    {"Chi", 935, 0},     {"Dagger", 8225, 0},  {"Delta", 916, 0},
    {"ETH", 208, 1},     {"Eacute", 201, 1},   {"Ecirc", 202, 1},
    {"Egrave", 200, 1},  {"Epsilon", 917, 0},  {"Eta", 919, 0},
    {"Euml", 203, 1},    {"GT", 62, 1},        {"Gamma", 915, 0},
    {"Iacute", 205, 1},  {"Icirc", 206, 1},    {"Igrave", 204, 1},
    {"Iota", 921, 0},    {"Iuml", 207, 1},     {"Kappa", 922, 0},
    {"LT", 60, 1},       {"Lambda", 923, 0},   {"Mu", 924, 0},
    {"Ntilde", 209, 1},  {"Nu", 925, 0},       {"OElig", 338, 0},
    {"Oacute", 211, 1},  {"Ocirc", 212, 1},    {"Ograve", 210, 1},
    {"Omega", 937, 0},   {"Omicron", 927, 0},  {"Oslash", 216, 1},
    {"Otilde", 213, 1},  {"Ouml", 214, 1},     {"Phi", 934, 0},
    {"Pi", 928, 0},      {"Prime", 8243, 0},   {"Psi", 936, 0},
    {"QUOT", 34, 1},     {"REG", 174, 1},      {"Rho", 929, 0},
    {"Scaron", 352, 0},  {"Sigma", 931, 0},    {"THORN", 222, 1},
    {"Tau", 932, 0},     {"Theta", 920, 0},    {"Uacute", 218, 1},
    {"Ucirc", 219, 1},   {"Ugrave", 217, 1},   {"Upsilon", 933, 0},
    {"Uuml", 220, 1},    {"Xi", 926, 0},       {"Yacute", 221, 1},
    {"Yuml", 376, 0},    {"Zeta", 918, 0},     {"aacute", 225, 1},
    {"acirc", 226, 1},   {"acute", 180, 1},    {"aelig", 230, 1},
    {"agrave", 224, 1},  {"alefsym", 8501, 0}, {"alpha", 945, 0},
    {"amp", 38, 1},      {"and", 8743, 0},     {"ang", 8736, 0},
    {"apos", 39, 0},     {"aring", 229, 1},    {"asymp", 8776, 0},
    {"atilde", 227, 1},  {"auml", 228, 1},     {"bdquo", 8222, 0},
    {"beta", 946, 0},    {"brvbar", 166, 1},   {"bull", 8226, 0},
    {"cap", 8745, 0},    {"ccedil", 231, 1},   {"cedil", 184, 1},
    {"cent", 162, 1},    {"chi", 967, 0},      {"circ", 710, 0},
    {"clubs", 9827, 0},  {"cong", 8773, 0},    {"copy", 169, 1},
    {"crarr", 8629, 0},  {"cup", 8746, 0},     {"curren", 164, 1},
    {"dArr", 8659, 0},   {"dagger", 8224, 0},  {"darr", 8595, 0},
    {"deg", 176, 1},     {"delta", 948, 0},    {"diams", 9830, 0},
    {"divide", 247, 1},  {"eacute", 233, 1},   {"ecirc", 234, 1},
    {"egrave", 232, 1},  {"empty", 8709, 0},   {"emsp", 8195, 0},
    {"ensp", 8194, 0},   {"epsilon", 949, 0},  {"equiv", 8801, 0},
    {"eta", 951, 0},     {"eth", 240, 1},      {"euml", 235, 1},
    {"euro", 8364, 0},   {"exist", 8707, 0},   {"fnof", 402, 0},
    {"forall", 8704, 0}, {"frac12", 189, 1},   {"frac14", 188, 1},
    {"frac34", 190, 1},  {"frasl", 8260, 0},   {"gamma", 947, 0},
    {"ge", 8805, 0},     {"gt", 62, 1},        {"hArr", 8660, 0},
    {"harr", 8596, 0},   {"hearts", 9829, 0},  {"hellip", 8230, 0},
    {"iacute", 237, 1},  {"icirc", 238, 1},    {"iexcl", 161, 1},
    {"igrave", 236, 1},  {"image", 8465, 0},   {"infin", 8734, 0},
    {"int", 8747, 0},    {"iota", 953, 0},     {"iquest", 191, 1},
    {"isin", 8712, 0},   {"iuml", 239, 1},     {"kappa", 954, 0},
    {"lArr", 8656, 0},   {"lambda", 955, 0},   {"lang", 9001, 0},
    {"laquo", 171, 1},   {"larr", 8592, 0},    {"lceil", 8968, 0},
    {"ldquo", 8220, 0},  {"le", 8804, 0},      {"lfloor", 8970, 0},
    {"lowast", 8727, 0}, {"loz", 9674, 0},     {"lrm", 8206, 0},
    {"lsaquo", 8249, 0}, {"lsquo", 8216, 0},   {"lt", 60, 1},
    {"macr", 175, 1},    {"mdash", 8212, 0},   {"micro", 181, 1},
    {"middot", 183, 1},  {"minus", 8722, 0},   {"mu", 956, 0},
    {"nabla", 8711, 0},  {"nbsp", 160, 1},     {"ndash", 8211, 0},
    {"ne", 8800, 0},     {"ni", 8715, 0},      {"not", 172, 1},
    {"notin", 8713, 0},  {"nsub", 8836, 0},    {"ntilde", 241, 1},
    {"nu", 957, 0},      {"oacute", 243, 1},   {"ocirc", 244, 1},
    {"oelig", 339, 0},   {"ograve", 242, 1},   {"oline", 8254, 0},
    {"omega", 969, 0},   {"omicron", 959, 0},  {"oplus", 8853, 0},
    {"or", 8744, 0},     {"ordf", 170, 1},     {"ordm", 186, 1},
    {"oslash", 248, 1},  {"otilde", 245, 1},   {"otimes", 8855, 0},
    {"ouml", 246, 1},    {"para", 182, 1},     {"part", 8706, 0},
    {"permil", 8240, 0}, {"perp", 8869, 0},    {"phi", 966, 0},
    {"pi", 960, 0},      {"piv", 982, 0},      {"plusmn", 177, 1},
    {"pound", 163, 1},   {"prime", 8242, 0},   {"prod", 8719, 0},
    {"prop", 8733, 0},   {"psi", 968, 0},      {"quot", 34, 1},
    {"rArr", 8658, 0},   {"radic", 8730, 0},   {"rang", 9002, 0},
    {"raquo", 187, 1},   {"rarr", 8594, 0},    {"rceil", 8969, 0},
    {"rdquo", 8221, 0},  {"real", 8476, 0},    {"reg", 174, 1},
    {"rfloor", 8971, 0}, {"rho", 961, 0},      {"rlm", 8207, 0},
    {"rsaquo", 8250, 0}, {"rsquo", 8217, 0},   {"sbquo", 8218, 0},
    {"scaron", 353, 0},  {"sdot", 8901, 0},    {"sect", 167, 1},
    {"shy", 173, 1},     {"sigma", 963, 0},    {"sigmaf", 962, 0},
    {"sim", 8764, 0},    {"spades", 9824, 0},  {"sub", 8834, 0},
    {"sube", 8838, 0},   {"sum", 8721, 0},     {"sup", 8835, 0},
    {"sup1", 185, 1},    {"sup2", 178, 1},     {"sup3", 179, 1},
    {"supe", 8839, 0},   {"szlig", 223, 1},    {"tau", 964, 0},
    {"there4", 8756, 0}, {"theta", 952, 0},    {"thetasym", 977, 0},
    {"thinsp", 8201, 0}, {"thorn", 254, 1},    {"tilde", 732, 0},
    {"times", 215, 1},   {"trade", 8482, 0},   {"uArr", 8657, 0},
    {"uacute", 250, 1},  {"uarr", 8593, 0},    {"ucirc", 251, 1},
    {"ugrave", 249, 1},  {"uml", 168, 1},      {"upsih", 978, 0},
    {"upsilon", 965, 0}, {"uuml", 252, 1},     {"weierp", 8472, 0},
    {"xi", 958, 0},      {"yacute", 253, 1},   {"yen", 165, 1},
    {"yuml", 255, 1},    {"zeta", 950, 0},     {"zwj", 8205, 0},
    {"zwnj", 8204, 0},
};
/* clang-format on */

uint32_t vt_entity(bool *legacy, const char *name, size_t n)
{
    size_t low = 0, high = VT_COUNT(entities);

    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct entity *e = &entities[middle];
        int order = strncmp(name, e->name, n);

        if (order == 0 && (n >= sizeof e->name || e->name[n]))
            order = -1;
        if (order == 0) {
            *legacy = e->legacy;
            return e->code;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}
