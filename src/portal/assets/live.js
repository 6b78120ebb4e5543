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
  const takeForAborted = (connection) => {
    const { abortController } = connection;
    connection.abortController = { abort: () => abortController.abort(), signal: { aborted: true } };
  };
  // A stream can connect while the next page is awaited. Longer than a page takes on a busy machine.
  const LEAVING_MS = 10_000;
  let leftAt = Number.NEGATIVE_INFINITY;
  document.addEventListener('htmx:sse:after:connection', ({ detail: { connection } }) => {
    connections.add(connection);
    if (performance.now() - leftAt < LEAVING_MS) takeForAborted(connection);
  });
  document.addEventListener('htmx:sse:close', ({ detail }) => connections.delete(detail.connection));
  addEventListener('beforeunload', () => {
    leftAt = performance.now();
    for (const connection of connections) takeForAborted(connection);
  });

  // Selecting rows: their number, and all rows of the page together.
  // They are not named "id": `form.id` would then be one of them, and htmx would take the form for another one at each update.
  const boxesOf = (form) => [...form.querySelectorAll('input[type="checkbox"][name="chosen"]')];
  const showChosen = (form) => {
    const boxes = boxesOf(form);
    const chosen = boxes.filter(({ checked }) => checked).length;
    for (const all of form.querySelectorAll('[data-select-all-boxes]')) {
      all.checked = chosen > 0 && chosen === boxes.length;
      all.indeterminate = chosen > 0 && chosen < boxes.length;
      all.disabled = boxes.length === 0;
    }
    form.querySelector('[data-selected]').textContent = chosen === 0 ? '' : `${chosen} selected`;
    form.querySelector('.selection-bar .button').disabled = chosen === 0;
  };
  const prepareSelections = (root) => {
    for (const form of root.querySelectorAll('[data-selection]')) {
      for (const all of form.querySelectorAll('.selection-all, thead [data-select-all-boxes]')) all.hidden = false;
      showChosen(form);
    }
  };
  htmx.onLoad(prepareSelections);
  // Before new markup enters the page, so that a live update changes only what differs.
  document.addEventListener('htmx:before:swap', ({ detail: { tasks } }) => {
    for (const { fragment } of tasks) prepareSelections(fragment);
  });
  document.addEventListener('change', ({ target }) => {
    const form = target instanceof Element ? target.closest('[data-selection]') : null;
    if (form === null) return;
    if (target.matches('[data-select-all-boxes]')) for (const box of boxesOf(form)) box.checked = target.checked;
    showChosen(form);
  });
  // New markup has no selection.
  document.addEventListener('htmx:after:swap', () => {
    for (const form of document.querySelectorAll('[data-selection]')) showChosen(form);
  });

  // Live lists. Nothing moves under the reader: while a list is hovered, has the focus or a selection, or is scrolled, its rows change
  // where they are, rows that left it stay, and new ones wait behind a button. A table whose rows have no ids stays as it is.
  const listsIn = (root) =>
    [...root.querySelectorAll('[data-live-list], .table-box')].filter(
      (list) => !list.parentElement?.closest('[data-live-list]'),
    );
  const rowsOf = (list) => [...list.querySelectorAll(':is(tbody, .tail) > [id]')];
  const nameOf = (list) =>
    (list.matches('[aria-label]') ? list : list.querySelector('[aria-label]'))?.getAttribute('aria-label');
  const isFirstScreen = (list) => list.getBoundingClientRect().top + scrollY < innerHeight;
  // A frame is as high as its content, and the page around it scrolls: a list is scrolled if its head is out of sight, but not the list.
  const inSight = new WeakSet();
  const headOf = (list) => list.querySelector('thead, .tail > :first-child') ?? list;
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) isIntersecting ? inSight.add(target) : inSight.delete(target);
    reconsider();
  });
  const isFramed = parent !== window;
  htmx.onLoad((root) => {
    if (isFramed) for (const list of listsIn(root)) for (const part of [list, headOf(list)]) sight.observe(part);
  });
  const isScrolled = (list) => {
    if (!list.matches('[data-live-list]')) return false;
    if (isFramed && inSight.has(list) && !inSight.has(headOf(list))) return true;
    const barEnd = document.querySelector('.top')?.getBoundingClientRect().bottom ?? 0;
    return isFirstScreen(list) ? scrollY > 4 : list.getBoundingClientRect().top < barEnd;
  };
  const hasSelected = (list) => {
    const selection = getSelection();
    const hasText = selection !== null && !selection.isCollapsed && list.contains(selection.anchorNode);
    return hasText || list.querySelector('input:checked, [aria-current]') !== null;
  };
  const isHeld = (list) =>
    list.matches(':hover') || list.contains(document.activeElement) || hasSelected(list) || isScrolled(list);

  // The lists for which something waits, and by stream the newest content that was not shown as a whole.
  const outdated = new WeakSet();
  const newest = new Map();
  const label = (list, count, isMore) => {
    const [one, many] = list.dataset.liveList.split('|');
    return count === 0 ? 'Show changes' : `${count}${isMore ? '+' : ''} new ${count === 1 && !isMore ? one : many}`;
  };
  const showPill = (list, text) => {
    const pill = list.querySelector('[data-live-pill]');
    pill.hidden = text === null;
    pill.querySelector('button').textContent = text ?? '';
  };
  // Puts the present rows in the place of the new ones. Returns whether this leaves a difference.
  const hold = (list, came) => {
    const shown = rowsOf(list);
    const rows = new Map(rowsOf(came).map((row) => [row.id, row]));
    if (shown.length === 0 || rows.size === 0) {
      const isSame = list.isEqualNode(came);
      if (!isSame) came.replaceWith(list.cloneNode(true));
      return !isSame;
    }
    const known = new Set(shown.map(({ id }) => id));
    const order = [...rows.keys()];
    const lastKnown = order.findLastIndex((id) => known.has(id));
    const fresh = order.filter((id, at) => !known.has(id) && (at < lastKnown || lastKnown === -1));
    const lastStaying = shown.findLastIndex(({ id }) => rows.has(id));
    const container = rows.get(order[0]).parentElement;
    for (const id of order) if (!known.has(id)) rows.get(id).remove();
    const kept = shown.map((row, at) => {
      const other = rows.get(row.id);
      if (other !== undefined && row.querySelector('input:checked') === null) return other;
      const copy = row.cloneNode(true);
      // Rows below the last one of the page were only pushed out of it.
      copy.classList.toggle('has-left', other === undefined && at < lastStaying);
      return copy;
    });
    for (const id of known) rows.get(id)?.remove();
    container.prepend(...kept);
    const stays = order.filter((id) => known.has(id));
    const isSame = fresh.length === 0 && stays.join() === shown.map(({ id }) => id).join();
    const hasLeft = kept.some((row) => row.matches('.has-left'));
    if (fresh.length > 0 || hasLeft) showPill(came, label(list, fresh.length, lastKnown === -1));
    return !isSame;
  };
  // The content as it can be shown now: as it came, but with the lists that are held. Null: it has to wait.
  const showable = (target, data, forced) => {
    const template = document.createElement('template');
    template.innerHTML = data;
    const all = listsIn(template.content);
    let isWhole = true;
    for (const list of listsIn(target)) {
      const came = all.find((other) => nameOf(other) === nameOf(list));
      outdated.delete(list);
      if (list === forced || !isHeld(list)) continue;
      if (came !== undefined && !hold(list, came)) continue;
      outdated.add(list);
      isWhole = false;
      if (came === undefined) {
        newest.set(target, data);
        return null;
      }
    }
    if (isWhole) newest.delete(target);
    else newest.set(target, data);
    return template.innerHTML;
  };
  const show = (target, forced) => {
    const text = showable(target, newest.get(target), forced);
    if (text !== null) htmx.swap({ sourceElement: target, target, swap: 'innerMorph swapEmpty:false', text });
  };
  document.addEventListener('htmx:sse:before:message', (event) => {
    const { message } = event.detail;
    if (message.event || event.target.dataset.hxSwap !== 'innerMorph') return;
    const text = showable(event.target, message.data, null);
    if (text === null) event.preventDefault();
    else message.data = text;
  });

  // New rows that were kept back are shown when the reader lets go of the list.
  let isAsked = false;
  const reconsider = () => {
    if (isAsked) return;
    isAsked = true;
    setTimeout(() => {
      isAsked = false;
      for (const target of newest.keys()) {
        if (!target.isConnected) newest.delete(target);
        else if (listsIn(target).some((list) => outdated.has(list) && !isHeld(list))) show(target, null);
      }
      for (const box of document.querySelectorAll('[data-tail]')) if (!isWaiting(box)) release(box);
    }, 100);
  };
  for (const name of ['pointerover', 'focusout', 'selectionchange', 'change']) {
    document.addEventListener(name, reconsider);
  }
  document.documentElement.addEventListener('pointerleave', reconsider);
  document.addEventListener('scroll', reconsider, { capture: true, passive: true });

  const showAll = (list) => {
    const box = list.closest('[data-tail]');
    const target = [...newest.keys()].find((one) => one.contains(list));
    if (box !== null) release(box);
    else if (target !== undefined) show(target, list);
    if (list.contains(document.activeElement)) document.activeElement.blur();
    if (isFirstScreen(list)) scrollTo({ top: 0 });
    else list.scrollIntoView();
  };
  document.addEventListener('click', ({ target }) => {
    const pill = target instanceof Element ? target.closest('[data-live-pill] button') : null;
    if (pill !== null) showAll(pill.closest('[data-live-list]'));
  });
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (key !== '.' || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select')) return;
    for (const pill of document.querySelectorAll('[data-live-pill]:not([hidden]) button')) pill.click();
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

  // New rows of a list that is paused or held wait, as many as the list keeps.
  const waiting = new WeakMap();
  const isWaiting = (box) => is(box, 'paused') || isHeld(box.querySelector('[data-live-list]'));
  const listOf = (box) => {
    if (!isWaiting(box)) return box.querySelector('.tail');
    if (!waiting.has(box)) waiting.set(box, document.createElement('ol'));
    return waiting.get(box);
  };
  const trim = (box, list = listOf(box)) => {
    const rows = [...list.children].filter((row) => !row.matches('.tail-empty'));
    for (const row of rows.slice(Number(box.dataset.tail))) row.remove();
  };
  // The cause of a failure stands where it changes (`isRepeated` in live-pages.ts).
  const foldRepeats = (list) => {
    let above = null;
    for (const row of list.querySelectorAll(':scope > .tail-row')) {
      const hint = row.querySelector('.tail-what > .cell-hint');
      const told = hint && `${row.querySelector('.tail-webhook')?.textContent} ${hint.textContent}`;
      if (hint !== null) hint.hidden = told === above;
      above = told;
    }
  };
  const countWaiting = (box) => {
    const rows = [...(waiting.get(box)?.children ?? [])].filter((row) => row.matches('.tail-row'));
    const list = box.querySelector('[data-live-list]');
    showPill(list, rows.length === 0 ? null : label(list, rows.length, rows.length >= Number(box.dataset.tail)));
  };
  const release = (box) => {
    if (!waiting.has(box)) return;
    const rows = [...waiting.get(box).children];
    const list = box.querySelector('.tail');
    waiting.delete(box);
    list.prepend(...rows);
    for (const row of rows) htmx.process(row);
    trim(box, list);
    foldRepeats(list);
    countWaiting(box);
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
    if (box === null || !isWaiting(box) || message.event) return;
    event.preventDefault();
    const came = document.createElement('template');
    came.innerHTML = message.data;
    listOf(box).prepend(came.content);
    trim(box);
    countWaiting(box);
  });
  document.addEventListener('htmx:sse:after:message', (event) => {
    const box = boxOf(event);
    if (box === null) return;
    trim(box);
    foldRepeats(box.querySelector('.tail'));
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
