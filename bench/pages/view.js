// Draws a page of `gamut view`. The data (bench/pages/data.h) are levels of detail: of a window of moments the
// page reads the chunks of as many levels as fit into BUDGET blocks, the largest blocks first.
"use strict";
(() => {
const BUDGET = 80000, SHOWN = 4, COUNTED = 2 ** 22, LEAST_MOMENTS = 6, LEFT = 66, DEEPEST = 100, NOWHERE = -1;
const byId = (id) => document.getElementById(id);
// One pane, or two; what the second one lacks is as in the first: then both are of one trace.
const data = JSON.parse(byId("data").textContent), datas = data.beside ? [data, { ...data, ...data.beside }] : [data];
const COARSEST = Math.min(...datas.map((one) => one.summary.at(-1).stride));
const hasSites = datas.every((one) => one.has_sites), hasTimes = datas.every((one) => one.has_times);
const areTwo = datas.length > 1 && datas[1].blocks !== data.blocks; // two traces
// The names of all panes, each once: number[i] of a pane is that of its i-th name here.
// A call stack is one of them, and has the name of its site: stacks[i] are its frames, the innermost first.
const names = [""], stacks = [[]];
const framesOf = (i) => stacks[i] || [];
const shownOf = (i) => framesOf(i).filter((of) => !of.hidden).map((of) => of.text);
let firstOfSite = [], firstOfCategory = [];
let placeOf = {}; // of a site or category among all that are different: the first ones have colours far apart
let isOrdered = false;
async function readNames() {
  const numbers = new Map([["", 0]]);
  for (const one of datas) {
    const texts = new TextDecoder().decode(await inflate(one.names.texts)).split("\0").slice(0, one.names.count);
    const read = columns(await inflate(one.names.frames)), links = read.plain(texts.length), labels = read.plain(texts.length);
    const frames = texts.map((text, i) => ({ text, hidden: links[i] % 2 === 0 }));
    one.number = texts.map((text, i) => {
      const stack = [], name = labels[i] ? texts[labels[i]] : text; // links: bench/pages/data.h
      for (let f = i; labels[i] && stack.push(frames[f]) && links[f] > 2;) f -= (links[f] - 1) >> 1;
      const key = [name, ...stack.map((of) => of.text)].join("\n");
      return numbers.get(key) ?? (numbers.set(key, names.length), stacks.push(stack), names.push(name) - 1);
    });
  }
  firstOfSite = firstOf(ownOf);
  firstOfCategory = firstOf(categoryOf);
  const placed = (firsts) => new Map([...new Set(firsts)].map((key, i) => [key, i]));
  placeOf = { site: placed(firstOfSite), category: placed(firstOfCategory) };
}
const began = performance.now();
const BOTTOM = hasTimes ? 38 : 24;

// ---- packed columns ----

const unpacked = new Map();
async function inflate(number) {
  const text = atob(byId("b" + number).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
// What `read` makes of an element, once; the promise is kept, and its value when there is one.
function unpack(number, read) {
  let entry = unpacked.get(number);
  if (!entry) {
    entry = { value: null };
    entry.promise = inflate(number).then((bytes) => (entry.value = read(columns(bytes))));
    unpacked.set(number, entry);
  }
  return entry;
}
function columns(bytes) {
  let at = 0;
  const number = () => {
    let value = 0, weight = 1;
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * weight;
      if (byte < 128) return value;
      weight *= 128;
    }
  };
  return {
    plain(count) {
      const column = new Float64Array(count);
      for (let i = 0; i < count; i++) column[i] = number();
      return column;
    },
    steps(count) {
      const column = new Float64Array(count);
      for (let i = 0, value = 0; i < count; i++) {
        const step = number();
        column[i] = value += step % 2 ? -(step + 1) / 2 : step / 2;
      }
      return column;
    },
  };
}

const readLives = (c, count) => ({ count, born: c.steps(count), life: c.plain(count), bytes: c.plain(count) });
const heldChunk = (chunk) =>
  unpack(chunk[4], (c) => Object.assign(readLives(c, chunk[3]), { address: c.steps(chunk[3]) }));

// ---- words ----

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  while (bytes >= 1024 && u < 4) bytes /= 1024, u++;
  return (u === 0 ? Math.round(bytes) : bytes >= 100 ? bytes.toFixed(0) : bytes >= 10 ? bytes.toFixed(1) : bytes.toFixed(2)) + " " + units[u];
}
// With four digits, or with as many as tell times apart that differ by a step.
function timeText(ns, step) {
  const [unit, name] = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]].find((one) => ns >= one[0]) || [1, " ns"];
  if (step) return (ns / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step)))) + name;
  return (unit > 1 ? (ns / unit).toPrecision(4) : ns) + name;
}
const timesText = (from, to) => timeText(from, (to - from) / 100) + " to " + timeText(to, (to - from) / 100);
const countText = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, " ");
const nameOf = (i) => names[i] || "";
// A site is "CATEGORY: OWN > CALLED" (bench/trace/holders.h). Sites with the same beginning are one,
// and so are all sites of a category.
const withCategory = new RegExp("^(" + data.categories + ")\\??(?=: )");
const ownOf = (i) => nameOf(i).split(" > ")[0];
const categoryOf = (i) => (withCategory.exec(nameOf(i)) || ["not known"])[0];
const siteOf = (i) => (categoryOf(i) === "not known" ? ownOf(i) : ownOf(i).slice(categoryOf(i).length + 2)) || "no call stack";
function firstOf(text) {
  const first = new Map();
  return names.map((_, i) => first.has(text(i)) ? first.get(text(i)) : (first.set(text(i), i), i));
}

// ---- state ----

// The window, `from` and `to`, is in places of the axis.
const view = { from: Math.min(...datas.map((one) => one.first)), to: Math.max(...datas.map((one) => one.last + 1)), colour: hasSites ? "site" : "size", search: "", axis: "event", cursor: null, panels: [],
  one_scale: true, moment: null, base: null /* of the second trace, or compared with `moment` */, compares: false, capacity: Infinity };
let panes = [];
let frame = 0, timer = 0;
const dark = matchMedia("(prefers-color-scheme: dark)");

// ---- colours ----

const pixel = (r, g, b) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
function hsl(hue, saturation, light) {
  const a = saturation * Math.min(light, 1 - light);
  const f = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [f(0), f(8), f(4)];
}
function colourOf(key, shade) {
  if (view.colour === "size") { // a decade of bytes is a step of hue
    const step = Math.min(1, Math.log2(Math.max(1, key)) / 34);
    return hsl(260 - 215 * step, 0.6, (dark.matches ? 0.34 : 0.36) + 0.3 * step + shade);
  }
  if (!key) return hsl(215, 0.12, 0.55 + shade);
  const place = placeOf[view.colour] ? placeOf[view.colour].get(key) : key;
  return hsl((place * 137.508) % 360, 0.5, (dark.matches ? 0.5 : 0.56) + 0.09 * ((place * 7) % 3 - 1) + shade);
}
let found = new Map(), searched = ""; // by name
function matches(set, i) {
  if (!view.search) return true;
  if (searched !== view.search) found = new Map(), searched = view.search;
  const name = set.name[i];
  if (!found.has(name)) found.set(name, [nameOf(name), ...framesOf(name).map((of) => of.text)].join("\n").toLowerCase().includes(view.search));
  return found.get(name);
}
const darker = (c) => (255 << 24 | (c >>> 16 & 255) * 0.72 << 16 | (c >>> 8 & 255) * 0.72 << 8 | (c & 255) * 0.72) >>> 0;
function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function cssPixel(name) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = css(name);
  const hex = probe.fillStyle;
  return pixel(parseInt(hex.slice(1, 3), 16), parseInt(hex.slice(3, 5), 16), parseInt(hex.slice(5, 7), 16));
}
const strategyColours = [["#0072b2", "#d55e00", "#009e73", "#b0508a", "#a87400", "#2b87bd", "#6f6f6f", "#882255"],
  ["#56b4e9", "#ff8a4c", "#35c79b", "#e59ac5", "#f0b93a", "#9fd4f2", "#b5b5b5", "#d77fae"]];
