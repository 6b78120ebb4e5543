/* Scripts of forms: focus on problems, single submission, events, rows and files. */
(() => {
  htmx.onLoad((root) => root.querySelector('[data-focus]')?.focus());

  // A second press must not send the form twice.
  document.addEventListener('submit', (event) => {
    const { target, submitter } = event;
    if (!(target instanceof HTMLFormElement) || !target.matches('[data-once]')) return;
    if (target.dataset.sent === 'true') event.preventDefault();
    target.dataset.sent = 'true';
    submitter?.setAttribute('aria-busy', 'true');
  });
  // After going back, the form may be sent again.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('[data-sent]')) delete form.dataset.sent;
    for (const button of document.querySelectorAll('.button[aria-busy]')) button.removeAttribute('aria-busy');
  });

  // A name that follows another field until someone edits it.
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

  // A choice that loads the rest of the page needs no button.
  htmx.onLoad((root) => {
    for (const form of root.querySelectorAll('[data-submits-choice]')) {
      form.querySelector('.buttons').hidden = true;
      form.addEventListener('change', () => form.requestSubmit());
    }
  });

  // Whose a new record is: the rest of the form follows, and the button makes way.
  const chooseOwner = (choice) => {
    const { elements } = choice.closest('form');
    const isCustomers = elements.for.value === 'customer';
    const name = isCustomers ? elements.customer.value.trim() : '';
    if ((isCustomers && name === '') || name === choice.dataset.ownerChoice) return;
    choice.dataset.ownerChoice = name;
    htmx.trigger(choice, 'chosen');
  };
  htmx.onLoad((root) => {
    for (const choice of root.querySelectorAll('[data-owner-choice]')) choice.querySelector('.buttons').hidden = true;
  });
  document.addEventListener('change', ({ target }) => {
    const choice = target.closest('[data-owner-choice]');
    if (choice !== null) chooseOwner(choice);
  });
  // Enter chooses too, and stays in the field.
  document.addEventListener('keydown', (event) => {
    const choice =
      event.key === 'Enter' && event.target.name === 'customer' && event.target.closest('[data-owner-choice]');
    if (!choice) return;
    event.preventDefault();
    chooseOwner(choice);
  });
  // A suggestion is chosen before the focus leaves the field.
  document.addEventListener('input', ({ target }) => {
    const choice = target.name === 'customer' ? target.closest('[data-owner-choice]') : null;
    if (
      choice !== null &&
      [...(document.getElementById(target.dataset.offers)?.options ?? [])].some(({ value }) => value === target.value)
    )
      chooseOwner(choice);
  });

  // Empty filters are left out of the address.
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

  // Events: a pattern ticks everything that it covers, and a filter hides the others.
  const covers = (pattern, value) =>
    pattern !== value && (pattern === '*' || (pattern.endsWith('.*') && value.startsWith(pattern.slice(0, -1))));
  const boxesOf = (events) => [...events.querySelectorAll('input[type=checkbox]')];
  const tickCovered = (events) => {
    const boxes = boxesOf(events);
    const chosen = boxes.filter((box) => box.dataset.own === 'true').map((box) => box.value);
    for (const box of boxes) {
      // A disabled box is not sent: its pattern is enough.
      box.disabled = chosen.some((pattern) => covers(pattern, box.value));
      box.checked = box.disabled || box.dataset.own === 'true';
    }
  };
  htmx.onLoad((root) => {
    for (const events of root.querySelectorAll('[data-events]')) {
      for (const box of boxesOf(events)) box.dataset.own ??= String(box.checked);
      tickCovered(events);
      events.querySelector('.event-filter').hidden = false;
    }
  });
  // In the capture phase, before the rule about encryption is asked for with the boxes as they are.
  document.addEventListener(
    'change',
    ({ target }) => {
      const events = target.closest('[data-events]');
      if (events === null || target.type !== 'checkbox') return;
      target.dataset.own = String(target.checked);
      tickCovered(events);
    },
    true,
  );
  document.addEventListener('input', ({ target }) => {
    if (!target.matches('[data-event-filter]')) return;
    const events = target.closest('[data-events]');
    const wanted = target.value.trim().toLowerCase();
    const fits = (element) => element.textContent.toLowerCase().includes(wanted);
    for (const category of events.querySelectorAll('.category')) {
      const types = [...category.querySelectorAll('.category-types .choice')];
      const isWhole = fits(category.querySelector('.choice code'));
      for (const type of types) type.hidden = !isWhole && !fits(type);
      category.hidden = !isWhole && types.every((type) => type.hidden);
      if (category instanceof HTMLDetailsElement && wanted !== '') category.open = !category.hidden;
    }
    events.querySelector('[data-no-events]').hidden = [...events.querySelectorAll('.category')].some(
      (category) => !category.hidden,
    );
  });
  // Enter in the filter does not send the form.
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && event.target instanceof Element && event.target.matches('[data-event-filter]'))
      event.preventDefault();
  });

  // Adding and removing rows, up to a maximum.
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
      added.querySelector('.problem')?.remove();
      for (const select of added.querySelectorAll('select')) select.selectedIndex = 0;
      for (const input of added.querySelectorAll('input')) {
        input.value = '';
        for (const name of ['title', 'aria-invalid', 'aria-describedby']) input.removeAttribute(name);
      }
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

  // The browser's colour picker beside a field for a colour. Both follow each other.
  const isColour = (text) => /^#[0-9a-f]{6}$/i.test(text);
  htmx.onLoad((root) => {
    for (const field of root.querySelectorAll('[data-picks-colour]:not([data-offered])')) {
      field.dataset.offered = 'true';
      const picker = document.createElement('input');
      picker.type = 'color';
      picker.className = 'colour-picker';
      picker.setAttribute('aria-label', `Pick: ${field.labels[0].firstChild.nodeValue.trim()}`);
      const follow = () => {
        picker.value = isColour(field.value.trim()) ? field.value.trim().toLowerCase() : field.placeholder;
      };
      follow();
      field.addEventListener('input', follow);
      picker.addEventListener('input', () => {
        field.value = picker.value;
      });
      field.after(picker);
    }
    // No page has styles inline, so that its policy can refuse them.
    for (const element of root.querySelectorAll('[data-colours]')) {
      for (const [name, colour] of Object.entries(JSON.parse(element.dataset.colours)))
        element.style.setProperty(name, colour);
    }
  });

  // A file is read into the field and sent as text; a picture in bytes as a data: URL.
  const dataUrl = (file) =>
    new Promise((resolve) => {
      const reader = new FileReader();
      reader.addEventListener('load', () => resolve(reader.result));
      reader.readAsDataURL(file);
    });
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
        if (file === undefined) return;
        area.value = file.type === 'image/png' ? await dataUrl(file) : await file.text();
        area.dispatchEvent(new Event('input', { bubbles: true }));
      });
    }
  });
})();
