/** A benchmark's result, for tests of its reports. */
import type { BenchResult, ThreadProfile } from '../../scripts/bench/report/result.ts';
import type { StoredResult } from '../../scripts/bench/report/stored.ts';

export function resultOf(more: Partial<BenchResult> = {}): BenchResult {
  return {
    bench: 'token',
    title: 'Issuing tokens',
    method: 'How it was done.',
    baseline: 'bare',
    seconds: 12,
    figures: [
      { name: 'rate', unit: '/s' },
      { name: 'p99', unit: 'ms' },
    ],
    rows: [
      { name: 'bare', values: { rate: [40_000, 50_000, 45_000], p99: [2, 4, 3] } },
      { name: 'Sallyport', values: { rate: [30_000, 30_000, 27_000], p99: [3, 5, 4] } },
    ],
    goals: [
      { text: 'rate, of bare', actual: 60, bound: 'at least', limit: 65, unit: '%' },
      { text: 'p99, of bare', actual: 1.3, bound: 'at most', limit: 2, unit: '×' },
    ],
    notMeasured: [],
    ...more,
  };
}

/** A thread that was busy with two things, and one that had nothing to do. */
export function profileOfThreads(): ThreadProfile[] {
  return [
    {
      thread: 'event loop',
      busyShare: 0.724,
      shares: [
        { what: 'writing to sockets, TLS', share: 0.6 },
        { what: 'hashes | signatures', share: 0.397 },
        { what: 'metrics and log', share: 0.003 },
      ],
    },
    { thread: 'writing thread', busyShare: 0.001, shares: [{ what: 'statements', share: 1 }] },
  ];
}

export function storedOf(result: BenchResult, more: Partial<StoredResult> = {}): StoredResult {
  return {
    measuredAt: '2026-11-21T05:00:00.000Z',
    machine: { cores: 2, cpu: 'A Processor', memoryGiB: 24, system: 'Debian 12', kernel: '6.1.0' },
    versions: { Sallyport: '0.1.0', Node: '24.0.0' },
    isRehearsal: false,
    result,
    ...more,
  };
}
