/** The browser that pages are looked at with: Debian's Chromium, without a window. */
import { type Browser, chromium } from 'playwright-core';
import { onPath } from './on-path.ts';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Started anew, with a profile of its own. Whoever starts it closes it. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = onPath('chromium');
  if (executablePath === null) throw new Error('chromium is not installed: apt-get install chromium');
  return chromium.launch({ executablePath, args: FLAGS });
}
