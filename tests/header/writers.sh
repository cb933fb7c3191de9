#!/bin/sh
# writers.sh ROOT - host/base/newfile.c writes all files. What else opens a file
# for writing, or gives one a name, is listed here with its reason.
set -eu
cd "$1"
allowed=$(sed 's/ *#.*//' <<'END'
host/base/newfile.c link        # the writer
host/base/newfile.c open
host/base/newfile.c rename
host/base/newfile.c renameat2
host/base/partial.c rename      # what a stopped run has: another name
host/base/user_dir.c openat     # the cache: below a folder that was checked
host/base/user_dir.c renameat
host/cli/setup/start.c open     # /dev/null
host/ocl/build_parallel.c open  # /dev/null
host/cli/training/training_log.c open    # a log: whole lines are appended
host/convert/convert.c rename   # a folder's files, when all are right
host/cli/setup/guard.c rename         # PoCL's own files, into PoCL's cache
host/cli/answers/sorting.c symlink
host/pull/blob.c open           # a download that the next one goes on with
host/pull/blob.c rename
host/pull/pull.c rename         # a link, complete when it appears
host/pull/pull.c symlink
host/train/checkpoint.c rename  # a folder, complete when it appears
END
)
# Calls, one a line, without comments: "FILE CALL".
found=$(find host -name '*.c' | sort | while read -r file; do
    sed -e 's|/\*.*\*/||' -e '/^ *\/\*/,/\*\//d' "$file" | tr '\n' ' ' |
        sed 's/;/;\n/g' | grep -oE \
        -e '(^|[^a-z_A-Z0-9>.])(open|openat|open_regular)\([^;]*O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)' \
        -e '(^|[^a-z_A-Z0-9>.])f(re)?open\([^;]*"[^"]*([wa+])[^"]*"\)' \
        -e '(^|[^a-z_A-Z0-9>.])(creat|mkstemps?|mko?stemps?|tmpfile|rename|renameat2?|link|linkat|symlink|symlinkat|copy_file_range|truncate)\(' |
        sed -E "s|^[^a-z]*([a-z0-9_]+)\(.*|$file \1|"
done | sort -u)
printf '%s\n' "$found" | sed 's/ open_regular$/ open/' | sort -u >"${TMPDIR:-/tmp}/writers.$$"
new=$(printf '%s\n' "$allowed" | sort -u | comm -13 - "${TMPDIR:-/tmp}/writers.$$")
gone=$(printf '%s\n' "$allowed" | sort -u | comm -23 - "${TMPDIR:-/tmp}/writers.$$")
rm "${TMPDIR:-/tmp}/writers.$$"
[ -z "$new" ] || printf 'writers.sh: use vt_newfile_open(), or say why not:\n%s\n' "$new" >&2
[ -z "$gone" ] || printf 'writers.sh: listed, but no longer there:\n%s\n' "$gone" >&2
[ -z "$new$gone" ] || exit 1
echo "one writer, and $(printf '%s\n' "$allowed" | wc -l) listed calls"
