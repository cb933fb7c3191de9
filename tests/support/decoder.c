/*
 * decoder.c - where the decoder program and vitcl-try of this build are, for
 * tests that are not run by ctest.
 */
#include <stdlib.h>

void vt_test_decoder(void);

__attribute__((constructor)) void vt_test_decoder(void)
{
    setenv("VITCL_DECODE", VT_DECODER, 0);
    setenv("VITCL_TRY", VT_TRIER, 0);
}
