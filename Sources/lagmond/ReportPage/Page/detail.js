// A stall in detail: everything in its line, from its own script element, which is parsed on demand.

// Members that every line has, with the same value.
const inEveryLine = ['schema', 'event'];

function setUpDetail() {
  let shown = -1;
  views.push(() => {
    document.body.classList.toggle('with-detail', state.detail >= 0);
    if (shown === state.detail) return;
    shown = state.detail;
    const panel = clear(byId('detail'));
    panel.hidden = shown < 0;
    if (shown < 0) return;
    panel.scrollTop = 0;
    showStall(panel, byId('stall-' + shown).textContent);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && state.detail >= 0) choose({ detail: -1 });
  });
}

function showStall(panel, text) {
  let line = {};
  try {
    line = JSON.parse(text);
  } catch (error) {
    line = { message: 'This line cannot be shown in detail: ' + error.message };
  }
  // Records which members have their own place; the others are listed unchanged.
  const placed = new Set(inEveryLine);
  const stall = new Proxy(line, { get: (members, name) => { placed.add(name); return members[name]; } });
  const link = make('a', { id: 'detail-link', href: '#' + linkOf({ group: -1, process: '', detail: state.detail }), title: 'Link to this page with this stall open' }, 'Link');
  const close = make('button', { type: 'button', class: 'close', id: 'detail-close', 'aria-label': 'Close the detail', onclick: () => choose({ detail: -1 }) }, '✕');
  panel.append(make('div', { class: 'head' }, make('h2', { id: 'detail-title', class: 'text' }, visible(stall.message ?? 'A stall')), link, close));
  showFigures(panel, stall);
  showGroup(panel, stall);
  showCause(panel, stall);
  showCulprit(panel, stall);
  showWork(panel, stall);
  showLock(panel, stall);
  showStack(panel, 'Stack, leaf first', stall.frames, stall);
  showWorkers(panel, stall);
  showTree(panel, stall);
  showPlace(panel, stall);
  showRecord(panel, stall, () => Object.entries(line).filter(([name]) => !placed.has(name)));
  panel.append(make('details', {}, make('summary', {}, 'The original line'), make('pre', { class: 'raw' }, visible(text.trim(), 70000))));
}

const list = (value) => (Array.isArray(value) ? value : []);
const isNumber = (value) => typeof value === 'number';

/** Names and values, without those that have no value. */
function fields(panel, pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  if (known.length === 0) return;
  const element = make('dl', { class: 'fields' });
  for (const [name, value] of known) element.append(make('dt', {}, visible(name)), make('dd', { class: 'text' }, visible(value)));
  panel.append(element);
}

function showFigures(panel, stall) {
  const phase = { begin: 'still going', abandoned: 'abandoned: the process ended during it' }[stall.phase];
  const element = make('dl', { class: 'figures' });
  const put = (name, value) => { if (value) element.append(make('div', {}, make('dt', {}, name), make('dd', {}, value))); };
  if (isNumber(stall.duration_ms)) put('Duration', (phase ? '≥ ' : '') + duration(stall.duration_ms));
  if (isNumber(stall.threshold_ms)) put('Threshold', duration(stall.threshold_ms));
  put('Began (UTC)', visible(String(stall.time ?? '').replace('T', ' ').replace(/(\.\d{3})\d*Z$/, '$1')));
  put('State', phase ? make('span', { class: 'open' }, phase) : null);
  panel.append(element);
}

