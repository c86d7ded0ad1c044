// The selection is in the page's URL, after the #, so that a link shows it again, also to other users.

/** The fragment for the selection; empty for everything. */
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

/** The selection of a fragment, and the items that are not in this page; null if it is not one of our links. */
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

/** Returns the initial selection of the URL. */
function setUpLink() {
  const follow = () => {
    const choice = readLink(location.hash.slice(1));
    if (choice) choose({ box: null, ...choice });
  };
  window.addEventListener('hashchange', follow);
  views.push(() => {
    const link = linkOf(state);
    // A foreign fragment stays while nothing is selected.
    if (link === '' && !location.hash.includes('=')) return;
    if ('#' + link === location.hash) return;
    try {
      history.replaceState(null, '', '#' + link);
    } catch {
      // A frame without its own URL has no link.
    }
  });
  return readLink(location.hash.slice(1)) || {};
}
