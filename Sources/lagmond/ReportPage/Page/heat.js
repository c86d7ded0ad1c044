// The heat map: time by duration, darker with more stalls; a selection in it narrows the tables and the timeline.

const heat = { top: 6, bottom: 22, left: 64, right: 8, rowHeight: 17, cursor: null };

/** Calls `body` with series, column, row, count and milliseconds of each cell. */
function eachHeatCell(body) {
  const cells = data.heat.cells;
  for (let place = 0; place < cells.length; place += 5) {
    body(cells[place], cells[place + 1], cells[place + 2], cells[place + 3], cells[place + 4]);
  }
}

const columnTime = (column) => data.heat.start + column * data.heat.width;
const rowEdge = (row) => (row <= 0 ? 0 : data.rows[row - 1]);
const columnAt = (ms) => Math.floor((ms - data.heat.start) / data.heat.width);

function rowAt(ms) {
  let row = 0;
  while (row < data.rows.length && data.rows[row] <= Math.floor(ms)) row += 1;
  return row;
}

function inBox(column, row) {
  const box = state.box;
  return !box || (column >= box.c0 && column <= box.c1 && row >= box.r0 && row <= box.r1);
}

const inBoxAt = (time, ms) => !state.box || inBox(columnAt(time), rowAt(ms));

function rowsText(low, high) {
  const to = high < data.rows.length ? roundDuration(data.rows[high]) : '∞';
  return roundDuration(rowEdge(low)) + ' to ' + to;
}

/** The selection in words. */
function boxText() {
  const box = state.box;
  const times = clock(columnTime(box.c0)).slice(0, 19) + ' to ' + clock(columnTime(box.c1 + 1)).slice(0, 19);
  return times + ', ' + rowsText(box.r0, box.r1);
}

function setUpHeat() {
  const section = byId('heat');
  if (data.heat.columns === 0) return;
  section.hidden = false;
  heat.clear = make('button', { type: 'button', id: 'heat-clear', onclick: () => choose({ box: null }) }, 'Select all');
  heat.note = head(section, heat.clear);
  heat.svg = makeSVG('svg', { class: 'chart', id: 'heat-map', tabindex: '0', role: 'application' });
  heat.facts = make('div', { class: 'facts', id: 'heat-facts', 'aria-live': 'polite' });
  heat.legend = make('div', { class: 'legend' });
  section.append(heat.svg, make('div', { class: 'under' }, heat.facts, heat.legend));
  let most = -Infinity;
  heat.least = Infinity;
  eachHeatCell((series, column, row) => {
    heat.least = Math.min(heat.least, row);
    most = Math.max(most, row);
  });
  // Some empty rows make the edge visible.
  heat.least = Math.max(0, Math.min(heat.least, most - 5));
  heat.rows = most - heat.least + 1;
  heat.svg.addEventListener('keydown', moveInHeat);
  heat.svg.addEventListener('pointerdown', beginBox);
  heat.svg.addEventListener('pointermove', (event) => describeCell(cellAt(event)));
  views.push(drawHeat);
  onResize(drawHeat);
}

