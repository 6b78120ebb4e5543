/** The result of a pure rule: success with values, or a failure with a code for programs and a description for people. */

export type Rejection<Code extends string> = { readonly ok: false; readonly code: Code; readonly description: string };

/** `ok: true` carries the members of `Value`; `ok: false` carries one code of a closed list and a description. */
export type Verdict<Code extends string, Value = unknown> = ({ readonly ok: true } & Value) | Rejection<Code>;

/** A failure. The description names the figures that decided and never contains a secret. */
export function reject<Code extends string>(code: Code, description: string): Rejection<Code> {
  return { ok: false, code, description };
}
