# completion.sh - completions for shells: each holds every command and option,
# and completes as a user would expect.
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
    else
        left_out "$shell is missing"
    fi
done

# in_SHELL WORD…: what is offered, one a line, where these stand after `vitcl`
in_bash() {
    # shellcheck disable=SC2016 # expanded inside
    bash -c '. ./completion.bash
        COMP_WORDS=(vitcl "$@") COMP_CWORD=$#
        _vitcl
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
in_fish() {
    # shellcheck disable=SC2016 # expanded inside
    HOME=$PWD fish --no-config -c '. ./completion.fish; complete -C "$argv"' \
        "vitcl $*" | cut -f 1
}
completes() { # SHELL WANTED WORD…
    local shell=$1 wanted=$2 got
    shift 2
    command -v "$shell" >/dev/null || return 0
    got=$("in_$shell" "$@" | LC_ALL=C sort | paste -sd' ')
    [ "$got" = "$wanted" ] ||
        fail "$shell: vitcl $* completes to '$got', not '$wanted'"
}
for shell in bash fish; do
    completes $shell "classify" cl
    completes $shell "bench" b
    completes $shell "--precision --preset" classify --pre
    completes $shell "f16 f32" train --precision f
    completes $shell "convert" help con
done
completes bash "" classify photo
completes bash "" classify -m ""
completes bash "" classify --logits ""

# Zsh completes only in a terminal: there it completes the line before it runs
# it, and vitcl is a function that prints its words.
cat >zsh <<'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; PROMPT_EOL_MARK=; autoload -Uz compinit; compinit -D -u
    . ./completion.zsh 2>/dev/null; compdef _vitcl vitcl
    vitcl() { print -r -- "<$@>" }; stty -echo; print started'
zpty -r shell out '*started*started*'
for line in "$@"; do
    zpty -w -n shell "vitcl $line"$'\t\n'
    zpty -r shell out '*<*>*'
    print -r -- "${${out##*<}%%>*}"
done
ZSH
if command -v zsh >/dev/null; then
    timeout 60 zsh -f zsh cl 'help con' 'classify --thre' 'train --precision b' \
        'study --da' >completed
    diff - completed <<'WANTED' || fail "zsh completes otherwise"
classify
help convert
classify --thre
train --precision bf16
study --data
WANTED
fi

run 2 completion
says 'name one shell: bash, zsh or fish'
run 2 completion tcsh
says "must be bash, zsh or fish, not 'tcsh'"
