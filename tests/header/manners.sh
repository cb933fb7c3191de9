#!/bin/sh
# manners.sh ROOT - what the library must not do in its host's process: its
# sources call none of the functions below, and include/ lists each environment
# variable that they read. host/cli, host/plot and host/pull are
# programs; sandbox.c, try.c and unpack.c act in processes of their own.
set -eu
cd "$1"
failures=0
sources=$(find host -name '*.c' ! -path 'host/cli/*' ! -path 'host/plot/*' \
    ! -path 'host/pull/*' ! -name sandbox.c \
    ! -path host/trials/try.c ! -path host/archives/unpack.c | sort)

# Prints calls with their arguments, one a line, without comments.
# shellcheck disable=SC2086 # a list of files
calls=$(for file in $sources; do
    sed -e 's|/\*.*\*/||' -e '/^ *\/\*/,/\*\//d' -e '/^ \* /d' "$file" |
        tr '\n' ' ' | sed 's/;/;\n/g' | sed "s|^|$file: |"
done)

forbid() { # PATTERN WHY
    if printf '%s\n' "$calls" | grep -E "(^|[^a-z_A-Z0-9])($1)" >&2; then
        echo "manners.sh: $2" >&2
        failures=$((failures + 1))
    fi
}
closing() { # CALL FLAG: every call of it has the flag
    if printf '%s\n' "$calls" | grep -E "(^|[^a-z_A-Z0-9>])$1\(" |
        grep -vE "$2" >&2; then
        echo "manners.sh: $1() without $2: a host's children inherit it" >&2
        failures=$((failures + 1))
    fi
}

forbid 'umask\(' 'the umask is the process'"'"'s'
# environ is passed on, once, and never searched.
calls=$(printf '%s\n' "$calls" |
    sed '/base\/attempt.c:.*vt_process_start(/s/, environ)/)/')
forbid 'environ\b|(un)?setenv\(|putenv\(|clearenv\(' 'the environment is the host'"'"'s'
forbid '(^|[^_])getenv\(' 'variables are read by vt_getenv()'
forbid 'setlocale\(|chdir\(|atexit\(|exit\(|abort\(' 'the process is the host'"'"'s'
forbid 'mkstemps?\(|tmpfile\(|dup2?\(|pipe\(|creat\(' 'there is a form that closes on exec'
closing 'open(at)?' O_CLOEXEC
closing 'fopen' '"[rwa]b?e"'
closing 'mk(o)stemp' O_CLOEXEC
closing 'socket(pair)?' SOCK_CLOEXEC
closing 'pipe2' O_CLOEXEC
closing 'memfd_create' MFD_CLOEXEC

# shellcheck disable=SC2086
for name in $(grep -ohE '(vt|secure)_getenv\("[A-Z_]+"\)|(vt_user_(folder|path|text)|vt_helper_(find|number))\([^;]*"[A-Z_]+"' $sources |
    grep -oE '"[A-Z_]+"' | tr -d '"' | sort -u); do
    grep -qE "(^|[^A-Z_])$name([^A-Z_]|\$)" include/vitcl*.h || {
        echo "manners.sh: include/ does not say that $name is read" >&2
        failures=$((failures + 1))
    }
done
[ "$failures" -eq 0 ] || exit 1
echo "no call that its host would mind"
