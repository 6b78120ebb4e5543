/* The list of suggestions below a field: its look, its mark and its keys. combobox.js and filter.js find and take suggestions. */
globalThis.suggestionList = (() => {
  const optionsOf = (list) => [...list.children];
  const activeOf = (list) => optionsOf(list).findIndex((one) => one.getAttribute('aria-selected') === 'true');

  /** An empty, hidden list. `choose` is called with the number of a clicked suggestion. */
  const make = (id, className, choose) => {
    const list = document.createElement('ul');
    list.id = id;
    list.className = className;
    list.setAttribute('role', 'listbox');
    list.setAttribute('aria-label', 'Suggestions');
    list.hidden = true;
    // Before the field loses the focus.
    list.addEventListener('mousedown', (event) => event.preventDefault());
    list.addEventListener('click', ({ target }) => {
      const option = target.closest('[role="option"]');
      if (option !== null) choose(optionsOf(list).indexOf(option));
    });
    return list;
  };

  /** Shows these suggestions, each a text and perhaps a note, below the field. */
  const show = (field, list, offers, element) => {
    list.replaceChildren(
      ...offers.map(({ text, note }, at) => {
        const option = document.createElement('li');
        option.id = `${list.id}-${at}`;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        const shown = document.createElement(element);
        shown.textContent = text;
        option.append(shown);
        if (note !== '') {
          const about = document.createElement('span');
          about.textContent = note;
          option.append(' ', about);
        }
        return option;
      }),
    );
    field.removeAttribute('aria-activedescendant');
    list.hidden = offers.length === 0;
    list.scrollTop = 0;
    list.style.top = `${field.offsetTop + field.offsetHeight + 4}px`;
    const announcer = document.getElementById('announcer');
    if (announcer === null || list.hidden) return;
    announcer.textContent = `${offers.length} ${offers.length === 1 ? 'suggestion' : 'suggestions'}, arrow down to choose`;
  };

  const hide = (field, list) => {
    list.hidden = true;
    field.removeAttribute('aria-activedescendant');
  };

  const mark = (field, list, option) => {
    for (const one of list.children) one.setAttribute('aria-selected', String(one === option));
    field.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({ block: 'nearest' });
  };

  /** A key in a shown list moves the mark, hides the list, or takes a suggestion (its number). Null: the field gets the key. */
  const press = (field, list, { key }) => {
    const options = optionsOf(list);
    const active = activeOf(list);
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step !== undefined) {
      const next = active === -1 ? (step === 1 ? 0 : options.length - 1) : active + step;
      mark(field, list, options[(next + options.length) % options.length]);
      return 'moved';
    }
    if (key === 'Enter' && active !== -1) return active;
    return key === 'Escape' ? 'hidden' : null;
  };

  return { make, show, hide, press };
})();
