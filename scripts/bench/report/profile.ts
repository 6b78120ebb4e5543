/** A profile by V8 (`--cpu-prof`) as shares of what a thread was busy with between two instants. */
import { type Frame, purposeOf, REST, type Rule } from './profile-rules.ts';
import type { Share, ThreadProfile } from './result.ts';

/** The parts of a `.cpuprofile` that are read. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  /** On the system's monotonic clock, in microseconds. */
  readonly startTime: number;
  /** The nodes that were found running. */
  readonly samples: readonly number[];
  /** Microseconds from the sample before, or from the start, to each sample. */
  readonly timeDeltas: readonly number[];
};

/** Two instants on the system's monotonic clock, in microseconds. */
export type Span = { readonly from: number; readonly to: number };

export type Profiled = {
  readonly thread: string;
  readonly profile: CpuProfile;
  readonly span: Span;
  /** The project's folder, as a URL with its last slash. */
  readonly root: string;
  readonly rules: readonly Rule[];
};

/**
 * A sample counts for all the time since the one before: a thread that waits for a core or for the disk within a function is busy with it.
 */
export function threadProfile({ thread, profile, span, root, rules }: Profiled): ThreadProfile {
  const stackOf = stacks(profile, root);
  const purposes = new Map<string, number>();
  let busy = 0;
  for (const [node, micros] of microsByNode(profile, span)) {
    const stack = stackOf(node);
    if (stack[0]?.name === '(idle)') continue;
    const what = purposeOf(stack, rules);
    purposes.set(what, (purposes.get(what) ?? 0) + micros);
    busy += micros;
  }
  const shares = [...purposes].map(([what, micros]) => ({ what, share: micros / busy }));
  return { thread, busyShare: busy / (span.to - span.from), shares: shares.toSorted((a, b) => b.share - a.share) };
}

/** One percent: of a few thousand samples less says nothing. */
export const LEAST_SHARE = 0.01;

/** The largest, at most so many and each of one percent at least; then all the others together, where they come to as much. */
export function largestShares(shares: readonly Share[], count: number): Share[] {
  const known = shares.filter(({ what, share }) => what !== REST && share >= LEAST_SHARE).slice(0, count);
  const others = shares.filter((share) => !known.includes(share)).reduce((sum, { share }) => sum + share, 0);
  return others >= LEAST_SHARE ? [...known, { what: REST, share: others }] : known;
}

/** How long the functions of the project whose path begins so ran themselves, in microseconds. */
export function microsIn(profile: CpuProfile, root: string, path: string): number {
  const stackOf = stacks(profile, root);
  const all = microsByNode(profile, { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY });
  return [...all].reduce((sum, [node, micros]) => (stackOf(node)[0]?.url.startsWith(path) ? sum + micros : sum), 0);
}

/** A sample that the span begins or ends in counts in part. */
function microsByNode({ samples, timeDeltas, startTime }: CpuProfile, { from, to }: Span): Map<number, number> {
  const found = new Map<number, number>();
  let at = startTime;
  for (const [index, node] of samples.entries()) {
    const since = at;
    at += timeDeltas[index] ?? 0;
    const micros = Math.min(at, to) - Math.max(since, from);
    if (micros > 0) found.set(node, (found.get(node) ?? 0) + micros);
  }
  return found;
}

/** A node's functions, the innermost first. */
function stacks({ nodes }: CpuProfile, root: string): (node: number) => Frame[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  return (node) => {
    const stack: Frame[] = [];
    for (let id: number | undefined = node; id !== undefined; id = callers.get(id)) {
      const { functionName: name = '', url = '' } = byId.get(id)?.callFrame ?? {};
      stack.push({ name, url: url.startsWith(root) ? url.slice(root.length) : url });
    }
    return stack;
  };
}
