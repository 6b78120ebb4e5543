/** Hostile requests of one customer, from a process of their own: they must not slow down what measures. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { firstLine, startNode } from './processes.ts';

export type Attack = {
  readonly name: string;
  readonly connections: number;
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  /** The last byte of the body never comes. */
  readonly unfinished?: boolean;
  /** The session of a portal, instead of the token. */
  readonly cookie?: string;
};

/** The content of the file that `attacker.ts` reads. */
export type AttackPlan = Omit<Attack, 'name'> & { readonly url: string; readonly token: string };

const PROGRAM = fileURLToPath(new URL('attacker.ts', import.meta.url));

/** Sends the requests over and over until it is stopped, which returns how many replies of each status there were. */
export async function startAttack(
  folder: string,
  plan: AttackPlan,
): Promise<{ stop(): Promise<Readonly<Record<string, number>>> }> {
  const file = `${folder}/attack.json`;
  writeFileSync(file, JSON.stringify(plan));
  const running = startNode(PROGRAM, [file]);
  await firstLine(running, 'the attack');
  const replies = firstLine<Record<string, number>>(running, 'the attack');
  replies.catch(() => {});
  return {
    stop: async () => {
      running.child.kill('SIGTERM');
      const found = await replies;
      await running.exited;
      return found;
    },
  };
}
