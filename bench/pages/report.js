// The script of a report. It sorts tables by a click on a title, filters long ones, shows the row of a
// case under the ratio that leads to it, and enlarges charts. The page says everything without it.
//
// It puts text into the page with textContent alone, so nothing from a result file can act as markup.
// The page is XML too: the script has neither a "less than" nor an ampersand.
'use strict';(() => {
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const make = (name, text, parent) => {
  const e = document.createElement(name); e.textContent = text; if (parent) parent.append(e); return e; };
// ---- the number that a cell begins with, in its basic unit; NaN for a word
const units = {ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, KiB: 2**10, MiB: 2**20, GiB: 2**30, TiB: 2**40};
const number = text => {
  const found = /^[-+]?[\d.]+(?:e[-+]?\d+)?/.exec(text);
  return found ? parseFloat(found[0]) * (units[/^[^\s\d]*/.exec(text.slice(found[0].length).trim())[0]] || 1) : NaN; };
const shown = cell => cell ? (cell.firstElementChild || cell).textContent.trim() : '';
// The first click sorts numbers from the largest, words from A. Words go after all numbers either way.
const compare = (a, b, turn) => {
  const x = number(a), y = number(b);
  return isNaN(x) - isNaN(y) || turn * (isNaN(x) ? a.localeCompare(b) : y - x); };
const sort = (table, title) => {
  const column = title.cellIndex, body = table.tBodies[0];
  const turn = title.getAttribute('aria-sort') === 'descending' ? -1 : 1;
  all('thead th', table).forEach(e => e.removeAttribute('aria-sort'));
  title.setAttribute('aria-sort', turn === 1 ? 'descending' : 'ascending');
  const rows = [...body.rows].map(row => [shown(row.cells[column]), row]);
  rows.sort((a, b) => compare(a[0], b[0], turn)).forEach(row => body.append(row[1])); };
all('table.sort').forEach(table => all('thead th', table).forEach(title => {
  title.tabIndex = 0; title.title = 'sort by this column';
  title.onclick = () => sort(table, title);
  title.onkeydown = e => { if (e.key === 'Enter') sort(table, title); }; }));
// ---- a filter above a long table: rows stay that have each of the words
all('table.sort').forEach(table => {
  const rows = [...table.tBodies[0].rows];
  if (40 > rows.length) return;
  const line = make('p', 'Only rows with '), input = make('input', '', line), left = make('span', '', line);
  line.className = 'filter'; input.type = 'search'; input.setAttribute('aria-label', 'words that a row must have');
  input.oninput = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    const kept = rows.filter(row => !(row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word))));
    left.textContent = ' ' + kept.length + ' of ' + rows.length; };
  table.parentNode.before(line); });
// ---- the row of a case, under the ratio that leads to it
const tip = make('dl', '', document.body); tip.id = 'tip'; tip.hidden = true;
const hide = () => { tip.hidden = true; };
const tell = link => {
  const row = document.getElementById(link.hash.slice(1));
  if (!row) return;
  const titles = row.closest('table').tHead.rows[0].cells;
  tip.replaceChildren();
  [...row.cells].forEach((cell, i) => { make('dt', titles[i].textContent, tip); make('dd', cell.textContent, tip); });
  tip.hidden = false;
  const at = link.getBoundingClientRect(), width = document.documentElement.clientWidth;
  tip.style.left = Math.max(8, Math.min(at.left, width - tip.offsetWidth - 8)) + scrollX + 'px';
  tip.style.top = at.bottom + scrollY + 6 + 'px'; };
all('.matrix td a').forEach(link => {
  link.onmouseenter = link.onfocus = () => tell(link);
  link.onmouseleave = link.onblur = hide; });
// ---- charts: larger, smaller, as at first; the box around the picture scrolls
all('.chart').forEach(chart => {
  let size = 1;
  const bar = make('span', ''), box = chart.parentNode;
  const zoom = factor => {
    const x = (box.scrollLeft + box.clientWidth / 2) / box.scrollWidth, y = (box.scrollTop + box.clientHeight / 2) / box.scrollHeight;
    size = factor ? Math.min(32, Math.max(1, size * factor)) : 1;
    chart.style.width = size === 1 ? '' : 100 * size + '%';
    box.classList.toggle('zoomed', size > 1);
    box.scrollTo(x * box.scrollWidth - box.clientWidth / 2, y * box.scrollHeight - box.clientHeight / 2); };
  const keys = {'+': 2, '-': 0.5, 0: 0};
  bar.className = 'zoom'; box.tabIndex = 0;
  Object.keys(keys).sort().forEach(key => {
    const button = make('button', key === '0' ? 'reset' : key, bar);
    button.type = 'button'; button.title = 'zoom; in the chart: the key ' + key; button.onclick = () => zoom(keys[key]); });
  box.onkeydown = e => { if (e.key in keys) zoom(keys[e.key]); };
  chart.ondblclick = () => zoom(2);
  chart.firstElementChild.draggable = false;
  chart.onpointermove = e => { if (e.buttons === 1) box.scrollBy(-e.movementX, -e.movementY); };
  box.previousElementSibling.append(bar); });
// ---- paper shows what is folded, in browsers whose style sheets cannot open it
let opened = [];
addEventListener('beforeprint', () => { opened = all('details:not([open])'); opened.forEach(e => { e.open = true; }); });
addEventListener('afterprint', () => opened.forEach(e => { e.open = false; }));
})();
