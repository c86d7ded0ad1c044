// The call graph, root at the top; the width is the stalled time.

const rowHeight = 19;
const flame = { root: null, zoom: null, shown: [], matches: new Set(), folded: true, inverted: false, canFold: false };

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
  flame.invert = make('button', { type: 'button', id: 'flame-invert', 'aria-pressed': 'false', onclick: toggleInverted }, 'Inverted');
  flame.note = head(section, flame.search, flame.found, flame.invert, flame.fold, flame.out, flame.reset);
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
  flame.box.addEventListener('mouseover', (event) => describeFrame(event.target.node));
  flame.box.addEventListener('focusin', (event) => describeFrame(event.target.node));
  let shown = null;
  views.push(() => {
    const chosen = state.group + ' ' + state.process;
    if (shown === chosen) return;
    shown = chosen;
    flame.folded = true;
    plantFlame();
  });
}

/** Rebuilds the tree. */
function plantFlame() {
  const plant = (isFolded) => {
    const root = flame.inverted ? invertedTree(chosenTree()) : chosenTree();
    if (isFolded) (flame.inverted ? foldTails : foldRoots)(root);
    return settleTree(root);
  };
  flame.root = plant(flame.folded);
  const hasFold = (node) => Boolean(node.callers) || node.children.some(hasFold);
  flame.canFold = !flame.folded || hasFold(flame.root);
  flame.zoom = flame.root;
  search();
  drawFlame();
}

function zoomTo(node) {
  flame.zoom = node;
  drawFlame();
}

function toggleFold() {
  flame.folded = !flame.folded;
  plantFlame();
}

function toggleInverted() {
  flame.inverted = !flame.inverted;
  flame.folded = true;
  flame.invert.setAttribute('aria-pressed', String(flame.inverted));
  plantFlame();
}

const frameName = (frame) => data.frames[frame][0];

/** Marks matches, and shows their share of the time: a match below another match counts with that one. */
function search() {
  const wanted = flame.search.value.trim().toLowerCase();
  flame.matches = new Set();
  let ms = 0;
  const names = new Set();
  const look = (node, isInside) => {
    // Folded frames are searched too.
    const frames = node.callers ? node.callers.map((each) => each.frame) : [node.frame];
    const found = wanted === '' || node.depth === 0 ? [] : frames.filter((each) => frameName(each).toLowerCase().includes(wanted));
    const isMatch = found.length > 0;
    if (isMatch) {
      flame.matches.add(node);
      for (const frame of found) names.add(frameName(frame));
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
  const top = flame.zoom;
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
    // The function's own time is a gap at the right.
    let offset = left;
    for (const child of node.children) {
      const part = child.ms / top.ms;
      if (part * width >= 1 || flame.matches.has(child)) draw(child, offset, row + 1);
      offset += part;
    }
    const part = node.pruned / top.ms;
    if (part * width >= 1) place({ ...node, ms: node.pruned }, offset, part, row + 1, 'pruned');
  };
  for (let node = top.parent; node; node = node.parent) place(node, 0, 1, node.depth, 'above');
  draw(top, 0, top.depth);
  flame.box.style.height = (deepest + 1) * rowHeight + 2 + 'px';
  const first = flame.shown.find((each) => each.node === top) || flame.shown[0];
  if (first) first.button.tabIndex = 0;
  if (first && hadFocus) first.button.focus();
  flame.out.disabled = flame.zoom === flame.root;
  flame.reset.disabled = flame.zoom === flame.root;
  flame.fold.hidden = !flame.canFold;
  flame.fold.textContent = flame.folded ? 'Show common callers' : 'Fold common callers';
  const what = state.group < 0 ? 'All groups' : 'Group ' + groupName(state.group);
  const whose = state.process === '' ? '' : ' of ' + visible(state.process, 60);
  const order = flame.inverted ? 'leaf functions at the top, their callers below' : 'leaf functions at the bottom';
  flame.note.textContent = what + whose + ': ' + duration(flame.root.ms) + ' stalled. Width is time; ' + order + '.';
  clear(flame.crumbs);
  if (flame.zoom !== flame.root) {
    flame.crumbs.textContent = 'Zoomed to ' + visible(data.frames[flame.zoom.frame][0], 200) + ' · ' + share(flame.zoom.ms, flame.root.ms);
  }
}

function frameButton(node, kind, width) {
  const [name, module, isInApp] = data.frames[node.frame];
  const isFold = Boolean(node.callers) && kind !== 'pruned';
  let text = node.depth === 0 ? (state.group < 0 ? 'all stalls' : 'group') : visible(name, 300);
  if (kind === 'pruned') text = 'left out';
  if (isFold) text = foldText(node);
  const button = make('button', { type: 'button', tabindex: -1 });
  if (width < 12) button.classList.add('thin');
  else button.textContent = text;
  if (kind === 'pruned') button.disabled = true;
  if (kind !== '') button.classList.add(kind);
  if (isFold) button.classList.add('folded');
  if (isInApp && kind !== 'pruned' && !isFold) button.classList.add('app');
  if (flame.matches.has(node)) button.classList.add('match');
  const weight = duration(node.ms) + ', ' + share(node.ms, flame.root.ms);
  button.setAttribute('aria-label', text + ', ' + weight);
  const more = isFold ? node.callers.map((each) => visible(frameName(each.frame), 100)) : module && kind !== 'pruned' ? [visible(module)] : [];
  button.title = [text, ...more.slice(0, 40), weight].join('\n');
  button.node = node;
  button.kind = kind;
  button.addEventListener('click', () => (isFold ? toggleFold() : zoomTo(node)));
  return button;
}

const foldText = (node) => '⋯ ' + node.callers.length + (flame.inverted ? ' more callers' : ' callers common to all below');

function describeFrame(node) {
  if (!node) return;
  const [name, module] = data.frames[node.frame];
  const own = node.own > 0 ? ' · itself ' + duration(node.own) : '';
  const parent = node.parent ? ' · ' + share(node.ms, node.parent.ms) + (flame.inverted ? ' of what it calls' : ' of its caller') : '';
  const title = node.depth === 0 ? 'All' : node.callers ? foldText(node) : visible(name, 300) + (module ? ' (' + visible(module, 100) + ')' : '');
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