function drawHeat() {
  const svg = clear(heat.svg);
  const width = svg.clientWidth || 900;
  const height = heat.top + heat.rows * heat.rowHeight + heat.bottom;
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  svg.style.height = height + 'px';
  heat.scale = (width - heat.left - heat.right) / data.heat.columns;
  const x = (column) => heat.left + column * heat.scale;
  const y = (row) => heat.top + (heat.least + heat.rows - 1 - row) * heat.rowHeight;
  for (let row = heat.least; row < heat.least + heat.rows; row += 1) {
    const edge = y(row) + heat.rowHeight;
    svg.append(makeSVG('line', { class: 'grid', x1: heat.left, x2: width - heat.right, y1: edge, y2: edge }));
    svg.append(makeSVG('text', { x: heat.left - 6, y: edge + 4, 'text-anchor': 'end' }, roundDuration(rowEdge(row))));
  }
  const end = columnTime(data.heat.columns);
  const round = ticks(data.heat.start, end, Math.max(2, Math.floor(width / 110)));
  drawTicks(svg, round, (time) => x((time - data.heat.start) / data.heat.width), width, heat.top, height);
  heat.sums = new Map();
  let most = 0;
  eachHeatCell((series, column, row, number, ms) => {
    if (state.group >= 0 ? series !== state.group : !isOfProcess(series)) return;
    const key = column + ',' + row;
    const sum = heat.sums.get(key) || { column, row, count: 0, ms: 0 };
    sum.count += number;
    sum.ms += ms;
    heat.sums.set(key, sum);
    most = Math.max(most, sum.count);
  });
  for (const sum of heat.sums.values()) {
    const level = most <= 1 ? 4 : 1 + Math.min(5, Math.floor(6 * Math.log(sum.count) / Math.log(most + 1)));
    svg.append(makeSVG('rect', {
      class: 'q' + level + (inBox(sum.column, sum.row) ? '' : ' dim'), x: x(sum.column), y: y(sum.row) + 0.5,
      width: Math.max(1.5, heat.scale - (heat.scale > 5 ? 1 : 0)), height: heat.rowHeight - 1,
    }));
  }
  svg.append(makeSVG('rect', {
    class: 'hit', x: heat.left, y: heat.top, width: width - heat.left - heat.right, height: heat.rows * heat.rowHeight,
  }));
  const outline = (box, name) => makeSVG('rect', {
    class: name, x: x(box.c0), y: y(box.r1), width: (box.c1 - box.c0 + 1) * heat.scale, height: (box.r1 - box.r0 + 1) * heat.rowHeight,
  });
  if (state.box) svg.append(outline(state.box, 'box'));
  if (heat.cursor) {
    const { column, row } = heat.cursor;
    svg.append(outline({ c0: column, c1: column, r0: row, r1: row }, 'cursor'));
  }
  const whose = state.group >= 0 ? 'group ' + groupName(state.group) : state.process === '' ? 'all stalls' : 'groups of ' + visible(state.process, 60);
  // A cell knows its group but not its process.
  const mixed = state.process !== '' && [...processes.values()].some((each) => each.name !== state.process
    && [...each.groups].some((group) => isOfProcess(group) && (state.group < 0 || group === state.group)));
  heat.note.textContent = 'A column is ' + roundDuration(data.heat.width) + ', a row is a range of durations: ' + whose + (mixed ? ' (with their stalls in other processes)' : '') + '. Click or drag to select.';
  heat.clear.disabled = !state.box;
  svg.setAttribute('aria-label', 'Heat map of ' + whose + ' by time and duration: arrow keys move, Enter selects, Escape selects all. The tables contain the same data.');
  drawHeatLegend(most);
}

function drawHeatLegend(most) {
  const legend = clear(heat.legend).appendChild(make('span', {}, 'Stalls in a cell: 1 '));
  if (most > 1) {
    for (let level = 1; level <= 6; level += 1) legend.append(make('i', { class: 'swatch q' + level }));
    legend.append(' ' + count(most) + ' (logarithmic)');
  }
}

function cellAt(event) {
  const frame = heat.svg.getBoundingClientRect();
  const column = Math.floor((event.clientX - frame.left - heat.left) / heat.scale);
  const row = heat.least + heat.rows - 1 - Math.floor((event.clientY - frame.top - heat.top) / heat.rowHeight);
  const within = (value, least, most) => Math.min(most, Math.max(least, value));
  return { column: within(column, 0, data.heat.columns - 1), row: within(row, heat.least, heat.least + heat.rows - 1) };
}

function describeCell({ column, row }) {
  const sum = heat.sums.get(column + ',' + row);
  const what = sum ? stalls(sum.count) + ', ' + duration(sum.ms) : 'none';
  heat.facts.textContent = clock(columnTime(column)).slice(0, 19) + ' · ' + rowsText(row, row) + ': ' + what;
}

const boxOf = (one, two) => ({
  c0: Math.min(one.column, two.column), c1: Math.max(one.column, two.column),
  r0: Math.min(one.row, two.row), r1: Math.max(one.row, two.row),
});

/** A click selects a cell, a drag all cells that it covers; a click on the selection selects all. */
function beginBox(event) {
  if (event.button !== 0 || !event.target.classList.contains('hit')) return;
  const first = cellAt(event);
  heat.svg.setPointerCapture(event.pointerId);
  const end = (up) => {
    heat.svg.removeEventListener('pointerup', end);
    heat.svg.removeEventListener('pointercancel', end);
    if (up.type === 'pointercancel') return;
    const box = boxOf(first, cellAt(up));
    const isSame = state.box && JSON.stringify(box) === JSON.stringify(state.box);
    choose({ box: isSame ? null : box });
  };
  heat.svg.addEventListener('pointerup', end);
  heat.svg.addEventListener('pointercancel', end);
}

function moveInHeat(event) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const cursor = heat.cursor || { column: 0, row: heat.least };
  if (moves[event.key]) {
    const [columns, rows] = moves[event.key];
    heat.cursor = {
      column: Math.min(data.heat.columns - 1, Math.max(0, cursor.column + columns)),
      row: Math.min(heat.least + heat.rows - 1, Math.max(heat.least, cursor.row + rows)),
    };
    describeCell(heat.cursor);
    drawHeat();
  } else if (event.key === 'Enter' || event.key === ' ') {
    choose({ box: boxOf(cursor, cursor) });
  } else if (event.key === 'Escape' && state.box) {
    event.stopPropagation();
    choose({ box: null });
  } else {
    return;
  }
  event.preventDefault();
}
