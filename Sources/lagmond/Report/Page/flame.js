// The call graph, root at the top: as wide as it stalled.

const rowHeight = 19;
const flame = { root: null, zoom: null, shown: [], matches: new Set(), folded: true };

/** A group's tree as nodes. */
function treeOf(group) {
  const flat = data.trees[group];
  const nodes = [];
  for (let place = 0; place < flat.length; place += 5) {
    const parent = nodes[flat[place]] || null;
    const node = {
      frame: flat[place + 1], ms: flat[place + 2], own: flat[place + 3], pruned: flat[place + 4],
      parent, children: [], depth: parent ? parent.depth + 1 : 0,
    };
    if (parent) parent.children.push(node);
    nodes.push(node);
  }
  return nodes[0];
}

/** The trees of all groups in one. */
function treeOfAll() {
  const merge = (sources, parent) => {
    const node = {
      frame: sources[0].frame, ms: 0, own: 0, pruned: 0, parent, children: [], depth: parent ? parent.depth + 1 : 0,
    };
    const below = new Map();
    for (const source of sources) {
      node.ms += source.ms;
      node.own += source.own;
      node.pruned += source.pruned;
      for (const child of source.children) {
        if (below.has(child.frame)) below.get(child.frame).push(child);
        else below.set(child.frame, [child]);
      }
    }
    node.children = [...below.values()].map((each) => merge(each, node)).sort((one, two) => two.ms - one.ms);
    return node;
  };
  return merge(data.groups.map((_, index) => treeOf(index)), null);
}

/** The first place below a node where the time divides: what is above is the same for all. */
function forkBelow(node) {
  let place = node;
  while (place.children.length === 1 && place.pruned === 0 && place.own === 0 && place.children[0].children.length > 0) {
    place = place.children[0];
  }
  return place;
}

function setUpFlame() {
  const section = byId('flame');
  if (data.groups.length === 0) return;
  section.hidden = false;
  flame.search = make('input', {
    type: 'search', placeholder: 'Search functions', 'aria-label': 'Search functions in the call graph', id: 'flame-search', spellcheck: 'false',
  });
  flame.found = make('output', { id: 'flame-found', for: 'flame-search' });
  flame.out = make('button', { type: 'button', id: 'flame-out', onclick: () => zoomTo(flame.zoom.parent || flame.root) }, 'Zoom out');
  flame.reset = make('button', { type: 'button', id: 'flame-reset', onclick: () => zoomTo(flame.root) }, 'Reset');
  flame.fold = make('button', { type: 'button', id: 'flame-fold', onclick: toggleFold }, '');
  flame.note = head(section, flame.search, flame.found, flame.fold, flame.out, flame.reset);
  flame.crumbs = make('div', { class: 'crumbs', id: 'flame-crumbs' });
  flame.box = make('div', { class: 'icicle', id: 'icicle', role: 'group', 'aria-label': 'Call graph: arrow keys move, Enter zooms in, Escape zooms out' });
  flame.facts = make('div', { class: 'facts', id: 'flame-facts', 'aria-live': 'polite' });
  const legend = make('div', { class: 'legend' },
    make('span', {}, make('i', { class: 'key app' }), 'the program’s own code'),
    make('span', {}, make('i', { class: 'key' }), 'system and libraries'),
    make('span', {}, make('i', { class: 'key match' }), 'found'));
  section.append(flame.crumbs, flame.box, make('div', { class: 'under' }, flame.facts, legend));
  flame.search.addEventListener('input', () => { search(); drawFlame(); });
  flame.box.addEventListener('keydown', moveInFlame);
  flame.box.addEventListener('mouseover', (event) => tellFrame(event.target.node));
  flame.box.addEventListener('focusin', (event) => tellFrame(event.target.node));
  let group = null;
  views.push(() => {
    if (group === state.group) return;
    group = state.group;
    flame.root = group < 0 ? treeOfAll() : treeOf(group);
    flame.zoom = flame.root;
    flame.folded = true;
    search();
    drawFlame();
  });
}

function zoomTo(node) {
  flame.zoom = node;
  drawFlame();
}

function toggleFold() {
  flame.folded = !flame.folded;
  drawFlame();
}

/** Marks what matches, and says how much of the time goes through it: a function below another match counts with that. */
function search() {
  const wanted = flame.search.value.trim().toLowerCase();
  flame.matches = new Set();
  let ms = 0;
  const names = new Set();
  const look = (node, isInside) => {
    const isMatch = wanted !== '' && node.depth > 0 && data.frames[node.frame][0].toLowerCase().includes(wanted);
    if (isMatch) {
      flame.matches.add(node);
      names.add(node.frame);
      if (!isInside) ms += node.ms;
    }
    for (const child of node.children) look(child, isInside || isMatch);
  };
  look(flame.root, false);
  const functions = names.size === 1 ? '1 function' : count(names.size) + ' functions';
  flame.found.textContent = wanted === '' ? '' : functions + ': ' + duration(ms) + ', ' + share(ms, flame.root.ms);
}

