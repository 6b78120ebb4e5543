/** Explores every state that a model can reach, breadth first. */

export type Model<State> = {
  readonly initial: State;
  /** The steps that may come next, by name, and the states that they lead to. */
  steps(state: State): readonly (readonly [name: string, next: State])[];
  /** Returns the problem of a state, or null. */
  problem(state: State): string | null;
  /** Whether everything is done. */
  isDone(state: State): boolean;
};

export type Exploration = {
  readonly states: number;
  /** The shortest way to a state that is wrong, or from which the end cannot be reached any more; null if there is none. */
  readonly found: { readonly problem: string; readonly way: readonly string[] } | null;
};

type Visit<State> = { readonly state: State; readonly from: string | null; readonly step: string };

/** `State` must be JSON. Throws if there are more than `most` states. */
export function explore<State>(model: Model<State>, most = 2_000_000): Exploration {
  const visits = new Map<string, Visit<State>>();
  const before = new Map<string, string[]>();
  const first = JSON.stringify(model.initial);
  visits.set(first, { state: model.initial, from: null, step: 'start' });
  const queue = [first];
  const done: string[] = [];
  for (const key of queue) {
    const { state } = visits.get(key) as Visit<State>;
    const problem = model.problem(state);
    if (problem !== null) return { states: visits.size, found: { problem, way: wayTo(visits, key) } };
    if (model.isDone(state)) done.push(key);
    for (const [step, next] of model.steps(state)) {
      const name = JSON.stringify(next);
      const earlier = before.get(name) ?? [];
      before.set(name, earlier);
      earlier.push(key);
      if (visits.has(name)) continue;
      if (visits.size >= most) throw new RangeError(`the model has more than ${most} states`);
      visits.set(name, { state: next, from: key, step });
      queue.push(name);
    }
  }
  const stuck = unreached(queue, before, done);
  if (stuck === null) return { states: visits.size, found: null };
  return { states: visits.size, found: { problem: 'the end cannot be reached', way: wayTo(visits, stuck) } };
}

/** The first state from which no finished state can be reached. */
function unreached(all: readonly string[], before: ReadonlyMap<string, readonly string[]>, done: readonly string[]) {
  const reaching = new Set(done);
  const queue = [...done];
  for (const key of queue) {
    for (const earlier of before.get(key) ?? []) {
      if (reaching.has(earlier)) continue;
      reaching.add(earlier);
      queue.push(earlier);
    }
  }
  return all.find((key) => !reaching.has(key)) ?? null;
}

function wayTo<State>(visits: ReadonlyMap<string, Visit<State>>, key: string): string[] {
  const way: string[] = [];
  for (let at: string | null = key; at !== null; ) {
    const { from, step }: Visit<State> = visits.get(at) as Visit<State>;
    way.unshift(step);
    at = from;
  }
  return way;
}
