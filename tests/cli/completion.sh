# completion.sh - completions for shells: each holds every command and option,
# and bash's completes as a user would expect.
commands=$("$VITCL" --help | grep -oE '^  [a-z][a-z-]+' | tr -d ' ')
[ -n "$commands" ] || fail "vitcl --help lists no commands"
for shell in bash zsh fish; do
    run 0 completion $shell
    cp out "completion.$shell"
    for command in $commands; do
        grep -qw -- "$command" "completion.$shell" || fail "$shell: no $command"
        "$VITCL" "$command" --help | grep -oE -- '^ +(-[A-Za-z0-9], )?--[a-z-]+' |
            grep -oE -- '[a-z-]{2,}$' | sed 's/^--//' >options
        [ -s options ] || fail "vitcl $command --help lists no options"
        case $shell in
        bash) part=$(grep -E "^ *$command\) words=" completion.bash) ;;
        zsh) part=$(sed -n "/^    $command)\$/,/;;\$/p" completion.zsh) ;;
        fish) # which offers --help itself
            part="-l help $(grep "from $command'" completion.fish || true)" ;;
        esac
        while read -r option; do
            grep -qE -- "-(-|l )$option\b" <<<"$part" ||
                fail "$shell: $command has no --$option"
        done <options
    done
    if command -v $shell >/dev/null; then
        $shell -n "completion.$shell" || fail "$shell cannot read it"
    fi
done

completes() { # WANTED WORD…: the words that stand after `vitcl` on the line
    local wanted=$1 got
    shift
    # shellcheck disable=SC2016 # expanded inside
    got=$(bash -c '. ./completion.bash
        COMP_WORDS=(vitcl "$@") COMP_CWORD=$#
        _vitcl
        echo "${COMPREPLY[*]}"' bash "$@")
    [ "$got" = "$wanted" ] || fail "vitcl $* completes to '$got', not '$wanted'"
}
completes "classify" cl
completes "bench" b
completes "--preset --precision" classify --pre
completes "f32 f16" train --precision f
completes "convert" help con
completes "" classify photo
completes "" classify -m ""
completes "" classify --logits ""

run 2 completion
says 'name one shell: bash, zsh or fish'
run 2 completion tcsh
says "must be bash, zsh or fish, not 'tcsh'"