/** The group, and its other stalls that have details. */
function showGroup(panel, stall) {
  const group = data.details[state.detail];
  const line = make('div', { class: 'tools' });
  const isChosen = state.group === group;
  if (!isChosen && data.groups[group]) {
    line.append(make('button', { type: 'button', id: 'detail-group', onclick: () => choose({ group }) }, 'Show its group'));
  }
  const siblings = data.groups[group] && !data.groups[group].is_rest ? data.groups[group].details : [];
  const place = siblings.indexOf(state.detail);
  if (siblings.length > 1) {
    const go = (step) => () => choose({ detail: siblings[(place + step + siblings.length) % siblings.length] });
    line.append(make('button', { type: 'button', onclick: go(-1), 'aria-label': 'Longer stall of the group' }, '‹'));
    line.append(make('span', { class: 'note' }, (place + 1) + ' of ' + siblings.length + ' details of its group'));
    line.append(make('button', { type: 'button', onclick: go(1), 'aria-label': 'Shorter stall of the group' }, '›'));
  }
  panel.append(line);
}

function showCause(panel, stall) {
  panel.append(make('h3', {}, 'Why it stalled'));
  const known = data.causes.includes(stall.cause) ? stall.cause : 'unknown';
  panel.append(make('p', {}, make('strong', { class: 'cause cause-' + known }, visible(stall.cause ?? 'unknown').replace('_', ' '))));
  const parts = [['cpu', 'on a processor', stall.cpu_ms], ['runqueue', 'waiting for a processor', stall.run_delay_ms], ['blocked', 'blocked', stall.blocked_ms]];
  const sum = parts.reduce((total, [, , ms]) => total + (isNumber(ms) ? ms : 0), 0);
  if (sum > 0) {
    const bar = make('div', { class: 'split', 'aria-hidden': 'true' });
    const legend = make('p', { class: 'note' });
    for (const [name, text, ms] of parts) {
      if (!isNumber(ms) || ms <= 0) continue;
      const part = make('span', { class: 'b-' + name });
      part.style.width = 100 * ms / sum + '%';
      bar.append(part);
      legend.append((legend.childNodes.length ? ' · ' : '') + duration(ms) + ' ' + text);
    }
    panel.append(bar, legend);
  }
  const call = stall.syscall && stall.syscall + (isNumber(stall.syscall_fd) ? ' on descriptor ' + stall.syscall_fd : '');
  fields(panel, [
    ['By the CPU quota', isNumber(stall.throttled_ms) && stall.throttled_ms > 0 ? duration(stall.throttled_ms) + ' of the wait for a processor' : null],
    ['System call', call], ['Its target', stall.syscall_target], ['Kernel function', stall.wchan],
    ['Events that are ready', typeof stall.pending !== 'boolean' ? null : !stall.pending ? 'none' : isNumber(stall.pending_ms) ? 'for at least ' + duration(stall.pending_ms) : 'yes'],
    ['In the kernel', isNumber(stall.system_ms) && stall.system_ms > 0 ? duration(stall.system_ms) + ' of the processor’s time' : null],
    ['Page faults', stall.major_faults || stall.minor_faults ? (stall.major_faults ?? 0) + ' with a read, ' + (stall.minor_faults ?? 0) + ' without' : null],
    ['Garbage collection', stall.gc === true ? 'in more than half of the samples' : null],
    ['Lock', stall.lock_kind && stall.lock_kind + (stall.lock_address ? ' at ' + stall.lock_address : '')],
    ['Its readers', isNumber(stall.lock_readers) ? stall.lock_readers + ', not known which threads' : null],
  ]);
}

function showCulprit(panel, stall) {
  panel.append(make('h3', {}, 'Culprit'));
  const [samples, matched, share, confidence] = [stall.samples, stall.samples_matched, stall.samples_share, stall.culprit_confidence];
  panel.append(stall.culprit ? make('p', { class: 'mono text' }, visible(stall.culprit)) : make('p', { class: 'none' }, 'No function could be named.'));
  const hasStack = list(stall.frames).length > 0;
  fields(panel, [
    ['Confidence', stall.culprit && isNumber(confidence) ? (100 * confidence).toFixed(0) + ' %' : null],
    ['Samples of the thread', isNumber(samples) ? samples + (hasStack && isNumber(matched) ? ', ' + matched + ' of them with this stack' : '') : null],
    ['Share of the time', hasStack && isNumber(share) ? (100 * share).toFixed(0) + ' % of the stall' : null],
  ]);
}

