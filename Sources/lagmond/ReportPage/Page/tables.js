// The tables are already in the page: this makes them sortable and their rows selectable.

/** The heat map's cells in the selection, summed up by group. */
function boxByGroup() {
  const sums = new Map();
  eachHeatCell((series, column, row, number, ms) => {
    if (!inBox(column, row)) return;
    if (!isOfProcess(series)) return;
    const sum = sums.get(series) || { count: 0, ms: 0 };
    sum.count += number;
    sum.ms += ms;
    sums.set(series, sum);
  });
  return sums;
}

function setUpTables() {
  for (const id of ['group-table', 'worst-table']) {
    const table = byId(id);
    if (!table) continue;
    table.classList.add('scripted');
    makeSortable(table);
    for (const row of table.tBodies[0].rows) {
      const cell = row.cells[id === 'group-table' ? 1 : 3];
      const target = cell.firstChild;
      const pick = make('button', { class: 'pick', type: 'button' });
      target.replaceWith(pick);
      pick.append(target);
      row.addEventListener('click', () => (id === 'group-table' ? pickGroup(row) : pickStall(row)));
    }
  }
  setUpIncidents();
  setUpProcesses();
  addBars();
  views.push(showTables);
}

const mostProcesses = 200;

/** Lets the user select one of several processes. */
function setUpProcesses() {
  if (processes.size < 2) return;
  const choice = make('select', { id: 'process', 'aria-label': 'Only stalls of a process' }, make('option', { value: '' }, 'All processes'));
  for (const { name, ms } of [...processes.values()].slice(0, mostProcesses)) {
    choice.append(make('option', { value: name }, visible(name, 60) + ' · ' + duration(ms)));
  }
  choice.addEventListener('change', () => {
    const keepsGroup = state.group >= 0 && (choice.value === '' || processes.get(choice.value).groups.has(state.group));
    choose({ process: choice.value, group: keepsGroup ? state.group : -1 });
  });
  head(byId('groups'), choice);
  views.push(() => { choice.value = state.process; });
}

/** Clicking a stall of an incident opens its details, if it has some. */
function setUpIncidents() {
  const table = byId('incident-table');
  if (!table) return;
  makeSortable(table);
  for (const item of table.querySelectorAll('li[data-detail]')) {
    const name = item.firstChild;
    const pick = make('button', { class: 'pick', type: 'button', onclick: () => choose({ detail: Number(item.dataset.detail) }) });
    name.replaceWith(pick);
    pick.append(name);
  }
}

/** Shows an incident if one of its stalls is selected. */
function showIncidents() {
  let shown = 0;
  for (const row of rowsOf('incident-table')) {
    const items = [...row.querySelectorAll('li[data-group]')];
    const chosen = items.filter((item) => (state.group < 0 || Number(item.dataset.group) === state.group) && isProcess(item.dataset.process)
      && inBoxAt(Number(item.dataset.time), Number(item.dataset.ms)));
    row.hidden = chosen.length === 0;
    for (const item of items) item.classList.toggle('chosen', item.dataset.detail !== undefined && Number(item.dataset.detail) === state.detail);
    if (!row.hidden) shown += 1;
  }
  const note = byId('incidents-note');
  if (note) note.textContent = shown === 0 ? 'No incident contains a selected stall.' : '';
}

function pickGroup(row) {
  const group = Number(row.dataset.group);
  if (group === state.group) return choose({ group: -1 });
  const details = data.groups[group].details;
  choose({ group, detail: details.length > 0 ? details[0] : -1 });
}

function pickStall(row) {
  const detail = row.dataset.detail === undefined ? -1 : Number(row.dataset.detail);
  choose(detail >= 0 ? { detail } : { group: Number(row.dataset.group) });
}

