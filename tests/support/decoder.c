/*
 * decoder.c - set the paths of this build's vitcl-decode, vitcl-decode-all,
 * vitcl-try and vitcl-plot.so, for tests that ctest does not run.
 */
#include <stdlib.h>

void vt_test_decoder(void);

__attribute__((constructor)) void vt_test_decoder(void)
{
    setenv("VITCL_DECODE", VT_DECODER, 0);
    setenv("VITCL_DECODE_ALL", VT_DECODER_ALL, 0);
    setenv("VITCL_TRY", VT_TRIER, 0);
#ifdef VT_PLOTTER
    setenv("VITCL_PLOT", VT_PLOTTER, 0);
#endif
}
