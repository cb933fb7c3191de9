# usage.sh - wrong use gives one useful line on stderr and exit status 2.
run 0 --version
out_has '^vitcl [0-9]+\.[0-9]+\.[0-9]+$'
run 0 --help
out_has '^  classify '
# in groups, each with a title; `plan` is of those for developers
[ "$(grep -c '^[a-z ]*:$' out)" = 5 ] || fail "not five groups"
[ "$(grep -oE '^([a-z ]*:|  plan )' out | grep -B 1 plan | head -n 1)" = 'for developers:' ] ||
    fail "plan is in another group"
[ "$(grep -c '^  [a-z]' out)" = 23 ] || fail "not every command is in a group"
run 2
says 'vitcl --help'
run 2 clasify
says 'did you mean vitcl classify'
run 2 download timm/vit_base_patch16_224
says 'did you mean vitcl pull'
cp "$VT_DATA/sample.jpg" photo.jpg
run 0 photo.jpg -k 1
cp out short
run 0 classify photo.jpg -k 1
cmp out short || fail "vitcl photo.jpg is not vitcl classify photo.jpg"
run 2 zzzzzz
says 'vitcl --help'
run 0 version
out_has '^vitcl [0-9]'
run 0 help help
out_has '^  classify '
run 2 --verion
says 'unknown option --verion; did you mean --version'
run 2 --json photo.jpg
says 'vitcl COMMAND --json'
run 2 photos/none.jpg
says 'photos/none.jpg: neither a file nor a command'
run 2 help nothing
says 'nothing: neither a file nor a command'
for command in classify embed forward convert devices info plan bench selftest; do
    run 0 "$command" --help
    out_has '^usage: vitcl '"$command"
    cp out long
    run 0 help "$command"
    cmp out long || fail "help $command differs from $command --help"
    run 2 "$command" --jso
    err_lines 1
    err_has 'unknown option --jso'
done
# What --help says fits a terminal of 80 columns, and a narrower one. A line
# that begins with a dash is an option's.
for command in '' $("$VITCL" --help | grep -oE '^  [a-z]+ ' | tr -d ' '); do
    run 0 $command --help
    cat out >>usual
    cp out long
    on_terminal 60 0 $command --help
    cat out >>narrow
    for text in long out; do
        sed -E '/^ +-[^ ]+( |$)/!d; s/^ +//; s/ .*//' $text >$text.options
    done
    cmp long.options out.options || fail "other options where it is narrow"
    tr -s ' \n' ' ' <out | cmp - <(tr -s ' \n' ' ' <long) ||
        fail "a narrow terminal shows other words"
done
cp usual out
fits 80
cp narrow out
fits 60

run 2 classify --jsno x.jpg
says 'did you mean --json\?'
run 2 classify --preicsion bf16 x.jpg
says 'did you mean --precision\?'
run 2 classify -Z x.jpg
says 'unknown option -Z'
run 2 classify -k 0 x.jpg
says "--top must be a whole number, at least 1, not '0'"
run 2 classify --batch=4x x.jpg
says '--batch must be a whole number'
run 2 classify --batch 99999999999 x.jpg
says "--batch must be at most 65536, not '99999999999'"
run 2 classify --batch 65537 x.jpg
says "--batch must be at most 65536, not '65537'"
run 2 classify --size 32x16385 x.jpg
says '--size must be pixels .*at most 16384'
run 2 train --preset vit-ti/16 --data d --epochs 1 --slices 3 -o x
says '--slices must be a power of two, not 3$'
run 2 train --random-state 2147483648
says '--random-state must be at most 2147483647'
run 2 classify --batch -1 x.jpg
says '--batch must be a whole number'
run 2 classify --size 0 x.jpg
says '--size must be pixels'
run 2 classify --size 20y30 x.jpg
says '--size must be pixels'
run 2 classify --size
says '--size needs a value'
run 2 classify --json=yes x.jpg
says '--json takes no value'
run 2 classify
says 'no pictures given'
run 2 embed
says 'no pictures given'
run 2 embed --features all x.jpg
says 'must be pooled, class, tokens or patches'
run 2 forward --output x.safetensors
says '--input FILE is required'
run 2 info x
says 'unexpected argument'
run 2 classify -m a --preset vit-ti/16 x.jpg
says 'cannot be used together'
run 2 bench --preset vit-ti/16 --precision f23
says 'must be f32, bf16, f16, half or int8, not'
for name in vit-xx/16 vit-b vit-b/ vit-b/0 vit-b/016 vit-b/16x vit-b/65; do
    for command in info plan "train --data x --epochs 1 -o y"; do
        run 2 $command --preset $name
        says "unknown preset \"$name\"; the presets are .*vit-b/16"
    done
