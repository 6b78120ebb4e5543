/** The entity tag in forms about a record, and the notice when somebody else has changed the record. */
import { type Html, html } from '../../http/html.ts';
import { value } from './differences.ts';
import { type FormState, SEEN_FIELD } from './form-state.ts';
import { icon } from './icon.ts';
import { table } from './table.ts';

export function seenField({ seen }: FormState): Html | null {
  return seen === null ? null : html`<input type="hidden" name="${SEEN_FIELD}" value="${seen}">`;
}

/** Says that nothing was saved, and shows both values of each field that differs. It takes the focus, so that screen readers read it first. */
export function overtakenNotice({ overtaken }: FormState, labels: Readonly<Record<string, string>> = {}): Html | null {
  if (overtaken === null) return null;
  const { differences, notKept } = overtaken;
  const labelOf = (field: string): string => labels[field] ?? labels[field.split('.', 1)[0] ?? ''] ?? field;
  const typeAgain = notKept.length === 0 ? null : html`<p>Enter again: ${notKept.map(labelOf).join(', ')}.</p>`;
  return html`<div class="error-summary overtaken"><div role="alert" tabindex="-1" data-focus><p class="notice-title">${icon('warning')}Somebody changed this meanwhile</p><p>${differences.length === 0 ? 'Nothing was done. Look at the current settings before you send this again.' : 'Nothing was saved. Compare the values. If you send this again, yours replace the current ones.'}</p>${typeAgain}</div>${
    differences.length === 0
      ? null
      : table({
          caption: 'What differs',
          columns: [{ label: 'Field', kind: 'main' }, { label: 'Yours' }, { label: 'Now' }],
          rows: differences.map(({ field, yours, now }) => [labelOf(field), cell(yours), cell(now)]),
          empty: html``,
        })
  }</div>`;
}

/** Lists show one item a line. */
function cell(of: unknown): Html {
  return Array.isArray(of) ? html`${of.map((item) => html`<div>${value(item)}</div>`)}` : value(of);
}
