// The timeline: one lane per loop; the longest stalls as bars, all stalls as shading.

const timeline = { shown: [], cursor: -1, isWhole: false };
const fewLanes = 10;
const phases = ['', 'still going', 'abandoned'];

/** The longest stalls, unpacked. */
const marks = [];
for (let place = 0; place < data.marks.length; place += 7) {
  const [time, ms, group, lane, cause, phase, detail] = data.marks.slice(place, place + 7);
  marks.push({ time, ms, group, lane, cause, phase, detail });
}

function setUpTimeline() {
  const section = byId('timeline');
  if (marks.length === 0) return;
  section.hidden = false;
  timeline.more = make('button', { type: 'button', id: 'timeline-more', onclick: () => { timeline.isWhole = !timeline.isWhole; drawTimeline(); } }, '');
  timeline.note = head(section, timeline.more);
  timeline.svg = makeSVG('svg', { class: 'chart', id: 'timeline-chart', tabindex: '0', role: 'application' });
  timeline.facts = make('div', { class: 'facts', id: 'timeline-facts', 'aria-live': 'polite' });
  const legend = make('div', { class: 'legend' });
  const causes = new Set(marks.map((mark) => mark.cause));
  data.causes.forEach((cause, index) => {
    if (causes.has(index)) legend.append(make('span', { class: 'cause cause-' + cause }, cause.replace('_', ' ')));
  });
  section.append(timeline.svg, make('div', { class: 'under' }, timeline.facts, legend));
  timeline.svg.addEventListener('keydown', moveInTimeline);
  views.push(drawTimeline);
  onResize(drawTimeline);
}

/** The time range: of the selection in the heat map, else of all. */
function timelineRange() {
  if (state.box) return [columnTime(state.box.c0), columnTime(state.box.c1 + 1)];
  const cells = data.lane_cells;
  const first = Math.min(...marks.map((mark) => mark.time));
  const last = Math.max(...marks.map((mark) => mark.time + mark.ms));
  const isAll = marks.length >= data.groups.reduce((sum, group) => sum + group.count, 0);
  const from = isAll ? first : Math.min(first, cells.start);
  const to = isAll ? last : Math.max(last, cells.start + cells.columns * cells.width);
  const margin = Math.max(1, (to - from) * 0.01);
  return [from - margin, to + margin];
}

function laneName(index) {
  if (index >= data.lanes.length) return count(data.lane_count - data.lanes.length) + ' other loops';
  const [host, process, pid, loop] = data.lanes[index];
  return visible(host, 60) + ' · ' + visible(process, 40) + '[' + pid + '] · ' + visible(loop, 40);
}

