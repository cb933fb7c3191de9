#!/bin/sh
# examples.sh BUILD CC - the programs of examples/ compile without a warning and
# work with the build's library and with an installed one. If there is nothing
# to read, they end with one line and status 1.
set -eu
build=$1 cc=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
data=$root/tests/data
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tmp"
export TMPDIR="$dir/tmp"
warnings="-std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"
model=builtin:cifar10 picture=$data/sample.jpg
export PYTHONPATH="$root/python" PYTHONDONTWRITEBYTECODE=1
numpy=$(python3 -c 'import numpy; print("there")' 2>/dev/null) || echo "skipped: NumPy is missing"

fail() { echo "examples.sh: $*" >&2; exit 1; }
runs() { # WHERE COMMAND...: runs it; the output is in $dir/said
    where=$1
    shift
    "$@" >"$dir/said" 2>"$dir/err" ||
        fail "$where: $* fails: $(cat "$dir/err")"
}
refuses() { # WHERE COMMAND...: must end with one line other than "success",
            # and status 1
    where=$1 code=0
    shift
    "$@" >"$dir/said" 2>"$dir/err" || code=$?
    [ $code = 1 ] || fail "$where: $* ends with $code"
    [ ! -s "$dir/said" ] || fail "$where: $* prints an answer"
    tail -n 1 "$dir/err" | grep -q nowhere || fail "$where: $*: no reason"
}

python3 - "$dir" "$picture" <<'P'
import os, random, shutil, struct, sys, zlib
dir, picture = sys.argv[1:]
random.seed(1)
for split, n in (("train", 8), ("test", 2)):
    for name, colour in (("blue", 2), ("green", 1), ("red", 0)):
        os.makedirs(f"{dir}/photos/{split}/{name}")
        for i in range(n):
            with open(f"{dir}/photos/{split}/{name}/{i}.ppm", "wb") as f:
                f.write(b"P6\n24 24\n255\n" + bytes(
                    random.randrange(60) + (180 if k % 3 == colour else 0)
                    for k in range(24 * 24 * 3)))
os.mkdir(f"{dir}/holiday")
shutil.copy(picture, f"{dir}/holiday/b.jpg")
for i in range(9):
    shutil.copy(f"{dir}/photos/test/red/0.ppm", f"{dir}/holiday/c{i}.ppm")
with open(f"{dir}/holiday/a.txt", "w") as f:
    f.write("no picture")
with open(f"{dir}/clear.png", "wb") as f: # black, and transparent
    f.write(b"\x89PNG\r\n\x1a\n")
    for name, data in ((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 6, 0, 0, 0)),
                       (b"IDAT", zlib.compress(bytes(8 * (1 + 8 * 4)))), (b"IEND", b"")):
        f.write(struct.pack(">I", len(data)) + name + data +
                struct.pack(">I", zlib.crc32(name + data)))
with open(f"{dir}/white.ppm", "wb") as f:
    f.write(b"P6\n8 8\n255\n" + b"\xff" * 8 * 8 * 3)
P

