/** A secret in a record that prints, logs and serialises as `[secret]`. */
import { inspect } from 'node:util';

export type Secret = {
  /** The text itself. Call it only to encrypt, to sign, or to show the secret once. */
  reveal(): string;
  toJSON(): string;
  toString(): string;
};

const MASK = '[secret]';

export function secret(text: string): Secret {
  const masked = (): string => MASK;
  return Object.freeze({ reveal: () => text, toJSON: masked, toString: masked, [inspect.custom]: masked });
}
