/** The mouse and the keyboard of someone who works in the portal, with a count of what they do. */
import type { Locator, Page } from 'playwright-core';

type Effort = { readonly clicks: number; readonly keys: number; readonly seconds: number };

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
  /** The actions so far. */
  done(): Effort;
};

/**
 * The seconds of a practised user by the keystroke-level model (Card, Moran, Newell 1980): 1.35 s to decide on a step, 1.1 s to point,
 * 0.2 s for a click, 0.28 s for a key. The model leaves out reading.
 */
const SECONDS = { step: 1.35, click: 1.3, key: 0.28 };

export function handsOn(page: Page): Hands {
  let [steps, clicks, keys] = [0, 0, 0];
  const click: Hands['click'] = async (what) => {
    steps += 1;
    clicks += 1;
    await what.click();
  };
  return {
    page,
    click,
    type: async (field, text) => {
      await click(field);
      keys += text.length;
      await field.fill(text);
    },
    enter: async (text) => {
      steps += 1;
      keys += text.length + 1;
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
    },
    choose: async (list, label) => {
      // The list of a select is drawn by the system: a click opens it, and another one chooses.
      steps += 1;
      clicks += 2;
      await list.selectOption({ label });
    },
    find: async (text, found) => {
      steps += 1;
      keys += 2 + text.length;
      await page.keyboard.press('Control+k');
      await page.getByRole('searchbox', { name: 'Find anything' }).fill(text);
      await click(page.locator('#search-results a').filter({ hasText: found }).first());
    },
    done: () => ({
      clicks,
      keys,
      seconds: Math.round(steps * SECONDS.step + clicks * SECONDS.click + keys * SECONDS.key),
    }),
  };
}
