/** The mouse and the keyboard of someone who works in the portal, with a count of the clicks. */
import type { Locator, Page } from 'playwright-core';

export type Hands = {
  readonly page: Page;
  click(what: Locator): Promise<void>;
  /** Clicks a field, and replaces its text. */
  type(field: Locator, text: string): Promise<void>;
  /** Types where the focus is, and goes on to the next field. */
  enter(text: string): Promise<void>;
  /** Opens a list and chooses one. */
  choose(list: Locator, label: string): Promise<void>;
  /** Opens the search with Ctrl K, types, and clicks what was found. */
  find(text: string, found: RegExp): Promise<void>;
  /** The clicks so far. */
  clicks(): number;
};

export function handsOn(page: Page): Hands {
  let clicks = 0;
  const click: Hands['click'] = async (what) => {
    clicks += 1;
    await what.click();
  };
  return {
    page,
    click,
    type: async (field, text) => {
      await click(field);
      await field.fill(text);
    },
    enter: async (text) => {
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
    },
    choose: async (list, label) => {
      // The list of a select is drawn by the system: a click opens it, and another one chooses.
      clicks += 2;
      await list.selectOption({ label });
    },
    find: async (text, found) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('searchbox', { name: 'Find anything' }).fill(text);
      await click(page.locator('#search-results a').filter({ hasText: found }).first());
    },
    clicks: () => clicks,
  };
}