done
run 2 info --preset vit-b/15
says '224 pixels are not a multiple of its patch, 15$'
run 2 info --preset vit-b/16 --size 4112
says '4112 pixels are more than 4096$'
run 2 c
says 'vitcl: c: neither a file nor a command; '
run 2 ''
says 'vitcl --help'
run 2 classify x.jpg ''
says 'an argument is empty; see vitcl classify --help$'
run 2 classify --model '' x.jpg
says '--model must not be empty'
run 2 classify --batch 99999999999999999999999 x.jpg
says '--batch must be at most'
run 2 info --size 32x0
says '--size must be pixels'
run 2 info --a-name-of-more-than-forty-letters-for-no-option
says 'unknown option --a-name-of-more-than-forty-letters-for-no-option; see vitcl info --help'
run 1 fewshot --data nowhere --random-state 0
says 'nowhere'

# A value may be attached to a letter or a name, -- ends the options, - is an
# operand, and -h counts only among the options.
run 0 info --preset vit-ti/16 --size 32x48 --json
out_has '"tokens":7[,}]'
run 0 info --preset=vit-ti/16 --size=32 --json
out_has '"tokens":5[,}]'
run 0 classify -k1 --preset=vit-ti/16 --size 32 --json "$VT_DATA/sample.jpg"
cp out one
run 0 classify -k 1 --preset vit-ti/16 --size=32x32 --json -v -- "$VT_DATA/sample.jpg"
cmp out one || fail "another spelling, another answer"
err_has 's\] device '
run 0 classify --top=1 --preset vit-ti/16 --size=32 --json - <<<"$VT_DATA/sample.jpg"
cmp out one || fail "from a list, another answer"
run 1 classify --preset vit-ti/16 --size 32 -- --help -h
out_lines 0
err_has '^vitcl classify: --help: '
err_has '^vitcl classify: -h: '
run 0 classify x.jpg -h
out_has '^usage: vitcl classify '

# The ending of a file says its format.
for name in rows rows.txt rows.NPY .npy; do
    run 2 embed -o $name x.jpg
    says "FILE.safetensors, FILE.npy, FILE.jsonl or FILE.csv, not '$name'"
    run 2 classify --logits $name x.jpg
    says "must be FILE.npy or FILE.safetensors, not '$name'"
done
for given in forward step; do
    for name in out out.npy .safetensors; do
        run 2 $given -o $name
        says "output must be FILE.safetensors, not '$name'"
    done
done
# An unknown or impossible value is wrong use, for every option of every
# command.
commands=$("$VITCL" --help | grep -oE '^  [a-z]+ ' | tr -d ' ')
tried=0
for command in $commands; do
    "$VITCL" "$command" --help |
        grep -oE -- '--[a-z-]+ ([NSX]|N\|HxW|[a-z0-9-]+(\|[a-z0-9-]+)+)( |$)' >options || true
    while read -r option value; do
        case $value in
        N) wrong="-1 x 1.5 4294967296 0x10" ;;
        S | X) wrong="-1 0 nan inf 1e999 x 1x" ;;
        'N|HxW') wrong="0 -1 0x0 224x 224x224x3" ;;
        *) wrong="x ${value%%|*}x $value" ;;
        esac
        for word in $wrong; do
            case $command in # what is required comes first
            fewshot) given=(--data x) ;;
            inspect) given=(-o x) ;;
            *) given=() ;;
            esac
            run 2 "$command" "${given[@]}" "$option" "$word"
            says "$option"
            tried=$((tried + 1))
        done
    done <options
done
[ $tried -gt 150 ] || fail "only $tried values were tried"
run 2 bench --seconds -1
says "above 0, not '-1'"
run 2 fewshot --data x --tries 1001
says 'from 1 to 1000'
run 2 fewshot --data x --shots 0
says 'from 1 to 100000'

# A closed or full standard output is noticed.
"$VITCL" --help >/dev/full 2>err && fail "a full disk went unnoticed"
err_has 'standard output cannot be written'
