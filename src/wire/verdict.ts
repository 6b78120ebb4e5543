/** What a pure rule answers: yes with what it found, or no with a code for programs and a sentence for people. */

export type Failure<Code extends string> = { readonly ok: false; readonly code: Code; readonly description: string };

/** `ok: true` carries the members of `Value`; `ok: false` one code of a closed list and its sentence. */
export type Verdict<Code extends string, Value = unknown> = ({ readonly ok: true } & Value) | Failure<Code>;

/** Makes the failing half of a verdict. The description names the figures that decided and never holds a secret. */
export function failure<Code extends string>(code: Code, description: string): Failure<Code> {
  return { ok: false, code, description };
}