function drawFlame() {
  const width = flame.box.clientWidth || 1000;
  const fork = forkBelow(flame.root);
  const canFold = fork.depth > 4;
  const isFolded = canFold && flame.folded && flame.zoom.depth <= fork.depth;
  // Folded: what all have in common stands as one row.
  const top = isFolded ? fork : flame.zoom;
  const above = [];
  for (let node = top.parent; node; node = node.parent) above.unshift(node);
  const base = isFolded ? above.length - 1 : 0;
  flame.shown = [];
  clear(flame.box).classList.toggle('searching', flame.matches.size > 0);
  let deepest = 0;
  const place = (node, left, part, row, kind) => {
    deepest = Math.max(deepest, row);
    const button = frameButton(node, kind, part * width);
    button.style.left = (100 * left).toFixed(4) + '%';
    button.style.width = (100 * part).toFixed(4) + '%';
    button.style.top = row * rowHeight + 'px';
    flame.box.append(button);
    if (kind !== 'pruned') flame.shown.push({ node, button, row, left });
  };
  const draw = (node, left, row) => {
    place(node, left, top.ms > 0 ? node.ms / top.ms : 1, row, '');
    // What was spent in the function itself stands at the right, as a gap.
    let offset = left;
    for (const child of node.children) {
      const part = child.ms / top.ms;
      if (part * width >= 1 || flame.matches.has(child)) draw(child, offset, row + 1);
      offset += part;
    }
    const part = node.pruned / top.ms;
    if (part * width >= 1) place({ ...node, ms: node.pruned }, offset, part, row + 1, 'pruned');
  };
  if (isFolded) place(flame.root, 0, 1, 0, 'folded');
  else for (const node of above) place(node, 0, 1, node.depth, 'above');
  draw(top, 0, isFolded ? 1 : top.depth - base);
  flame.box.style.height = (deepest + 1) * rowHeight + 2 + 'px';
  const first = flame.shown.find((each) => each.node === top) || flame.shown[0];
  if (first) first.button.tabIndex = 0;
  flame.out.disabled = flame.zoom === flame.root;
  flame.reset.disabled = flame.zoom === flame.root;
  flame.fold.hidden = !canFold;
  flame.fold.textContent = flame.folded ? 'Show common callers' : 'Fold common callers';
  const what = state.group < 0 ? 'All groups' : 'Group ' + groupName(state.group);
  flame.note.textContent = what + ': ' + duration(flame.root.ms) + ' stalled. As wide as the time; the leaf, where the thread stood, at the bottom.';
  clear(flame.crumbs);
  if (flame.zoom !== flame.root) {
    flame.crumbs.textContent = 'Zoomed to ' + visible(data.frames[flame.zoom.frame][0], 200) + ' · ' + share(flame.zoom.ms, flame.root.ms);
  }
}

function frameButton(node, kind, width) {
  const [name, module, isInApp] = data.frames[node.frame];
  let text = node.depth === 0 ? (state.group < 0 ? 'all stalls' : 'group') : visible(name, 300);
  if (kind === 'pruned') text = 'left out';
  if (kind === 'folded') text = '⋯ ' + forkBelow(flame.root).depth + ' callers that all have in common';
  const button = make('button', { type: 'button', tabindex: -1 });
  if (width < 12) button.classList.add('thin');
  else button.textContent = text;
  if (kind === 'pruned') button.disabled = true;
  if (kind !== '') button.classList.add(kind);
  if (isInApp && kind !== 'pruned' && kind !== 'folded') button.classList.add('app');
  if (flame.matches.has(node)) button.classList.add('match');
  const weight = duration(node.ms) + ', ' + share(node.ms, flame.root.ms);
  button.setAttribute('aria-label', text + ', ' + weight);
  button.title = text + (module && kind === '' ? '\n' + visible(module) : '') + '\n' + weight;
  button.node = node;
  button.kind = kind;
  button.addEventListener('click', () => (kind === 'folded' ? toggleFold() : zoomTo(node)));
  return button;
}

function tellFrame(node) {
  if (!node) return;
  const [name, module] = data.frames[node.frame];
  const own = node.own > 0 ? ' · itself ' + duration(node.own) : '';
  const parent = node.parent ? ' · ' + share(node.ms, node.parent.ms) + ' of its caller' : '';
  const title = node.depth === 0 ? 'All' : visible(name, 300) + (module ? ' (' + visible(module, 100) + ')' : '');
  flame.facts.textContent = title + ': ' + duration(node.ms) + ', ' + share(node.ms, flame.root.ms) + parent + own;
}

function moveInFlame(event) {
  const current = flame.shown.find((each) => each.button === event.target);
  if (event.key === 'Escape' && flame.zoom !== flame.root) {
    event.stopPropagation();
    zoomTo(flame.zoom.parent || flame.root);
    return flame.shown.find((each) => each.button.tabIndex === 0)?.button.focus();
  }
  if (!current) return;
  const inRow = (row) => flame.shown.filter((each) => each.row === row).sort((one, two) => one.left - two.left);
  const nearest = (row) => inRow(row).filter((each) => each.left <= current.left + 1e-9).pop() || inRow(row)[0];
  const row = inRow(current.row);
  const next = {
    ArrowDown: () => flame.shown.find((each) => each.node.parent === current.node) || null,
    ArrowUp: () => nearest(current.row - 1),
    ArrowRight: () => row[row.indexOf(current) + 1],
    ArrowLeft: () => row[row.indexOf(current) - 1],
  }[event.key];
  if (!next) return;
  event.preventDefault();
  const target = next();
  if (!target) return;
  current.button.tabIndex = -1;
  target.button.tabIndex = 0;
  target.button.focus();
}
