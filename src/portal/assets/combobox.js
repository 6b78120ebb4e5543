/* Fields with suggestions: a list of the portal's own look in place of the browser's. Without it, the browser shows its own. */
(() => {
  const SHOWN_MAX = 50;
  let made = 0;

  const offersOf = (field) => document.getElementById(field.dataset.offers)?.options ?? [];
  const listOf = (field) => document.getElementById(field.getAttribute('aria-controls'));
  const isSearchLine = (field) => field.form?.matches('[data-search-line]') === true;

  /** The typed text that suggestions complete: in the search line the last word, which may have quotes. */
  const wordOf = (field) => (isSearchLine(field) ? /(?:"[^"]*"?|[^\s"])*$/.exec(field.value)[0] : field.value.trim());

  /** Suggestions with the typed text, first the ones that begin with it. A field whose suggestions the server finds offers them all. */
  const fitting = (field) => {
    const typed = wordOf(field).toLowerCase();
    const all = [...offersOf(field)].map(({ value, label }) => ({ value, note: label === value ? '' : label }));
    if (field.dataset.hxGet !== undefined) return all.slice(0, SHOWN_MAX);
    const begins = ({ value }) => value.toLowerCase().startsWith(typed);
    const found = all.filter(({ value, note }) => `${value} ${note}`.toLowerCase().includes(typed));
    return found.toSorted((a, b) => Number(begins(b)) - Number(begins(a))).slice(0, SHOWN_MAX);
  };

  const hide = (field) => {
    const list = listOf(field);
    if (list === null) return;
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };

  const show = (field) => {
    const list = listOf(field);
    const offers = fitting(field);
    // Nothing is left to choose.
    if (offers.length === 0 || (offers.length === 1 && offers[0].value === field.value)) return hide(field);
    list.replaceChildren(
      ...offers.map(({ value, note }, at) => {
        const option = document.createElement('li');
        option.id = `${list.id}-${at}`;
        option.dataset.value = value;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        const text = document.createElement(isSearchLine(field) ? 'code' : 'b');
        text.textContent = value;
        option.append(text);
        if (note !== '') {
          const about = document.createElement('span');
          about.textContent = note;
          option.append(' ', about);
        }
        return option;
      }),
    );
    field.removeAttribute('aria-activedescendant');
    list.hidden = false;
    list.scrollTop = 0;
    list.style.top = `${field.offsetTop + field.offsetHeight + 4}px`;
    list.style.left = `${field.offsetLeft}px`;
    list.style.minWidth = `${field.offsetWidth}px`;
    field.setAttribute('aria-expanded', 'true');
    const announcer = document.getElementById('announcer');
    const count = `${offers.length} ${offers.length === 1 ? 'suggestion' : 'suggestions'}`;
    if (announcer !== null) announcer.textContent = `${count}, arrow down to choose`;
  };

  const mark = (field, option) => {
    for (const one of listOf(field).children) one.setAttribute('aria-selected', String(one === option));
    field.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({ block: 'nearest' });
  };

  const take = (field, { value }) => {
    field.value =
      field.value.slice(0, field.value.length - (isSearchLine(field) ? wordOf(field) : field.value).length) + value;
    hide(field);
    if (isSearchLine(field)) return field.form.requestSubmit();
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
    // What came with the choice.
    hide(field);
  };

  const enhance = (field) => {
    const options = document.getElementById(field.getAttribute('list'));
    if (options === null) return;
    // The browser would show its own list too.
    field.dataset.offers = options.id;
    field.removeAttribute('list');
    const list = document.createElement('ul');
    made += 1;
    list.id = `offers-${made}`;
    list.className = 'combobox-list';
    list.setAttribute('role', 'listbox');
    list.setAttribute('aria-label', 'Suggestions');
    list.hidden = true;
    options.after(list);
    for (const [name, value] of Object.entries({
      role: 'combobox',
      autocomplete: 'off',
      'aria-autocomplete': 'list',
      'aria-controls': list.id,
      'aria-expanded': 'false',
    }))
      field.setAttribute(name, value);
    // Before the field loses the focus.
    list.addEventListener('mousedown', (event) => event.preventDefault());
    list.addEventListener('click', ({ target }) => {
      const option = target.closest('[role="option"]');
      if (option !== null) take(field, option.dataset);
    });
    // Suggestions that the server found for the typed text.
    new MutationObserver(() => {
      if (document.activeElement === field && (field.dataset.asks === 'true' || !list.hidden)) show(field);
    }).observe(options, { childList: true });
  };

  /** The first suggestions of the server are asked for as soon as somebody wants to see them. */
  const ask = (field) => {
    field.dataset.asks = 'true';
    const { hxGet, offers, hxTarget } = field.dataset;
    if (hxGet === undefined || document.getElementById(offers).options.length > 0) return show(field);
    const url = new URL(hxGet, location.href);
    url.searchParams.set(field.name, field.value);
    void htmx.ajax('GET', url.pathname + url.search, { target: hxTarget, swap: 'innerHTML' });
  };

  htmx.onLoad((root) => {
    for (const field of root.querySelectorAll('input[list]')) enhance(field);
  });
  // A field that a script made.
  document.addEventListener('focusin', ({ target }) => {
    if (target.matches('input[list]')) enhance(target);
  });
  document.addEventListener('focusout', ({ target }) => {
    if (target.dataset?.offers === undefined) return;
    target.dataset.asks = 'false';
    hide(target);
  });
  document.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.matches('input[data-offers]')) ask(target);
  });
  document.addEventListener('input', ({ target, isTrusted }) => {
    if (!isTrusted || target.dataset?.offers === undefined) return;
    target.dataset.asks = 'true';
    show(target);
  });
  // In the capture phase: a key that chooses does nothing else.
  document.addEventListener(
    'keydown',
    (event) => {
      const { key, target: field } = event;
      if (!(field instanceof Element) || !field.matches('input[data-offers]') || event.isComposing) return;
      const list = listOf(field);
      const step = { ArrowDown: 1, ArrowUp: -1 }[key];
      if (list.hidden) {
        if (step === undefined) return;
        event.preventDefault();
        return ask(field);
      }
      const options = [...list.children];
      const active = options.findIndex((one) => one.getAttribute('aria-selected') === 'true');
      if (step !== undefined) {
        event.preventDefault();
        const next = active === -1 ? (step === 1 ? 0 : options.length - 1) : active + step;
        mark(field, options[(next + options.length) % options.length]);
      } else if (key === 'Enter' && active !== -1) {
        event.preventDefault();
        event.stopImmediatePropagation();
        take(field, options[active].dataset);
      } else if (key === 'Enter' || key === 'Tab') hide(field);
      else if (key === 'Escape') {
        event.preventDefault();
        event.stopImmediatePropagation();
        hide(field);
      }
    },
    true,
  );
})();
