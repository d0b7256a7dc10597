// Keeps the page "now" up to date. Everything works without it, too, when the page is loaded again.
'use strict';

const KEEP = 300; // rows

function fill(template, data) {
  const part = document.getElementById(template).content.cloneNode(true);
  for (const at of part.querySelectorAll('[data-f]')) at.textContent = data[at.dataset.f];
  for (const link of part.querySelectorAll('[data-href]')) link.href = link.dataset.href + encodeURIComponent(data.id);
  for (const input of part.querySelectorAll('input[name]')) input.value = data[input.name];
  return part;
}

function showCalls(done, calls) {
  for (const call of calls) {
    if (done.querySelector(`[data-id="${CSS.escape(call.id)}"]`)) continue;
    const part = fill('done-row', call);
    const row = part.querySelector('tr');
    row.dataset.id = call.id;
    row.className = call.outcome;
    done.prepend(part);
  }
  while (done.rows.length > KEEP) done.lastElementChild.remove();
  document.getElementById('none').hidden = done.rows.length > 0;
}

function showState(status, state) {
  status.textContent = `${state.processes} servers, ${state.clients} clients, live`;
  document.getElementById('approvals').textContent = state.approvals || '';
  const flight = document.getElementById('flight');
  if (flight.contains(document.activeElement)) return; // nobody loses the button they are about to press
  flight.replaceChildren(...state.running.map((call) => fill('running-row', call)));
}

const status = document.getElementById('status');
const done = document.getElementById('done');
let events;

// Only a page that is seen has a connection: a browser opens no more than six to a server, and further pages would wait for one.
function watch() {
  events?.close();
  if (document.hidden) return;
  events = new EventSource(status.dataset.events);
  events.addEventListener('calls', (event) => showCalls(done, JSON.parse(event.data)));
  events.addEventListener('state', (event) => showState(status, JSON.parse(event.data)));
  events.addEventListener('error', () => {
    status.textContent = 'The console does not answer; trying again';
    if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  });
}

if (status) {
  document.addEventListener('visibilitychange', watch);
  watch();
}
