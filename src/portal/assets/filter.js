/* Completion in the filter of a webhook: paths of the chosen events, operators and values. Without it the field is a plain one. */
(() => {
  const COMBINING = { $and: 'all of a list', $or: 'any of a list', $not: 'the contrary' };
  const COMBINE = Object.keys(COMBINING);
  /** The comparisons that the page knows, as the rows offer them. */
  const operatorsOf = (editor) =>
    Object.entries({ ...JSON.parse(editor.dataset.comparisons), ...COMBINING }).map(([text, note]) => ({
      text,
      note,
      isKey: true,
    }));
  // Without scrolling, which the keyboard could not do while the field has the focus.
  const SHOWN_MAX = 10;

  /**
   * The place of the caret in an unfinished JSON text. `word` is the typed part of a word, from `from` on; `keys` are the members around
   * it, outermost first, with null for an item of a list.
   */
  const contextOf = (text, caret) => {
    const around = [];
    let expects = 'value';
    let at = 0;
    while (at < caret) {
      const begin = at;
      const sign = text[at];
      at += 1;
      const within = around.at(-1);
      if (sign === '"') {
        while (at < caret && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
        if (at >= caret) return { expects, word: text.slice(begin + 1, caret), from: begin, isQuoted: true, around };
        at += 1;
        if (expects === 'key') within.key = text.slice(begin + 1, at - 1);
        expects = 'sign';
      } else if (sign === '{' || sign === '[') {
        around.push({ isList: sign === '[', key: null });
        expects = sign === '{' ? 'key' : 'value';
      } else if (sign === '}' || sign === ']') {
        around.pop();
        expects = 'sign';
      } else if (sign === ':') expects = 'value';
      else if (sign === ',') expects = within?.isList === false ? 'key' : 'value';
      else if (/[^\s]/.test(sign)) {
        while (at < caret && /[^\s"{}[\]:,]/.test(text[at])) at += 1;
        if (at >= caret) return { expects, word: text.slice(begin, caret), from: begin, isQuoted: false, around };
        expects = 'sign';
      }
    }
    return { expects, word: '', from: caret, isQuoted: false, around };
  };

  const pathsOf = (editor) =>
    [...editor.querySelectorAll('[data-path]')].map(({ dataset }) => ({
      path: dataset.path,
      types: dataset.types,
      values: JSON.parse(dataset.values),
    }));

  /** The suggestions for the caret: the text, its kind, and the text after it. */
  const offersOf = (editor, { expects, around }) => {
    if (expects === 'sign') return [];
    const paths = pathsOf(editor);
    const keys = around.map(({ key }) => key);
    const path = keys.findLast((key) => key !== null && !key.startsWith('$')) ?? null;
    const operator = keys.at(-1) ?? (around.at(-1)?.isList === true ? keys.at(-2) : null) ?? null;
    if (expects === 'key') {
      // The innermost object has no key yet, or an earlier member's.
      const outer = around.slice(0, -1).findLast(({ key }) => key !== null && !COMBINE.includes(key))?.key ?? null;
      if (outer !== null) return outer.startsWith('$') ? [] : operatorsOf(editor);
      return [
        ...paths.map(({ path: text, types }) => ({ text, note: types.replaceAll(' ', ' or '), isKey: true })),
        ...operatorsOf(editor).filter(({ text }) => COMBINE.includes(text)),
      ];
    }
    if (around.length === 0) return [{ text: '{', note: 'a filter begins so', isKey: false }];
    if (operator === '$exist') return ['true', 'false'].map((text) => ({ text, note: '', isKey: false }));
    if (path === null || COMBINE.includes(operator)) return [];
    const values = paths.find((one) => one.path === path)?.values ?? [];
    const shown = values.map((value) => ({ text: JSON.stringify(value), note: 'of a sample', isKey: false }));
    return operator === path ? [...shown, { text: '{', note: 'an operator, such as $gte', isKey: false }] : shown;
  };

  const plain = (text) => text.replace(/^"|"$/g, '').toLowerCase();
  const offersAt = (editor, area) => {
    const context = contextOf(area.value, area.selectionStart);
    const word = plain(context.word);
    const fitting = offersOf(editor, context).filter(({ text }) => plain(text).includes(word));
    const isWhole = fitting.length === 1 && plain(fitting[0].text) === word;
    fitting.sort((a, b) => Number(plain(b.text).startsWith(word)) - Number(plain(a.text).startsWith(word)));
    return { context, offers: isWhole ? [] : fitting.slice(0, SHOWN_MAX) };
  };

  const listOf = (editor) => editor.querySelector('.suggestions');
  const hide = (editor) => suggestionList.hide(editor.querySelector('textarea'), listOf(editor));
  const show = (editor) => {
    const area = editor.querySelector('textarea');
    suggestionList.show(area, listOf(editor), offersAt(editor, area).offers, 'code');
  };

  /** Replaces the typed word, and adds the punctuation that JSON requires after it unless it is there. */
  const take = (editor, at) => {
    const area = editor.querySelector('textarea');
    const { context, offers } = offersAt(editor, area);
    const { text, isKey } = offers[at];
    let end = area.selectionStart;
    if (context.isQuoted && area.value[end] === '"') end += 1;
    const after = area.value.slice(end);
    const written = isKey
      ? `"${text}"${/^\s*:/.test(after) ? '' : ': '}`
      : text === '{'
        ? `{${/^\s*\}/.test(after) ? '' : '}'}`
        : text;
    area.setRangeText(written, context.from, end, 'end');
    if (text === '{') area.selectionStart = area.selectionEnd = context.from + 1;
    area.focus();
    area.dispatchEvent(new Event('input', { bubbles: true }));
  };

  htmx.onLoad((root) => {
    for (const editor of root.querySelectorAll('[data-filter-editor]')) {
      if (listOf(editor) !== null) continue;
      const area = editor.querySelector('textarea');
      const list = suggestionList.make(`${area.id}-suggestions`, 'suggestions', (at) => take(editor, at));
      area.after(list);
      area.setAttribute('aria-autocomplete', 'list');
      area.setAttribute('aria-controls', list.id);
      area.setAttribute('autocomplete', 'off');
      editor.querySelector('[data-filter-keys]').hidden = false;
      area.addEventListener('input', () => (area.value.trim() === '' ? hide(editor) : show(editor)));
      area.addEventListener('blur', () => hide(editor));
      area.addEventListener('keydown', (event) => {
        if (event.key === ' ' && event.ctrlKey) {
          event.preventDefault();
          show(editor);
          return;
        }
        if (list.hidden) return;
        const done = suggestionList.press(area, list, event);
        if (done !== null) event.preventDefault();
        if (typeof done === 'number') take(editor, done);
        else if (done === 'hidden' || ['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) hide(editor);
      });
    }
  });
})();
