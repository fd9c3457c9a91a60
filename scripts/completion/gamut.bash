# bash completion of gamut, made by: gamut completion bash
# bash parts words at : and =, too: they are put together again, and what it does not complete is cut off the answers.
# Where no word fits, it offers files, but not for a value that is no file.
_gamut() {
    local at=$COMP_CWORD last=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
    local cur=$last before answer kind
    while ((at > 2)) && [[ ${COMP_WORDS[at]} == [:=]* || ${COMP_WORDS[at - 1]} == [:=]* ]]; do
        cur=${COMP_WORDS[--at]}$cur
    done
    before=${COMP_WORDS[at - 1]} cur=${cur#[\'\"]}
    if [[ $cur == --*=* ]]; then
        before=${cur%%=*} cur=${cur#*=}
    fi
    ((COMP_CWORD > 1)) || command= before=
    mapfile -t answer < <(gamut completion words -- "$command" "$before" "$cur" 2>/dev/null)
    [[ $last != [:=]* ]] || last=
    COMPREPLY=("${answer[@]:1}")
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    COMPREPLY=("${COMPREPLY[@]#"${cur%"$last"}"}")
    kind=${answer[0]}
    case $kind in
    words) compopt +o default 2>/dev/null ;;
    list) compopt +o default -o nospace 2>/dev/null ;;
    *) compopt -o filenames 2>/dev/null ;;
    esac
    if [[ $kind == trace ]]; then
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
            compgen -f -X '!*.trace' -- "$last"
            compgen -f -X '!*.pickle*' -- "$last"
        )
        ((${#COMPREPLY[@]})) && kind=folder || kind=file
    fi
    case $kind in
    file) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$last") ;;
    folder) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$last") ;;
    esac
}
complete -o bashdefault -o default -F _gamut gamut
