/** The selectors of CSS that tests use: types, ids, classes, attributes, `:not()`, `:is()`, `:checked`, and `>`. */
import assert from 'node:assert/strict';
import { around, type Element, within } from './elements.ts';
import { isChosen } from './fields.ts';

type Test = (element: Element) => boolean;

const PARTS =
  /([a-z][\w-]*|\*)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:([$^*~]?=)("[^"]*"|[\w-]+))?\]|:([\w-]+)(?:\(|(?![\w(-]))/giy;

const known = new Map<string, Test>();

/** Whether an element fits the selector. */
function selects(selector: string): Test {
  const test = known.get(selector) ?? listed(selector);
  known.set(selector, test);
  return test;
}

function listed(selector: string): Test {
  const tests = split(selector, ',').map(complex);
  return (element) => tests.some((test) => test(element));
}

/** Compounds with combinators, from the last one back. */
function complex(selector: string): Test {
  const [last = '', ...before] = split(selector.trim().replaceAll(/\s*>\s*/g, ' > '), ' ').toReversed();
  const test = compound(last);
  if (before.length === 0) return test;
  const isChild = before[0] === '>';
  const outer = complex((isChild ? before.slice(1) : before).toReversed().join(' '));
  return (element) => {
    const { parent } = element;
    if (parent === null || !test(element)) return false;
    return isChild ? outer(parent) : around(parent).some(outer);
  };
}

function compound(selector: string): Test {
  const tests: Test[] = [];
  for (let at = 0; at < selector.length; at = PARTS.lastIndex) {
    PARTS.lastIndex = at;
    const found = PARTS.exec(selector);
    assert.ok(found, `${selector} is no selector that is known here`);
    const [whole, tag, id, name, attribute, operator, value, pseudo] = found;
    if (tag !== undefined) tests.push((element) => tag === '*' || element.tag === tag.toLowerCase());
    else if (id !== undefined) tests.push(({ attributes }) => attributes.get('id') === id);
    else if (name !== undefined) tests.push(({ attributes }) => classes(attributes).includes(name));
    else if (attribute !== undefined) tests.push(ofAttribute(attribute, operator, value?.replaceAll('"', '')));
    else if (pseudo === 'checked') tests.push(isChosen);
    else {
      assert.ok(whole.endsWith('(') && (pseudo === 'not' || pseudo === 'is'), `:${pseudo} is not known here`);
      const end = closing(selector, PARTS.lastIndex);
      const inner = listed(selector.slice(PARTS.lastIndex, end));
      tests.push(pseudo === 'is' ? inner : (element) => !inner(element));
      PARTS.lastIndex = end + 1;
    }
  }
  return (element) => tests.every((test) => test(element));
}

function classes(attributes: Element['attributes']): string[] {
  return (attributes.get('class') ?? '').split(/\s+/);
}

function ofAttribute(name: string, operator: string | undefined, wanted = ''): Test {
  return ({ attributes }) => {
    const value = attributes.get(name.toLowerCase());
    if (value === undefined) return false;
    if (operator === '^=') return value.startsWith(wanted);
    if (operator === '$=') return value.endsWith(wanted);
    if (operator === '*=') return value.includes(wanted);
    if (operator === '~=') return value.split(/\s+/).includes(wanted);
    return operator === undefined || value === wanted;
  };
}

/** The place of the parenthesis that closes the one before `at`. */
function closing(text: string, at: number): number {
  let depth = 1;
  for (let place = at; place < text.length; place += 1) {
    if (text[place] === '(') depth += 1;
    if (text[place] === ')') depth -= 1;
    if (depth === 0) return place;
  }
  return assert.fail(`${text} is not closed`);
}

/** Splits where the separator is in no brackets and no quotes. */
function split(text: string, separator: string): string[] {
  const parts = [''];
  let depth = 0;
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    else if ('(['.includes(character)) depth += 1;
    else if (')]'.includes(character)) depth -= 1;
    if (character === separator && depth === 0 && !isQuoted) parts.push('');
    else parts.push(`${parts.pop()}${character}`);
  }
  return parts.filter((part) => part !== '');
}

/** The elements inside that fit, in the order of the document. */
export function selected(scope: Element, selector: string): Element[] {
  return within(scope).filter(selects(selector));
}
