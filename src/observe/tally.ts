/**
 * Counters and histograms for every request and attempt, which prom-client reads when it renders. prom-client's own look up labels by a
 * concatenated text: 2.6 µs for each request instead of 0.2.
 */
import {
  Counter,
  type CounterConfiguration,
  type Histogram,
  type HistogramConfiguration,
  type Registry,
} from 'prom-client';

/** A cell for each combination of label values, in the order of `labelNames`. */
type Cells<Cell> = {
  at(...labels: readonly string[]): Cell;
  all(): readonly { readonly labels: Readonly<Record<string, string>>; readonly cell: Cell }[];
};

type Node<Cell> = { readonly next: Map<string, Node<Cell>>; cell: Cell | null };

function createCells<Cell>(labelNames: readonly string[], make: () => Cell): Cells<Cell> {
  const newNode = (): Node<Cell> => ({ next: new Map(), cell: null });
  const root = newNode();
  const all: { readonly labels: Readonly<Record<string, string>>; readonly cell: Cell }[] = [];
  return {
    at: (...labels) => {
      let node = root;
      for (const label of labels) {
        let next = node.next.get(label);
        if (next === undefined) {
          next = newNode();
          node.next.set(label, next);
        }
        node = next;
      }
      if (node.cell === null) {
        node.cell = make();
        const named = Object.fromEntries(labelNames.map((name, at) => [name, labels[at] ?? '']));
        all.push({ labels: named, cell: node.cell });
      }
      return node.cell;
    },
    all: () => all,
  };
}

/** Takes labels in the order of `labelNames`. */
export type CounterTally = { add(...labels: readonly string[]): void };

export function counterTally(registry: Registry, settings: CounterConfiguration<string>): CounterTally {
  const cells = createCells(settings.labelNames ?? [], () => ({ count: 0 }));
  new Counter({
    ...settings,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, cell } of cells.all()) this.inc({ ...labels }, cell.count);
    },
  });
  return {
    add: (...labels) => {
      cells.at(...labels).count += 1;
    },
  };
}

export type HistogramTally = { observe(value: number, ...labels: readonly string[]): void };

type Distribution = { readonly counts: number[]; count: number; sum: number };

/** `buckets` are inclusive upper bounds in ascending order. */
export function histogramTally(
  registry: Registry,
  { name, help, labelNames = [], buckets = [] }: HistogramConfiguration<string>,
): HistogramTally {
  const cells = createCells<Distribution>(labelNames, () => ({ counts: buckets.map(() => 0), count: 0, sum: 0 }));
  const samples = (): Sample[] =>
    cells.all().flatMap(({ labels, cell }) => {
      let count = 0;
      const below = buckets.map((le, at): Sample => {
        count += cell.counts[at] ?? 0;
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
      });
      return [
        ...below,
        { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: cell.count },
        { metricName: `${name}_sum`, labels, value: cell.sum },
        { metricName: `${name}_count`, labels, value: cell.count },
      ];
    });
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({ ...metric, values: samples() }),
  };
  // These are the members that a registry uses to render a metric.
  registry.registerMetric(metric as unknown as Histogram);
  return {
    observe: (value, ...labels) => {
      const cell = cells.at(...labels);
      cell.sum += value;
      cell.count += 1;
      const at = buckets.findIndex((bound) => value <= bound);
      if (at !== -1) cell.counts[at] = (cell.counts[at] ?? 0) + 1;
    },
  };
}

type Sample = {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
};
