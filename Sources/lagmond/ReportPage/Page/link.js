// What is chosen is in the page's address, after the #: a link shows it again, to others too.

/** The fragment of what is chosen; empty for everything. */
function linkOf({ group, detail, process }) {
  const parts = new URLSearchParams();
  if (process !== '') parts.set('process', process);
  if (group >= 0) parts.set('group', data.groups[group].is_rest ? 'others' : data.groups[group].fingerprint);
  if (detail >= 0) parts.set('stall', stallID(detail));
  return parts.toString();
}

function stallID(detail) {
  try {
    return String(JSON.parse(byId('stall-' + detail).textContent).id);
  } catch {
    return '';
  }
}

/** What a fragment means, and what of it is not in this page; null for one that is no link of ours. */
function readLink(fragment) {
  if (!fragment.includes('=')) return null;
  const wanted = new URLSearchParams(fragment);
  const choice = { group: -1, detail: -1, process: '', missing: [] };
  const group = wanted.get('group');
  if (group !== null) {
    choice.group = data.groups.findIndex((each) => (each.is_rest ? group === 'others' : each.fingerprint === group));
    if (choice.group < 0) choice.missing.push('group ' + group);
  }
  const stall = wanted.get('stall');
  if (stall !== null) {
    choice.detail = data.details.findIndex((_, index) => stallID(index) === stall);
    if (choice.detail < 0) choice.missing.push('stall ' + stall);
  }
  const process = wanted.get('process');
  if (processes.has(process)) choice.process = process;
  else if (process !== null) choice.missing.push('process ' + process);
  return choice;
}

/** Returns what the address asks for at first. */
function setUpLink() {
  const follow = () => {
    const choice = readLink(location.hash.slice(1));
    if (choice) choose({ box: null, ...choice });
  };
  window.addEventListener('hashchange', follow);
  views.push(() => {
    const link = linkOf(state);
    // What others put there stays while nothing is chosen.
    if (link === '' && !location.hash.includes('=')) return;
    if ('#' + link === location.hash) return;
    try {
      history.replaceState(null, '', '#' + link);
    } catch {
      // In a frame that has no address of its own there is no link either.
    }
  });
  return readLink(location.hash.slice(1)) || {};
}
