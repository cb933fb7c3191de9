#!/bin/sh
# hardened.sh FILE... - these programs and libraries have what tools/harden.cmake
# asks for, as readelf shows.
set -eu
bad=0
wants() { # WHAT RE
    printf '%s\n' "$shown" | grep -qE -- "$2" || { echo "$file: no $1"; bad=1; }
}
for file; do
    shown=$(readelf -hldW "$file" && readelf -W --dyn-syms "$file")
    wants "random address" '^ *Type: *DYN'
    case $shown in *" INTERP "*) wants PIE 'FLAGS_1.* PIE' ;; esac
    wants "read-only table of calls" '^ *GNU_RELRO '
    wants "binding at the start" 'FLAGS_1.* NOW'
    wants "stack without code" '^ *GNU_STACK .* RW  '
    wants "guarded stack" ' __stack_chk_fail'
    wants "checked call" ' __[a-z]+_chk(@|$)'
done
[ $bad = 0 ]
echo "$# files are hardened"
