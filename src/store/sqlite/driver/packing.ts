/**
 * Values on their way between the event loop and the database's threads: as JSON, which costs a third of a structured clone of the
 * same lists, and aside what JSON has no form for or would only copy.
 */
import type { Row, SqlValue } from './database.ts';

/** A value in the JSON: itself, `[its Base64]` of a few bytes, or `[its place among the asides]`. */
export type PackedValue = string | number | null | readonly [string | number];

export type Aside = SqlValue | readonly Row[];
export type Packed = { readonly json: string; readonly asides: readonly Aside[] };

export type Packing = {
  value(value: SqlValue): PackedValue;
  rows(rows: readonly Row[]): readonly [number];
  /** All of it: what the values were put into, and the asides. */
  end(content: unknown): Packed;
};

/** Longer ones are faster as they are. Text is mostly JSON, every quote of which would be escaped. */
const TEXT_MAX = 200;
const BYTES_MAX = 100;

export function createPacking(): Packing {
  const asides: Aside[] = [];
  const aside = (value: Aside): readonly [number] => [asides.push(value) - 1];
  return {
    value: (value) => {
      switch (typeof value) {
        case 'string':
          return value.length > TEXT_MAX ? aside(value) : value;
        case 'number':
          return Number.isFinite(value) && !Object.is(value, -0) ? value : aside(value);
        case 'object':
          if (value === null) return null;
          return value.byteLength > BYTES_MAX ? aside(alone(value)) : [base64(value)];
        default:
          return aside(value);
      }
    },
    rows: aside,
    end: (content) => ({ json: JSON.stringify(content), asides }),
  };
}

export function unpackedValue(value: PackedValue, asides: readonly Aside[]): SqlValue {
  if (typeof value !== 'object' || value === null) return value;
  const [held] = value;
  return typeof held === 'number' ? (asides[held] as SqlValue) : Buffer.from(held, 'base64');
}

/** Of bytes that are a part of something larger, such as a pool, a copy: all of it would be sent along. */
function alone(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
