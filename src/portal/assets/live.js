/* Live parts of pages, selected rows, and live lists of attempts. */
(() => {
  // A live update leaves open what the user opened.
  htmx.config.morphIgnore.push('open');
  // These selectors know no prefix.
  htmx.config.morphSkip = '[data-hx-morph-skip]';
  htmx.config.morphSkipChildren = '[data-hx-morph-skip-children]';

  // Reconnects at least every five seconds. The default of a minute is too long after a restart.
  htmx.config.sse = { ...htmx.config.sse, reconnectMaxDelay: 5000 };

  // Leaving the page breaks its streams. htmx takes a stream that was aborted for no error, and browsers break it before `pagehide`. If the
  // page stays, for example at a download, the stream goes on, and a later connection has a controller of its own.
  const connections = new Set();
  document.addEventListener('htmx:sse:after:connection', ({ detail }) => connections.add(detail.connection));
  document.addEventListener('htmx:sse:close', ({ detail }) => connections.delete(detail.connection));
  addEventListener('beforeunload', () => {
    for (const connection of connections) {
      const { abortController } = connection;
      connection.abortController = { abort: () => abortController.abort(), signal: { aborted: true } };
    }
  });

  // Selecting rows: their number, and all rows of the page together.
  const boxesOf = (form) => [...form.querySelectorAll('input[type="checkbox"][name="id"]')];
  const showChosen = (form) => {
    const boxes = boxesOf(form);
    const chosen = boxes.filter(({ checked }) => checked).length;
    const all = form.querySelector('[data-select-all-boxes]');
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
    form.querySelector('[data-selected]').textContent = chosen === 0 ? '' : `${chosen} selected`;
    const bar = form.querySelector('.selection-bar');
    bar.classList.toggle('is-chosen', chosen > 0);
    bar.querySelector('.button').disabled = chosen === 0;
  };
  const prepareSelections = (root) => {
    for (const form of root.querySelectorAll('[data-selection]')) {
      form.querySelector('.selection-all').hidden = false;
      showChosen(form);
    }
  };
  htmx.onLoad(prepareSelections);
  // Before new markup enters the page, so that a live update changes only what differs.
  document.addEventListener('htmx:before:swap', ({ detail: { tasks } }) => {
    for (const { fragment } of tasks) prepareSelections(fragment);
  });
  // While rows are selected, the list stays as it is: an update could remove one of them.
  document.addEventListener('htmx:sse:before:message', (event) => {
    if (event.detail.message.event) return;
    const { target } = event;
    if (target.querySelector('[data-selection] input[name="id"]:checked') === null) return;
    event.preventDefault();
    target.dataset.outdated = 'true';
  });
  const catchUp = (form) => {
    const list = form.closest('[data-outdated]');
    if (list === null || boxesOf(form).some(({ checked }) => checked)) return;
    delete list.dataset.outdated;
    htmx.ajax('GET', location.href, { target: `#${list.id}`, swap: 'outerMorph' });
  };
  document.addEventListener('change', ({ target }) => {
    const form = target instanceof Element ? target.closest('[data-selection]') : null;
    if (form === null) return;
    if (target.matches('[data-select-all-boxes]')) for (const box of boxesOf(form)) box.checked = target.checked;
    showChosen(form);
    catchUp(form);
  });

  // Live lists of attempts: newest first, a bounded number, and they can be paused.
  const boxOf = ({ target }) => (target instanceof Element ? target.closest('[data-tail]') : null);
  const is = (box, what) => box.dataset[what] === 'true';
  const showState = (box) => {
    const mark = box.querySelector('[data-tail-live]');
    mark.hidden = false;
    mark.textContent = !is(box, 'connected') ? 'Not connected' : is(box, 'paused') ? 'Paused' : 'Live';
    mark.classList.toggle('is-live', is(box, 'connected') && !is(box, 'paused'));
  };

  // New rows of a paused list wait, as many as the list keeps.
  const waiting = new WeakMap();
  const listOf = (box) => {
    if (!is(box, 'paused')) return box.querySelector('.tail');
    if (!waiting.has(box)) waiting.set(box, document.createElement('ol'));
    return waiting.get(box);
  };
  const trim = (box) => {
    const rows = [...listOf(box).children].filter((row) => !row.matches('.tail-empty'));
    for (const row of rows.slice(Number(box.dataset.tail))) row.remove();
  };
  const release = (box) => {
    const rows = [...(waiting.get(box)?.children ?? [])];
    waiting.delete(box);
    listOf(box).prepend(...rows);
    for (const row of rows) htmx.process(row);
    trim(box);
  };
  // Attempts may be missing after the connection broke. One note says so.
  const markGap = (box) => {
    const list = listOf(box);
    if (list.firstElementChild?.matches('[data-tail-gap]')) return;
    const gap = document.createElement('li');
    gap.className = 'tail-note';
    gap.dataset.tailGap = '';
    gap.textContent = 'The connection was lost. Attempts in between are missing. Reload the page to see them.';
    list.prepend(gap);
    trim(box);
  };

  document.addEventListener('htmx:sse:after:connection', (event) => {
    const box = boxOf(event);
    if (box === null) return;
    if (box.dataset.connected === 'false') markGap(box);
    box.dataset.connected = 'true';
    box.querySelector('[data-tail-pause]').hidden = false;
    box.querySelector('[data-tail-still]').hidden = true;
    showState(box);
  });
  // If a stream ends without an error, only the next connection tells.
  for (const name of ['htmx:sse:before:connection', 'htmx:sse:error', 'htmx:sse:close']) {
    document.addEventListener(name, (event) => {
      const box = boxOf(event);
      if (box === null || !is(box, 'connected')) return;
      box.dataset.connected = 'false';
      showState(box);
    });
  }
  document.addEventListener('htmx:sse:before:message', (event) => {
    const box = boxOf(event);
    const { message } = event.detail;
    if (box === null || !is(box, 'paused') || message.event) return;
    event.preventDefault();
    const came = document.createElement('template');
    came.innerHTML = message.data;
    listOf(box).prepend(came.content);
    trim(box);
  });
  document.addEventListener('htmx:sse:after:message', (event) => {
    const box = boxOf(event);
    if (box !== null) trim(box);
  });
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('[data-tail-pause]') : null;
    if (button === null) return;
    const box = boxOf(event);
    box.dataset.paused = String(!is(box, 'paused'));
    button.setAttribute('aria-pressed', box.dataset.paused);
    if (!is(box, 'paused')) release(box);
    showState(box);
  });
})();
