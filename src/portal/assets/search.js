/* The search dialog (Ctrl K), the list of shortcuts (?), and keys that go to a page. */
(() => {
  const dialogOf = (name) => document.getElementById(`${name}-dialog`);
  const open = (name) => {
    const dialog = dialogOf(name);
    if (dialog === null || document.querySelector('dialog[open]') !== null) return;
    dialog.showModal();
    const input = dialog.querySelector('input');
    input?.select();
    // Problems and actions, as they are now.
    if (input?.value === '') {
      htmx.ajax('GET', '/search?dialog=1', { source: input, target: '#search-results', swap: 'innerHTML' });
    }
  };
  const linksOf = (dialog) => [...dialog.querySelectorAll('.search-hits a')];
  const searchedIn = (dialog) => dialog.querySelector('[data-searched]')?.dataset.searched;

  htmx.onLoad((root) => {
    for (const element of root.querySelectorAll('[data-opens]')) element.hidden = false;
  });
  document.addEventListener('click', (event) => {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const opener = target.closest('[data-opens]');
    if (opener !== null) {
      event.preventDefault();
      open(opener.dataset.opens);
    }
    // A hit may be a button of the page below.
    if (target.closest('.search-hits a') !== null) target.closest('dialog')?.close();
    // A click on the backdrop hits the dialog itself.
    if (target.matches('dialog.overlay') || target.closest('[data-closes]') !== null) target.closest('dialog').close();
  });

  // Arrow keys move through the hits; Enter in the field opens the first one.
  const move = (dialog, event) => {
    const links = linksOf(dialog);
    const at = links.indexOf(document.activeElement);
    // Hits of an earlier text do not count: Enter then waits for those of this one. Without any, it sends the form.
    const text = dialog.querySelector('input').value.trim();
    const isCurrent = searchedIn(dialog) === text;
    if (event.key === 'Enter' && at === -1 && isCurrent && links.length > 0) links[0].click();
    else if (event.key === 'Enter' && at === -1 && !isCurrent && text !== '') dialog.dataset.entered = text;
    // The first hit is marked already while the field has the focus.
    else if (event.key === 'ArrowDown')
      links[at === -1 ? Math.min(1, links.length - 1) : (at + 1) % links.length]?.focus();
    else if (event.key === 'ArrowUp' && at > 0) links[at - 1].focus();
    else if (event.key === 'ArrowUp') (at === 0 ? dialog.querySelector('input') : links.at(-1))?.focus();
    else if (event.key === 'Home' && at !== -1) links[0].focus();
    else if (event.key === 'End' && at !== -1) links.at(-1).focus();
    else {
      // Who goes on typing changes the text.
      if (at !== -1 && !hasModifier(event) && (event.key.length === 1 || event.key === 'Backspace')) {
        dialog.querySelector('input').focus();
      }
      return;
    }
    event.preventDefault();
  };
  const hasModifier = ({ ctrlKey, metaKey, altKey }) => ctrlKey || metaKey || altKey;

  // The first hit of an earlier text is not marked: Enter does not open it.
  const markCurrent = (dialog) => {
    const isStale = searchedIn(dialog) !== dialog.querySelector('input').value.trim();
    dialog.toggleAttribute('data-stale', isStale);
  };
  dialogOf('search')?.addEventListener('input', ({ currentTarget }) => markCurrent(currentTarget));

  document.addEventListener('htmx:after:swap', () => {
    const dialog = dialogOf('search');
    if (dialog !== null) markCurrent(dialog);
    const entered = dialog?.dataset.entered;
    if (entered === undefined || entered !== searchedIn(dialog)) return;
    delete dialog.dataset.entered;
    if (dialog.open && dialog.querySelector('input').value.trim() === entered) linksOf(dialog)[0]?.click();
  });

  // `g` and a letter go to a page.
  let isGoing = false;
  const isTyping = (target) =>
    target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      open('search');
      return;
    }
    const search = target instanceof Element ? target.closest('#search-dialog') : null;
    if (search !== null) {
      move(search, event);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target) || document.querySelector('dialog[open]'))
      return;
    const wasGoing = isGoing;
    isGoing = key === 'g' && !wasGoing;
    if (wasGoing) document.querySelector(`#navigation [data-go="${CSS.escape(key)}"]`)?.click();
    else if (key === '?' || key === '/') {
      event.preventDefault();
      const line = key === '/' ? document.querySelector('[data-search-line] [name=q]') : null;
      if (line !== null) line.select();
      else open(key === '?' ? 'shortcuts' : 'search');
    }
  });
})();
