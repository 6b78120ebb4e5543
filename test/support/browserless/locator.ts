/** Finds elements of the page, reads and uses them, with the part of Playwright's locators that tests use. */
import assert from 'node:assert/strict';
import { closest, type Element, textOf, within } from './elements.ts';
import {
  choose,
  defaultButton,
  fill,
  formOf,
  isChosen,
  isDisabled,
  isSubmit,
  labelled,
  tick,
  typedIn,
  typeOf,
} from './fields.ts';
import { fits, isInnermost, isShown, labelTexts, nameOf, roleOf, shownText, type Wanted } from './meaning.ts';
import { selected } from './selectors.ts';

/** The page that a locator looks at, whenever it is used. */
export type Shown = {
  document(): Element;
  follow(href: string): Promise<void>;
  submit(form: Element, button: Element | null): Promise<void>;
};

type Query = (scope: Element) => readonly Element[];
type Exact = { readonly exact?: boolean };
type Named = Exact & { readonly name?: Wanted; readonly level?: number };
type Having = { readonly hasText?: Wanted; readonly has?: PlainLocator };
type Option = string | { readonly label: string };

/** The finders, of the page and of each locator. */
export type Finders = {
  locator(selector: string, having?: Having): PlainLocator;
  getByRole(role: string, named?: Named): PlainLocator;
  getByLabel(text: Wanted, exact?: Exact): PlainLocator;
  getByText(text: Wanted, exact?: Exact): PlainLocator;
  getByPlaceholder(text: Wanted): PlainLocator;
};

type PlainLocator = Finders & {
  readonly query: Query;
  filter(having: Having): PlainLocator;
  and(other: PlainLocator): PlainLocator;
  first(): PlainLocator;
  last(): PlainLocator;
  nth(at: number): PlainLocator;
  all(): Promise<PlainLocator[]>;
  count(): Promise<number>;
  waitFor(options?: { readonly state?: string }): Promise<void>;
  innerText(): Promise<string>;
  allInnerTexts(): Promise<string[]>;
  textContent(): Promise<string>;
  allTextContents(): Promise<string[]>;
  inputValue(): Promise<string>;
  getAttribute(name: string): Promise<string | null>;
  isVisible(): Promise<boolean>;
  isChecked(): Promise<boolean>;
  isDisabled(): Promise<boolean>;
  evaluateAll<T>(read: (all: readonly object[]) => T): Promise<T>;
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  check(): Promise<void>;
  uncheck(): Promise<void>;
  selectOption(option: Option): Promise<void>;
  press(key: 'Enter'): Promise<void>;
};

/** Finders below each element of `outer`. */
export function finders(shown: Shown, outer: Query): Finders {
  const inside = (find: (scope: Element) => readonly Element[]): PlainLocator =>
    locatorOf(shown, (scope) => [...new Set(outer(scope).flatMap((one) => find(one)))]);
  const where = (test: (element: Element) => boolean) => inside((scope) => within(scope).filter(test));
  return {
    locator: (selector, having = {}) => inside((scope) => selected(scope, selector)).filter(having),
    getByRole: (role, { name, exact, level } = {}) =>
      where((one) => {
        if (roleOf(one) !== role || !isShown(one) || one.attributes.get('aria-hidden') === 'true') return false;
        if (level !== undefined && one.tag !== `h${level}`) return false;
        return name === undefined || fits(nameOf(one), name, exact);
      }),
    getByLabel: (text, { exact } = {}) => where((one) => labelTexts(one).some((label) => fits(label, text, exact))),
    // The element itself may have it.
    getByText: (text, { exact = false } = {}) =>
      inside((scope) => [scope, ...within(scope)].filter((one) => isInnermost(one, text, exact))),
    getByPlaceholder: (text) => where(({ attributes }) => fits(attributes.get('placeholder') ?? '\0', text)),
  };
}

function locatorOf(shown: Shown, query: Query): PlainLocator {
  const found = (): readonly Element[] => query(shown.document());
  const picked = (pick: (all: readonly Element[]) => Element | undefined): PlainLocator =>
    locatorOf(shown, (scope) => {
      const one = pick(query(scope));
      return one === undefined ? [] : [one];
    });
  return {
    ...finders(shown, query),
    query,
    filter: ({ hasText, has }) =>
      locatorOf(shown, (scope) =>
        query(scope).filter(
          (one) =>
            (hasText === undefined || fits(textOf(one), hasText)) && (has === undefined || has.query(one).length > 0),
        ),
      ),
    and: (other) =>
      locatorOf(shown, (scope) => {
        const others = new Set(other.query(shown.document()));
        return query(scope).filter((one) => others.has(one));
      }),
    first: () => picked((all) => all[0]),
    last: () => picked((all) => all.at(-1)),
    nth: (at) => picked((all) => all[at]),
    ...reading(shown, found),
    ...using(shown, found),
  };
}

