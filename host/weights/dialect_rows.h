/*
 * dialect_rows.h - how the tables of names are written; for their files only.
 */
#ifndef VT_WEIGHTS_DIALECT_ROWS_H
#define VT_WEIGHTS_DIALECT_ROWS_H
#include "weights/dialects.h"

#define AS(name, canonical)                                                    \
    {                                                                          \
        .from = (name), .to = (canonical)                                      \
    }
#define WITH(name, canonical, ...)                                             \
    {                                                                          \
        .from = (name), .to = (canonical), __VA_ARGS__                         \
    }
#define DROP(name)                                                             \
    {                                                                          \
        .from = (name)                                                         \
    }

#endif
