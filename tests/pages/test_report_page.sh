#!/bin/sh
# The report in a browser: no error on its console, every chart drawn, nothing cut on a screen, a phone or paper, and what its script
# does: it sorts, filters, shows a case under its ratio, and enlarges charts. What a result file says stays text.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
gamut=${GAMUT:-$root/build/gamut}
suite=$root/results/6827db66/20261121T182743Z-890706878df1.json.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$gamut" report "$suite" --out "$work/suite" >/dev/null || exit 1
cat >"$work/suite.js" <<'JS'
const all = (selector, from = page.document) => [...from.querySelectorAll(selector)];
const expect = (what, got, wanted) => { if (String(got) !== String(wanted)) wrong(what + ': ' + String(got).slice(0, 200) + ', expected ' + String(wanted).slice(0, 200)); };
const section = name => page.document.getElementById('f1-' + name);
const column = (table, i) => [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[i].textContent);

// Sorted by speed, the largest first, then the smallest.
const matrix = section('matrix').querySelector('table'), pool = all('thead th', matrix).find(e => e.textContent === 'pool');
const ratios = () => column(matrix, pool.cellIndex).map(parseFloat);
const before = ratios();
pool.click();
expect('largest first', ratios(), [...before].sort((a, b) => b - a));
expect('marked', pool.getAttribute('aria-sort'), 'descending');
pool.dispatchEvent(new page.KeyboardEvent('keydown', {key: 'Enter'}));
expect('smallest first, by a key', ratios(), [...before].sort((a, b) => a - b));

// Times have units: milliseconds are more than microseconds.
const table = section('table').querySelector('table'), wall = all('thead th', table).find(e => e.textContent === 'wall');
wall.click();
const units = {ns: 1, µs: 1e3, ms: 1e6, s: 1e9};
const times = column(table, wall.cellIndex).map(text => /^([\d.]+) ([nµm]?s)/.exec(text)).filter(Boolean).map(m => m[1] * units[m[2]]);
expect('all times', times.length, 392);
expect('longest first', times, [...times].sort((a, b) => b - a));

// A row stays if it has all words.
const input = section('table').querySelector('input');
input.value = 'FFT_radix2 cuda pool'; input.dispatchEvent(new page.Event('input'));
expect('filtered', column(table, 0).length, 1);
expect('counted', input.nextSibling.textContent, ' 1 of 392');
input.value = ''; input.dispatchEvent(new page.Event('input'));
expect('all again', column(table, 0).length, 392);

// The row of a case under its ratio.
const link = all('td a', matrix).find(e => e.textContent.endsWith('×')), tip = page.document.getElementById('tip');
const row = page.document.querySelector(link.hash.replace(/#(.*)/, '[id="$1"]'));
expect('hidden at first', tip.hidden, true);
link.dispatchEvent(new page.Event('mouseenter'));
expect('exact values', all('dd', tip).map(e => e.textContent), [...row.cells].map(e => e.textContent));
expect('in the window', tip.getBoundingClientRect().right <= page.innerWidth, true);
link.dispatchEvent(new page.Event('mouseleave'));
expect('hidden again', tip.hidden, true);

expect('pages of programs', all('a', section('details')).map(e => e.getAttribute('href')), ['views/f1-1.html', 'views/f1-3.html', 'views/f1-4.html', 'views/f1-6.html']);

// Charts become larger, and as they were.
const image = section('charts').querySelector('img'), buttons = all('button', section('charts').querySelector('.zoom'));
const width = () => Math.round(image.getBoundingClientRect().width), first = width();
const press = name => buttons.find(e => e.textContent === name).click();
press('+'); press('+');
expect('four times as wide', width(), 4 * first);
press('-');
expect('twice as wide', width(), 2 * first);
press('reset');
expect('as it was', width(), first);
say('sorted, filtered, told, zoomed');
JS
# A name that would act if the script took it as markup. The page has it as text, as whatever_a_file_says_is_text shows of the report.
printf '%s' 'fun f(n: i64, x: [n]f32) { let y: [n]f32 = kernel k (i < n) { y[i] = 2.0f * x[i]; } in y }
dataset small { n = 4; x = [1, 2, 3, 4]; } expect { y = [2, 4, 6, 8]; }
' >"$work/my.mem"
"$gamut" run -w stencil,"$work/my.mem" -s raw,pool -d small -D host --rounds 2 --out "$work/hostile.json" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
"$gamut" report "$work/hostile.json" --out "$work/hostile" >/dev/null || exit 1
sed -i 's|>f<|>\&lt;img src=x onerror="throw(1)"\&gt;<|g' "$work/hostile/index.html"
cat >"$work/do.js" <<'JS'
const links = [...page.document.querySelectorAll('.matrix td a')];
links.forEach(link => link.dispatchEvent(new page.Event('mouseenter')));
page.document.querySelectorAll('thead th').forEach(title => title.click());
if (!links.length) wrong('there are no ratios');
if (!page.document.getElementById('f1-table').textContent.includes('<img src=x')) wrong('the name is not there');
if (page.document.querySelector('img[src=x]')) wrong('a name became markup');
say(links.length + ' cases were told');
JS
# A browser opens both; without one the test ends here.
"$root/scripts/check_page" "$work/suite/index.html" --do "$work/suite.js" "$work/hostile/index.html" --do "$work/do.js" >"$work/out" 2>&1
code=$?
cat "$work/out"
[ $code -ne 77 ] || exit 0
[ $code -eq 0 ] && grep -q '^sorted, filtered, told, zoomed$' "$work/out" && grep -q 'cases were told$' "$work/out" &&
    grep -q '^390 pixels: [1-9][0-9]* of' "$work/out" || exit 1

# The policy of the page takes no script but its own.
sed -i 's|<main>|&<img src="x" alt="x" onerror="window.acted=1"/>|; s|</main>|<script>window.acted=1</script>&|' "$work/hostile/index.html"
echo "if (page.acted) say('a foreign script ran');" >"$work/do.js"
"$root/scripts/check_page" "$work/hostile/index.html" --do "$work/do.js" >"$work/out" 2>&1
grep -q "violates the following Content Security Policy" "$work/out" && ! grep -q 'a foreign script ran' "$work/out" ||
    { cat "$work/out"; echo "the policy of the page does not hold"; exit 1; }
