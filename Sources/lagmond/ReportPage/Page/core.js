// What all parts of the page share: the data, the state, and ways to make elements. Text of records goes in by textContent alone.

const data = JSON.parse(document.getElementById('data').textContent);

// The selection. group: index or -1. box: columns and rows of the heat map, or null. detail: index or -1. process: a name or ''.
// missing: items that a link refers to but the page does not have.
const state = { group: -1, box: null, detail: -1, process: '', missing: [] };
const views = [];

/** Changes the state and shows it everywhere. */
function choose(change) {
  Object.assign(state, { missing: [] }, change);
  for (const view of views) view();
}

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; texts become text, never markup. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'onclick') element.addEventListener('click', value);
    else if (value === true) element.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function makeSVG(name, attributes = {}, text = null) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

// Control and format characters can reverse or hide text; they are shown as numbers.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text of a record, made safe to show. */
function visible(text, most = 4000) {
  const whole = typeof text === 'object' ? JSON.stringify(text) : String(text);
  const cut = whole.length > most ? whole.slice(0, most) + '… (' + (whole.length - most) + ' more characters)' : whole;
  return cut.replace(hidden, (letter) => '⟨U+' + letter.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '⟩');
}

/** A readable duration, as in the tables: three digits below a minute, two whole units above it. */
function duration(ms) {
  const three = (value) => String(Number(value.toPrecision(3)));
  const pair = (value, size, large, small) => Math.floor(value / size) + ' ' + large + (value % size > 0 ? ' ' + value % size + ' ' + small : '');
  if (ms < 999.5) return three(ms) + ' ms';
  if (ms < 59950) return three(ms / 1000) + ' s';
  const [seconds, minutes] = [Math.round(ms / 1000), Math.round(ms / 60000)];
  if (seconds < 3600) return pair(seconds, 60, 'min', 's');
  return minutes < 1440 ? pair(minutes, 60, 'h', 'min') : pair(Math.round(ms / 3600000), 24, 'd', 'h');
}

/** A round duration: 150 ms, 2 s, 15 min. */
function roundDuration(ms) {
  const units = [[86400000, 'd'], [3600000, 'h'], [60000, 'min'], [1000, 's']];
  for (const [size, name] of units) if (ms >= size) return Number((ms / size).toPrecision(3)) + ' ' + name;
  return ms + ' ms';
}

const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u202f');
const stalls = (number) => count(number) + (number === 1 ? ' stall' : ' stalls');
const share = (part, whole) => (whole > 0 ? (100 * part / whole).toFixed(part * 1000 < whole ? 2 : 1) : '0') + ' %';

/** A time in UTC: 2026-11-21 18:07:56.654. */
const clock = (ms) => new Date(ms).toISOString().replace('T', ' ').replace('Z', '');

/** A time, with the precision that the step between two ticks needs. */
function tick(ms, step) {
  const text = clock(ms);
  if (step >= 86400000) return text.slice(0, 10);
  if (step >= 60000) return text.slice(11, 16) === '00:00' ? text.slice(5, 10) : text.slice(11, 16);
  return step >= 1000 ? text.slice(11, 19) : text.slice(11, 23);
}

/** Round times in a range, at most `most`. */
function ticks(from, to, most) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5];
  for (let day = 864e5; day < 1e15; day *= 2) steps.push(day);
  const step = steps.find((each) => (to - from) / each <= most);
  const times = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) times.push(time);
  return { step, times };
}

/** Lines for round times, and the times below them, not clipped at the edges. */
function drawTicks(svg, round, x, width, top, height) {
  for (const time of round.times) {
    const place = x(time);
    const anchor = place > width - 40 ? 'end' : place < 40 ? 'start' : 'middle';
    svg.append(makeSVG('line', { class: 'grid', x1: place, x2: place, y1: top, y2: height - 22 }));
    svg.append(makeSVG('text', { x: anchor === 'end' ? Math.min(place + 20, width - 2) : place, y: height - 7, 'text-anchor': anchor }, tick(time, round.step)));
  }
}

/** A group's name. */
function groupName(index) {
  const group = data.groups[index];
  if (group.is_rest) return count(data.others) + ' other groups';
  return visible(group.culprit || group.fingerprint, 120);
}

function clear(element) {
  element.replaceChildren();
  return element;
}

/** A section's head: its title, a note, and tools beside it. */
function head(section, ...tools) {
  const note = make('p', { class: 'note' });
  const line = make('div', { class: 'head' });
  const title = section.querySelector('h2');
  title.replaceWith(line);
  line.append(title, note);
  if (tools.length > 0) line.append(make('div', { class: 'tools' }, ...tools));
  return note;
}

/** Calls back, once, after the window's width has settled. */
function onResize(body) {
  const main = document.querySelector('main');
  let width = main.clientWidth;
  let timer = 0;
  new ResizeObserver(() => {
    // The height changes whenever text is shown.
    if (main.clientWidth === width) return;
    width = main.clientWidth;
    clearTimeout(timer);
    timer = setTimeout(body, 80);
  }).observe(main);
}
