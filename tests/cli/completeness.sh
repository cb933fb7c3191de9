# completeness.sh - nothing is forgotten: each op has a kernel, a reference, a
# test and a gradient, each model family a golden, each command, option and
# setting its text in the man page, each study a section.
root=$VT_DATA/../..
cd "$root" || exit
missing=0
lack() { echo "completeness: $*"; missing=1; }

# Each op that host/ops defines is a row of VT_OPS, which declares it. Ops of
# one file (mul, mul_rows) begin with its name and share its kernels and its
# test.
rows=$(sed -n '/define VT_OPS(X)/,/[^\\]$/p' host/ops/common.h |
    grep -oE 'X\([a-z0-9_]+\)' | sed 's/X(\(.*\))/\1/')
defined=$(grep -hoE '^const vt_op vt_op_[a-z0-9_]+' host/ops/*.c |
    sed 's/.*vt_op_//')
[ -n "$rows" ] || lack "VT_OPS is empty or was not found"
for name in $defined; do
    grep -qx "$name" <<<"$rows" || lack "op $name is not in VT_OPS"
done
for name in $rows; do
    file=$(grep -lE "^const vt_op vt_op_$name\b" host/ops/*.c) ||
        { lack "no definition of op $name in host/ops"; continue; }
    word=$(basename "$file" .c)
    case $name in
    "$word" | "$word"_*) ;;
    *) lack "op $name is in $file" ;;
    esac
    kernel=cl/$word.cl reference=tests/ref/$word.c test=tests/ops/test_$word.c
    case $word in
    linear) kernel=cl/epilogue.cl ;; # with the kernels of gemm/forms.c's forms
    dropout) reference=$test ;;      # random: its test counts what it drops
    grad_norm) reference=tests/ref/optimizer.c test=tests/ops/test_optimizer.c ;; # clips there
    conv_direct) # what vt_conv() does on a CPU
        reference=tests/ref/conv.c test=tests/ops/test_conv.c ;;
    esac
    for want in "$kernel" "$reference" "$test"; do
        [ -s "$want" ] || lack "op $name has no $want"
    done
    definition=$(sed -n "/^const vt_op vt_op_$name\b/,/;\$/p" "$file")
    grep -q '\.grad = ' <<<"$definition" || grep -qi 'no grad' "$file" ||
        lack "op $name has neither a gradient nor a comment that says why"
done

families=$(sed -n '/define VT_FAMILIES/,/[^\\]$/p' host/models/family.h | grep -oP 'X\(\K[a-z0-9_]{2,}')
[ -n "$families" ] || lack "VT_FAMILIES is empty or was not found"
for family in $families; do
    # tests/models/test_golden.c runs every folder of tests/data/models.
    compgen -G "tests/data/models/*$family*" >/dev/null ||
        lack "family $family has no golden in tests/data/models"
done

# Commands are the first words of the indented lines of `vitcl --help`.
manual=$(sed 's/\\-/-/g' host/cli/vitcl.1)
has() { grep -qE -- "$1([^a-z0-9-]|\$)" <<<"$2"; }
help=$("$VITCL" --help)
commands=$(grep -oE '^  [a-z][a-z-]+' <<<"$help" | tr -d ' ')
[ -n "$commands" ] || lack "vitcl --help lists no commands"
for command in $commands; do
    section=$(awk -v name="$command" '/^\.S[SH]/ { on = $2 == name } on' \
        <<<"$manual")
    [ -n "$section" ] || { lack "the man page has no .SS $command"; continue; }
    text=$("$VITCL" "$command" --help)
    [ -n "$text" ] || lack "vitcl $command --help says nothing"
    # shellcheck disable=SC2013 # words are what is wanted
    for option in $(grep -oE '^ +(-[A-Za-z0-9], )?--[a-z][a-z0-9-]*' <<<"$text" |
        grep -oE -- '--[a-z0-9-]+'); do
        case $option in --help) continue ;; esac
        has "$option" "$section" || lack "the man page lacks $command $option"
    done
done

# Each file of a command is in that list, and each section below COMMANDS.
files=$(basename -s .c -a host/cli/cmd_*.c | sed 's/^cmd_//')
sections=$(awk '/^\.SH/ { on = $2 == "COMMANDS" } on && /^\.SS/ { print $2 }' <<<"$manual")
for command in $files $sections; do
    grep -qx "$command" <<<"$commands" || lack "vitcl --help has no $command: host/cli/main.c"
done

# Each key of a settings file is in the documents, and each study has a section.
keys=$(sed -n '/const keys\[\] = {/,/};/p' host/train/optimizer_config.c host/train/settings.c |
    grep -oP '"\K[a-z_0-9]+(?=")')
studies=$(grep -ohP '^    name="\K[a-z-]+' python/vitcl/study/studies/*.py)
[ -n "$keys" ] || lack "no settings were found"
[ -n "$studies" ] || lack "no studies were found"
section=$(awk '/^\.S[SH]/ { on = $2 == "train" } on' <<<"$manual")
for key in $keys; do
    has "\b$key" "$section" || lack "the man page lacks the setting $key"
    for file in docs/training.md include/vitcl_train.h; do
        grep -qw "$key" "$file" || lack "$file lacks the setting $key"
    done
done
for study in $studies; do
    grep -qx "### $study" docs/studies.md || lack "docs/studies.md has no section $study"
done

# A test that is skipped says so (tests/support/skip.h).
silent=$(grep -rn --include='*.c' 'cr_skip' tests || true)
[ -z "$silent" ] || lack "vt_skip() where tests skip in silence: $silent"

# A page that is set for 80 columns stays within them, its examples, too.
if command -v groff >/dev/null; then
    wide=$(groff -man -Tascii -P-cbou -rLL=78n host/cli/vitcl.1 2>&1 | awk 'length > 80')
    [ -z "$wide" ] || lack "room for these lines of the man page: $wide"
else
    left_out "groff is missing"
fi
exit $missing