function showTables() {
  showIncidents();
  const sums = state.box ? boxByGroup() : null;
  for (const row of rowsOf('group-table')) {
    const group = Number(row.dataset.group);
    const sum = sums ? sums.get(group) : null;
    row.hidden = (Boolean(sums) && !sum) || !isOfProcess(group);
    row.classList.toggle('chosen', group === state.group);
    row.querySelector('.pick').setAttribute('aria-pressed', String(group === state.group));
    const cell = row.cells[3];
    cell.querySelector('.inside')?.remove();
    if (sum) cell.append(make('small', { class: 'inside' }, count(sum.count) + ' chosen'));
  }
  let shown = 0;
  for (const row of rowsOf('worst-table')) {
    const ms = Number(row.cells[2].dataset.value);
    row.hidden = (state.group >= 0 && Number(row.dataset.group) !== state.group) || !inBoxAt(Number(row.dataset.time), ms)
      || !isProcess(row.dataset.process);
    row.classList.toggle('chosen', row.dataset.detail !== undefined && Number(row.dataset.detail) === state.detail);
    if (!row.hidden) shown += 1;
  }
  const note = byId('worst-note');
  if (note) note.textContent = shown === 0 ? 'None of the longest stalls is selected.' : '';
}

function rowsOf(id) {
  const table = byId(id);
  return table ? [...table.tBodies[0].rows] : [];
}

/** A bar under each group's total: its share of all. */
function addBars() {
  const most = Math.max(1, ...data.groups.filter((group) => !group.is_rest).map((group) => group.total));
  for (const row of rowsOf('group-table')) {
    if (data.groups[Number(row.dataset.group)].is_rest) continue;
    const bar = make('span', { class: 'bar', 'aria-hidden': 'true' });
    bar.style.width = (100 * data.groups[Number(row.dataset.group)].total / most).toFixed(1) + '%';
    row.cells[2].append(bar);
  }
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((cell, index) => {
    const button = make('button', { type: 'button', title: 'Sort by this column' }, cell.textContent);
    cell.replaceChildren(button);
    button.addEventListener('click', () => {
      const isNumber = cell.classList.contains('number');
      // Numbers start with the largest, except the rank.
      const first = isNumber && index > 0 ? 'descending' : 'ascending';
      const other = first === 'descending' ? 'ascending' : 'descending';
      const order = cell.getAttribute('aria-sort') === first ? other : first;
      for (const each of heads) each.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', order);
      const value = (row) => {
        const text = row.cells[index].dataset.value;
        return text === undefined ? row.cells[index].textContent : Number(text);
      };
      const sign = order === 'ascending' ? 1 : -1;
      const rows = [...table.tBodies[0].rows].sort((one, two) => {
        const [left, right] = [value(one), value(two)];
        return sign * (left < right ? -1 : left > right ? 1 : 0);
      });
      table.tBodies[0].append(...rows);
    });
  });
}

/** The selection, and buttons to clear it. */
function showFilter() {
  const bar = clear(byId('filter'));
  const isNarrowed = state.group >= 0 || state.box || state.process !== '';
  bar.hidden = !isNarrowed && state.missing.length === 0;
  if (bar.hidden) return;
  if (state.missing.length > 0) {
    bar.append(make('span', { class: 'open text', id: 'missing' }, 'Not in this page: ' + visible(state.missing.join(', '), 300) + '.'));
  }
  if (!isNarrowed) return;
  bar.append(make('span', {}, 'Shown:'));
  if (state.process !== '') {
    const label = 'process ' + visible(state.process, 60) + ' ✕';
    bar.append(make('button', { type: 'button', id: 'clear-process', onclick: () => choose({ process: '' }) }, label));
  }
  if (state.group >= 0) {
    const label = 'group ' + groupName(state.group) + ' ✕';
    bar.append(make('button', { type: 'button', id: 'clear-group', onclick: () => choose({ group: -1 }) }, label));
  }
  if (state.box) {
    const sums = [...boxByGroup()].filter(([group]) => state.group < 0 || group === state.group);
    const number = sums.reduce((sum, [, each]) => sum + each.count, 0);
    const label = boxText() + ': ' + stalls(number) + ' ✕';
    bar.append(make('button', { type: 'button', id: 'clear-box', onclick: () => choose({ box: null }) }, label));
    bar.append(make('span', { class: 'note' }, 'The call graph has no times: it shows all stalls of its groups.'));
  }
}
