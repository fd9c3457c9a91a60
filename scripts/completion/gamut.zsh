#compdef gamut
# zsh completion of gamut, made by: gamut completion zsh
_gamut() {
    local cur=$words[CURRENT] before=$words[CURRENT-1] command=$words[2]
    local -a answer found told
    (( CURRENT > 2 )) || command= before=
    if [[ $cur == --*=* ]]; then
        before=${cur%%=*} cur=${cur#*=}
        compset -P '*='
    fi
    answer=("${(@f)$(gamut completion words -- "$command" "$before" "$cur" 2>/dev/null)}")
    found=(${answer[2,-1]%%$'\t'*}) told=(${answer[2,-1]/$'\t'/  })
    case $answer[1] in
    list) compadd -S '' -d told -a found ;;
    *) compadd -d told -a found ;;
    esac
    case $answer[1] in
    file) _files ;;
    trace) _files -g '*.(trace|pickle*)' ;;
    folder) _files -/ ;;
    esac
}
_gamut "$@"
