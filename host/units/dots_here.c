/*
 * dots_here.c - which dot-product instructions this processor has, and the
 * system's permission to use them. An OpenCL CPU device runs in this process,
 * so its cpuid is right, or on Arm the system's list of capabilities.
 *
 * AMX's tiles are 8 KiB that Linux saves for a process only if it has asked;
 * without that, their first instruction is a fault. The permission is the
 * process's, so it covers a driver's threads, too. Elsewhere they are not used.
 */
#include "units/dots.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static bool has_bit(unsigned leaf, char reg, int bit)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    return __get_cpuid_count(7, leaf, &a, &b, &c, &d) &&
           ((reg == 'a' ? a : d) >> bit & 1);
}

/* Not every compiler has a name for AVX512-FP16, AVX-VNNI and AMX. */
static bool has_avx512_fp16(void)
{
    return __builtin_cpu_supports("avx512bw") && has_bit(0, 'd', 23);
}

static bool has_avx_vnni(void)
{
    return __builtin_cpu_supports("avx2") && has_bit(1, 'a', 4);
}

#if defined(__linux__) && defined(SYS_arch_prctl)
/* asm/prctl.h, where it is new enough */
enum { GET_XCOMP_SUPP = 0x1021, REQ_XCOMP_PERM = 0x1023 };
enum { XTILEDATA = 18 };

static bool system_has_tiles(void)
{
    unsigned long states = 0;

    return syscall(SYS_arch_prctl, GET_XCOMP_SUPP, &states) == 0 &&
           (states >> XTILEDATA & 1);
}

static bool tiles_permitted(void)
{
    return syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XTILEDATA) == 0;
}
#else
static bool system_has_tiles(void)
{
    return false;
}

static bool tiles_permitted(void)
{
    return false;
}
#endif

/* AMX, with this extension of it. */
static bool has_tiles(int bit)
{
    return has_bit(0, 'd', 24) && has_bit(0, 'd', bit) && system_has_tiles();
}

bool vt_dot_here(int kind)
{
    __builtin_cpu_init();
    switch (kind) {
    case VT_DOT_S16:
    case VT_DOT_U8_PAIRS:
        return __builtin_cpu_supports("avx2");
    case VT_DOT_U8:
        return __builtin_cpu_supports("avx512vnni");
    case VT_DOT_U8_VEX:
        return has_avx_vnni();
    case VT_DOT_BF16:
        return __builtin_cpu_supports("avx512bf16");
    case VT_DOT_F16:
        return has_avx512_fp16();
    case VT_DOT_U8_TILES:
        return has_tiles(25);
    case VT_DOT_BF16_TILES:
        return has_tiles(22);
    default:
        return false;
    }
}

bool vt_dot_permitted(int kind)
{
    return (kind != VT_DOT_U8_TILES && kind != VT_DOT_BF16_TILES) ||
           tiles_permitted();
}
#else
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

bool vt_dot_here(int kind)
{
    /* asm/hwcap.h, where it is new enough */
    switch (kind) {
    case VT_DOT_S8: /* HWCAP_ASIMDDP */
        return getauxval(AT_HWCAP) >> 20 & 1;
    case VT_DOT_S8_PAIR: /* HWCAP2_I8MM */
        return getauxval(AT_HWCAP2) >> 13 & 1;
    case VT_DOT_BF16_ARM: /* HWCAP2_BF16 */
    case VT_DOT_BF16_PAIR:
        return getauxval(AT_HWCAP2) >> 14 & 1;
    default:
        return false;
    }
}
#else
bool vt_dot_here(int kind)
{
    (void)kind;
    return false;
}
#endif

bool vt_dot_permitted(int kind)
{
    (void)kind;
    return true;
}
#endif
