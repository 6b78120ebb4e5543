/** The changes of an audit entry: each field before and after, with secrets masked. */

import type { Change, Changes } from '../../domain/audit.ts';
import { type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { isObject } from '../../kernel/validation.ts';
import { time } from './text.ts';

type LabelOf = (name: string) => string;

export function differences(changes: Changes, labelOf: LabelOf = fieldLabel): Html {
  const entries = shownEntries(changes);
  if (entries.length === 0) return html`<span class="quiet">No fields changed</span>`;
  const difference = (entry: [string, Change]): Html => differenceOf(entry, labelOf);
  if (entries.length <= SHOWN_MAX) return html`<dl class="differences">${entries.map(difference)}</dl>`;
  const [shown, folded] = [entries.slice(0, SHOWN), entries.slice(SHOWN)];
  return html`
    <dl class="differences">${shown.map(difference)}</dl>
    <details class="more-differences">
      <summary>${folded.length} more</summary>
      <dl class="differences">${folded.map(difference)}</dl>
    </details>
  `;
}

function shownEntries(changes: Changes): [string, Change][] {
  const all = Object.entries(changes);
  return all.every(([, { from }]) => from === null) ? all.filter(saysSomething) : all;
}

const SUMMARY_LENGTH = 40;

/** One line: the fields of a new or deleted record, or the first change and the number of the others. */
export function changesSummary(changes: Changes, labelOf: LabelOf = fieldLabel): Html {
  const entries = shownEntries(changes);
  const [first, ...others] = entries;
  if (first === undefined) return html`No fields changed`;
  const isWhole = entries.every(([, { from }]) => from === null) || entries.every(([, { to }]) => to === null);
  if (isWhole && others.length > 0) return namesOf(entries, labelOf);
  const [name, { from, to }] = first;
  const [before, after] = excerpts(lineOf(from), lineOf(to), SUMMARY_LENGTH);
  const shown = (value: unknown, text: string): Html | string => (isInstant(value) ? time(Date.parse(value)) : text);
  const change = from === null ? shown(to, after) : html`${shown(from, before)} → ${shown(to, after)}`;
  return html`${labelOf(name)}: ${change}${others.length === 0 ? '' : `, and ${others.length} more`}`;
}

function lineOf(value: unknown): string {
  return valueText(withoutId(value)).replaceAll(/\s+/g, ' ');
}

/** Shared text that a shortened one has before the difference. */
const SHARED_LENGTH = 12;

/** Two texts; long ones from where they differ, so that old and new do not look the same. */
function excerpts(from: string, to: string, length: number): readonly [string, string] {
  if (from.length <= length && to.length <= length) return [from, to];
  let same = 0;
  while (same < from.length && from[same] === to[same]) same += 1;
  const start = same < length - SHARED_LENGTH ? 0 : same - SHARED_LENGTH;
  const cut = (text: string): string =>
    `${start === 0 ? '' : '…'}${text.slice(start, start + length)}${text.length > start + length ? '…' : ''}`;
  return [cut(from), cut(to)];
}

/** The sentence about the record says its name and its customer already; new records are active. */
const TOLD: ReadonlySet<string> = new Set(['name', 'userName', 'customerId', 'active', 'builtIn']);
const NAMED = 3;
const NAMED_LENGTH = 24;

/** The first short values of a new or deleted record, or the names of its fields. */
function namesOf(entries: readonly [string, Change][], labelOf: LabelOf): Html {
  const others = entries.filter(([name]) => !TOLD.has(name));
  const all = others.length === 0 ? entries : others;
  const valued = all.flatMap(([name, { from, to }]) => {
    const one = to ?? from;
    const text = lineOf(one);
    const saysLittle = one === false || isUuidV7(text) || (typeof one === 'object' && !Array.isArray(one));
    if (saysLittle || text.length > NAMED_LENGTH) return [];
    return [html`${labelOf(name)}: ${isInstant(one) ? time(Date.parse(one)) : text}`];
  });
  const told = valued.length === 0 ? all.map(([name]) => html`${labelOf(name)}`) : valued;
  const more = all.length - Math.min(told.length, NAMED);
  const shown = told.slice(0, NAMED).map((one, at) => html`${at === 0 ? '' : ', '}${one}`);
  return html`${shown}${more === 0 ? '' : `, and ${more} more`}`;
}

/** An id says less than any other member. */
function withoutId(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const others = Object.entries(value).filter(([name]) => name !== 'id');
  return others.length === 0 ? value : Object.fromEntries(others);
}

/** A new record has many fields; the first ones identify it. */
const SHOWN_MAX = 6;
const SHOWN = 4;

/** For a new record: its id is shown elsewhere, and empty fields are omitted. */
function saysSomething([name, { to }]: [string, Change]): boolean {
  return name !== 'id' && valueText(to) !== 'none';
}

function differenceOf([name, { from, to }]: [string, Change], labelOf: LabelOf): Html {
  const [before, after] = excerpts(valueText(from), valueText(to), EXCERPT_LENGTH);
  const words =
    from === null
      ? html`<ins>${value(to)}</ins>`
      : to === null
        ? html`<del>${value(from)}</del>`
        : html`
          <del>${value(from, before)}</del>
          <span class="difference-arrow" aria-hidden="true">→</span>
          <ins>${value(to, after)}</ins>
        `;
  return html`<div><dt>${labelOf(name)}</dt><dd>${words}</dd></div>`;
}

/** `accessTokenValiditySeconds` as `access token validity seconds`. */
export function fieldLabel(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Longer values, such as keys, are collapsed. */
const VALUE_SHOWN_LENGTH = 160;
const EXCERPT_LENGTH = 60;

/** One value as text. `excerpt`: what a long one shows; the default is its beginning. */
export function value(of: unknown, excerpt?: string): Html {
  if (isInstant(of)) return time(Date.parse(of));
  const text = valueText(of);
  if (text.length <= VALUE_SHOWN_LENGTH) return shortValue(of, text);
  return html`<details class="long-value"><summary>${excerpt ?? `${text.slice(0, EXCERPT_LENGTH)}…`}</summary>${text}</details>`;
}

/** Instants among the members of an object are in the zone of the page, as others are. */
function shortValue(of: unknown, text: string): Html {
  if (!isObject(of) || !Object.values(of).some(isInstant)) return html`${text}`;
  const members = Object.entries(of).map(
    ([name, member], at) => html`${at === 0 ? '' : ', '}${fieldLabel(name)}: ${value(member)}`,
  );
  return html`${members}`;
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

function isInstant(value: unknown): value is string {
  return typeof value === 'string' && INSTANT.test(value);
}

/** On one line. */
function instantText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`.replaceAll(' ', '\u00a0');
}

/** Entries from before schema version 4 hold instants as numbers. */
const INSTANT_MIN = Date.UTC(2000, 0, 1);
const INSTANT_MAX = Date.UTC(2200, 0, 1);

function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value === '' ? 'empty' : INSTANT.test(value) ? instantText(value) : value;
  if (typeof value === 'number') {
    const isInstant = value > INSTANT_MIN && value < INSTANT_MAX;
    return isInstant ? instantText(new Date(value).toISOString()) : String(value);
  }
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ');
  const members = Object.entries(value).map(([name, member]) => `${fieldLabel(name)}: ${valueText(member)}`);
  return members.length === 0 ? 'none' : members.join(', ');
}
