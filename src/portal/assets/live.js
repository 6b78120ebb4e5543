/* What goes on while one looks: parts that are sent anew, rows that are chosen. */
(() => {
  // What was folded out stays so when a part is sent anew.
  htmx.config.morphIgnore.push('open');

  const ready = (work) => {
    document.addEventListener('htmx:after:process', ({ target }) => work(target));
    if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => work(document));
    else work(document);
  };

  // Choosing rows: how many are, and all of the page at once.
  const boxesOf = (form) => [...form.querySelectorAll('input[type="checkbox"][name="id"]')];
  const showChosen = (form) => {
    const boxes = boxesOf(form);
    const chosen = boxes.filter(({ checked }) => checked).length;
    const all = form.querySelector('[data-select-all-boxes]');
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
    form.querySelector('[data-selected]').textContent = chosen === 0 ? '' : `${chosen} chosen`;
    const bar = form.querySelector('.selection-bar');
    bar.classList.toggle('is-chosen', chosen > 0);
    bar.querySelector('.button').disabled = chosen === 0;
  };
  ready((root) => {
    for (const form of root.querySelectorAll('[data-selection]')) {
      form.querySelector('.selection-all').hidden = false;
      showChosen(form);
    }
  });
  document.addEventListener('change', ({ target }) => {
    const form = target instanceof Element ? target.closest('[data-selection]') : null;
    if (form === null) return;
    if (target.matches('[data-select-all-boxes]')) for (const box of boxesOf(form)) box.checked = target.checked;
    showChosen(form);
  });

  // Live tails: what came last stands first, so much of it is kept, and it can be held still.
  const boxOf = ({ target }) => (target instanceof Element ? target.closest('[data-tail]') : null);
  const say = (box, text, isLive) => {
    const mark = box.querySelector('[data-tail-live]');
    mark.hidden = false;
    mark.textContent = text;
    mark.classList.toggle('is-live', isLive);
  };
  ready((root) => {
    for (const button of root.querySelectorAll('[data-tail-pause][hidden]')) button.hidden = false;
    for (const hint of root.querySelectorAll('[data-tail-still]')) hint.hidden = true;
  });
  document.addEventListener('htmx:sse:after:connection', (event) => {
    const box = boxOf(event);
    if (box !== null) say(box, 'Live', true);
  });
  for (const name of ['htmx:sse:error', 'htmx:sse:close']) {
    document.addEventListener(name, (event) => {
      const box = boxOf(event);
      if (box !== null) say(box, 'Not connected', false);
    });
  }
  document.addEventListener('htmx:sse:before:message', (event) => {
    const box = boxOf(event);
    if (box?.dataset.paused === 'true' && !event.detail.message.event) event.preventDefault();
  });
  document.addEventListener('htmx:sse:after:message', (event) => {
    const box = boxOf(event);
    if (box === null) return;
    const rows = box.querySelectorAll('.tail > li:not(.tail-empty)');
    for (const row of [...rows].slice(Number(box.dataset.tail))) row.remove();
  });
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('[data-tail-pause]') : null;
    if (button === null) return;
    const box = boxOf(event);
    const isPaused = box.dataset.paused !== 'true';
    box.dataset.paused = String(isPaused);
    button.setAttribute('aria-pressed', String(isPaused));
    say(box, isPaused ? 'Held still' : 'Live', !isPaused);
  });
})();
