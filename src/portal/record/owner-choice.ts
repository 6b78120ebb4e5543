/** The first field of the form for a new record, in the operator's portal: whose it will be. The rest of the form follows the choice. */
import { attributes, type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { Refusal, refuseField } from '../../kernel/refusal.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { caught, type PageCall } from '../frame/call.ts';
import { readText } from '../frame/query.ts';
import { type FormState, keptForm, radioGroup } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { submitButton } from '../parts/header.ts';
import {
  CUSTOMER,
  CUSTOMER_SUGGESTIONS,
  customerField,
  customerNamed,
  type Owners,
  readHasCustomers,
} from './owner.ts';

const FOR = 'for';
/** The customer whose resources the form offers, by its id. */
const CUSTOMER_ID = 'customerId';
/** In the address of the form: only the owner was chosen, and nothing is to be created yet. */
const CHOOSES = 'chooses';

/** The owner of a new record. Null: the owner that the portal serves. Throws 404 for an unknown customer in the address. */
export async function newOwner(owners: Owners | undefined, { form, query }: PageCall): Promise<OwnerName | null> {
  if (owners === undefined || owners.customerId !== null) return null;
  if (!form.has(FOR)) return customerWith(owners, form.get(CUSTOMER_ID) ?? readText(query, CUSTOMER));
  if (form.get(FOR) !== CUSTOMER) return null;
  const typed = readText(form, CUSTOMER);
  if (typed === null) throw refuseField(CUSTOMER, 'is required');
  // Several customers may have this name: the one that was chosen before stays.
  const before = form.get(CUSTOMER_ID) ?? '';
  const known = isUuidV7(before) ? await owners.customers.get(before) : null;
  return known?.name === typed ? known : await customerNamed(owners, typed);
}

async function customerWith({ customers }: Owners, id: string | null): Promise<OwnerName | null> {
  if (id === null) return null;
  const customer = isUuidV7(id) ? await customers.get(id) : null;
  if (customer === null) throw new Refusal('not_found', 'there is no such customer');
  return customer;
}

/** The same for a form that is shown again: null while its field names no customer, which the form says beside it. */
export async function shownOwner(owners: Owners | undefined, call: PageCall): Promise<OwnerName | null> {
  try {
    return await newOwner(owners, call);
  } catch (error) {
    if (caught(error).code === 'not_found') throw error;
    return null;
  }
}

/** Whether the form has the field: there is a customer, or there was one when the form was shown. */
export async function hasOwnerChoice(owners: Owners | undefined, { form }: PageCall): Promise<boolean> {
  if (owners === undefined || owners.customerId !== null) return false;
  return form.has(FOR) || (await readHasCustomers(owners));
}

/** Whether only the owner was chosen. */
export function choosesOwner({ query }: PageCall): boolean {
  return query.has(CHOOSES);
}

/** The form with its owner as the fields below show it. */
export function withOwnerFields(state: FormState, owner: OwnerName | null): FormState {
  const fields = new URLSearchParams(state.fields);
  fields.set(FOR, owner === null ? 'own' : CUSTOMER);
  if (owner !== null) fields.set(CUSTOMER, owner.name);
  return { ...keptForm(fields), seen: state.seen };
}

/** The names of resources of another owner are left out, because the new owner has none of them. */
export function withoutNames(typed: URLSearchParams, names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...typed].filter(([name]) => !names.includes(name)));
}

/** With the owner as the API takes it, for what reads the form itself. */
export function ownedCall(call: PageCall, owner: OwnerName | null): PageCall {
  const form = new URLSearchParams(call.form);
  form.delete(CUSTOMER_ID);
  if (owner !== null) form.set(CUSTOMER_ID, owner.id);
  return { ...call, form };
}

/** `action`: the path of the form. */
export function ownerChoice(state: FormState, owner: OwnerName | null, action: string): Html {
  const path = `${action}?${CHOOSES}`;
  const swap = attributes({
    'data-owner-choice': owner?.name ?? '',
    'data-hx-post': path,
    'data-hx-trigger': 'chosen',
    'data-hx-include': 'closest form',
    'data-hx-target': 'closest form',
    'data-hx-swap': 'outerHTML',
    'data-hx-sync': 'this:replace',
  });
  return html`
    <div class="audience"${swap}>
      ${fieldGroup('Belongs to', 'A customer sees and manages its own resources. Only you see those of your company.', [
        radioGroup(state, {
          name: FOR,
          label: 'Belongs to',
          isLabelHidden: true,
          choices: OWNERS,
          isCompact: true,
        }),
        customerField(state, { isRequired: true, placeholder: 'Acme, acct_1', suggestFrom: CUSTOMER_SUGGESTIONS }),
        owner === null ? null : html`<input type="hidden" name="${CUSTOMER_ID}" value="${owner.id}">`,
        html`
          <div class="buttons">${submitButton({ label: 'Choose', kind: 'plain', formAction: path })}</div>
        `,
      ])}
    </div>
  `;
}

const OWNERS = [
  { value: 'own', label: 'Your company' },
  { value: CUSTOMER, label: 'A customer' },
];

export const OWNER_TITLES: Readonly<Record<string, string>> = { [CUSTOMER]: 'Customer' };