check_all() { # WHERE: runs the programs in $dir/WHERE
    bin=$dir/$1
    runs "$1" "$bin/classify" $model "$picture"
    grep -qx 'ship 90\.[0-9] %' "$dir/said" || fail "$1: classify: $(cat "$dir/said")"
    # a class's longer name, as the program says it
    runs "$1" "$bin/classify" "$data/models/timm_vit" "$picture"
    grep -qx 'class [0-4] [0-9.]* %' "$dir/said" || fail "$1: classify: $(cat "$dir/said")"
    if [ -n "$numpy" ]; then
        runs "$1" python3 "$root/examples/classify.py" "$data/models/timm_vit" "$picture"
        grep -q '	class [0-4]	' "$dir/said" || fail "$1: classify.py: $(cat "$dir/said")"
        runs "$1" python3 "$root/examples/classify.py" $model "$picture"
        head -n 1 "$dir/said" | grep -q 'ship	0\.90' || fail "$1: classify.py: $(cat "$dir/said")"
        refuses "$1" python3 "$root/examples/classify.py" $model nowhere.jpg
    fi
    refuses "$1" "$bin/classify" $model nowhere.jpg
    refuses "$1" "$bin/classify" nowhere "$picture"

    runs "$1" "$bin/embed_folder" $model "$dir/holiday" "$dir/$1.npy"
    [ "$(wc -l <"$dir/said")" = 10 ] || fail "$1: embed_folder: not ten pictures"
    grep -q 'skipped: .*a\.txt' "$dir/err" || fail "$1: embed_folder: no word of a.txt"
    python3 - "$dir/$1.npy" <<'P' || fail "$1: other features"
import ast, struct, sys
data = open(sys.argv[1], "rb").read()
length = struct.unpack("<H", data[8:10])[0]
rows, width = ast.literal_eval(data[10:10 + length].decode())["shape"]
value = struct.unpack(f"<{rows * width}f", data[10 + length:])
row = [value[i * width:i * width + width] for i in range(rows)]
sys.exit(not (rows == 10 and row[0] != row[1] and row[1] == row[8] == row[9]))
P
    refuses "$1" "$bin/embed_folder" $model nowhere "$dir/none.npy"
    [ ! -e "$dir/none.npy" ] || fail "$1: embed_folder leaves a file behind"

    if [ -z "${VITCL_NO_WORDS-}" ]; then # not built without utf8proc
        words=$data/text/hf_words
        runs "$1" "$bin/search_by_words" "$words" "a dog" "$picture" "$dir/holiday/c1.ppm"
        [ "$(wc -l <"$dir/said")" = 2 ] || fail "$1: search_by_words: not two pictures"
        sort "$dir/said" >"$dir/nearness"
        set -- "$1" "$bin/search_by_words"
        if [ -n "$numpy" ]; then
            set -- "$@" "python3 $root/examples/search_by_words.py"
            # shellcheck disable=SC2086 # words are wanted
            runs "$1" $3 "$words" "a dog" "$picture" "$dir/holiday/c1.ppm"
            sort "$dir/said" | cmp -s - "$dir/nearness" ||
                fail "$1: search_by_words.py: $(cat "$dir/said"), not $(cat "$dir/nearness")"
            # shellcheck disable=SC2086
            refuses "$1" $3 "$words" "a dog" nowhere.jpg
        fi
        for program in "$2" ${3+"$3"}; do
            # shellcheck disable=SC2086 # words are wanted
            runs "$1" $program "$words" "a dog" "$dir/clear.png" "$dir/white.ppm"
            [ "$(cut -f 1 "$dir/said" | uniq | wc -l)" = 1 ] ||
                fail "$1: $program: a transparent picture is not on white"
        done
        refuses "$1" "$bin/search_by_words" "$words" "a dog" nowhere.jpg
        refuses "$1" "$bin/search_by_words" nowhere "a dog" "$picture"
    fi

    runs "$1" "$bin/train_own_classes" "$data/models/timm_vit" "$dir/photos" \
        "$dir/$1.model"
    grep -qx '100.0 % of 6 test pictures are right' "$dir/said" ||
        fail "$1: train_own_classes: $(cat "$dir/said")"
    refuses "$1" "$bin/train_own_classes" "$data/models/timm_vit" nowhere "$dir/none"
}

# ---- the build's library
mkdir "$dir/built"
for source in "$root"/examples/*.c; do
    # shellcheck disable=SC2086 # words are wanted
    $cc $warnings -I"$root/include" "$source" \
        -o "$dir/built/$(basename "$source" .c)" -L"$build" -lvitcl -lm \
        -Wl,-rpath,"$build"
done
LD_LIBRARY_PATH=$build check_all built

# ---- an installed one, with its own decoder
unset VITCL_DECODE
cmake --install "$build" --prefix "$dir/prefix" >"$dir/log"
lib=$(dirname "$(find "$dir/prefix" -name libvitcl.a)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
mkdir "$dir/installed"
for source in "$root"/examples/*.c; do
    # shellcheck disable=SC2046,SC2086
    $cc $warnings "$source" -o "$dir/installed/$(basename "$source" .c)" \
        $(pkg-config --cflags --libs vitcl) -lm
done
export LD_LIBRARY_PATH="$lib"
check_all installed
# loaded by a relative path, from a folder that is then left
(cd "$lib" && runs relative python3 -c '
import ctypes, os, sys
lib = ctypes.CDLL("./libvitcl.so.3")
os.chdir("/")
lib.vitcl_last_error.restype = ctypes.c_char_p
image = (ctypes.c_uint64 * 2)()
sys.exit(lib.vitcl_image_load(image, sys.argv[1].encode()) and lib.vitcl_last_error())' "$picture")
[ -z "$(ls -A "$dir/tmp")" ] || fail "something is left in TMPDIR"
echo "examples work against the build and an installed library"
