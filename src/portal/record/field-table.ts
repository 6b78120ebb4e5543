/**
 * One table of fields an entity: it renders the form, fills it from a record, reads the sent form, and names the fields in messages.
 * Fields are named by their place in the API (`retry.maxAttempts`), so that a refusal finds its field.
 */

import type { Html } from '../../http/html.ts';
import { isObject } from '../../kernel/validation.ts';
import {
  checkbox,
  type Field,
  type FormState,
  newForm,
  radioGroup,
  type SelectField,
  selectField,
  type TextField,
  textArea,
  textField,
  type Values,
} from '../parts/fields.ts';
import { type RowField, readRows, repeatableRows } from '../parts/row-fields.ts';

export type FormField = {
  /** Names the field in messages. */
  readonly title: string;
  draw(state: FormState, name: string): Html;
  /** The value for the API; undefined if the field is empty. */
  read(sent: URLSearchParams, name: string): unknown;
  /** The form's text for a value of the API. */
  fill(value: unknown, name: string): Values;
  /** The value to compare with the record after a conflict; default: the result of `read`. */
  compare?(sent: URLSearchParams, name: string): unknown;
  /** Never shown again: an empty field keeps the secret. */
  readonly isSecret?: boolean;
  /** Removes secret parts of a field that shows the rest. */
  hide?(shown: URLSearchParams, name: string): void;
};
export type FieldTable = Readonly<Record<string, FormField>>;

/** `title` names the field in messages; default: the label. */
type Options<Control> = Omit<Control, 'name'> & { readonly title?: string };
type Override = Partial<Pick<FormField, 'read' | 'fill' | 'compare'>>;

/** One line. */
export function text(options: Options<TextField>, override: Override = {}): FormField {
  return {
    title: options.title ?? options.label,
    draw: (state, name) => textField(state, { ...options, name }),
    read: (sent, name) => sent.get(name)?.trim() || (options.isRequired === true ? '' : undefined),
    fill: asText,
    ...override,
  };
}

/** A password, or another secret text. It is never shown again. */
export function secretText(options: Options<TextField>): FormField {
  return { ...text({ ...options, type: 'password' }), read: typedText, isSecret: true };
}

export function number(options: Options<TextField>): FormField {
  return { ...text({ ...options, type: 'number' }), read: numberOf };
}

/** Several lines. Browsers send CR LF: a text that was not touched stays the same. */
export function lines(options: Options<Parameters<typeof textArea>[1]>, override: Override = {}): FormField {
  return {
    title: options.title ?? options.label,
    draw: (state, name) => textArea(state, { ...options, name }),
    read: (sent, name) => linesOf(sent, name) ?? (options.isRequired === true ? '' : undefined),
    fill: asText,
    ...override,
  };
}

/** Several lines that are never shown again, such as a private key. */
export function secretLines(options: Options<Parameters<typeof textArea>[1]>): FormField {
  return { ...lines(options), read: linesOf, isSecret: true };
}

/** A check box. `on` and `off` are its values in the API. */
export function tick(options: Options<Omit<Field, 'isRequired'>>, on: unknown = true, off: unknown = false): FormField {
  return {
    title: options.title ?? options.label,
    draw: (state, name) => checkbox(state, { ...options, name }),
    read: (sent, name) => (sent.has(name) ? on : off),
    fill: (value, name) => ({ [name]: value === on }),
  };
}

/** Exactly one of a few choices, each with a hint. */
export function oneOf(options: Options<Parameters<typeof radioGroup>[1]>, override: Override = {}): FormField {
  return {
    title: options.title ?? options.label,
    draw: (state, name) => radioGroup(state, { ...options, name }),
    read: typedText,
    fill: asText,
    ...override,
  };
}

/** One of a list. */
export function select(options: Options<SelectField>, override: Override = {}): FormField {
  return {
    title: options.title ?? options.label,
    draw: (state, name) => selectField(state, { ...options, name }),
    read: (sent, name) => sent.get(name) || (options.isRequired === true ? '' : undefined),
    fill: asText,
    ...override,
  };
}

