# completeness.sh - what stands in one table stands everywhere it should: each
# op has its kernel, its reference and its test, each model family its test,
# each command and option its place in the man page.
root=$VT_DATA/../..
cd "$root"
missing=0
lack() { echo "completeness: $*"; missing=1; }

# The ops that vt_ops[] lists, as the variables that hold them, then by name.
rows=$(sed -n '/vt_ops\[\] *=/,/};/p' host/ops/ops.c | grep -oE '&vt_[a-z0-9_]+' |
    tr -d '&')
[ -n "$rows" ] || lack "vt_ops[] is empty or was not found"
for row in $rows; do
    file=$(grep -lE "vt_op $row *= *\{" host/ops/*.c) ||
        { lack "no definition of $row in host/ops"; continue; }
    name=$(sed -nE "/vt_op $row *= *\{/,/\};/p" "$file" | grep -oE '"[a-z0-9_]+"' |
        head -1 | tr -d '"')
    [ "$file" = "host/ops/$name.c" ] || lack "op $name stands in $file"
    for want in "cl/$name.cl" "tests/ref/$name.c" "tests/ops/test_$name.c"; do
        [ -s "$want" ] || lack "op $name has no $want"
    done
done

families=$(sed -n '/vt_arch_table\[\] *=/,/};/p' host/models/models.c |
    grep -oE '"[a-z0-9_]+"' | tr -d '"')
[ -n "$families" ] || lack "vt_arch_table[] is empty or was not found"
for family in $families; do
    grep -qlw -- "$family" tests/models/*.c ||
        lack "no test in tests/models names family $family"
done

# Commands are the first words of the indented lines of `vitcl --help`.
manual=$(sed 's/\\-/-/g' host/cli/vitcl.1)
has() { grep -qF -- "$1" <<<"$2"; }
help=$("$VITCL" --help)
commands=$(grep -oE '^  [a-z][a-z-]+' <<<"$help" | tr -d ' ')
[ -n "$commands" ] || lack "vitcl --help lists no commands"
for command in $commands; do
    section=$(awk -v name="$command" '/^\.S[SH]/ { on = $2 == name } on' \
        <<<"$manual")
    [ -n "$section" ] || { lack "the man page has no .SS $command"; continue; }
    text=$("$VITCL" "$command" --help)
    [ -n "$text" ] || lack "vitcl $command --help says nothing"
    for option in $(grep -oE '^ +(-[A-Za-z0-9], )?--[a-z][a-z0-9-]*' <<<"$text" |
        grep -oE -- '--[a-z0-9-]+'); do
        case $option in --help) continue ;; esac
        has "$option" "$section" || lack "the man page lacks $command $option"
    done
done
exit $missing
