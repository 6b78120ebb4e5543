/* The pages of resources that this tab showed last, in the search dialog before anything is typed. They stay in the tab, which forgets them
   when it is closed, and each person and portal has its own. */
(() => {
  const SHOWN_MAX = 4;
  const KEPT_MAX = SHOWN_MAX + 1;
  const RESOURCE =
    /^\/(?:customers|endpoints|webhooks|event-types|applications|users|products|deliveries)\/[0-9a-f-]{36}$/;

  const keyOf = () => {
    const [account, visit] = ['.account-button', '.visit-bar'].map((name) => document.querySelector(name)?.textContent);
    return account === undefined ? null : `recent ${[account, visit ?? ''].join(' ').replace(/\s+/g, ' ').trim()}`;
  };
  /** A browser may keep nothing for a page in a frame. */
  const read = () => {
    try {
      return JSON.parse(sessionStorage.getItem(keyOf() ?? '') ?? '[]');
    } catch {
      return [];
    }
  };
  const write = (pages) => {
    try {
      sessionStorage.setItem(keyOf(), JSON.stringify(pages));
    } catch {
      // Then there are no recent pages.
    }
  };

  const remember = () => {
    const current = document.querySelector('#navigation [aria-current]');
    if (keyOf() === null || current === null || document.querySelector('.refusal') !== null) return;
    if (!RESOURCE.test(location.pathname)) return;
    const href = location.pathname;
    const label = document.title.replace(/ – [^–]*$/, '');
    const kind = current.textContent.trim();
    write([{ href, label, kind }, ...read().filter((page) => page.href !== href)].slice(0, KEPT_MAX));
  };

  const hitOf = ({ href, label, kind }) => {
    const link = document.createElement('a');
    link.href = href;
    const section = [...document.querySelectorAll('#navigation a')].find((one) => one.textContent.trim() === kind);
    const picture = section?.querySelector('svg')?.cloneNode(true) ?? document.createElement('span');
    const parts = Object.entries({ 'search-name': label, 'search-kind': 'Recent' }).map(([name, text]) => {
      const part = document.createElement('span');
      part.className = name;
      part.textContent = text;
      return part;
    });
    link.append(picture, ...parts);
    const item = document.createElement('li');
    item.append(link);
    return item;
  };

  document.addEventListener('DOMContentLoaded', remember);
  // Below the problems, which come first.
  document.addEventListener('htmx:after:swap', () => {
    const hits = document.querySelector('#search-dialog .search-hits[data-searched=""]:not([data-recent])');
    if (hits === null) return;
    hits.dataset.recent = '';
    const pages = read().filter(({ href }) => href !== location.pathname);
    const shown = [...hits.querySelectorAll('a')].map((link) => link.getAttribute('href'));
    const items = [...hits.children];
    const after = items.findLast((item) => item.querySelector('.search-kind')?.textContent === 'Problem');
    const made = pages
      .filter(({ href }) => !shown.includes(href))
      .slice(0, SHOWN_MAX)
      .map(hitOf);
    if (after === undefined) hits.prepend(...made);
    else after.after(...made);
  });
})();
