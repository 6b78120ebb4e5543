/* What forms do beyond what a browser does by itself: focus on what was wrong, rows, files, one sending at a time. */
(() => {
  htmx.onLoad((root) => root.querySelector('[data-focus]')?.focus());

  // A second press while the first is under way would do it twice.
  document.addEventListener('submit', (event) => {
    const { target, submitter } = event;
    if (!(target instanceof HTMLFormElement) || !target.matches('[data-once]')) return;
    if (target.dataset.sent === 'true') event.preventDefault();
    target.dataset.sent = 'true';
    submitter?.setAttribute('aria-busy', 'true');
  });
  // Back from the page that followed: it may be sent again.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('[data-sent]')) delete form.dataset.sent;
    for (const button of document.querySelectorAll('.button[aria-busy]')) button.removeAttribute('aria-busy');
  });

  // A name that is made of another one, as long as nobody has typed it.
  const madeOf = (text) =>
    (
      text
        .normalize('NFKD')
        .toLowerCase()
        .match(/[a-z0-9]+/g) ?? []
    )
      .join('-')
      .slice(0, 100);
  document.addEventListener('input', ({ target }) => {
    for (const field of target.form?.querySelectorAll(`[data-made-from="${target.name}"]`) ?? []) {
      if (field.value !== '' && field.value !== field.dataset.made) continue;
      field.value = madeOf(target.value);
      field.dataset.made = field.value;
    }
  });

  // Filters that say nothing do not belong into the address.
  document.addEventListener('htmx:config:request', ({ detail }) => {
    const { ctx } = detail;
    if (!ctx.sourceElement.matches('[data-leave-out-empty]')) return;
    const { body } = ctx.request;
    for (const [name, value] of [...body]) if (value === '') body.delete(name);
  });
  document.addEventListener('formdata', ({ target, formData }) => {
    if (!target.matches('[data-leave-out-empty]')) return;
    for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
  });

  // Rows that are added and taken away, up to as many as there may be.
  const rowsOf = (group) => [...group.querySelectorAll('[data-row]')];
  const showRoom = (group) => {
    const isFull = rowsOf(group).length >= Number(group.dataset.maxRows ?? Number.POSITIVE_INFINITY);
    group.querySelector('[data-add-row]').disabled = isFull;
    const note = group.querySelector('[data-rows-full]');
    if (note !== null) note.hidden = !isFull;
  };
  htmx.onLoad((root) => {
    for (const button of root.querySelectorAll('[data-add-row], [data-remove-row]')) button.hidden = false;
    for (const group of root.querySelectorAll('[data-rows]')) showRoom(group);
  });
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element)) return;
    const group = target.closest('[data-rows]');
    if (group === null) return;
    const rows = rowsOf(group);
    const last = rows.at(-1);
    if (target.closest('[data-add-row]') !== null) {
      const added = last.cloneNode(true);
      for (const input of added.querySelectorAll('input')) input.value = '';
      last.after(added);
      showRoom(group);
      added.querySelector('input')?.focus();
    }
    const remove = target.closest('[data-remove-row]');
    if (remove === null) return;
    if (rows.length > 1) remove.closest('[data-row]').remove();
    else for (const input of last.querySelectorAll('input')) input.value = '';
    showRoom(group);
    group.querySelector('[data-add-row]').focus();
  });

  // A file that is read into the field: it is sent as if it had been pasted.
  htmx.onLoad((root) => {
    for (const area of root.querySelectorAll('textarea[data-takes-file]:not([data-offered])')) {
      area.dataset.offered = 'true';
      const offer = document.createElement('label');
      offer.className = 'file-offer';
      const input = document.createElement('input');
      input.type = 'file';
      input.accept = area.dataset.takesFile;
      offer.append('or from a file', input);
      area.after(offer);
      input.addEventListener('change', async () => {
        const [file] = input.files;
        if (file !== undefined) area.value = await file.text();
      });
    }
  });
})();
