#!/bin/bash
# The outputs that docs/traces.md and docs/record.md show are those of their commands: replays are exact, so every line must be the
# same but for the first of a table, which has version and time. A block marked text shows what the commands before it print on stdout.
#   test_traces.sh --update     write the outputs into the pages
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
gamut=${GAMUT:-$root/build/gamut}
[ -x "$gamut" ] || { echo "no binary at $gamut: make it, or set GAMUT" >&2; exit 1; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/build" && ln -s "$gamut" "$dir/build/gamut" && ln -s "$root/tests" "$root/scripts" "$root/suites" "$dir" && cd "$dir" || exit 1

failures=0
for page in "$root/docs/traces.md" "$root/docs/record.md"; do
    # The page again, with what the commands print now.
    inside= commands= printed=
    while IFS= read -r line; do
        case $inside:$line in
        :'```sh') inside=sh commands= ;;
        :'```text') inside=text; echo "$line"; printf '%s\n' "$printed"; continue ;;
        :'```'*) inside=other ;;
        sh:'```')
            inside=
            printed=$(bash -e -o pipefail -c "$commands" 2>err </dev/null) || { echo "FAILED: $commands" >&2; cat err >&2; exit 1; }
            printed=$(echo "$printed" | grep -v '^gamut [0-9]')
            ;;
        text:'```' | other:'```') inside= ;;
        sh:*) commands="$commands$line
" ;;
        text:*) continue ;;
        esac
        printf '%s\n' "$line"
    done <"$page" >now.md
    if [ "${1:-}" = --update ]; then
        cp now.md "$page"
        continue
    fi
    diff "$page" now.md || { echo "FAILED: $page shows other outputs: tests/docs/test_traces.sh --update" >&2; failures=1; }
    [ "$(grep -c '^```text' now.md)" -ge 2 ] || { echo "FAILED: $page has few outputs" >&2; failures=1; }
done
exit $failures