const specs = [...new Set(datas.flatMap((one) => one.strategies.map((s) => s.name)))];
const strategyColour = (s) => strategyColours[+dark.matches][specs.indexOf(s.name) % strategyColours[0].length];

// ---- pictures ----

const ratio = () => Math.min(2, window.devicePixelRatio || 1);
function plotWidth() {
  const panel = view.panels.find((p) => p.canvas);
  return Math.max(50, Math.floor(((panel && panel.canvas.clientWidth) || 800) * ratio() - LEFT * ratio() - 4));
}

// The first column whose moment is not before m.
function columnOf(moment, m) {
  let low = 0, high = moment.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moment[middle] < m) low = middle + 1; else high = middle;
  }
  return low;
}

// The blocks by a column that is given for each of them: those of column c are list[start[c]] to list[start[c + 1] - 1].
function byColumn(columns, width) {
  const start = new Uint32Array(width + 2), list = new Uint32Array(columns.length);
  for (const c of columns) start[c + 1]++;
  for (let c = 1; c < start.length; c++) start[c] += start[c - 1];
  const next = start.slice();
  columns.forEach((c, i) => { list[next[c]++] = i; });
  return { start, list };
}

// The blocks that live, in the order of their births, as a tree of partial sums (Fenwick 1994): the block at a height
// of the stack is found in logarithmic time, so a column costs what can be seen of it and not what lives.
function makeStack(count) {
  let top = 1;
  while (top * 2 <= count) top *= 2;
  const sums = new Float64Array(count + 1), found = { block: 0, end: 0 };
  return {
    add(block, bytes) { for (let i = block + 1; i <= count; i += i & -i) sums[i] += bytes; },
    // The lowest block that ends at this height or above it; its number is `count` where there is none.
    at(height, bytes) {
      let block = 0, below = 0;
      for (let step = top; step; step >>= 1)
        if (block + step <= count && below + sums[block + step] < height) block += step, below += sums[block];
      found.block = block;
      found.end = below + (block < count ? bytes[block] : 0);
      return found;
    },
  };
}

function niceStep(span, count) {
  const raw = span / count, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
}
function byteStep(most) {
  const unit = 1024 ** Math.floor(Math.log2(most) / 10);
  return niceStep(most / unit, 4) * unit;
}

// The chunks of as many levels as fit; complete: none is left out.
function chunksOf(all, from, to) {
  const chosen = [];
  let count = 0, i = 0;
  while (i < all.length) {
    const level = all[i][0], these = [];
    for (; i < all.length && all[i][0] === level; i++)
      if (all[i][1] < to && all[i][2] >= from) these.push(i);
    const more = these.reduce((sum, k) => sum + all[k][3], 0);
    if (chosen.length && count + more > BUDGET) return { chosen, complete: false };
    chosen.push(...these);
    count += more;
  }
  return { chosen, complete: true };
}

// ---- a pane: a trace, and its allocators ----

