/* Copy buttons, local times, the theme, and tabs. Pages also work without this script. */
(() => {
  const announce = (text) => {
    const announcer = document.getElementById('announcer');
    if (announcer !== null) announcer.textContent = text;
  };

  // Copying.
  const showCopyButtons = (root) => {
    for (const button of root.querySelectorAll('[data-copy][hidden]')) button.hidden = false;
  };
  htmx.onLoad(showCopyButtons);
  const codeBeside = (button) =>
    button.parentElement?.querySelector('code') ?? button.closest('figure')?.querySelector('code');
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest('[data-copy]') : null;
    if (button === null) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy || codeBeside(button).textContent);
    } catch {
      // Without permission the script selects the text, and the user copies it.
      const code = codeBeside(button);
      if (code) getSelection()?.selectAllChildren(code);
      return;
    }
    announce('Copied');
    button.classList.add('copied');
    setTimeout(() => button.classList.remove('copied'), 1500);
  });

  // The contents beside a long page mark the part at the top of the window.
  const contents = document.querySelector('.doc-contents');
  if (contents !== null) {
    const parts = [...contents.querySelectorAll('a')].map((link) => [
      link,
      document.getElementById(link.hash.slice(1)),
    ]);
    const markPart = () => {
      const above = parts.filter(([, part]) => part !== null && part.getBoundingClientRect().top < innerHeight / 4);
      const current = (above.at(-1) ?? parts[0])[0];
      for (const [link] of parts) {
        if (link === current) link.setAttribute('aria-current', 'location');
        else link.removeAttribute('aria-current');
      }
    };
    document.addEventListener('scroll', markPart, { passive: true });
    markPart();
  }

  // Times in the user's time zone, which whole instants name. The title has UTC.
  // In a narrow column: the time of today, or the day and the minute.
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
  // Where a day has 24 hours, all have two digits, as in the styles above.
  const { hour12 } = new Intl.DateTimeFormat(undefined, { hour: 'numeric' }).resolvedOptions();
  const HOURS = { hour: hour12 ? 'numeric' : '2-digit', minute: '2-digit' };
  const DAY = { day: 'numeric', month: 'short' };
  const WHOLE = { ...DAY, ...HOURS, year: 'numeric', second: '2-digit', timeZoneName: 'short' };
  const instant = new Intl.DateTimeFormat(undefined, WHOLE);
  const dayAndClock = new Intl.DateTimeFormat(undefined, { ...DAY, ...HOURS });
  const dayAndMonth = new Intl.DateTimeFormat(undefined, DAY);
  const hourAndMinute = new Intl.DateTimeFormat(undefined, HOURS);
  // Days of the usage begin and end in UTC.
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
  globalThis.sallyportTimes = { dayAndClock, dayAndMonth, hourAndMinute };
  const isToday = (at) => new Date(at).toDateString() === new Date().toDateString();
  const short = { format: (at) => (isToday(at) ? clock : dayAndClock).format(at) };
  // The same with the second, for the audit log.
  const dayAndSecond = new Intl.DateTimeFormat(undefined, { ...DAY, ...HOURS, second: '2-digit' });
  const exact = { format: (at) => (isToday(at) ? clock : dayAndSecond).format(at) };
  const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
  const UNITS = [
    ['year', 31536000],
    ['month', 2592000],
    ['day', 86400],
    ['hour', 3600],
    ['minute', 60],
    ['second', 1],
  ];
  const aheadText = (at) => {
    const seconds = (at - Date.now()) / 1000;
    if (Math.abs(seconds) < 5) return 'now';
    return lengthFromNow(seconds);
  };
  // What has happened is never to come, even if this clock is behind.
  const relativeText = (at) => aheadText(Math.min(at, Date.now()));
  // A time to come in few letters.
  const briefText = (at) => {
    const seconds = (at - Date.now()) / 1000;
    return seconds < 1
      ? 'due now'
      : lengthFromNow(seconds).replace(/ (?:(s)econd|(min)ute|(h)our|(d)ay)s?$/, ' $1$2$3$4');
  };
  const lengthText = (at) => lengthFromNow(-Math.max((Date.now() - at) / 1000, 1)).replace(' ago', '');
  const lengthFromNow = (seconds) => {
    // Rounded to the nearest: three days minus a minute are three days.
    // Less than a second has no unit: it is told in seconds.
    const isIn = ([, size], at) => Math.abs(seconds) >= size - (UNITS[at + 1]?.[1] ?? 0) / 2;
    const [unit, length] = UNITS.find(isIn) ?? UNITS.at(-1);
    return relative.format(Math.sign(seconds) * Math.round(Math.abs(seconds) / length), unit);
  };
  // A text that is the same stays, with what people have selected of it.
  const say = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };
  const showTimes = (root) => {
    for (const element of root.querySelectorAll('time[data-local]')) {
      const at = Date.parse(element.dateTime);
      const { local } = element.dataset;
      const text =
        { relative: relativeText, ahead: aheadText, brief: briefText, length: lengthText }[local]?.(at) ??
        ({ short, minute: dayAndClock, exact, day }[local] ?? instant).format(at);
      say(element, text);
    }
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    for (const element of root.querySelectorAll('[data-zone]')) say(element, timeZone);
  };
  htmx.onLoad(showTimes);
  // Before new markup enters the page, so that a live update does not flicker, and does not change elements that are the same.
  document.addEventListener('htmx:before:swap', ({ detail: { tasks } }) => {
    for (const { fragment } of tasks) {
      showCopyButtons(fragment);
      showTimes(fragment);
    }
  });
  setInterval(() => showTimes(document), 15000);

  // Forms have times in UTC. With the script, users see and type them in their time zone.
  const pad = (number) => String(number).padStart(2, '0');
  const localText = (at) =>
    `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:${pad(at.getMinutes())}`;
  const zone = instant.formatToParts(new Date()).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  htmx.onLoad((root) => {
    for (const input of root.querySelectorAll('input[type="datetime-local"]:not([data-zoned])')) {
      input.dataset.zoned = '';
      // After going back, the browser restores the text that the user saw.
      if (input.value !== '' && input.value === input.defaultValue)
        input.value = localText(new Date(`${input.value}Z`));
      const [label] = input.labels;
      if (label !== undefined) label.firstChild.nodeValue = label.firstChild.nodeValue.replace('(UTC)', `(${zone})`);
    }
  });
  document.addEventListener('formdata', ({ target, formData }) => {
    for (const { type, name, value } of target.elements) {
      if (type === 'datetime-local' && value !== '')
        formData.set(name, `${new Date(value).toISOString().slice(0, 16)}Z`);
    }
  });

  // The theme changes without a reload.
  document.addEventListener('submit', (event) => {
    const { target, submitter } = event;
    if (!(target instanceof HTMLFormElement) || !target.matches('[data-theme-switch]') || submitter === null) return;
    event.preventDefault();
    const theme = submitter.value;
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    for (const button of target.querySelectorAll('button')) {
      button.setAttribute('aria-pressed', String(button === submitter));
    }
    const isFramed = document.documentElement.dataset.framed !== undefined;
    const sameSite = isFramed ? 'SameSite=None; Secure; Partitioned' : 'SameSite=Lax';
    // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not in every browser
    document.cookie = `sallyport-theme=${theme}; Path=/; Max-Age=31536000; ${sameSite}`;
    document.dispatchEvent(new Event('theme'));
  });

  // What the address names may be on another tab: the link to that tab then has its id (`parts/header.ts`).
  const goToTab = () => {
    const link = document.getElementById(location.hash.slice(1))?.closest('.tabs a');
    if (link) location.replace(`${link.href}${location.hash}`);
  };
  // A browser may not open the fold around it.
  const openFold = () => {
    const fold = document.getElementById(location.hash.slice(1))?.closest('details.folded:not([open])');
    if (fold) {
      fold.open = true;
      fold.scrollIntoView();
    }
  };
  openFold();
  addEventListener('hashchange', openFold);
  goToTab();
  addEventListener('hashchange', goToTab);

  // Panels become tabs.
  htmx.onLoad((root) => {
    for (const group of root.querySelectorAll('[data-panels]:not(.is-tabbed)')) {
      const panels = [...group.querySelectorAll('[data-panel]')];
      const list = document.createElement('div');
      list.className = 'panel-tabs';
      list.setAttribute('role', 'tablist');
      list.setAttribute('aria-label', group.dataset.panels);
      const tabs = panels.map((panel) => {
        const tab = document.createElement('button');
        tab.type = 'button';
        tab.textContent = panel.dataset.panel;
        tab.setAttribute('role', 'tab');
        panel.setAttribute('role', 'tabpanel');
        panel.setAttribute('aria-label', panel.dataset.panel);
        panel.querySelector('details').open = true;
        return tab;
      });
      const show = (shown) => {
        for (const [at, tab] of tabs.entries()) {
          tab.setAttribute('aria-selected', String(at === shown));
          tab.tabIndex = at === shown ? 0 : -1;
          panels[at].hidden = at !== shown;
        }
      };
      list.addEventListener('click', ({ target }) => {
        if (tabs.includes(target)) show(tabs.indexOf(target));
      });
      list.addEventListener('keydown', ({ key }) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
        if (step === undefined) return;
        const next = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length;
        show(next);
        tabs[next].focus();
      });
      list.append(...tabs);
      group.prepend(list);
      group.classList.add('is-tabbed');
      show(0);
    }
  });

  // The session ended. The reload leads to the sign-in page; signing out by the button leads where its reply says.
  let isLeaving = false;
  document.addEventListener('submit', ({ target }) => {
    if (target.getAttribute('action') === '/sign-out') isLeaving = true;
  });
  document.addEventListener('signed-out', () => {
    if (!isLeaving) location.reload();
  });
})();
