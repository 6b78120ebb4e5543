/* Folded groups of boxes: the line that unfolds one says how many are chosen, and which. */
(() => {
  const tell = (fold) => {
    const boxes = [...fold.querySelectorAll('input[type=checkbox]')];
    const chosen = boxes.filter(({ checked }) => checked).map(({ value }) => value);
    const count = fold.querySelector('[data-choice-count]');
    count.dataset.choiceCount = String(chosen.length);
    count.textContent = `${chosen.length === 0 ? 'none' : chosen.length} of ${boxes.length} chosen`;
    fold.querySelector('[data-choice-names]').textContent = chosen.join(', ');
  };
  document.addEventListener('change', ({ target }) => {
    const fold = target.closest('[data-choice-fold]');
    if (fold !== null) tell(fold);
  });
  // A link ticks boxes by its address. The script keeps the fields that are filled in.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('[data-ticks]');
    if (link === null || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const wanted = link.dataset.ticks.split(' ');
    for (const fold of link.closest('form').querySelectorAll('[data-choice-fold]')) {
      for (const box of fold.querySelectorAll('input[type=checkbox]')) box.checked = wanted.includes(box.value);
      fold.open ||= fold.querySelector(':checked') !== null;
      tell(fold);
    }
  });
  // After going back, the boxes are as the user left them.
  addEventListener('pageshow', () => {
    for (const fold of document.querySelectorAll('[data-choice-fold]')) tell(fold);
  });
})();
