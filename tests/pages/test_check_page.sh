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
expect 0 '390 pixels: 2 of 2 pictures drawn' --shots "$work/shots"
grep -qx 'on paper: 0 things cut at the right edge' "$work/out" || fail "nothing of the paper: $(cat "$work/out")"
for name in wide.png phone.png dark.png paper.pdf; do
    [ -s "$work/shots/$name" ] || fail "no $name"
done
# All that can be wrong, on the first of two pages, and what is found by scripts on the second.
cp "$work/page.html" "$work/right.html"
page '<img src="gone.svg" alt="gone"><script>nothing.there()</script><div style="width:600px">broad</div>
<style>@media print{p{width:900px}}@media screen{p{width:100px}}</style><p>on paper only</p><b>4</b>'
echo "page.document.querySelector('b').textContent = 5; say('first');" >"$work/first.js"
echo "say('b is ' + page.document.querySelector('b').textContent);" >"$work/again.js"
echo "say('these are ' + page.document.images.length); wrong('not 5'); nothing.here" >"$work/throws.js"
expect 1 'WRONG 1280 pixels: this picture is not drawn: img "gone"' --do "$work/first.js" --do "$work/again.js" "$work/right.html" --do "$work/throws.js"
for text in 'WRONG on the console: "Uncaught ReferenceError: nothing is not defined"' 'WRONG 390 pixels: the page is' 'first' 'b is 4' \
    'WRONG on paper: cut at the right edge: p "on paper only"' 'right.html:' '390 pixels: 2 of 2 pictures drawn' 'these are 2' 'WRONG not 5' \
    'WRONG the check itself: ReferenceError'; do
    grep -qF "$text" "$work/out" || fail "not found: $text in: $(cat "$work/out")"
done
[ "$(grep -c 'cut at the right edge: ' "$work/out")" = 1 ] || fail "other things are cut: $(cat "$work/out")"
PATH=$work /bin/bash "$root/scripts/check_page" "$work/page.html" >"$work/out" 2>&1
[ $? -eq 77 ] && grep -q 'skipped: there is no Chromium here' "$work/out" || fail "without a browser: $(cat "$work/out")"
