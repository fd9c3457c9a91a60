#!/bin/sh
# scripts/check_page: a right page passes, and each thing that can be wrong with a page is found and named.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_check_page: $*"; exit 1; }
svg='<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>'
echo "$svg" >"$work/mark.svg"

# page BODY: a page whose head and picture are right
page() {
    echo "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>t</title><body>$1</body></html>" >"$work/page.html"
}
# expect CODE TEXT FLAG...: check_page exits with CODE and prints TEXT
expect() {
    code=$1 text=$2
    shift 2
    "$root/scripts/check_page" "$work/page.html" "$@" >"$work/out" 2>&1
    got=$?
    if [ $got -eq 77 ]; then
        cat "$work/out"
        exit 0
    fi
    if [ $got -ne "$code" ] || ! grep -qF "$text" "$work/out"; then
        cat "$work/out"
        fail "expected exit $code and: $text"
    fi
}

page '<img src="mark.svg" alt="a mark"><details><summary>more</summary><img src="mark.svg" alt="folded"></details>'
expect 0 '390 pixels: 2 of 2 pictures drawn'
page '<img src="gone.svg" alt="gone">'
expect 1 'WRONG 1280 pixels: this picture is not drawn: img "gone"'
page '<script>nothing.there()</script>'
expect 1 'WRONG on the console: "Uncaught ReferenceError: nothing is not defined"'
page '<div style="width:600px">broad</div>'
expect 1 'WRONG 390 pixels: the page is'
page '<style>@media print{p{width:900px}}@media screen{p{width:100px}}</style><p>on paper only</p>'
expect 1 'WRONG on paper: cut at the right edge: p "on paper only"'
page '<b>4</b>'
echo "say('b is ' + page.document.querySelector('b').textContent); wrong('not 5');" >"$work/do.js"
expect 1 'b is 4' --do "$work/do.js"
expect 1 'WRONG not 5' --do "$work/do.js"
echo 'nothing.here' >"$work/do.js"
expect 1 'WRONG the check itself: ReferenceError' --do "$work/do.js"
page '<p>seen</p>'
expect 0 'on paper: 0 things cut' --shots "$work/shots"
for name in wide.png phone.png dark.png paper.pdf; do
    [ -s "$work/shots/$name" ] || fail "no $name"
done
PATH=$work /bin/bash "$root/scripts/check_page" "$work/page.html" >"$work/out" 2>&1
[ $? -eq 77 ] && grep -q 'skipped: there is no Chromium here' "$work/out" || fail "without a browser: $(cat "$work/out")"