/** The URL of the trace; null if it is not known or the trace ID is invalid. */
function traceAddress(stall) {
  if (!data.trace_link || !/^[0-9a-f]{32}$/.test(stall.trace_id ?? '')) return null;
  const span = /^[0-9a-f]{16}$/.test(stall.span_id ?? '') ? stall.span_id : '';
  return data.trace_link.replaceAll('{trace_id}', stall.trace_id).replaceAll('{span_id}', span);
}

/** What the thread was working on: the request, its trace, the task. */
function showWork(panel, stall) {
  const [request, task] = [stall.request, stall.task];
  const state = Object.entries(stall.state ?? {});
  if (!request && !task && !stall.trace_id && list(stall.requests_open).length === 0 && state.length === 0) return;
  panel.append(make('h3', {}, 'What it was doing'));
  const openFor = (each) => (isNumber(each?.open_ms) ? ', open for ' + duration(each.open_ms) : '');
  fields(panel, [
    ['Request', request && (request.name ?? '') + openFor(request)],
    ...Object.entries(request?.attributes ?? {}),
    ['Task', task && (task.name ? task.name + ', ' : '') + 'number ' + (task.id ?? '?') + (isNumber(task.priority) ? ', priority ' + task.priority : '')],
    ['Trace', stall.trace_id], ['Span', stall.span_id],
    ...list(stall.requests_open).map((each) => [each?.running ? 'For part of it' : 'Also open', (each?.name ?? '') + openFor(each)]),
    ...state,
  ]);
  const address = traceAddress(stall);
  if (address) panel.append(make('p', {}, make('a', { id: 'detail-trace', href: address, rel: 'noopener noreferrer', target: '_blank' }, 'Show the trace')));
}

const threadName = (thread) => 'thread ' + (thread?.thread_id ?? '?') + (thread?.thread_name ? ' “' + thread.thread_name + '”' : '');

function showLock(panel, stall) {
  const showThreads = (title, threads) => {
    for (const [index, thread] of threads.entries()) {
      if (index === 0) panel.append(make('h3', {}, title));
      const waits = thread?.waits_for ? ', waits for the lock at ' + thread.waits_for : '';
      panel.append(make('p', { class: 'text' }, visible(threadName(thread) + waits)));
      showStack(panel, null, thread?.frames, stall);
    }
  };
  if (stall.lock_owner) showThreads('Who holds the lock', [stall.lock_owner]);
  showThreads('What the owner waits for', list(stall.lock_chain));
  showThreads('Deadlock: each waits for the next, the last for the first', list(stall.lock_cycle));
}

function showStack(panel, title, frames, stall) {
  const [known, total] = [list(frames), stall.frames_total ?? 0];
  if (title) panel.append(make('h3', {}, title));
  if (known.length === 0) {
    if (title) panel.append(make('p', { class: 'none' }, visible(stall.capture_error ? 'No stack: ' + stall.capture_error : 'No stack.')));
    return;
  }
  const element = make('ol', { class: 'stack' });
  for (const frame of known) element.append(frameItem(frame ?? {}, stall.culprit));
  if (title) {
    const missing = total - known.filter((frame) => !frame?.inlined).length;
    if (missing > 0) element.append(make('li', {}, missing + ' frames nearer to the root were left out of the line'));
  }
  panel.append(element);
}

