/** Makes the plan of what a reader of an export has found: the same for all senders. Pure. */
import { cleanName, type EndpointHeaders, endpointName, sourceIdProblem } from './parts.ts';
import type { Fields, Plan, Planned, PlannedCustomer, PlannedEndpoint, PlannedEventType } from './plan.ts';

export const WITHOUT_SECRET = 'has no secret: the receiver would refuse every delivery';

export function planOf(eventTypes: readonly PlannedEventType[], customers: readonly PlannedCustomer[]): Plan {
  return {
    eventTypes: withoutRepeats(eventTypes, ({ body }) => String(body.name)),
    customers: withoutRepeats(customers, ({ externalId }) => externalId),
  };
}

type FoundCustomer = {
  readonly path: string;
  /** Its name, if it has one. */
  readonly label: string | null;
  readonly externalId: string | null;
  /** What is wrong without an external id. */
  readonly withoutId: string;
  readonly metadata: Fields;
  readonly lost: readonly string[];
  readonly endpoints: readonly PlannedEndpoint[];
};

export function plannedCustomer(found: FoundCustomer): PlannedCustomer {
  const { path, label, externalId, withoutId, metadata, lost, endpoints } = found;
  const name = cleanName(label ?? externalId ?? '', path);
  return {
    path,
    name,
    externalId: externalId ?? '',
    problem: externalId === null ? withoutId : null,
    lost,
    body: { name, externalId, metadata },
    endpoints: withoutRepeats(endpoints, ({ sourceId }) => sourceId),
  };
}

type FoundEndpoint = {
  readonly path: string;
  readonly label: string;
  readonly id: string | null;
  /** Why it cannot be made, besides its id. */
  readonly problem: string | null;
  readonly lost: readonly string[];
  readonly url: string | null;
  readonly secret: string | null;
  readonly isEnabled: boolean;
  readonly headers: EndpointHeaders;
  /** The fields of its webhook, without name and format. */
  readonly webhook: Fields;
};

export function plannedEndpoint(found: FoundEndpoint): PlannedEndpoint {
  const { path, label, id, problem, lost, url, secret, isEnabled, headers, webhook } = found;
  const name = endpointName(label, id ?? path);
  return {
    path,
    name,
    sourceId: id ?? '',
    problem: sourceIdProblem(id) ?? problem,
    lost,
    // Its receiver proved nothing to the other sender either: the person who imports it vouches for it.
    endpoint: { name, url, secret, tokenChallenge: false, enabled: isEnabled, sendApiKey: false, ...headers.fields },
    // The bodies of the other senders are only the data.
    webhook: { name, format: 'cloudevents-binary', ...webhook },
    mayStart: isEnabled && headers.isComplete,
  };
}

/** Adds to each item that repeats an earlier one with the same key that it does. */
function withoutRepeats<Item extends Planned>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  const first = new Map<string, string>();
  return items.map((item) => {
    const key = keyOf(item);
    const earlier = first.get(key);
    if (earlier === undefined) {
      if (item.problem === null) first.set(key, item.path);
      return item;
    }
    return item.problem === null ? { ...item, problem: `repeats ${earlier}` } : item;
  });
}
