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

// What is left to see above a fork, and of a stack that never forks.
const callersAboveFork = 3;
const framesOfChain = 14;

/** How deep the callers go that all stalls have in common and that can be folded; 0: nothing. */
function foldDepth(root) {
  let node = root;
  while (node.children.length === 1 && node.pruned === 0 && node.own === 0) node = node.children[0];
  const depth = node.depth - (node.children.length > 0 ? callersAboveFork : framesOfChain);
  return depth > 4 ? depth : 0;
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
  const folds = foldDepth(flame.root);
  const isFolded = folds > 0 && flame.folded;
  // What was folded stands as one row.
  let top = flame.zoom;
  while (isFolded && top.depth <= folds) top = top.children[0];
  const rowOf = (node) => (isFolded ? node.depth - folds : node.depth);
  const hadFocus = flame.box.contains(document.activeElement);
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
  for (let node = top.parent; node && rowOf(node) > (isFolded ? 0 : -1); node = node.parent) place(node, 0, 1, rowOf(node), 'above');
  draw(top, 0, rowOf(top));
  flame.box.style.height = (deepest + 1) * rowHeight + 2 + 'px';
  const first = flame.shown.find((each) => each.node === top) || flame.shown[0];
  if (first) first.button.tabIndex = 0;
  if (first && hadFocus) first.button.focus();
  flame.out.disabled = flame.zoom === flame.root;
  flame.reset.disabled = flame.zoom === flame.root;
  flame.fold.hidden = folds === 0;
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
  if (kind === 'folded') text = '⋯ ' + foldDepth(flame.root) + ' callers that all have in common';
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
    return zoomTo(flame.zoom.parent || flame.root);
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
