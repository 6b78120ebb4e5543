/* The list of deliveries with the chosen one beside it. Links, Ctrl-click and Back work as without this script. */
(() => {
  const panelOf = () => document.getElementById('panel');
  const isWide = () => matchMedia('(min-width: 62rem)').matches;
  const rowsOf = () => [...document.querySelectorAll('.delivery-list tbody > [id^="delivery-"]')];
  const linkOf = (row) => row.querySelector('.cell-main a');
  const idOf = (row) => row.id.slice('delivery-'.length);
  const openId = () => new URL(location.href).searchParams.get('open');
  const addressWith = (id) => {
    const url = new URL(location.href);
    if (id === null) url.searchParams.delete('open');
    else url.searchParams.set('open', id);
    return url.pathname + url.search;
  };

  // Live updates know nothing of the chosen row.
  const mark = () => {
    if (panelOf() === null) return;
    const id = openId();
    for (const row of rowsOf()) {
      if (idOf(row) === id) row.setAttribute('aria-current', 'true');
      else row.removeAttribute('aria-current');
    }
  };
  const showSteps = () => {
    for (const button of document.querySelectorAll('[data-panel-step]')) button.hidden = false;
  };
  htmx.onLoad(() => {
    mark();
    showSteps();
  });
  document.addEventListener('htmx:after:swap', mark);

  // The list gets narrower or wider. The row stays where it is, under the pointer.
  const keeping = (row, change) => {
    const before = row?.getBoundingClientRect().top;
    change();
    if (row?.isConnected) scrollBy({ top: row.getBoundingClientRect().top - before, behavior: 'instant' });
  };

  let request = null;
  const open = async (row) => {
    const link = linkOf(row);
    const [id, before, panel] = [idOf(row), openId(), panelOf()];
    request?.abort();
    request = new AbortController();
    const { signal } = request;
    let response;
    let text;
    try {
      response = await fetch(link.href, { headers: { 'HX-Request': 'true', Accept: 'text/html' }, signal });
      text = await response.text();
    } catch {
      if (!signal.aborted) location.assign(link.href);
      return;
    }
    // The page shows the problem, or asks for the password.
    if (!response.ok || response.headers.has('HX-Redirect')) return location.assign(link.href);
    const target = document.getElementById('panel-content');
    await htmx.swap({ sourceElement: target, target, swap: 'innerHTML', text });
    panel.querySelector('[data-panel-page]').href = link.href;
    keeping(row, () => {
      panel.hidden = false;
      document.getElementById('deliveries').classList.add('has-panel');
    });
    panel.scrollTop = 0;
    // One step of the history, however many deliveries were looked at.
    const address = addressWith(id);
    if (before === null) history.pushState({ htmx: true }, '', address);
    else if (before !== id) history.replaceState({ htmx: true }, '', address);
    mark();
    document.getElementById('announcer').textContent = `${link.textContent} is shown beside the list.`;
  };
  const close = () => {
    request?.abort();
    const panel = panelOf();
    const row = rowsOf().find((one) => idOf(one) === openId());
    keeping(row, () => {
      panel.hidden = true;
      document.getElementById('deliveries').classList.remove('has-panel');
    });
    const target = document.getElementById('panel-content');
    htmx.swap({ sourceElement: target, target, swap: 'innerHTML', text: '<span></span>' });
    history.replaceState({ htmx: true }, '', addressWith(null));
    mark();
    if (row !== undefined) linkOf(row).focus({ preventScroll: true });
  };

  // The row above or below the chosen one, or the one with the focus; the first without one.
  const rowBeside = (step) => {
    const rows = rowsOf();
    const at = rows.findIndex((row) => row.hasAttribute('aria-current') || row.contains(document.activeElement));
    return at === -1 ? rows[0] : rows[at + step];
  };

  document.addEventListener('click', (event) => {
    const { target, button } = event;
    if (event.defaultPrevented || button !== 0 || panelOf() === null || !(target instanceof Element)) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (target.closest('[data-panel-close]') !== null) {
      event.preventDefault();
      close();
      return;
    }
    const stepped = target.closest('[data-panel-step]');
    if (stepped !== null) {
      const row = rowBeside(Number(stepped.dataset.panelStep));
      row?.scrollIntoView({ block: 'nearest' });
      if (row !== undefined) void open(row);
      return;
    }
    const row = target.closest('.delivery-list tbody > [id^="delivery-"]');
    const inner = target.closest('a, button, input, label');
    if (row === null || (inner !== null && inner !== linkOf(row)) || !getSelection().isCollapsed) return;
    if (isWide()) {
      event.preventDefault();
      void open(row);
    } else if (inner === null) linkOf(row).click();
  });

  // A form in the panel comes back to the list.
  document.addEventListener('formdata', ({ target, formData }) => {
    if (target.closest('#panel') !== null) formData.set('back', location.pathname + location.search);
  });

  const isTyping = (target) =>
    target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select') !== null;
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || panelOf() === null || isTyping(target)) return;
    if (document.querySelector('dialog[open]') !== null) return;
    if (key === 'Escape' && !panelOf().hidden) close();
    const step = { j: 1, k: -1 }[key];
    if (step === undefined) return;
    const row = rowBeside(step);
    if (row === undefined) return;
    linkOf(row).focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
    if (isWide()) void open(row);
  });

  // Backspace in the empty search field removes the last filter.
  document.addEventListener('keydown', ({ key, target }) => {
    if (key !== 'Backspace' || !(target instanceof Element) || !target.matches('[data-search-line] [name=q]')) return;
    if (target.value === '') target.closest('form').querySelector('li:last-child > .chip')?.click();
  });
})();
