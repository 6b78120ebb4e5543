/* The conditions of a filter as rows, in step with its JSON. A filter that rows cannot show stays JSON. */
(() => {
  const LISTS = ['$in', '$nin'];
  const TEXTS = ['$startsWith', '$endsWith'];
  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
  const comparisonsOf = (editor) => JSON.parse(editor.dataset.comparisons);

  /** The conditions of a filter, which must all hold; null if it has others. `known`: the comparisons. */
  const conditionsOf = (filter, known) => {
    if (!isObject(filter)) return null;
    const all = Object.entries(filter).map(([path, condition]) => {
      if (path === '$and' && Array.isArray(condition)) return joined(condition.map((one) => conditionsOf(one, known)));
      if (path.startsWith('$')) return null;
      if (!isObject(condition)) return [{ path, operator: '$eq', value: condition }];
      const operators = Object.entries(condition);
      if (operators.length === 0 || !operators.every(([operator]) => Object.hasOwn(known, operator))) return null;
      return operators.map(([operator, value]) => ({ path, operator, value }));
    });
    return joined(all);
  };
  const joined = (parts) => (parts.includes(null) ? null : parts.flat());

  /** Returns the rows of a text; null if rows cannot show it. */
  const read = (text, known) => {
    if (text.trim() === '') return { match: 'all', rows: [] };
    let filter;
    try {
      filter = JSON.parse(text);
    } catch {
      return null;
    }
    if (isObject(filter) && Object.keys(filter).join() === '$or' && Array.isArray(filter.$or)) {
      const parts = filter.$or.map((one) => conditionsOf(one, known));
      return parts.every((part) => part?.length === 1) ? { match: 'any', rows: parts.flat() } : null;
    }
    const rows = conditionsOf(filter, known);
    return rows === null ? null : { match: 'all', rows };
  };

  const condition = ({ path, operator, value }) => ({ [path]: operator === '$eq' ? value : { [operator]: value } });

  /** The JSON of rows. Rows of one path are one condition; the same operator again needs an $and. */
  const write = ({ match, rows }) => {
    if (rows.length === 0) return '';
    if (match === 'any' && rows.length > 1) return JSON.stringify({ $or: rows.map(condition) }, null, 2);
    const byPath = new Map();
    const again = [];
    for (const row of rows) {
      const operators = byPath.get(row.path) ?? new Map();
      if (operators.has(row.operator)) again.push(condition(row));
      else byPath.set(row.path, operators.set(row.operator, row.value));
    }
    const filter = {};
    for (const [path, operators] of byPath) {
      const isPlain = operators.size === 1 && operators.has('$eq');
      filter[path] = isPlain ? operators.get('$eq') : Object.fromEntries(operators);
    }
    if (again.length > 0) filter.$and = again;
    return JSON.stringify(filter, null, 2);
  };

  // Values as people type them: quotes only where a text would be something else.
  const parsed = (text) => {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return null;
    }
  };
  const textOf = (value) => (typeof value === 'string' && parsed(value) === null ? value : JSON.stringify(value));
  const listText = (values) =>
    values.map((one) => (/[",]/.test(String(one)) ? JSON.stringify(one) : textOf(one))).join(', ');
  const shown = ({ operator, value }) => {
    if (LISTS.includes(operator) && Array.isArray(value)) return listText(value);
    return TEXTS.includes(operator) && typeof value === 'string' ? value : textOf(value);
  };
  const scalarOf = (text, isText) => {
    const found = parsed(text);
    return found === null || (isText && typeof found.value !== 'string') ? text : found.value;
  };
  const typed = (text, operator, isText) => {
    if (operator === '$exist') return text.trim() !== 'false';
    if (TEXTS.includes(operator)) return text;
    if (!LISTS.includes(operator)) return scalarOf(text.trim(), isText);
    return (text.match(/\s*"(?:\\.|[^"\\])*"|[^,]+/g) ?? [])
      .filter((one) => one.trim() !== '')
      .map((one) => scalarOf(one.trim(), isText));
  };

  const pathsOf = (editor) => [...editor.querySelectorAll('[data-path]')].map(({ dataset }) => dataset.path);
  /** `total` is enough for `data.total`, unless another path ends so too. */
  const wholePath = (paths, typed) => {
    if (typed === '' || paths.includes(typed)) return typed;
    if (paths.includes(`data.${typed}`)) return `data.${typed}`;
    const ending = paths.filter((path) => path.endsWith(`.${typed}`));
    return ending.length === 1 ? ending[0] : typed;
  };
  const complete = (editor, pathField) => {
    const whole = wholePath(pathsOf(editor), pathField.value.trim());
    if (whole === pathField.value) return;
    pathField.value = whole;
    pathField.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const knownOf = (editor, path) =>
    [...editor.querySelectorAll('[data-path]')].find(({ dataset }) => dataset.path === path)?.dataset;
  const isTextAt = (editor, path) => path === 'type' || path === 'subject' || knownOf(editor, path)?.types === 'string';

  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  /** With its label above it. `name`: of the condition, for screen readers. */
  const labelled = (name, label, control) => {
    control.setAttribute('aria-label', `${name}: ${label.toLowerCase()}`);
    return element('label', { class: 'row-field' }, element('span', {}, label), control);
  };
  const optionsOf = (texts) => texts.map((text) => element('option', { value: text }));

  const rowElement = (editor, { path, operator, ...row }, at) => {
    const name = `Condition ${at + 1}`;
    const id = `filter-row-${at}`;
    const paths = element('datalist', { id: `${id}-paths` });
    const values = element('datalist', { id: `${id}-values` });
    const pathField = element('input', {
      'data-filter-path': '',
      list: paths.id,
      placeholder: 'data.total',
      class: 'code-input',
    });
    pathField.value = path;
    const chosen = element('select', {});
    for (const [value, label] of Object.entries(comparisonsOf(editor)))
      chosen.append(new Option(label, value, false, value === operator));
    const valueField = element('input', { list: values.id, class: 'code-input' });
    valueField.value = 'value' in row ? shown({ operator, value: row.value }) : '';
    const suggest = () => {
      paths.replaceChildren(...optionsOf(pathsOf(editor)));
      const samples = JSON.parse(knownOf(editor, pathField.value.trim())?.values ?? '[]').map(textOf);
      values.replaceChildren(...optionsOf(chosen.value === '$exist' ? ['true', 'false'] : samples));
      valueField.placeholder = LISTS.includes(chosen.value) ? 'DE, FR' : chosen.value === '$exist' ? 'true' : '';
    };
    suggest();
    const remove = element(
      'button',
      { type: 'button', class: 'button button-quiet', 'aria-label': `Remove ${name.toLowerCase()}` },
      'Remove',
    );
    remove.dataset.filterRemove = '';
    const made = element(
      'div',
      { class: 'filter-row', role: 'group', 'aria-label': name },
      labelled(name, 'Path', pathField),
      labelled(name, 'Comparison', chosen),
      labelled(name, 'Value', valueField),
      remove,
      paths,
      values,
    );
    pathField.addEventListener('change', () => complete(editor, pathField));
    made.addEventListener('focusin', suggest);
    made.addEventListener('change', suggest);
    return made;
  };

  /** The finished rows: a row without a path, or without a value that it needs, is not in the JSON yet. */
  const finished = (editor) =>
    [...editor.querySelectorAll('.filter-row')].flatMap((row) => {
      const [path, value] = [...row.querySelectorAll('input')].map((input) => input.value);
      const operator = row.querySelector('select').value;
      if (path.trim() === '' || (value.trim() === '' && operator !== '$exist')) return [];
      return [{ path: path.trim(), operator, value: typed(value, operator, isTextAt(editor, path.trim())) }];
    });

  const start = (editor) => {
    const box = editor.querySelector('[data-filter-rows]');
    const area = editor.querySelector('textarea');
    const [list, match, more] = ['list', 'match', 'complex'].map((name) => box.querySelector(`[data-filter-${name}]`));
    const json = editor.querySelector('[data-filter-json]');
    const stateOf = () => ({ match: match.value, rows: finished(editor) });
    const showRows = (rows) => list.replaceChildren(...rows.map((row, at) => rowElement(editor, row, at)));
    const follow = () => {
      const known = read(area.value, comparisonsOf(editor));
      more.hidden = known !== null;
      list.hidden = known === null;
      if (known === null) json.open = true;
      // What the rows say already stays as it is, also a row that is not finished.
      if (known === null || write(known) === write(stateOf())) return;
      if (known.rows.length > 1) match.value = known.match;
      showRows(known.rows);
      showMatch();
    };
    const showMatch = () => {
      match.parentElement.hidden = list.children.length < 2;
    };
    const told = () => {
      area.value = write(stateOf());
      showMatch();
      area.dispatchEvent(new Event('change', { bubbles: true }));
    };
    box.hidden = false;
    json.open = area.getAttribute('aria-invalid') === 'true';
    follow();
    showMatch();
    area.addEventListener('input', follow);
    area.addEventListener('change', follow);
    box.addEventListener('input', told);
    // The last row is the one to go on with if nothing is in it yet.
    const add = () => {
      const last = list.lastElementChild;
      if (last === null || last.querySelector('input').value.trim() !== '')
        list.append(rowElement(editor, { path: '', operator: '$eq' }, list.children.length));
      showMatch();
      list.lastElementChild.querySelector('input').focus();
    };
    // An empty filter is opened to add a condition.
    const fold = editor.closest('details');
    fold?.addEventListener('toggle', () => {
      const isOpened = fold.open && document.activeElement === fold.querySelector('summary');
      if (isOpened && area.value.trim() === '') add();
    });
    box.addEventListener('click', ({ target }) => {
      if (target.closest('[data-filter-add]') !== null && more.hidden) add();
      const remove = target.closest('[data-filter-remove]');
      if (remove === null) return;
      remove.closest('.filter-row').remove();
      told();
      showRows(finished(editor));
      box.querySelector('[data-filter-add]').focus();
    });
  };

  htmx.onLoad((root) => {
    // The paths of the chosen events have arrived, perhaps after someone typed the end of one.
    const around = root.closest?.('[data-filter-editor]') ?? null;
    for (const field of around?.querySelectorAll('[data-filter-path]') ?? [])
      if (field !== document.activeElement) complete(around, field);
    for (const editor of root.querySelectorAll('[data-filter-editor]:not([data-rowed])')) {
      editor.dataset.rowed = '';
      start(editor);
    }
  });
})();
