/*
 * include_text.h - a file as a string of the program.
 */
#ifndef VT_PLOT_INCLUDE_TEXT_H
#define VT_PLOT_INCLUDE_TEXT_H

#define VT_INCLUDE_TEXT(symbol, path)                                          \
    __asm__(".section .rodata\n"                                               \
            ".global " #symbol "\n"                                            \
            ".hidden " #symbol "\n" #symbol ":\n"                              \
            ".incbin \"" path "\"\n"                                           \
            ".byte 0\n"                                                        \
            ".text\n");                                                        \
    extern const char symbol[] __attribute__((visibility("hidden")))

#endif
