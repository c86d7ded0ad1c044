// Call trees: of a group, of all groups, of one process, inverted (from the leaf up), and without uninteresting callers.

/** A group's tree as nodes. */
function treeOf(group) {
  const flat = data.trees[group];
  const nodes = [];
  for (let place = 0; place < flat.length; place += 5) {
    const parent = nodes[flat[place]] || null;
    const node = { frame: flat[place + 1], ms: flat[place + 2], own: flat[place + 3], pruned: flat[place + 4], children: [] };
    if (parent) parent.children.push(node);
    nodes.push(node);
  }
  return nodes[0];
}

/** Merges trees: children with the same parent and frame become one node. */
function mergeTrees(sources) {
  const node = { frame: sources[0].frame, ms: 0, own: 0, pruned: 0, children: [] };
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
  node.children = [...below.values()].map(mergeTrees).sort((one, two) => two.ms - one.ms);
  return node;
}

/** The tree of the selection; every path begins with its process. */
function chosenTree() {
  const groups = state.group < 0 ? data.groups.map((_, index) => index) : [state.group];
  const root = mergeTrees(groups.map(treeOf));
  if (state.process === '') return root;
  root.children = root.children.filter((child) => data.frames[child.frame][0] === state.process);
  root.ms = root.children.reduce((sum, child) => sum + child.ms, 0);
  root.own = 0;
  root.pruned = 0;
  return root;
}

// Smaller paths are not followed separately.
const leastInverted = 1 / 5000;

/** From the leaf up to its callers: a function that is called from many places appears once, with all its time. */
function invertedTree(root) {
  const make = (frame) => ({ frame, ms: 0, own: 0, pruned: 0, children: [], byFrame: new Map() });
  const top = make(root.frame);
  const add = (way, ms) => {
    let place = top;
    for (const frame of way) {
      let next = place.byFrame.get(frame);
      if (!next) {
        next = make(frame);
        place.byFrame.set(frame, next);
        place.children.push(next);
      }
      next.ms += ms;
      place = next;
    }
    place.own += ms;
  };
  const walk = (node, way) => {
    top.ms += node.own + node.pruned;
    top.pruned += node.pruned;
    if (way.length > 0 && node.own > root.ms * leastInverted) add(way, node.own);
    else top.pruned += node.own;
    for (const child of node.children) walk(child, [child.frame, ...way]);
  };
  walk(root, []);
  const settle = (node) => {
    node.children.sort((one, two) => two.ms - one.ms);
    delete node.byFrame;
    node.children.forEach(settle);
  };
  settle(top);
  return top;
}

// Callers that stay visible above a fork, and in a path that never forks; folding fewer is not worthwhile.
const callersAboveFork = 3;
const framesOfChain = 14;
const leastFold = 4;

/** A node and its chain of single children, down to where paths fork or end. */
function chainFrom(node) {
  const chain = [node];
  for (let last = node; last.children.length === 1 && last.pruned === 0 && last.own === 0; chain.push(last)) last = last.children[0];
  return chain;
}

const foldOf = (callers, children) => ({ frame: callers[0].frame, ms: callers[0].ms, own: 0, pruned: 0, children, callers });

/**
 * The tree without callers that are common to everything below: in each process from `_start`, or from a thread's start function, to
 * shortly before paths fork. One node represents them.
 */
function foldRoots(root) {
  const fold = (branch) => {
    const chain = chainFrom(branch);
    const last = chain[chain.length - 1];
    const kept = last.children.length > 0 || last.pruned > 0 ? callersAboveFork : framesOfChain;
    const hidden = chain.length - 1 - kept;
    return hidden < leastFold ? branch : foldOf(chain.slice(0, hidden), [chain[hidden]]);
  };
  for (const process of root.children) process.children = process.children.map(fold);
}

/** In an inverted tree, folds the far end of a path that does not fork any more. */
function foldTails(node) {
  for (const child of node.children) {
    const chain = chainFrom(child);
    const last = chain[chain.length - 1];
    if (last.children.length > 0) foldTails(last);
    else if (chain.length - framesOfChain >= leastFold) {
      chain[framesOfChain - 1].children = [foldOf(chain.slice(framesOfChain), [])];
    }
  }
}

/** Sets each node's caller and depth. */
function settleTree(node, parent = null) {
  node.parent = parent;
  node.depth = parent ? parent.depth + 1 : 0;
  for (const child of node.children) settleTree(child, node);
  return node;
}

/** Names of the processes, most stalled first, with the groups of their stalls. */
const processes = (() => {
  const found = new Map();
  data.trees.forEach((flat, group) => {
    for (let place = 5; place < flat.length; place += 5) {
      if (flat[place] !== 0) continue;
      const name = data.frames[flat[place + 1]][0];
      const process = found.get(name) || { name, ms: 0, groups: new Set() };
      process.ms += flat[place + 2];
      process.groups.add(group);
      found.set(name, process);
    }
  });
  return new Map([...found].sort(([, one], [, two]) => two.ms - one.ms));
})();

/** Whether a group has stalls of the selected process. */
const isOfProcess = (group) => state.process === '' || Boolean(processes.get(state.process)?.groups.has(group));

/** Whether this is the selected process, by its name in records. */
const isProcess = (name) => state.process === '' || (name || 'process').replaceAll('->', '→').replaceAll(';', ':') === state.process;
