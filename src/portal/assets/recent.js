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

  const made = (tag, className, text = '') => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const hitOf = ({ href, label, kind }) => {
    const link = document.createElement('a');
    link.href = href;
    const section = [...document.querySelectorAll('#navigation a')].find((one) => one.textContent.trim() === kind);
    const picture = section?.querySelector('svg')?.cloneNode(true) ?? document.createElement('span');
    link.append(picture, made('span', 'search-name', label), made('span', 'search-aside', kind));
    const item = document.createElement('li');
    item.append(link);
    return item;
  };
  const groupOf = (pages) => {
    const group = made('section', 'search-group');
    group.setAttribute('aria-label', 'Recent');
    const list = document.createElement('ul');
    list.append(...pages.map(hitOf));
    group.append(made('h2', 'search-group-name', 'Recent'), list);
    return group;
  };

  document.addEventListener('DOMContentLoaded', remember);
  // Below the problems, which come first.
  document.addEventListener('htmx:after:swap', () => {
    const hits = document.querySelector('#search-dialog .search-hits[data-searched=""]:not([data-recent])');
    if (hits === null) return;
    hits.dataset.recent = '';
    const pages = read().filter(({ href }) => href !== location.pathname);
    const shown = [...hits.querySelectorAll('a')].map((link) => link.getAttribute('href'));
    const fresh = pages.filter(({ href }) => !shown.includes(href)).slice(0, SHOWN_MAX);
    if (fresh.length === 0) return;
    const problems = hits.querySelector('[aria-label="Problems"]');
    if (problems === null) hits.prepend(groupOf(fresh));
    else problems.after(groupOf(fresh));
  });
})();
