#!/bin/sh
# The command line: pages of traces, and what Chromium makes of one where there is Chromium.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
unset GAMUT_DEVICE
traces=$here/../traces
"$gamut" trace import "$traces/pytorch/gnn.trace.csv.gz" -o gnn.trace 2>/dev/null

# ---- mistakes
expect 2 "view needs FILE" view
expect 2 "nosuch.trace: No such file" view nosuch.trace
expect 2 "did you mean vmm?" view gnn.trace -s vmn
expect 2 "did you mean --strategy?" view gnn.trace --stratgy vmm
expect 2 "one argument too many" view gnn.trace gnn.trace
expect 2 "there are 6340 events, and none from 7000 on" view gnn.trace --from 7000
expect 2 "nosuch/page.html" view gnn.trace -o nosuch/page.html
head -c 9000 gnn.trace >cut.trace
expect 2 "this is no log of a kind that gamut knows" view "$traces/README.md"
[ ! -e gnn.html ] || fail "a mistake: a page was written"
expect 2 "no strategy serves the trace" view gnn.trace -s device_heap

# ---- a page
expect 0 "2120 blocks; 1.76 GiB requested at event [0-9]*, the peak; wrote gnn.html" view gnn.trace
[ "$(cat out)" = gnn.html ] || fail "stdout is not the page's name"
expect 2 "gnn.html exists: --force replaces it" view gnn.trace
expect 0 "device_heap is not in the page: " view gnn.trace -s caching,device_heap --force
grep -q '<b>device_heap</b> is not in the page: ' gnn.html || fail "the page does not say what it lacks"
expect 0 "wrote part.html" view gnn.trace --from 1000 --to 1100 -s pool -o part.html
expect 2 "the trace has no events" view cut.trace -o cut.html
# A log is read as gamut trace import reads it; nothing of it is left.
TMPDIR=$dir expect 0 "2120 blocks; 1.76 GiB .* wrote gnn.html" view "$traces/pytorch/gnn.snapshot.pickle.gz" -s recorded --force
[ -z "$(ls -d gamut-view.* 2>/dev/null)" ] || fail "view left a folder"
has "^gnn.html"
grep -q "caching" gnn.html || fail "the recorded allocator is missing"

# ---- in a browser
cat >look.js <<'END'
const root = page.document.documentElement;
const settle = async () => {
    for (let i = 0; i < 200 && root.dataset.state !== 'drawn'; i++) await new Promise(done => setTimeout(done, 50));
    if (root.dataset.state !== 'drawn') wrong('the page is ' + (root.dataset.state || 'not begun'));
};
await settle();
const colours = canvas => {
    const bytes = canvas.getContext('2d').getImageData(80, 10, canvas.width - 100, canvas.height - 60).data;
    return new Set(new Uint32Array(bytes.buffer)).size;
};
const canvases = [...page.document.querySelectorAll('canvas')];
say(canvases.length + ' canvases, ' + root.dataset.blocks + ' blocks');
if (canvases.length !== 4 || root.dataset.blocks !== '2120') wrong('that is not all');
canvases.forEach((canvas, i) => { if (colours(canvas) < 5) wrong('canvas ' + i + ' is empty'); });
const press = key => canvases[0].dispatchEvent(new page.KeyboardEvent('keydown', {key, bubbles: true}));
press('p');
for (let i = 0; i < 12; i++) press('+');
await settle();
const said = page.document.getElementById('said').textContent;
say(said);
if (!/^Events 3 \d\d\d to 3 \d\d\d\. Each block/.test(said)) wrong('the peak is not shown');
press('ArrowRight');
const tip = page.document.getElementById('tip');
const set = (element, value, event) => { element.value = value; element.dispatchEvent(new page.Event(event)); };
if (tip.hidden || !/^event 3 \d\d\d, requested 1\.76 GiB/.test(tip.textContent)) wrong('at the peak: ' + tip.textContent);
press('Enter');
const rows = [...page.document.querySelectorAll('#moment tbody tr')].map(row => row.textContent);
if (rows.length < 5 || !/^1\.47 GiB2of 753 MiB/.test(rows[0])) wrong('who holds what: ' + rows.join('; '));
press('0');
set(page.document.querySelector('select'), 'phase', 'change');
set(page.document.querySelector('input[type=search]'), 'nowhere', 'input');
await settle();
if (!/0 of those found/.test(page.document.getElementById('said').textContent)) wrong('something was found');
set(page.document.querySelector('input[type=search]'), '', 'input');
await settle();
if (!/phase/.test(page.document.getElementById('legend').textContent)) wrong('the legend lacks phases');
END
"$gamut" view gnn.trace --force >/dev/null 2>&1
tests=$((tests + 1))
"$here/../../scripts/check_page" gnn.html --do look.js >seen 2>&1
code=$?
cat seen
case $code in 0 | 77) ;; *) fail "check_page gnn.html: $code" ;; esac
summary
