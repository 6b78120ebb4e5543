/** Starts Debian's Chromium without a window. */
import { type Browser, chromium } from 'playwright-core';
import { onPath } from './on-path.ts';
import { needs } from './programs.ts';

/** The headless shell is Chromium without its own user interface, and uses half the CPU time. */
const PROGRAMS = [needs('chromium-headless-shell'), 'chromium'];

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // The pages of one site share a process: another would cost 0.1 s of processor time at each change of the port.
  '--renderer-process-limit=1',
  // A page then takes 7 % less processor time.
  '--in-process-gpu',
];

/** Starts a browser with an empty profile. The caller closes it. */
export async function launchChromium(): Promise<Browser> {
  const [executablePath] = PROGRAMS.flatMap((program) => onPath(program) ?? []);
  if (executablePath === undefined) {
    throw new Error(`Chromium is not installed: apt-get install ${PROGRAMS[0]}`);
  }
  return chromium.launch({ executablePath, args: FLAGS });
}