function drawTimeline() {
  const svg = clear(timeline.svg);
  const width = svg.clientWidth || 900;
  const isNarrow = width < 760;
  // By their positions among all lanes; the shared lane belongs to many processes.
  const order = data.lanes.map((_, lane) => lane).filter((lane) => isProcess(data.lanes[lane][1]));
  if (data.lane_count > data.lanes.length && state.process === '') order.push(data.lanes.length);
  const all = order.length;
  const lanes = timeline.isWhole ? all : Math.min(all, fewLanes);
  const rows = new Map(order.slice(0, lanes).map((lane, row) => [lane, row]));
  const left = isNarrow ? 4 : 290;
  const right = 8;
  const step = isNarrow ? 38 : 24;
  const label = isNarrow ? 14 : 0;
  const height = lanes * step + 26;
  const [from, to] = timelineRange();
  const x = (time) => left + (width - left - right) * Math.min(1, Math.max(0, (time - from) / (to - from)));
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  svg.style.height = height + 'px';
  for (const [lane, row] of rows) {
    const top = row * step + label;
    svg.append(makeSVG('rect', { class: 'lane', x: left, y: top + 1, width: width - left - right, height: 20 }));
    const name = laneName(lane);
    const most = isNarrow ? Math.floor(width / 6) : 42;
    const text = name.length > most ? name.slice(0, most - 1) + '…' : name;
    const element = makeSVG('text', { class: 'name', x: isNarrow ? left : left - 8, y: isNarrow ? top - 3 : top + 15, 'text-anchor': isNarrow ? 'start' : 'end' }, text);
    element.append(makeSVG('title', {}, name));
    svg.append(element);
  }
  const round = ticks(from, to, Math.max(2, Math.floor((width - left) / 110)));
  drawTicks(svg, round, x, width, 0, height);
  const total = data.groups.reduce((sum, group) => sum + group.count, 0);
  if (marks.length < total) drawShades(svg, x, rows, step, label, from, to);
  timeline.shown = [];
  const later = [];
  for (const mark of marks) {
    if (!rows.has(mark.lane) || mark.time + mark.ms < from || mark.time > to) continue;
    const isDim = (state.group >= 0 && mark.group !== state.group) || !inBoxAt(mark.time, mark.ms);
    const isCurrent = mark.detail >= 0 && mark.detail === state.detail;
    const place = x(mark.time);
    const bar = makeSVG('rect', {
      class: 'mark f-' + data.causes[mark.cause] + (isDim ? ' dim' : '') + (isCurrent ? ' current' : ''),
      x: place, y: rows.get(mark.lane) * step + label + 4, width: Math.max(2.5, x(mark.time + mark.ms) - place), height: 14, rx: 1,
    });
    bar.addEventListener('click', () => pickMark(mark));
    bar.addEventListener('mouseover', () => describeMark(mark));
    if (isCurrent) later.push(bar);
    else svg.append(bar);
    if (!isDim) timeline.shown.push({ mark, bar });
  }
  svg.append(...later);
  timeline.shown.sort((one, two) => one.mark.time - two.mark.time);
  timeline.cursor = -1;
  timeline.more.hidden = all <= fewLanes;
  timeline.more.textContent = timeline.isWhole ? 'Fewer lanes' : 'All ' + all + ' lanes';
  const bars = marks.length < total ? 'the ' + count(marks.length) + ' longest stalls are bars, the shading includes all' : 'each stall is a bar';
  timeline.note.textContent = 'A lane is a loop of a process, most stalled first; ' + bars + '.' + (state.box ? ' Narrowed to the selected time.' : '');
  svg.setAttribute('aria-label', 'Timeline of ' + count(timeline.shown.length) + ' stalls in ' + lanes + ' lanes: arrow keys move from stall to stall, Enter opens one. The tables contain the same data.');
}

/** The stalled share of each interval, in the colour of its heaviest cause. */
function drawShades(svg, x, rows, step, label, from, to) {
  const { start, width, cells } = data.lane_cells;
  const sums = new Map();
  let most = 0;
  for (let place = 0; place < cells.length; place += 5) {
    const [lane, column, cause, , ms] = cells.slice(place, place + 5);
    if (!rows.has(lane)) continue;
    const key = lane + ',' + column;
    const sum = sums.get(key) || { lane, column, ms: 0, heaviest: 0, cause };
    sum.ms += ms;
    if (ms > sum.heaviest) Object.assign(sum, { heaviest: ms, cause });
    sums.set(key, sum);
    most = Math.max(most, sum.ms);
  }
  for (const sum of sums.values()) {
    const time = start + sum.column * width;
    if (time + width < from || time > to) continue;
    const tall = Math.max(2, 20 * Math.sqrt(sum.ms / most));
    svg.append(makeSVG('rect', {
      class: 'shade f-' + data.causes[sum.cause], x: x(time), y: rows.get(sum.lane) * step + label + 21 - tall, width: Math.max(1, x(time + width) - x(time)), height: tall,
    }));
  }
}

function describeMark(mark) {
  const phase = phases[mark.phase] ? ', ' + phases[mark.phase] : '';
  const length = (mark.phase === 0 ? '' : 'at least ') + duration(mark.ms);
  const rest = mark.detail < 0 ? ' (no detail kept: click for its group)' : '';
  timeline.facts.textContent = clock(mark.time) + ' · ' + length + phase + ' · ' + data.causes[mark.cause].replace('_', ' ') + ' · '
    + groupName(mark.group) + ' · ' + laneName(mark.lane) + rest;
}

function pickMark(mark) {
  if (mark.detail >= 0) choose({ detail: mark.detail });
  else choose({ group: mark.group, detail: data.groups[mark.group].details[0] ?? -1 });
}

function moveInTimeline(event) {
  const shown = timeline.shown;
  if (event.key === 'Enter' && shown[timeline.cursor]) {
    event.preventDefault();
    return pickMark(shown[timeline.cursor].mark);
  }
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || shown.length === 0) return;
  event.preventDefault();
  shown[timeline.cursor]?.bar.classList.remove('current');
  timeline.cursor = Math.min(shown.length - 1, Math.max(0, timeline.cursor + step));
  shown[timeline.cursor].bar.classList.add('current');
  describeMark(shown[timeline.cursor].mark);
}