function makePane(data, host) {
const last = data.last + 1; // behind the last moment
const pane = { data, panels: [] }, peak = (pane.peak = { pane, at: data.first, bytes: 0 });
pane.refused = data.refusal && { pane, at: data.refusal.at, bytes: data.refusal.requested };
let phases = { moment: [], name: [] };
let from, to, at, lines; // the window in moments, its columns, and what allocators hold in them
let shown = null; // the blocks that are drawn

const blockChunk = (chunk) =>
  unpack(chunk[4], (c) => Object.assign(readLives(c, chunk[3]), { name: c.plain(chunk[3]).map((name) => data.number[name]) }));
const placeChunk = (s, i) =>
  unpack(s.blocks[i], (c) => ({ address: c.steps(data.blocks[i][3]), over: c.plain(data.blocks[i][3]) }));
const summaryLevel = (l) =>
  unpack(data.summary[l].data, (c) => {
    const count = data.summary[l].count;
    return { requested: c.steps(count), at: c.plain(count), time: c.steps(count) };
  });
const strategyLevel = (s, l) =>
  unpack(s.summary[l], (c) => ({ granted: c.steps(data.summary[l].count), reserved: c.steps(data.summary[l].count) }));

function phaseAt(moment) {
  const begun = columnOf(phases.moment, moment + 1);
  return begun ? phases.name[begun - 1] : 0;
}

// ---- the axis ----

// Where a moment lies on the axis: events are as wide as each other, or as long as they took. Within a bucket of the
// finest level times are interpolated. A moment lasts until the next one, and the last one for no time.
const finest = () => summaryLevel(0).value.time;
function placeOf(moment) {
  if (view.axis === "event") return moment;
  const times = finest(), inside = Math.max(0, (moment - data.first) / data.summary[0].stride), i = Math.floor(inside);
  return i + 1 < times.length ? times[i] + (inside - i) * (times[i + 1] - times[i]) : times[times.length - 1];
}
function momentOf(place) {
  if (view.axis === "event") return place;
  const times = finest();
  if (place <= times[0]) return data.first;
  if (place >= times[times.length - 1]) return last;
  const i = columnOf(times, place), behind = times[i] === place ? i : i - 1; // times[behind] <= place < times[behind + 1]
  let low = behind;
  while (times[low + 1] === place) low++;
  return data.first + (low + (place - times[low]) / (times[low + 1] - times[low])) * data.summary[0].stride;
}
const inside = (moment) => Math.max(data.first, Math.min(last, moment));
const momentAt = (column, width = plotWidth()) =>
  column <= 0 ? from : column >= width ? to : inside(momentOf(view.from + column / width * (view.to - view.from)));

// ---- what a window needs ----

// What the window needs; what must be read first is added to `need`.
function fetchWindow(need) {
  from = inside(momentOf(view.from));
  to = inside(momentOf(view.to));
  const blocks = chunksOf(data.blocks, from, to);
  // Columns of time have few events or many.
  const level = view.axis === "time" ? 0 : levelOf((view.to - view.from) / plotWidth());
  const ask = (entry) => { if (!entry.value) need.push(entry.promise); return entry.value; };
  const parts = blocks.chosen.map((i) => ask(blockChunk(data.blocks[i])));
  const summary = ask(summaryLevel(level));
  const strategies = pane.panels.filter((p) => p.strategy && p.canvas).map((p) => {
    const s = p.strategy, held = chunksOf(s.held, from, to);
    return { strategy: s, summary: ask(strategyLevel(s, level)),
      places: blocks.chosen.map((i) => ask(placeChunk(s, i))),
      held: held.chosen.map((i) => ask(heldChunk(s.held[i]))) };
  });
  return { level, summary, strategies, parts, chosen: blocks.chosen, complete: blocks.complete };
}

// The coarsest level that has a bucket for each column, and as wide buckets as the other pane.
function levelOf(moments) {
  let level = 0;
  while (level + 1 < data.summary.length && data.summary[level + 1].stride <= Math.min(moments, COARSEST)) level++;
  return level;
}

// All blocks of some chunks in the order of their births.
function joined(got) {
  const key = got.chosen.join() + "/" + got.strategies.map((s) => data.strategies.indexOf(s.strategy)).join();
  if (shown && shown.key === key) return shown;
  let count = 0;
  for (const part of got.parts) count += part.count;
  const raw = { part: new Uint32Array(count), index: new Uint32Array(count) };
  const keys = new Float64Array(count); // a birth and a place: numbers are sorted faster than by a function
  let n = 0;
  got.parts.forEach((part, p) => {
    for (let i = 0; i < part.count; i++, n++) keys[n] = part.born[i] * count + n, raw.part[n] = p, raw.index[n] = i;
  });
  const order = Uint32Array.from(keys.sort(), (key) => key % count);
  const set = { key, count, born: new Float64Array(count), died: new Float64Array(count), bytes: new Float64Array(count),
    name: new Uint32Array(count), colour: null, places: new Map() };
  order.forEach((from, to) => {
    const part = got.parts[raw.part[from]], i = raw.index[from];
    set.born[to] = part.born[i];
    set.died[to] = part.born[i] + part.life[i];
    set.bytes[to] = part.bytes[i];
    set.name[to] = part.name[i];
  });
  for (const s of got.strategies) {
    const place = { address: new Float64Array(count), over: new Float64Array(count) };
    order.forEach((from, to) => {
      const part = s.places[raw.part[from]], i = raw.index[from];
      place.address[to] = part.address[i] ? (part.address[i] - 1) * s.strategy.unit : NOWHERE;
      place.over[to] = part.over[i];
    });
    set.places.set(s.strategy, place);
  }
  return (shown = set);
}

// The bytes requested at each moment of the window, by its blocks, all of which are there.
function exactTotals(set) {
  const first = Math.floor(from), totals = new Float64Array(Math.ceil(to) - first + 1);
  const at = (moment) => Math.min(totals.length - 1, Math.max(0, moment - first));
  for (let i = 0; i < set.count; i++) {
    if (set.died[i] <= first) continue;
    totals[at(set.born[i])] += set.bytes[i];
    totals[at(set.died[i])] -= set.bytes[i];
  }
  for (let m = 1; m < totals.length; m++) totals[m] += totals[m - 1];
  return { first, totals };
}

// For each column the moment that it shows, the one with the most, and the buckets that it stands for. Columns
// that are narrower than a bucket need all blocks; else they show the moment of the bucket. Columns from `count` on
// are behind the last moment.
function momentsOf(got, width, set) {
  const { stride } = data.summary[got.level], { requested, at } = got.summary;
  const few = view.axis === "time" ? stride > 1 && to - from < COUNTED : (view.to - view.from) / width < stride;
  const exact = few && got.complete ? exactTotals(set) : null;
  const moment = new Float64Array(width), total = new Float64Array(width);
  const begin = new Uint32Array(width), end = new Uint32Array(width);
  let count = 0;
  for (let c = 0; c < width; c++) {
    const a = momentAt(c, width), b = momentAt(c + 1, width);
    if (a >= last) {
      moment[c] = last;
      continue;
    }
    count = c + 1;
    const first = Math.min(requested.length - 1, Math.max(0, Math.floor((a - data.first) / stride)));
    const behind = Math.min(requested.length, Math.max(first + 1, Math.floor((b - data.first) / stride)));
    let most = first;
    for (let i = first + 1; i < behind; i++) if (requested[i] > requested[most]) most = i;
    begin[c] = first;
    end[c] = behind;
    moment[c] = data.first + most * stride + at[most];
    total[c] = requested[most];
    if (exact) {
      const { first: origin, totals } = exact, end_ = Math.min(data.last, Math.max(Math.floor(a), Math.ceil(b) - 1));
      let best = Math.min(data.last, Math.floor(a));
      if (b - a > 1) for (let m = best + 1; m <= end_; m++) if (totals[m - origin] > totals[best - origin]) best = m;
      moment[c] = best;
      total[c] = totals[best - origin];
    }
    if (c && moment[c] < moment[c - 1]) moment[c] = moment[c - 1], total[c] = total[c - 1];
  }
  return { moment, total, begin, end, count };
}

function keyOf(set, i) {
  return view.colour === "size" ? set.bytes[i] : view.colour === "phase" ? phaseAt(set.born[i])
    : (view.colour === "category" ? firstOfCategory : firstOfSite)[set.name[i]];
}
function paintBlocks(set) {
  const key = [view.colour, view.search, dark.matches, isOrdered].join();
  if (set.colour && set.colourKey === key) return set.colour;
  const colour = new Uint32Array(set.count), faint = dark.matches ? pixel(46, 52, 62) : pixel(226, 230, 236);
  const mixed = new Map();
  for (let i = 0; i < set.count; i++) {
    colour[i] = faint;
    if (!matches(set, i)) continue;
    const shade = ((set.born[i] * 2654435761) >>> 13) % 5, of = keyOf(set, i), both = of * 8 + shade;
    if (!mixed.has(both)) mixed.set(both, pixel(...colourOf(of, shade * 0.016 - 0.032)));
    colour[i] = mixed.get(both);
  }
  set.colourKey = key;
  return (set.colour = colour);
}

function drawActive(panel, got, set, image) {
  const { width, height, data: bytes } = image, pixels = new Uint32Array(bytes.buffer);
  const colour = paintBlocks(set), background = cssPixel("--card");
  const others = dark.matches ? pixel(92, 100, 112) : pixel(186, 193, 203);
  const scale = height / panel.most, column = new Uint32Array(height), stack = makeStack(set.count);
  const comes = byColumn(set.born.map((m) => columnOf(at.moment, m)), width);
  const goes = byColumn(set.died.map((m) => columnOf(at.moment, m)), width);
  for (let c = 0; c < width; c++) {
    for (let k = comes.start[c]; k < comes.start[c + 1]; k++) stack.add(comes.list[k], set.bytes[comes.list[k]]);
    for (let k = goes.start[c]; k < goes.start[c + 1]; k++) stack.add(goes.list[k], -set.bytes[goes.list[k]]);
    if (!c || at.moment[c] !== at.moment[c - 1]) {
      column.fill(background);
      let y = 0;
      while (y < height) {
        const { block, end: sum } = stack.at((y + 0.5) / scale, set.bytes);
        if (block === set.count) break;
        const end = Math.min(height, Math.max(y + 1, Math.round(sum * scale)));
        column.fill(colour[block], height - end, height - y);
        if (end - y > 3) column[height - end] = darker(colour[block]);
        y = end;
      }
      const end = Math.min(height, Math.round(at.total[c] * scale));
      if (end > y) column.fill(others, height - end, height - y);
    }
    for (let y = 0, p = c; y < height; y++, p += width) pixels[p] = column[y];
  }
}

// What blocks take of each cell of the map at most, below the blocks that are drawn one by one.
function drawCover(panel, pixels, width, height, scale) {
  const { stride, row_bytes: high, most } = panel.strategy.cover, light = dark.matches ? [60, 67, 78] : [217, 222, 229];
  const full = dark.matches ? [112, 121, 135] : [150, 159, 172];
  const colours = [...Array(16).keys()].map((share) => pixel(...light.map((value, i) => value + (full[i] - value) * share / 15)));
  if (!most.length) return; // no block has an address
  const cells = Uint32Array.from(at.moment, (m) => Math.min(most[0].length - 1, Math.floor(m / stride)));
  const shares = most.map((row) => Uint8Array.from(row, (digit) => parseInt(digit, 16)));
  for (let y = 0; y < height; y++) {
    const row = shares[Math.floor((height - y - 0.5) / scale / high)];
    for (let c = 0, p = y * width; row && c < width; c++, p++)
      if (row[cells[c]] && pixels[p] === colours[0]) pixels[p] = colours[row[cells[c]]];
  }
}

// The highest address of a map in the window.
function topOf(of) {
  let top = 0;
  for (const part of of.held)
    for (let i = 0; i < part.count; i++)
      if (part.born[i] < to && part.born[i] + part.life[i] > from)
        top = Math.max(top, part.address[i] * of.strategy.unit + part.bytes[i]);
  return top;
}

function drawMap(panel, got, set, image) {
  const { width, height, data: bytes } = image, pixels = new Uint32Array(bytes.buffer);
  const mine = got.strategies.find((s) => s.strategy === panel.strategy), place = set.places.get(panel.strategy);
  const colour = paintBlocks(set), held = dark.matches ? pixel(60, 67, 78) : pixel(217, 222, 229);
  pixels.fill(cssPixel("--card"));
  if (!view.one_scale) panel.most = 1.02 * Math.max(1, topOf(mine));
  const scale = height / panel.most;
  const rectangle = (from, to, address, size, value, edge) => {
    const x0 = columnOf(at.moment, from), x1 = columnOf(at.moment, to);
    if (x1 <= x0) return;
    const low = Math.min(height - 1, Math.floor(address * scale));
    const high = Math.min(height, Math.max(low + 1, Math.floor((address + size) * scale)));
    for (let y = low; y < high; y++) {
      const row = (height - 1 - y) * width, dark_row = edge && high - low > 3 && y === high - 1;
      pixels.fill(dark_row ? darker(value) : value, row + x0, row + x1);
      if (edge && x1 - x0 > 3) pixels[row + x0] = darker(value);
    }
  };
  for (const part of mine.held)
    for (let i = 0; i < part.count; i++)
      rectangle(part.born[i], part.born[i] + part.life[i], part.address[i] * panel.strategy.unit, part.bytes[i], held, false);
  if (!got.complete) drawCover(panel, pixels, width, height, scale);
  for (let i = 0; i < set.count; i++)
    if (place.address[i] !== NOWHERE)
      rectangle(set.born[i], set.died[i], place.address[i], set.bytes[i] + place.over[i], colour[i], true);
}

// From the first event on at which a strategy reserves more than the capacity, its map is red.
function exceeds(strategy) {
  const level = strategyLevel(strategy, 0).value, i = level ? level.reserved.findIndex((bytes) => bytes > view.capacity) : -1;
  return i < 0 ? null : data.first + i * data.summary[0].stride;
}
function markCapacity(panel, g, left, width, height, xOf) {
  if (view.capacity === Infinity) return;
  g.strokeStyle = g.fillStyle = css("--bad");
  if (!panel.strategy) {
    const y = height - view.capacity / panel.most * height;
    g.beginPath(); g.moveTo(left, y); g.lineTo(left + width, y); g.stroke();
    return;
  }
  const since = exceeds(panel.strategy);
  if (since === null || since >= to) return;
  const x = Math.max(left, xOf(since));
  g.globalAlpha = 0.3;
  g.fillRect(x, 0, xOf(to) - x, height);
  g.globalAlpha = 1;
}

function finish(panel) {
  const { canvas, image } = panel, g = canvas.getContext("2d"), d = ratio();
  const left = LEFT * d, width = image.width, height = image.height;
  g.fillStyle = css("--card");
  g.fillRect(0, 0, canvas.width, canvas.height);
  g.putImageData(image, left, 0);
  g.font = 11 * d + "px system-ui, sans-serif";
  g.lineWidth = d;
  g.fillStyle = css("--soft");
  g.textAlign = "right";
  const step = byteStep(panel.most);
  for (let value = 0; value < panel.most; value += step) {
    const y = height - value / panel.most * height;
    g.fillRect(left - 4 * d, Math.min(height - 1, y), 4 * d, 1);
    g.fillText(bytesText(value), left - 7 * d, Math.max(10 * d, Math.min(height - 2, y + 4 * d)));
  }
  const xAt = (place) => left + (place - view.from) / (view.to - view.from) * width, xOf = (moment) => xAt(placeOf(moment));
  const tick = Math.max(1, niceStep(view.to - view.from, Math.max(4, width / d / 150)));
  g.textAlign = "center";
  for (let place = Math.ceil(view.from / tick) * tick; place < Math.min(view.to, placeOf(to)); place += tick) {
    const x = xAt(place), m = momentOf(place);
    g.fillRect(x, height, 1, 4 * d);
    if (x <= left + 20 * d || x >= left + width - 25 * d) continue;
    g.fillText(countText(Math.floor(m)), x, height + 16 * d);
    if (hasTimes) g.fillText(view.axis === "time" ? timeText(place, tick) : timeText(timeOf(m)), x, height + 30 * d);
  }
  g.textAlign = "left";
  g.fillText("event", 6 * d, height + 16 * d);
  if (hasTimes) g.fillText("time", 6 * d, height + 30 * d);
  for (const line of panel.lines || []) for (const [values, dash, wide] of [[line.granted, [2, 3], 1], [line.reserved, [], 1.5]]) {
    g.strokeStyle = strategyColour(line.strategy);
    g.lineWidth = wide * d;
    g.setLineDash(dash.map((n) => n * d));
    g.beginPath();
    values.subarray(0, at.count).forEach((value, c) => g.lineTo(left + c, Math.max(-2, height - value / panel.most * height)));
    g.stroke();
  }
  g.lineWidth = d;
  markCapacity(panel, g, left, width, height, xOf);
  const outlined = (text, x, y) => {
    g.strokeStyle = css("--card");
    g.lineWidth = 3 * d;
    g.strokeText(text, x, y);
    g.fillText(text, x, y);
    g.lineWidth = d;
  };
  let free = 0; // below the marks that names at the lines' ends could cover
  const mark = (moment, text, row, colour, dash) => {
    if (!(moment >= from && moment < to)) return;
    const x = xOf(moment + 0.5);
    if (x > left + width * 0.6) free = 13 * (row + 1) * d;
    g.strokeStyle = g.fillStyle = css(colour);
    g.setLineDash(dash.map((n) => n * d));
    g.beginPath(); g.moveTo(x, 0); g.lineTo(x, height); g.stroke();
    g.setLineDash([]);
    g.textAlign = x > left + width / 2 ? "right" : "left";
    outlined(text, x + (g.textAlign === "left" ? 4 : -4) * d, (11 + 13 * row) * d);
  };
  const marked = data.refusal ? [[peak.at, "peak"], [data.refusal.at, "refused"]] : [[peak.at, "peak"]];
  const mine = [view.moment, view.base].map((of) => (of && of.pane.data.blocks === data.blocks ? of : null));
  const selected = mine[0] || areTwo && mine[1], base = mine[0] && mine[1], is = (at) => selected && selected.at === at;
  marked.forEach(([at, text], row) => mark(at, text + (is(at) ? ", selected" : ""), row, "--bad", is(at) ? [] : [4, 3]));
  if (selected && !marked.some(([at]) => is(at))) mark(selected.at, "selected", 2, "--ink", []);
  if (base) mark(base.at, "compared with", 3, "--ink", [2, 2]);
  // Names at the lines' ends, the highest first, below each other.
  const ends = (line) => line.reserved[at.count - 1] || 0;
  for (const line of [...(panel.lines || [])].sort((a, b) => ends(b) - ends(a))) {
    free = Math.max(free + 13 * d, Math.min(height - 4 * d, height - ends(line) / panel.most * height + 13 * d));
    g.fillStyle = strategyColour(line.strategy);
    g.textAlign = at.count < width / 2 ? "left" : "right"; // the trace may end before the window
    const name = (line.strategy.words && innerWidth >= 640 ? line.strategy.name + ", " + line.strategy.words : line.strategy.name);
    const x = left + at.count + (g.textAlign === "left" ? 5 : -5) * d, wide = g.measureText(name).width;
    g.save();
    g.globalAlpha = 0.85; // a line behind its own name
    g.fillStyle = css("--card");
    g.fillRect(g.textAlign === "left" ? x : x - wide, free - 10 * d, wide, 13 * d);
    g.restore();
    outlined(name, x, free);
  }
  if (view.cursor) {
    const x = left + view.cursor.column + 0.5;
    g.strokeStyle = css("--ink");
    g.beginPath(); g.moveTo(x, 0); g.lineTo(x, height); g.stroke();
  }
}

// Takes the window; returns the most bytes and the highest address in it.
function prepare(got) {
  shown = joined(got);
  at = momentsOf(got, plotWidth(), shown);
  const line = (values) => Float64Array.from(at.begin, (b, c) => {
    let high = 0;
    for (let i = b; i < at.end[c]; i++) high = Math.max(high, values[i]);
    return high;
  });
  lines = got.strategies.map((s) => ({ strategy: s.strategy, reserved: line(s.summary.reserved), granted: line(s.summary.granted) }));
  let bytes = 1;
  for (const values of [at.total, ...lines.map((of) => of.reserved)]) for (const value of values) bytes = Math.max(bytes, value);
  return { bytes, top: Math.max(1, ...got.strategies.map(topOf)) };
}
// Draws the pictures with a scale that all panes have.
function draw(got, most_bytes, top) {
  const d = ratio();
  for (const panel of pane.panels) {
    if (!panel.canvas) continue;
    const high = Math.floor((innerWidth < 640 ? 220 : panel.strategy ? 240 : 320) * d), width = plotWidth();
    panel.canvas.width = Math.floor(LEFT * d) + width + 4;
    panel.canvas.height = high + BOTTOM * d;
    if (panel.strategy) panel.title.style.color = strategyColour(panel.strategy);
    panel.canvas.style.height = panel.canvas.height / d + "px";
    panel.image = new ImageData(width, high);
    panel.most = panel.strategy ? top : most_bytes;
    panel.lines = panel.strategy ? null : lines;
    (panel.strategy ? drawMap : drawActive)(panel, got, shown, panel.image);
    finish(panel);
  }
}

// What the window shows, in sentences.
function tell(got) {
  const set = shown;
  if (from >= last) return "The trace ends at event " + countText(data.last) + ".";
  const parts = ["Events " + countText(Math.max(0, from)) + " to " + countText(Math.min(data.last, to - 1))
    + (view.axis === "time" ? ", " + timesText(placeOf(from), placeOf(to)) : "") + "."];
  parts.push(got.complete ? "Each block of them is drawn." : "The largest " + countText(set.count) + " blocks are drawn one by one.");
  if (view.search) {
    let count = 0, bytes = 0;
    for (let i = 0; i < set.count; i++)
      if (set.died[i] > from && set.born[i] < to && matches(set, i)) count++, bytes += set.bytes[i];
    parts.push(countText(count) + " of those found, which requested " + bytesText(bytes) + " together.");
  }
  for (const s of view.capacity < Infinity ? data.strategies : []) {
    const since = exceeds(s), { stride } = data.summary[0];
    parts.push(s.name + " reserves " + (since === null ? "no more than " : "more than ") + bytesText(view.capacity)
      + (since === null ? "." : " from event " + countText(since) + (stride > 1 ? " to " + countText(since + stride - 1) : "") + " on."));
  }
  return parts.join(" ");
}

// Adds the area of the blocks of the window by their keys, for the legend.
function addAreas(sums) {
  const set = shown;
  for (let i = 0; i < set.count; i++) {
    if (set.died[i] <= from || set.born[i] >= to || !matches(set, i)) continue;
    const key = view.colour === "size" ? 4 ** Math.floor(Math.log2(Math.max(1, set.bytes[i])) / 2) : keyOf(set, i);
    const area = set.bytes[i] * (Math.min(set.died[i], to) - Math.max(set.born[i], from));
    sums.set(key, (sums.get(key) || 0) + area);
  }
}

// As exact as the levels that were read: a finer one is read when it is asked for.
function timeOf(moment) {
  const l = data.summary.findIndex((level) => unpacked.has(level.data) && unpacked.get(level.data).value);
  const level = summaryLevel(l).value, { stride } = data.summary[l];
  return level.time[Math.min(level.time.length - 1, Math.max(0, Math.floor((moment - data.first) / stride)))];
}

function blockText(set, i, panel) {
  const lines = [bytesText(set.bytes[i]) + " (" + countText(set.bytes[i]) + " B)"];
  lines.push("site: " + (nameOf(set.name[i]) || siteOf(0)));
  const phase = nameOf(phaseAt(set.born[i]));
  if (phase) lines.push("phase: " + phase);
  const lives = set.died[i] > data.last;
  lines.push("events " + countText(set.born[i]) + (lives ? " to the end" : " to " + countText(set.died[i])) + ", "
    + countText(set.died[i] - set.born[i]) + " of them");
  if (hasTimes) {
    summaryLevel(0);
    lines.push("for " + timeText(timeOf(Math.min(set.died[i], data.last)) - timeOf(set.born[i])) + (lives ? " and on" : "")
      + (data.summary[0].stride > 1 ? " (to within " + data.summary[0].stride + " events)" : ""));
  }
  for (const [strategy, place] of set.places)
    if (!panel.strategy || panel.strategy === strategy)
      lines.push(strategy.name + ": " + (place.address[i] === NOWHERE ? "no address"
        : bytesText(set.bytes[i] + place.over[i]) + " at " + bytesText(place.address[i])));
  const stack = shownOf(set.name[i]), fits = Math.max(6, Math.floor(innerHeight / 20) - 12);
  lines.push(...stack.slice(0, fits).map((text, k) => (k ? "  called by " : "stack: ") + text));
  if (stack.length > fits) lines.push("  and " + (stack.length - fits) + " more: a click shows all");
  return lines.join("\n");
}

// The block at a place of a picture, and text about it.
function pick(panel, column, y) {
  const set = shown, m = at.moment[column], height = panel.image.height;
  const value = (1 - (y + 0.5) / height) * panel.most;
  if (column >= at.count) return { text: "the trace ends at event " + countText(data.last) };
  let head = "event " + countText(m) + ", requested " + bytesText(at.total[column] || 0);
  if (!panel.strategy) {
    let sum = 0;
    for (let i = 0; i < set.count && set.born[i] <= m; i++)
      if (set.died[i] > m && (sum += set.bytes[i]) > value) return { site: set.name[i], text: head + "\n" + blockText(set, i, panel) };
    for (const line of panel.lines) head += "\n" + line.strategy.name + " reserved " + bytesText(line.reserved[column]);
    return { text: head + (value < at.total[column] ? "\nothers: smaller or shorter-lived blocks" : "") };
  }
  const place = set.places.get(panel.strategy), least = panel.most / height;
  for (let i = 0; i < set.count && set.born[i] <= m; i++)
    if (set.died[i] > m && place.address[i] !== NOWHERE && place.address[i] <= value
      && Math.max(place.address[i] + least, place.address[i] + set.bytes[i] + place.over[i]) > value)
      return { site: set.name[i], text: head + "\n" + blockText(set, i, panel) };
  return { text: head + "\nno block at " + bytesText(value) };
}

// Bytes and blocks by name at a moment, as many as fit; the rest is "others". What must be read first is added to `need`.
function heldAt(moment, need) {
  const held = new Map();
  let known = 0;
  for (const c of chunksOf(data.blocks, moment.at, moment.at + 1).chosen) {
    const { value: part, promise } = blockChunk(data.blocks[c]);
    if (!part) need.push(promise);
    for (let i = 0; part && i < part.count; i++) {
      if (part.born[i] > moment.at || part.born[i] + part.life[i] <= moment.at) continue;
      const key = hasSites ? part.name[i] : part.bytes[i], of = held.get(key) || { bytes: 0, blocks: 0 };
      of.bytes += part.bytes[i];
      of.blocks++;
      known += part.bytes[i];
      held.set(key, of);
    }
  }
  return { held, others: Math.max(0, moment.bytes - known) };
}
function addPanel(strategy, on) {
  const name = strategy ? strategy.name : "active memory";
  const canvas = element("canvas", { tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", (data.word ? data.word + ": " : "") + name + (strategy ? ": address map over the events" : ": blocks as bands over the events"));
  canvas.setAttribute("aria-describedby", "tip");
  const note = strategy ? "addresses, " + bytesText(strategy.reserved) + " reserved at most" + (strategy.limit ? " under the limit of " + bytesText(strategy.limit) : "")
      + (strategy.measured ? ", measured " + bytesText(strategy.measured) : "")
      + (strategy.nowhere ? "; " + countText(strategy.nowhere) + " blocks have no address" : "")
      + (strategy.scattered ? "; " + countText(strategy.scattered) + " blocks lie in several pieces, and are drawn from the first on" : "")
    : "what the application requested; lines: reserved, dotted: granted";
  const title = element("h3", {}, name + " ", ...(strategy && strategy.words ? ["(" + strategy.words + ") "] : []), element("small", { textContent: note }));
  const panel = { pane, name, strategy, title, element: canvas, box: element("div", { className: "panel" }, title, canvas) };
  view.panels.push(panel);
  pane.panels.push(panel);
  host.append(panel.box);
  panel.canvas = on ? canvas : null;
  panel.box.hidden = !on;
  listen(panel);
}
// Reads where the peak is, and the phases.
async function begin() {
  const top = await summaryLevel(data.summary.length - 1).promise, count = data.phase_count;
  top.requested.forEach((bytes, i) => {
    if (bytes > peak.bytes) peak.bytes = bytes, peak.at = data.first + i * data.summary.at(-1).stride + top.at[i];
  });
  if (count) phases = await unpack(data.phases, (c) => ({ moment: c.steps(count), name: c.plain(count).map((name) => data.number[name]) })).promise;
}

return Object.assign(pane, { placeOf, momentOf, fetchWindow, prepare, draw, finish, tell, addAreas, pick, heldAt, addPanel, begin,
  span: () => to - from, count: () => shown.count, nameOfRefusal: () => nameOf(data.number[data.refusal.name]),
  readFinest: () => Promise.all([summaryLevel(0), ...data.strategies.map((s) => strategyLevel(s, 0))].map((of) => of.promise)),
  // The moment that a column shows; null behind the last one.
  momentIn: (column) => (column < at.count ? { pane, at: at.moment[column], bytes: at.total[column] } : null),
  // The window about a moment.
  around(moment) {
    const width = Math.max(LEAST_MOMENTS, (to - from) / 8), begin = Math.max(data.first, Math.min(last - width, moment - width / 2));
    return [placeOf(begin), placeOf(begin + width)];
  } });
}

// ---- drawing ----

function draw() {
  cancelAnimationFrame(frame);
  clearTimeout(timer);
  frame = timer = 0;
  const start = performance.now(), need = [], got = panes.map((pane) => pane.fetchWindow(need));
  if (need.length) {
    document.documentElement.dataset.state = "reading";
    Promise.all(need).then(schedule, fail);
    return;
  }
  const most = panes.map((pane, i) => pane.prepare(got[i])), most_bytes = Math.max(...most.map((of) => of.bytes)), top = Math.max(...most.map((of) => of.top));
  panes.forEach((pane, i) => pane.draw(got[i], 1.04 * most_bytes, 1.02 * top));
  if (view.cursor) view.cursor = null, tip.hidden = true;
  legend();
  tellWindow(got);
  const state = document.documentElement.dataset;
  state.blocks = panes.reduce((sum, pane) => sum + pane.count(), 0);
  state.drawMs = Math.round(performance.now() - start);
  if (!state.firstMs) state.firstMs = Math.round(performance.now() - began);
  state.state = "drawn";
  byId("still").hidden = byId("peak").hidden = true;
  if (!view.moment) select(refusedOrPeak(), false);
}
function finishAll() {
  for (const panel of view.panels) if (panel.canvas && panel.image) panel.pane.finish(panel);
}
function schedule() {
  document.documentElement.dataset.state = "waiting";
  if (frame) return;
  frame = requestAnimationFrame(draw);
  timer = setTimeout(draw, 200); // where nobody looks there are no frames
}
function fail(error) {
  byId("said").textContent = "The page could not be drawn: " + error;
  document.documentElement.dataset.state = "failed";
  throw error;
}

// ---- text ----

function tellWindow(got) {
  const told = panes.map((pane, i) => pane.tell(got[i])), limit = " With such a limit an allocator first gives back what it has spare: gamut fit finds the least capacity that serves the trace.";
  byId("said").textContent = (new Set(told).size === 1 ? told[0] : told.map((text, i) => "“" + datas[i].word + "”: " + text).join(" "))
    + (view.capacity < Infinity ? limit : "");
}

function legend() {
  const box = byId("legend"), sums = new Map();
  for (const pane of panes) pane.addAreas(sums);
  const largest = [...sums].sort((a, b) => b[1] - a[1]);
  if (!isOrdered && view.colour === "site") { // once: those that hold most come first
    const all = new Set([0, ...largest.map(([key]) => key), ...placeOf.site.keys()]);
    placeOf.site = new Map([...all].map((key, i) => [key, i]));
    isOrdered = true;
    schedule();
  }
  const all = largest.slice(0, 12);
  if (view.colour === "size") all.sort((a, b) => a[0] - b[0]);
  const isTwice = (text) => all.filter(([key]) => siteOf(key) === text).length > 1; // of two categories
  const site = (key) => siteOf(key).slice(0, 80) + (isTwice(siteOf(key)) ? " (" + categoryOf(key) + ")" : "");
  box.replaceChildren(...all.map(([key]) => {
    const item = document.createElement("span"), square = document.createElement("i");
    square.style.background = "rgb(" + colourOf(key, 0).join() + ")";
    item.append(square, view.colour === "size" ? "from " + bytesText(key)
      : view.colour === "category" ? categoryOf(key) : view.colour === "phase" ? (nameOf(key) || "no phase").slice(0, 80) : site(key));
    return item;
  }));
}

// A call stack that stays; Escape or the button closes it.
function showStack(title, frames) {
  byId("stack").replaceChildren(...(frames.length ? [element("h3", {}, title + " ", button("×", "close the call stack", () => showStack("", []))),
    element("ol", {}, ...frames.map((of) => element("li", { textContent: of.text, className: of.hidden ? "soft" : "" })))] : []));
}

let tip = null;
function point(panel, column, y, clientX, clientY) {
  if (!panel.image || view.drag) return;
  column = Math.max(0, Math.min(panel.image.width - 1, Math.round(column)));
  y = Math.max(0, Math.min(panel.image.height - 1, Math.round(y)));
  view.cursor = { panel, column, y };
  finishAll();
  const found = view.picked = panel.pane.pick(panel, column, y);
  tip.textContent = found.text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(clientX + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = Math.max(4, clientY + 16 + box.height > innerHeight ? clientY - box.height - 12 : clientY + 16) + "px";
}

// What is held at a moment less what is held at another.
function changesOf(now, before) {
  const held = new Map(now.held);
  for (const [key, of] of before.held) {
    const at = held.get(key) || { bytes: 0, blocks: 0 };
    held.set(key, { bytes: at.bytes - of.bytes, blocks: at.blocks - of.blocks });
  }
  return { held, others: now.others - before.others };
}

const OTHERS = "others: smaller or shorter-lived blocks";
// A flame graph that hangs from its root: the category, and the frames that are not hidden. As wide as their bytes.
function flameOf({ held, others }, sign, title, whole) {
  const root = { text: title, bytes: 0, blocks: 0, category: 0, parts: new Map() };
  const add = (path, key, of) => {
    for (let at = root, i = 0; ; i++) {
      at.bytes += of.bytes * sign;
      at.blocks += of.blocks * sign;
      if (i === path.length) break;
      if (!at.parts.has(path[i])) at.parts.set(path[i], { text: path[i], bytes: 0, blocks: 0, key, parts: new Map() });
      at = at.parts.get(path[i]);
    }
  };
  for (const [key, of] of held)
    if (of.bytes * sign > 0) add([categoryOf(key), ...(framesOf(key).length ? shownOf(key).reverse() : [siteOf(key), ...nameOf(key).split(" > ").slice(1)])], key, of);
  if (others * sign > 0) add([OTHERS], 0, { bytes: others, blocks: 0 });
  if (root.bytes <= 0) return element("p", { className: "about", textContent: title + ": nothing" });
  const box = element("div", { className: "flame" });
  box.setAttribute("aria-hidden", "true"); // the table says it
  let deepest = 0;
  const place = (of, depth, from, callers) => {
    const size = bytesText(of.bytes) + " (" + (100 * of.bytes / root.bytes).toFixed(1) + " %)" + (of.blocks > 0 ? ", " + countText(of.blocks) + " blocks" : "");
    const stack = depth > 1 ? [of.text, ...callers] : [], frame = element("div", { textContent: of.text.replace(/^[^ ]*\/(?=[^ /]* )/, "") + " " + bytesText(of.bytes),
      title: [of.text, size, ...callers.map((text) => "called by " + text)].join("\n") });
    Object.assign(frame.style, { left: 100 * from / whole + "%", width: 100 * of.bytes / whole + "%", top: depth * 19 + "px" });
    if (depth) frame.style.background = "rgb(" + hsl(of.key ? (placeOf.category.get(firstOfCategory[of.key]) * 137.508) % 360 : 215, of.key ? 0.5 : 0.12, (dark.matches ? 0.3 : 0.8) + depth % 2 * 0.05).join() + ")";
    if (of.key) frame.addEventListener("click", () => { find(of.text); showStack(size, stack.map((text) => ({ text }))); });
    box.append(frame);
    deepest = Math.max(deepest, depth);
    const small = { bytes: 0, blocks: 0, parts: new Map() };
    let count = 0;
    for (const part of [...of.parts.values()].sort((a, b) => b.bytes - a.bytes)) {
      if (part.bytes * 500 < whole) {
        small.bytes += part.bytes;
        small.blocks += part.blocks;
        small.text = ++count + " smaller:";
      } else if (depth < DEEPEST) place(part, depth + 1, from, stack), from += part.bytes;
    }
    if (small.bytes * 500 >= whole && depth < DEEPEST) place(small, depth + 1, from, stack);
  };
  place(root, 0, 0, []);
  box.style.height = (deepest + 1) * 19 + "px";
  return box;
}
// A site, with the call stack of most of its bytes.
function siteButton(text, stack) {
  const made = element("button", { type: "button", className: "link", textContent: text, title: shownOf(stack).join("\ncalled by ") });
  made.addEventListener("click", () => showStack(text, framesOf(stack)));
  return made;
}
function find(text) {
  byId("find").value = byId("find").value === text ? "" : text;
  byId("find").dispatchEvent(new Event("input"));
}

// Who holds what at the selected moment, or what of it is new since another.
function tellMoment() {
  const { moment, base } = view, need = [], now = moment.pane.heldAt(moment, need);
  const told = base ? changesOf(now, base.pane.heldAt(base, need)) : now, words = datas.map((one) => one.word);
  if (need.length) return void Promise.all(need).then(tellMoment, fail);
  const holders = new Map(), categories = new Map();
  for (const [name, of] of told.held) {
    const key = hasSites ? firstOfSite[name] : name, holder = holders.get(key) || { bytes: 0, blocks: 0, most: 0 };
    if (Math.abs(of.bytes) > holder.most) holder.stack = name, holder.most = Math.abs(of.bytes);
    holder.bytes += of.bytes;
    holder.blocks += of.blocks;
    holders.set(key, holder);
    if (hasSites) categories.set(categoryOf(name), (categories.get(categoryOf(name)) || 0) + of.bytes);
  }
  const signed = (value, text) => (value < 0 ? "−" : base ? "+" : "") + text(Math.abs(value));
  const byBytes = (a, b) => Math.abs(b) - Math.abs(a);
  const rows = [...holders].filter((of) => of[1].bytes || of[1].blocks).sort((a, b) => byBytes(a[1].bytes, b[1].bytes)).slice(0, 20).map(([key, holder]) =>
    [signed(holder.bytes, bytesText), signed(holder.blocks, countText), ...(hasSites ? [categoryOf(key), siteOf(key), holder.stack] : ["of " + bytesText(key)])]);
  if (told.others) rows.push([signed(told.others, bytesText), "", ...(hasSites ? [""] : []), OTHERS]);
  const cells = (tag, row) => element("tr", {}, ...row.slice(0, 4).map((text, i) => element(tag, { className: i < 2 ? "n" : "site" }, i === 3 && framesOf(row[4]).length ? siteButton(text, row[4]) : text)));
  const table = element("table", {}, element("thead", {}, cells("th", [areTwo ? words.join(" − ") : "bytes", "blocks", ...(hasSites ? ["category", "site"] : ["size"])])),
    element("tbody", {}, ...rows.map((row) => cells("td", row))));
  const grown = base ? [...told.held.values(), { bytes: told.others }].reduce((sums, of) => (sums[+(of.bytes < 0)] += Math.abs(of.bytes), sums), [0, 0]) : null;
  const flames = !hasSites ? [] : base
    ? [flameOf(told, 1, areTwo ? "more in “" + words[0] + "”" : "new or more", Math.max(1, ...grown)),
      flameOf(told, -1, areTwo ? "more in “" + words[1] + "”" : "gone or less", Math.max(1, ...grown))]
    : [flameOf(told, 1, "requested", Math.max(1, moment.bytes))];
  const said = (of) => (areTwo ? "“" + of.pane.data.word + "” at event " + countText(of.at) + ": " : "fter event " + countText(of.at) + ", ") + bytesText(of.bytes);
  const refusals = [moment, base].filter((of) => of && of.pane.data.refusal && of.pane.data.refusal.at === of.at);
  byId("moment").replaceChildren(element("h3", { textContent: (areTwo ? "" : "A") + said(moment) + " are requested" + (base ? (areTwo ? ", " : "; a") + said(base) + (areTwo ? "" : ": the difference") : "") },
    element("small", { className: "soft", textContent: areTwo ? " Click a picture to select another moment of both, with Shift (or “compare”) of one alone."
      : " Click a picture to select another moment, with Shift (or “compare”) to compare it with the selected one." })),
    ...refusals.map(({ pane }) => element("div", { className: "about", textContent: (areTwo ? "In “" + pane.data.word + "”" : "Here") + " the recorded allocator refused a request of " + bytesText(pane.data.refusal.bytes)
      + (pane.nameOfRefusal() && ": " + pane.nameOfRefusal()) })),
    ...(hasSites ? [element("p", { className: "about", textContent: [...categories].filter((of) => Math.abs(of[1]) * 1000 >= moment.bytes)
      .sort((a, b) => byBytes(a[1], b[1])).map(([name, bytes]) => name + " " + signed(bytes, bytesText)).join(", ") })] : []),
    ...flames, element("div", { className: "scroll" }, table));
}
// Selects moments, one of each trace; or compares another of the same trace with the selected one.
function select(moments, compares) {
  if (areTwo) [view.moment, view.base] = moments;
  else if (compares) view.base = moments[0];
  else view.moment = moments[0], view.base = null;
  tellMoment();
  finishAll();
}
function selectColumn(panel, compares) {
  const alone = compares || view.compares, before = [view.moment, view.base];
  const mine = (pane, i) => !areTwo || !alone || pane === panel.pane ? pane.momentIn(view.cursor.column) : before[i];
  select(areTwo ? panes.map((pane, i) => mine(pane, i) || before[i]) : [mine(panel.pane, 0)], alone);
  showStack((view.picked.text.split("\n")[1] || "") + ":", framesOf(view.picked.site));
}

// ---- moving ----

const traces = () => (areTwo ? panes : panes.slice(0, 1));
const whole = () => [Math.min(...panes.map((pane) => pane.placeOf(pane.data.first))), Math.max(...panes.map((pane) => pane.placeOf(pane.data.last + 1)))];
function show(from, to) {
  const [low, high] = whole(), width = Math.max(view.axis === "event" ? LEAST_MOMENTS : 0, Math.min(high - low, to - from));
  const start = Math.max(low, Math.min(high - width, (from + to - width) / 2));
  if (!(width > 0)) return; // some events have the same time
  if (view.axis === "time" && width < high - low && panes.every((pane) => pane.momentOf(start + width) - pane.momentOf(start) < LEAST_MOMENTS - 0.1)) return;
  view.from = start;
  view.to = start + width;
  schedule();
}
const placeAt = (column) => view.from + Math.max(0, Math.min(1, column / plotWidth())) * (view.to - view.from);
function zoom(factor, centre) {
  const middle = centre ?? placeAt(view.cursor ? view.cursor.column : plotWidth() / 2);
  show(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}
// Shows the window that is `by` places behind this one, as far as there are events.
function slide(from, to, by) {
  const [low, high] = whole(), far = Math.max(low - from, Math.min(high - to, by));
  show(from + far, to + far);
}
const pan = (share) => slide(view.from, view.to, (view.to - view.from) * share);
function showMoments(moments) {
  const around = moments.map((of) => of.pane.around(of.at));
  select(moments, false);
  show(Math.min(...around.map((of) => of[0])), Math.max(...around.map((of) => of[1])));
}
const showPeak = () => showMoments(traces().map((pane) => pane.peak));
const refusedOrPeak = () => traces().map((pane) => pane.refused || pane.peak);
const showRefused = () => panes.some((pane) => pane.refused) && showMoments(refusedOrPeak());
const showAll = () => show(...whole());

function key(panel, event) {
  const cursor = view.cursor || { column: plotWidth() / 2, y: panel.image.height / 2 };
  const box = panel.canvas.getBoundingClientRect(), d = ratio();
  const move = (x, y) => point(panel, cursor.column + x, cursor.y + y, box.left + LEFT + (cursor.column + x) / d, box.top + (cursor.y + y) / d);
  const step = Math.max(1, Math.round(plotWidth() / panel.pane.span()));
  const act = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": showAll, Home: showAll, p: showPeak, r: showRefused,
    PageUp: () => pan(-0.5), PageDown: () => pan(0.5),
    ArrowLeft: () => (event.shiftKey ? pan(-0.1) : move(-step, 0)), ArrowRight: () => (event.shiftKey ? pan(0.1) : move(step, 0)),
    ArrowUp: () => move(0, -4), ArrowDown: () => move(0, 4),
    Enter: () => { if (view.cursor) selectColumn(panel, event.shiftKey); },
    Escape: () => { view.cursor = null; tip.hidden = true; showStack("", []); schedule(); },
  }[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}

function listen(panel) {
  const canvas = panel.element, d = ratio;
  const columnAt = (event) => (event.clientX - canvas.getBoundingClientRect().left - LEFT) * d();
  const rowAt = (event) => (event.clientY - canvas.getBoundingClientRect().top) * d();
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / 800);
    else zoom(1.0018 ** event.deltaY, placeAt(columnAt(event)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    view.drag = { x: event.clientX, from: view.from, to: view.to };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!view.drag) return point(panel, columnAt(event), rowAt(event), event.clientX, event.clientY);
    const by = (view.drag.x - event.clientX) * d() / plotWidth() * (view.drag.to - view.drag.from);
    if (Math.abs(view.drag.x - event.clientX) > 3) slide(view.drag.from, view.drag.to, by);
  });
  const release = (event) => {
    const still = view.drag && Math.abs(view.drag.x - event.clientX) <= 3;
    view.drag = null;
    if (!still) return;
    point(panel, columnAt(event), rowAt(event), event.clientX, event.clientY);
    if (view.cursor) selectColumn(panel, event.shiftKey);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { if (!view.drag) tip.hidden = true; });
  canvas.addEventListener("dblclick", (event) => zoom(0.25, placeAt(columnAt(event))));
  canvas.addEventListener("keydown", (event) => key(panel, event));
}

// ---- the page ----

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
function button(text, title, act) {
  const made = element("button", { type: "button", textContent: text, title });
  made.setAttribute("aria-label", title);
  made.addEventListener("click", act);
  return made;
}

// Shows and hides the panels of one row.
function choose(row, on) {
  const check = element("input", { type: "checkbox", checked: on }), names = [...new Set(row.map((panel) => panel.name))];
  check.addEventListener("change", () => {
    for (const panel of row) panel.box.hidden = !check.checked, panel.canvas = check.checked ? panel.element : null;
    schedule();
  });
  return element("label", { title: row.map((panel) => panel.strategy ? panel.strategy.words : "").join(" ") }, check, names.join(" | "));
}
function build() {
  const live = byId("live"), bar = element("div", { id: "bar" }), difference = byId("difference");
  const box = difference ? difference.querySelector(".panes") : element("div", {});
  panes = datas.map((one, i) => makePane(one, difference ? box.children[i] : box));
  const colour = element("select", {}, ...[...(hasSites ? ["category"] : []), "site", "size", "phase"].map((name) => element("option", { value: name, textContent: name })));
  colour.value = view.colour;
  colour.addEventListener("change", () => { view.colour = colour.value; schedule(); });
  const axis = element("select", {}, ...["event", "time"].map((name) => element("option", { value: name, textContent: name })));
  axis.addEventListener("change", () => Promise.all(panes.map((pane) => pane.readFinest())).then(() => {
    const [pane] = panes, moments = [view.from, view.to].map(pane.momentOf);
    view.axis = axis.value;
    let [from, to] = areTwo ? whole() : moments.map(pane.placeOf);
    if (!(to > from)) [from, to] = whole();
    if (!(to > from)) axis.value = view.axis = "event", [from, to] = whole(); // all events have one time
    show(from, to);
  }, fail));
  const search = element("input", { type: "search", placeholder: "part of a site" });
  search.addEventListener("input", () => { view.search = search.value.toLowerCase(); schedule(); });
  search.id = "find";
  const compare = element("input", { type: "checkbox" });
  compare.addEventListener("change", () => { view.compares = compare.checked; });
  const scale = element("input", { type: "checkbox", checked: true });
  scale.addEventListener("change", () => { view.one_scale = scale.checked; schedule(); });
  const most = Math.max(1, ...datas.flatMap((one) => one.strategies.map((s) => s.reserved))), capacityText = element("output", { textContent: "any" });
  const capacity = element("input", { type: "range", min: 0, max: 200, value: 200 });
  capacity.addEventListener("input", () => Promise.all(panes.map((pane) => pane.readFinest())).then(() => {
    view.capacity = +capacity.value < 200 ? most * capacity.value / 200 : Infinity;
    capacityText.textContent = view.capacity < Infinity ? bytesText(view.capacity) : "any";
    schedule();
  }, fail));
  for (const pane of panes) [null, ...pane.data.strategies].forEach((s, i) => pane.addPanel(s, i <= SHOWN));
  const choice = element("fieldset", {});
  for (let i = 0; panes.some((pane) => pane.panels[i]); i++) choice.append(choose(panes.map((pane) => pane.panels[i]).filter(Boolean), i <= SHOWN));
  choice.setAttribute("aria-label", "pictures");
  bar.append(button("+", "zoom in", () => zoom(0.5)), button("−", "zoom out", () => zoom(2)),
    button("◀", "earlier", () => pan(-0.5)), button("▶", "later", () => pan(0.5)),
    button("all", "the whole trace", showAll), button("peak", "the moment of the peak", showPeak),
    ...(panes.some((pane) => pane.refused) ? [button("refused", "the moment of the refused request", showRefused)] : []),
    element("label", {}, "colour", colour), ...(hasTimes ? [element("label", {}, "axis", axis)] : []), element("label", {}, "find", search), choice,
    element("label", { title: "a click compares another moment with the selected one, as with Shift" }, compare, "compare"),
    element("label", {}, scale, "one scale for all maps"), element("label", {}, "capacity", capacity, capacityText));
  tip = element("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "status");
  const said = element("p", { id: "said", className: "soft" });
  said.setAttribute("aria-live", "polite");
  if (difference) live.before(difference);
  live.append(bar, said, box, element("div", { id: "legend" }), element("div", { id: "stack" }), element("div", { id: "moment" }));
  document.body.append(tip);
  live.hidden = false;
}

async function begin() {
  if (typeof DecompressionStream === "undefined") return; // the picture that needs no script stays
  build();
  await readNames();
  for (const pane of panes) await pane.begin();
  draw();
  addEventListener("resize", schedule);
  dark.addEventListener("change", schedule);
}
begin().catch(fail);
})();
