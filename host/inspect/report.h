/*
 * report.h - the page that shows what `vitcl inspect` wrote.
 */
#ifndef VT_INSPECT_REPORT_H
#define VT_INSPECT_REPORT_H
#include "base/status.h"

/* Reads FOLDER/inspect.json and writes FOLDER/report.html, which has the
 * figures in it and stands alone. A figure whose file cannot be read is named
 * in its place. */
vitcl_status vt_inspect_report(const char *folder);

#endif
