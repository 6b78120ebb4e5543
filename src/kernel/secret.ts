/** A secret that must be used: it travels as a record that prints, logs and serialises as `[secret]`. */
import { inspect } from 'node:util';

export type Secret = {
  /** The text itself. Called where it is sealed, signed with, or shown once; nowhere else. */
  reveal(): string;
  toJSON(): string;
  toString(): string;
};

const MASK = '[secret]';

export function secret(text: string): Secret {
  const masked = (): string => MASK;
  return Object.freeze({ reveal: () => text, toJSON: masked, toString: masked, [inspect.custom]: masked });
}
