/* Fields with suggestions: a list of the portal's own look in place of the browser's. Without it, the browser shows its own. */
(() => {
  const SHOWN_MAX = 50;
  let made = 0;

  const offersOf = (field) => document.getElementById(field.dataset.offers)?.options ?? [];
  const listOf = (field) => document.getElementById(field.getAttribute('aria-controls'));
  const isPicker = (field) => field.form?.matches('[data-search-line]') === true;
  const isSearchLine = (field) => isPicker(field) && field.name === 'q';

  /** The typed text that suggestions complete: in the search line the last word, which may have quotes. */
  const wordOf = (field) => (isSearchLine(field) ? /(?:"[^"]*"?|[^\s"])*$/.exec(field.value)[0] : field.value.trim());

  /** Suggestions with the typed text, first the ones that begin with it. A field whose suggestions the server finds offers them all. */
  const fitting = (field) => {
    // What a searched list has chosen is no search.
    const typed = field.value === field.dataset.chosen ? '' : wordOf(field).toLowerCase();
    const all = [...offersOf(field)].map(({ value, label }) => ({ text: value, note: label === value ? '' : label }));
    if (field.dataset.hxGet !== undefined) return all.slice(0, SHOWN_MAX);
    const begins = ({ text }) => text.toLowerCase().startsWith(typed);
    const found = all.filter(({ text, note }) => `${text} ${note}`.toLowerCase().includes(typed));
    return found.toSorted((a, b) => Number(begins(b)) - Number(begins(a))).slice(0, SHOWN_MAX);
  };

  const hide = (field) => {
    const list = listOf(field);
    if (list === null) return;
    suggestionList.hide(field, list);
    field.setAttribute('aria-expanded', 'false');
  };

  const show = (field) => {
    const list = listOf(field);
    const offers = fitting(field);
    // Nothing is left to choose.
    if (offers.length === 0 || (offers.length === 1 && offers[0].text === field.value)) return hide(field);
    suggestionList.show(field, list, offers, isSearchLine(field) ? 'code' : 'b');
    list.style.left = `${field.offsetLeft}px`;
    list.style.minWidth = `${field.offsetWidth}px`;
    field.setAttribute('aria-expanded', 'true');
  };

  /** Hides the list until the field is used again, also if an answer of the server comes later. */
  const close = (field) => {
    field.dataset.asks = 'false';
    hide(field);
  };

  const take = (field, value) => {
    field.value =
      field.value.slice(0, field.value.length - (isSearchLine(field) ? wordOf(field) : field.value).length) + value;
    close(field);
    if (isPicker(field)) return field.form.requestSubmit();
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
    // What came with the choice.
    hide(field);
  };

  const textOf = (list, at) => list.children[at].firstChild.textContent;

  const enhance = (field) => {
    const options = document.getElementById(field.getAttribute('list'));
    if (options === null) return;
    // The browser would show its own list too.
    field.dataset.offers = options.id;
    field.removeAttribute('list');
    made += 1;
    const list = suggestionList.make(`offers-${made}`, 'combobox-list', (at) => take(field, textOf(list, at)));
    options.after(list);
    for (const [name, value] of Object.entries({
      role: 'combobox',
      autocomplete: 'off',
      'aria-autocomplete': 'list',
      'aria-controls': list.id,
      'aria-expanded': 'false',
    }))
      field.setAttribute(name, value);
    // Suggestions that the server found for the typed text.
    new MutationObserver(() => {
      if (document.activeElement === field && (field.dataset.asks === 'true' || !list.hidden)) show(field);
    }).observe(options, { childList: true });
  };

  const SEARCHED_FROM = 10;

  /** A long list of choices is searched: a field represents the list, which stays in the form and has the value. */
  const search = (select) => {
    const choices = [...select.options].filter(({ value, disabled }) => value !== '' && !disabled);
    if (choices.length < SEARCHED_FROM || select.hidden) return;
    const times = Map.groupBy(choices, ({ label }) => label);
    const textOf = (option) =>
      times.get(option.label)?.length > 1 ? `${option.label} · ${option.value.slice(-6)}` : option.label;
    const field = document.createElement('input');
    const offers = document.createElement('datalist');
    offers.id = `${select.id}-offers`;
    offers.append(...choices.map((option) => new Option('', textOf(option))));
    for (const name of ['id', 'required', 'aria-describedby', 'aria-invalid'])
      if (select.hasAttribute(name)) field.setAttribute(name, select.getAttribute(name));
    select.id = `${select.id}-choice`;
    select.hidden = true;
    // The browser's message about a missing choice needs a visible field.
    select.required = false;
    field.setAttribute('list', offers.id);
    const empty = [...select.options].find(({ value }) => value === '');
    field.placeholder = empty?.label ?? '';
    const tell = () => {
      const [option] = select.selectedOptions;
      field.value = option === undefined || option === empty ? '' : textOf(option);
      field.dataset.chosen = field.value;
    };
    field.addEventListener('change', (event) => {
      // The change of the list is the one that the form hears.
      event.stopPropagation();
      const typed = field.value.trim().toLowerCase();
      const option = typed === '' ? empty : choices.find((one) => textOf(one).toLowerCase() === typed);
      if (option !== undefined) select.value = option.value;
      tell();
      select.dispatchEvent(new Event('change', { bubbles: true }));
    });
    tell();
    select.after(field, offers);
    enhance(field);
  };

  /** The first suggestions of the server are asked for as soon as someone wants to see them. */
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
    for (const select of root.querySelectorAll('select[data-searched]')) search(select);
  });
  // A field that a script made.
  document.addEventListener('focusin', ({ target }) => {
    if (target.matches('input[list]')) enhance(target);
  });
  document.addEventListener('focusout', ({ target }) => {
    if (target.dataset?.offers === undefined) return;
    close(target);
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
      if (list.hidden) {
        if (key !== 'ArrowDown' && key !== 'ArrowUp') return;
        event.preventDefault();
        return ask(field);
      }
      const done = suggestionList.press(field, list, event);
      if (done === null) {
        if (key === 'Enter' || key === 'Tab') close(field);
        return;
      }
      event.preventDefault();
      if (done === 'moved') return;
      event.stopImmediatePropagation();
      if (done === 'hidden') close(field);
      else take(field, textOf(list, done));
    },
    true,
  );
})();
