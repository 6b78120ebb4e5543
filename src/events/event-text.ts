/**
 * The text of a request that publishes events (contract §4.14). One pass over its bytes checks that it is JSON, and finds the events and
 * the data of each. The data is not parsed: it is stored and sent as it came.
 */

import { EVENTS_PER_REQUEST } from '../domain/event.ts';
import { createNames, hashOfName } from '../kernel/json-names.ts';
import { LARGE_JSON_BYTES, READ_AT_ONCE } from '../kernel/json-parts.ts';
import { createJsonReader, type JsonParts, OPEN_LIST } from '../kernel/json-reader.ts';
import { refuseField } from '../kernel/refusal.ts';
import type { Work } from '../kernel/slices.ts';
import { EVENT_DATA_BYTES } from './limits.ts';

/** A text without white space between its parts. */
export type CompactJson = {
  /** Empty if it is larger than it may be. */
  readonly json: string;
  readonly bytes: number;
  /** Whether an object in it may have a repeated name. False: none has. */
  readonly mayRepeat: boolean;
};

/** The data of one event. */
export type EventData = CompactJson & {
  /** The place of the event in the request: 0 if it is the only one. */
  readonly event: number;
  /** How deep its lists and objects are nested, itself included. */
  readonly depth: number;
};

export type EventTexts = {
  /** The request with the number of each event of the list in its place, and with `{}` or `[]` in place of the data. */
  readonly request: CompactJson;
  /** The events of the list, with `{}` or `[]` in place of the data. */
  readonly events: readonly CompactJson[];
  readonly data: readonly EventData[];
};

/** The problem of a member whose name is used again. */
export const REPEATED = 'is there more than once';

/** How deep the members of the only event are, and those of an event in the list. */
const ONLY = 1;
const LISTED = 3;

/** Bounds an event without its data, and a request without its events. The texts of an event fit, even if each character is an escape. */
const BESIDE_BYTES = LARGE_JSON_BYTES;

/**
 * Reads the bytes of a request, with pauses. Throws 400: `malformed_json`, or a `Refusal` for too many events, for an event with two
 * members `data`, and for one with large members beside it.
 */
export function* readingTexts(bytes: Buffer): Work<EventTexts> {
  const { parts, refuseLarge, texts } = createEventParts(bytes);
  const reader = createJsonReader(bytes, parts);
  while (reader.next(READ_AT_ONCE)) {
    refuseLarge(reader.at());
    yield;
  }
  refuseLarge(bytes.length);
  return texts();
}

/** Collects a text that is a part of the bytes, without white space. `begin`: where it begins. */
type Collector = {
  /** The text continues up to there. */
  upTo(end: number): void;
  /** Leaves out the text before `begin`. */
  skipTo(begin: number): void;
  put(text: string): void;
  /** Its size if it continues up to there. */
  bytes(end: number): number;
  whole(): CompactJson;
  mayRepeat: boolean;
};

function createCollector(bytes: Buffer, begin: number, bytesMax: number): Collector {
  let from = begin;
  let size = 0;
  let json = '';
  const collector: Collector = {
    upTo: (end) => {
      size += end - from;
      if (size <= bytesMax) json += bytes.toString('utf8', from, end);
      else json = '';
      from = end;
    },
    skipTo: (next) => {
      from = next;
    },
    put: (text) => {
      json += text;
    },
    bytes: (end) => size + end - from,
    whole: () => ({ json, bytes: size, mayRepeat: collector.mayRepeat }),
    mayRepeat: false,
  };
  return collector;
}

type EventParts = {
  readonly parts: JsonParts;
  /** Refuses a value that is too large if it continues up to there. */
  refuseLarge(at: number): void;
  /** At the end of the bytes. */
  texts(): EventTexts;
};