function frameItem(frame, culprit) {
  const name = frame.symbol || (frame.offset ? (frame.module ?? '?') + '+' + frame.offset : frame.pc ?? '?');
  const isBlamed = Boolean(culprit) && frame.symbol === culprit;
  const item = make('li', { class: (frame.in_app ? 'app' : '') + (isBlamed ? ' blame' : '') }, make('span', { class: 'text' }, visible(name)));
  if (isBlamed) item.append(make('span', { class: 'tag' }, ' ← culprit'));
  if (frame.inlined) item.append(make('span', { class: 'tag' }, frame.tail_call ? ' tail call' : ' inlined'));
  const place = [frame.module && String(frame.module).split('/').pop(), frame.file && frame.file + (frame.line ? ':' + frame.line : '')].filter(Boolean);
  item.append(make('small', { class: 'text' }, visible(place.join(' · ') || frame.pc || '')));
  item.title = visible([frame.function, frame.module, frame.build_id && 'build ' + frame.build_id, frame.offset].filter(Boolean).join('\n'), 1500);
  return item;
}

function showWorkers(panel, stall) {
  const groups = list(stall.workers);
  if (groups.length === 0 && !stall.workers_total) return;
  panel.append(make('h3', {}, 'Workers of the pool' + (stall.workers_total ? ': ' + stall.workers_total : '')));
  groups.forEach((group, index) => {
    const threads = list(group?.thread_ids).join(', ');
    panel.append(make('p', { class: 'text' }, visible('Threads ' + threads + (index === 0 ? ', at the stack above' : ''))));
    showStack(panel, null, group?.frames, stall);
  });
}

/** All samples merged: a list in lists, with the time of each. */
function showTree(panel, stall) {
  if (list(stall.sample_tree).length === 0) return;
  panel.append(make('h3', {}, 'All samples, merged (root first)'));
  const element = make('ol', { class: 'stack' });
  // A name alone does not show whose code it is, unless the stack has it as well.
  const own = new Set(list(stall.frames).filter((frame) => frame?.in_app).map((frame) => frame.symbol));
  for (const frame of list(stall.frames)) if (frame && !frame.in_app) own.delete(frame.symbol);
  const show = (node, depth) => {
    const names = list(node?.frames);
    const item = make('li', { class: names.some((name) => own.has(name)) ? 'mixed' : '' }, make('strong', {}, duration(Number(node?.ms) || 0)));
    names.forEach((name, index) => item.append(make('span', { class: own.has(name) ? 'text own' : 'text' }, (index > 0 ? '› ' : '') + visible(name))));
    item.style.paddingLeft = 0.6 + Math.min(depth, 24) * 0.9 + 'rem';
    element.append(item);
    for (const child of list(node?.children)) if (element.childElementCount < 500) show(child, depth + 1);
  };
  for (const node of stall.sample_tree) show(node, 0);
  panel.append(element);
}

function showPlace(panel, stall) {
  panel.append(make('h3', {}, 'Where'));
  const version = stall.service_version ? ' ' + stall.service_version : '';
  fields(panel, [
    ['Host', stall.host_name], ['Service', stall.service_name && stall.service_name + version],
    ['Process', (stall.process_name ?? '') + '[' + (stall.pid ?? '?') + ']'], ['Thread', threadName(stall)],
    ['Loop', stall.loop], ['Activity', stall.activity && String(stall.activity).replaceAll('_', ' ')], ['Mode', stall.mode],
  ]);
}

/** What identifies the record, and the members that no other part of the panel has read. */
function showRecord(panel, stall, rest) {
  panel.append(make('h3', {}, 'Record'));
  const { kind, found_by: rules } = stall;
  fields(panel, [
    ['Fingerprint', stall.fingerprint], ['Id', stall.id], ['Incident', stall.incident], ['Found by', list(rules).join(', ') || kind], ['Severity', stall.severity],
    ['Duration known', isNumber(stall.duration_min_ms) ? 'between ' + duration(stall.duration_min_ms) + ' and ' + duration(stall.duration_max_ms ?? stall.duration_ms) : null],
    ['Not counted', isNumber(stall.excluded_ms) && stall.excluded_ms > 0 ? duration(stall.excluded_ms) + ' in which the process could not run' : null],
    ['Stack taken by', stall.capture], ['Stack error', stall.capture_error], ['Stack ends early', stall.unwind_end],
    ...rest().map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : value]),
  ]);
}