/** Rows of the same fields. In the form they are named `<name>.<field>`. */
export function rows(options: Options<Parameters<typeof repeatableRows>[1]>): FormField {
  const columns = options.fields;
  const inForm = (name: string): RowField[] => columns.map((one) => ({ ...one, name: `${name}.${one.name}` }));
  const read = (sent: URLSearchParams, name: string): Record<string, string>[] => {
    const names = inForm(name).map((one) => one.name);
    return readRows((one) => sent.getAll(one), names).map((row) =>
      Object.fromEntries(columns.map((one, at) => [one.name, row[names[at] ?? ''] ?? ''])),
    );
  };
  return {
    title: options.title ?? options.label,
    draw: (state, name) => repeatableRows(state, { ...options, name, fields: inForm(name) }),
    read,
    fill: (value, name) => {
      const items = (value ?? []) as readonly Readonly<Record<string, string>>[];
      return Object.fromEntries(
        columns.map((one) => [`${name}.${one.name}`, items.map((item) => item[one.name] ?? '')]),
      );
    },
    compare: (sent, name) => read(sent, name).map((row) => Object.values(row).join(': ')),
  };
}

function asText(value: unknown, name: string): Values {
  return { [name]: value === null || value === undefined ? null : String(value) };
}

/** The names of the fields, for messages. */
export function titlesOf(table: FieldTable): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(table).map(([name, { title }]) => [name, title]));
}

/** A form that shows `body`, a record as the API shows it or the defaults of a new one. */
export function fillForm(table: FieldTable, body: unknown): FormState {
  const filled = Object.entries(table).map(([name, field]) =>
    field.isSecret === true ? {} : field.fill(memberAt(body, name), name),
  );
  return newForm(Object.assign({}, ...filled));
}

/** The body of a creation: fields that were left empty are absent. */
export function readForm(table: FieldTable, sent: URLSearchParams): Body {
  const members = Object.entries(table).map(([name, field]) => [name, field.read(sent, name)] as const);
  return nested(members.filter(([, value]) => value !== undefined));
}

/** The merge patch of a change: fields that were emptied return to their default, and empty secrets stay as they are. */
export function readPatch(table: FieldTable, sent: URLSearchParams): Body {
  const members = Object.entries(table).map(([name, field]) => {
    const value = field.read(sent, name);
    return [name, value === undefined && field.isSecret !== true ? null : value] as const;
  });
  return nested(members.filter(([, value]) => value !== undefined));
}

/** The values of a form, to compare them with a record that someone else has changed. */
export function readCompared(table: FieldTable, sent: URLSearchParams): Body {
  return nested(
    Object.entries(table).map(([name, field]) => [name, (field.compare ?? field.read)(sent, name) ?? null] as const),
  );
}

/** The typed values, without secrets, to show them again. */
export function withoutSecrets(table: FieldTable, sent: URLSearchParams): URLSearchParams {
  const shown = new URLSearchParams(sent);
  for (const [name, field] of Object.entries(table)) {
    if (field.isSecret === true) shown.delete(name);
    field.hide?.(shown, name);
  }
  return shown;
}

export type Body = Record<string, unknown>;

function nested(members: readonly (readonly [path: string, value: unknown])[]): Body {
  const body: Body = {};
  for (const [path, value] of members) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let within = body;
    for (const name of names) {
      within[name] ??= {};
      within = within[name] as Body;
    }
    within[last] = value;
  }
  return body;
}

function memberAt(body: unknown, path: string): unknown {
  return path.split('.').reduce((within: unknown, name) => (isObject(within) ? within[name] : undefined), body);
}

/** The typed text; undefined if it is empty. */
function typedText(sent: URLSearchParams, name: string): string | undefined {
  const typed = sent.get(name) ?? '';
  return typed.trim() === '' ? undefined : typed;
}

/** Several lines as a file has them: browsers send CR LF. */
export function linesOf(sent: URLSearchParams, name: string): string | undefined {
  return typedText(sent, name)?.replaceAll('\r\n', '\n');
}

/** A number if digits were typed. Other text stays text, so that the schema refuses the field. */
export function numberOf(sent: URLSearchParams, name: string): number | string | undefined {
  const typed = typedText(sent, name)?.trim();
  return typed === undefined ? undefined : /^-?\d{1,15}(\.\d{1,10})?$/.test(typed) ? Number(typed) : typed;
}