function createEventParts(bytes: Buffer): EventParts {
  const events: CompactJson[] = [];
  const found: EventData[] = [];
  const names = createNames();
  const request = createCollector(bytes, 0, BESIDE_BYTES);
  let event: Collector | null = null;
  let data: Collector | null = null;
  /** The value that is being read: data, an event of the list, or the request. */
  let inside = request;
  let depth = 0;
  let [dataDepth, deepest] = [0, 0];
  let isInList = false;
  let dataOf = '';
  /** The quotes of the last name, whose value comes next. */
  let [first, last] = [-1, -1];

  const refuseLarge = (at: number): void => {
    if (data !== null || inside.bytes(at) <= BESIDE_BYTES) return;
    const problem = `has more than ${BESIDE_BYTES} bytes of JSON: beside its data, an event has only short texts`;
    throw refuseField(event === null ? 'body' : `events[${events.length}]`, problem);
  };
  const beginEvent = (at: number): void => {
    if (!isInList || depth !== LISTED - 1) return;
    if (events.length === EVENTS_PER_REQUEST)
      throw refuseField('events', `must have at most ${EVENTS_PER_REQUEST} items`);
    refuseLarge(at);
    request.upTo(at);
    event = inside = createCollector(bytes, at, BESIDE_BYTES);
  };
  const endEvent = (end: number): void => {
    if (event === null || depth !== LISTED - 1) return;
    refuseLarge(end);
    event.upTo(end);
    request.put(String(events.length));
    request.skipTo(end);
    events.push(event.whole());
    event = null;
    inside = request;
  };
  const beginData = (at: number, bracket: number): void => {
    const place = depth === ONLY ? 'data' : `events[${events.length}].data`;
    if (place === dataOf) throw refuseField(place, REPEATED);
    dataOf = place;
    inside.upTo(at);
    inside.put(bracket === OPEN_LIST ? '[]' : '{}');
    data = inside = createCollector(bytes, at, EVENT_DATA_BYTES);
    dataDepth = deepest = depth;
  };
  const endData = (end: number): void => {
    if (data === null || depth !== dataDepth) return;
    data.upTo(end);
    found.push({ ...data.whole(), event: depth === ONLY ? 0 : events.length, depth: deepest - dataDepth });
    data = null;
    inside = event ?? request;
    inside.skipTo(end);
  };
  const isOurs = (): boolean => data === null && first !== -1 && (depth === ONLY || (isInList && depth === LISTED));
  const parts: JsonParts = {
    open: (at, bracket) => {
      const name = isOurs() ? shortText(bytes, first, last) : null;
      first = -1;
      if (name === 'data') beginData(at, bracket);
      else if (name === 'events' && depth === ONLY) isInList = bracket === OPEN_LIST;
      else if (data === null) beginEvent(at);
      depth += 1;
      if (depth > deepest) deepest = depth;
      names.open();
    },
    close: (at) => {
      depth -= 1;
      names.close();
      if (data !== null) endData(at + 1);
      else endEvent(at + 1);
      isInList &&= depth > ONLY;
    },
    name: (from, to, hash, isEscaped) => {
      [first, last] = [from, to];
      if (data !== null && data.bytes(from) > EVENT_DATA_BYTES) return;
      if (names.add(isEscaped ? hashOfName(JSON.parse(bytes.toString('utf8', from, to + 1)) as string) : hash))
        inside.mayRepeat = true;
    },
    string: (from, to) => {
      first = -1;
      if (data !== null) return;
      beginEvent(from);
      endEvent(to + 1);
    },
    scalar: (begin, end) => {
      first = -1;
      if (data !== null) return;
      beginEvent(begin);
      endEvent(end);
    },
    space: (begin, end) => {
      inside.upTo(begin);
      inside.skipTo(end);
    },
  };
  const texts = (): EventTexts => {
    request.upTo(bytes.length);
    return { request: request.whole(), events, data: found };
  };
  return { parts, refuseLarge, texts };
}

/** The length of `data` with every letter escaped. A longer name cannot be one that is looked for. */
const NAME_BYTES = 6 * 6 + 2;

function shortText(bytes: Buffer, first: number, last: number): string | null {
  return last - first > NAME_BYTES ? null : (JSON.parse(bytes.toString('utf8', first, last + 1)) as string);
}