type Reading = Pick<
  PlainLocator,
  | 'all'
  | 'count'
  | 'waitFor'
  | 'innerText'
  | 'allInnerTexts'
  | 'textContent'
  | 'allTextContents'
  | 'inputValue'
  | 'getAttribute'
  | 'isVisible'
  | 'isChecked'
  | 'isDisabled'
  | 'evaluateAll'
>;

/** The one element; several are a mistake of the test, as for Playwright. */
function only(found: readonly Element[]): Element {
  const [one, ...more] = found;
  const all = found.map(({ tag, attributes }) => `${tag} ${JSON.stringify([...attributes])}`).join('\n');
  assert.ok(one !== undefined && more.length === 0, `${found.length} elements instead of one: ${all}`);
  return one;
}

function reading(shown: Shown, found: () => readonly Element[]): Reading {
  return {
    all: async () => found().map((one) => locatorOf(shown, () => [one])),
    count: async () => found().length,
    waitFor: async ({ state = 'visible' } = {}) => {
      const all = found();
      if (state === 'visible') assert.ok(isShown(only(all)), 'it is hidden');
      else if (state === 'attached') only(all);
      else assert.ok(state === 'detached' ? all.length === 0 : !all.some(isShown), `it is not ${state}`);
    },
    innerText: async () => shownText(only(found())),
    allInnerTexts: async () => found().map(shownText),
    textContent: async () => textOf(only(found())),
    allTextContents: async () => found().map(textOf),
    inputValue: async () => typedIn(only(found())),
    getAttribute: async (name) => only(found()).attributes.get(name) ?? null,
    isVisible: async () => found().length > 0 && isShown(only(found())),
    isChecked: async () => isChosen(only(found())),
    isDisabled: async () => isDisabled(only(found())),
    evaluateAll: async (read) => read(found().map(nodeOf)),
  };
}

/** As much of an element's node as tests look at. */
function nodeOf(element: Element): object {
  const { attributes } = element;
  return {
    ariaLabel: attributes.get('aria-label') ?? null,
    getAttribute: (name: string) => attributes.get(name) ?? null,
    textContent: textOf(element),
    value: typedIn(element),
  };
}

type Using = Pick<PlainLocator, 'click' | 'fill' | 'check' | 'uncheck' | 'selectOption' | 'press'>;

function using(shown: Shown, found: () => readonly Element[]): Using {
  const one = (): Element => {
    const element = only(found());
    assert.ok(isShown(element), `${element.tag} is hidden`);
    return element;
  };
  return {
    click: async () => press(shown, one()),
    fill: async (text) => fill(one(), text),
    check: async () => tick(one(), true),
    uncheck: async () => tick(one(), false),
    selectOption: async (option) => choose(one(), typeof option === 'string' ? option : option.label),
    press: async () => {
      const form = formOf(one());
      assert.ok(form, 'Enter sends no form');
      await shown.submit(form, defaultButton(form));
    },
  };
}

/** The effect of a click without a script. */
async function press(shown: Shown, element: Element): Promise<void> {
  const target =
    closest(element, 'a', 'button', 'input', 'label', 'summary') ?? assert.fail(`${element.tag} does nothing`);
  const { tag, attributes, parent } = target;
  if (tag === 'a') await shown.follow(attributes.get('href') ?? assert.fail('the link leads nowhere'));
  else if (tag === 'summary' && parent !== null) {
    if (parent.attributes.has('open')) parent.attributes.delete('open');
    else parent.attributes.set('open', '');
  } else if (tag === 'label') await press(shown, labelled(target) ?? assert.fail('the label has no control'));
  else if (isSubmit(target)) {
    assert.ok(!isDisabled(target), 'the button is disabled');
    await shown.submit(formOf(target) ?? assert.fail('the button has no form'), target);
  } else if (/^(?:checkbox|radio)$/.test(typeOf(target))) {
    tick(target, typeOf(target) === 'radio' || !attributes.has('checked'));
  } else assert.ok(attributes.has('popovertarget') || tag === 'input', 'the button needs a script');
}
