/** The controls of forms: their labels and values, and what a form sends. */
import assert from 'node:assert/strict';
import { around, closest, type Element, normal, textOf, within } from './elements.ts';

const CONTROLS = /^(?:input|select|textarea|button|output|meter|progress)$/;
const BUTTONS = /^(?:submit|button|reset|image)$/;

function documentOf(element: Element): Element {
  return around(element).at(-1) ?? element;
}

export function byId(element: Element, id: string): Element | null {
  return within(documentOf(element)).find(({ attributes }) => attributes.get('id') === id) ?? null;
}

export function typeOf({ tag, attributes }: Element): string {
  return (attributes.get('type') ?? (tag === 'button' ? 'submit' : 'text')).toLowerCase();
}

/** The labels of a control. */
export function labelsOf(control: Element): readonly Element[] {
  if (!CONTROLS.test(control.tag) || typeOf(control) === 'hidden') return [];
  const document = documentOf(control);
  const known = labels.get(document) ?? labelsIn(document);
  labels.set(document, known);
  return known.get(control) ?? [];
}

/** Of each document, by control. */
const labels = new WeakMap<Element, ReadonlyMap<Element, readonly Element[]>>();

function labelsIn(document: Element): ReadonlyMap<Element, readonly Element[]> {
  const all = within(document).filter(({ tag }) => tag === 'label');
  return Map.groupBy(all, (label) => labelled(label) ?? label);
}

/** The control that a label stands for. */
export function labelled(label: Element): Element | null {
  const id = label.attributes.get('for');
  return id === undefined ? (within(label).find(({ tag }) => CONTROLS.test(tag)) ?? null) : byId(label, id);
}

export function isDisabled(control: Element): boolean {
  return around(control).some(
    ({ tag, attributes }) => attributes.has('disabled') && (tag === 'fieldset' || CONTROLS.test(tag)),
  );
}

/** A chosen option, or a ticked box. */
export function isChosen(element: Element): boolean {
  if (element.tag !== 'option') return element.attributes.has('checked');
  const select = closest(element, 'select');
  return select !== null && chosenOption(select) === element;
}

function chosenOption(select: Element): Element | undefined {
  const options = within(select).filter(({ tag }) => tag === 'option');
  return options.findLast(({ attributes }) => attributes.has('selected')) ?? options[0];
}

export function typedIn(control: Element): string {
  if (control.tag === 'textarea') return textOf(control);
  if (control.tag !== 'select') return control.attributes.get('value') ?? '';
  const option = chosenOption(control);
  return option === undefined ? '' : (option.attributes.get('value') ?? normal(textOf(option)));
}

/** Types into a control in place of what it has. */
export function fill(control: Element, text: string): void {
  assert.ok(!isDisabled(control), 'a disabled field takes no text');
  if (control.tag === 'textarea') control.children.splice(0, control.children.length, text);
  else {
    assert.ok(control.tag === 'input' && !/^(?:checkbox|radio|submit|hidden|file)$/.test(typeOf(control)), control.tag);
    control.attributes.set('value', text);
  }
}

/** Chooses the option with this value or label. */
export function choose(select: Element, wanted: string): void {
  assert.equal(select.tag, 'select');
  const options = within(select).filter(({ tag }) => tag === 'option');
  const fits = ({ attributes }: Element): boolean => attributes.get('value') === wanted;
  const chosen = options.find(fits) ?? options.find((option) => normal(textOf(option)) === wanted);
  assert.ok(chosen, `there is no option ${wanted}`);
  for (const { attributes } of options) attributes.delete('selected');
  chosen.attributes.set('selected', '');
}

/** Ticks a box, or takes the tick away. */
export function tick(box: Element, isTicked: boolean): void {
  const type = typeOf(box);
  assert.ok(type === 'checkbox' || (type === 'radio' && isTicked), `no box: ${box.tag} ${type}`);
  assert.ok(!isDisabled(box), 'a disabled box cannot be ticked');
  if (type === 'radio') for (const other of groupOf(box)) other.attributes.delete('checked');
  if (isTicked) box.attributes.set('checked', '');
  else box.attributes.delete('checked');
}

function groupOf(radio: Element): Element[] {
  const form = formOf(radio);
  const name = radio.attributes.get('name');
  return within(form ?? documentOf(radio)).filter(
    (one) => typeOf(one) === 'radio' && one.attributes.get('name') === name && formOf(one) === form,
  );
}

export function formOf(control: Element): Element | null {
  const id = control.attributes.get('form');
  return id === undefined ? closest(control, 'form') : byId(control, id);
}

export function isSubmit(element: Element): boolean {
  return (element.tag === 'button' || element.tag === 'input') && typeOf(element) === 'submit';
}

/** The button that Enter in a field of the form presses. */
export function defaultButton(form: Element): Element | null {
  return within(documentOf(form)).find((one) => isSubmit(one) && formOf(one) === form) ?? null;
}

/** The fields that the form sends if this button is pressed. A browser sends no form that it checks and that lacks something. */
export function sentFields(form: Element, button: Element | null): URLSearchParams {
  const fields = new URLSearchParams();
  const isChecked = !form.attributes.has('novalidate') && button?.attributes.has('formnovalidate') !== true;
  for (const control of within(documentOf(form))) {
    if (!/^(?:input|select|textarea|button)$/.test(control.tag) || formOf(control) !== form) continue;
    const { attributes, tag } = control;
    const type = tag === 'input' || tag === 'button' ? typeOf(control) : tag;
    if (isDisabled(control) || (control !== button && BUTTONS.test(type)) || type === 'file') continue;
    const isOff = (type === 'checkbox' || type === 'radio') && !attributes.has('checked');
    const value = /^(?:checkbox|radio)$/.test(type) ? (attributes.get('value') ?? 'on') : typedIn(control);
    const isEmpty = value === '' || isOff;
    assert.ok(!(isChecked && attributes.has('required') && isEmpty), `${attributes.get('name')} is required`);
    const name = attributes.get('name');
    if (name !== undefined && !isOff) fields.append(name, value.replaceAll(/\r?\n/g, '\r\n'));
  }
  return fields;
}
