/** The forms of every entity: create, change and delete a record. The entity provides its table of fields, its layout and its texts. */
import { type Html, html } from '../../http/html.ts';
import type { ServedTo } from '../../http/route.ts';
import type { Refusal } from '../../kernel/refusal.ts';
import type { Administration } from '../../resources/administration.ts';
import { defaultsOf, type InputReader } from '../../resources/input.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import type { Uses } from '../../store/port/directory.ts';
import { attempted, type PageCall, type PageResult, redirectTo, type View } from '../frame/call.ts';
import type { PageRoute, Pages } from '../frame/page.ts';
import { besideFields, type FormState, isWithin, keptForm, refusedForm } from '../parts/fields.ts';
import { confirmPage, fieldGroup, form, moreFields } from '../parts/form.ts';
import { linkButton, type PageHeader, pageHeader } from '../parts/header.ts';
import { filterChip, notice } from '../parts/mark.ts';
import {
  type FieldTable,
  type Body as FormBody,
  fillForm,
  readCompared,
  readForm,
  readPatch,
  titlesOf,
  withoutSecrets,
} from './field-table.ts';
import { NO_OWNERS, OPERATOR, type Owners, ownedCrumbs, ownedName, type RecordOwners, readOwner } from './owner.ts';
import {
  choosesOwner,
  hasOwnerChoice,
  newOwner,
  OWNER_TITLES,
  ownedCall,
  ownerChoice,
  shownOwner,
  withOwnerFields,
  withoutNames,
} from './owner-choice.ts';
import { recordForm } from './record-form.ts';
import { type RecordTab, tabPath } from './record-tabs.ts';

/** An entity of the portal. `Choices`: the options in its forms, for example the endpoints of a new webhook. */
type Entity<Rec, Body, Input, For extends ServedTo> = {
  readonly for: For;
  /** The page with the list. Records have their pages below its path. */
  readonly list: { readonly href: string; readonly label: string };
  /** Singular: `key`. Of records of several kinds, that of the record. */
  readonly noun: string | ((record: Rec) => string);
  nameOf(record: Rec): string;
  readonly administration: Pick<Administration<Rec, Body, Input>, 'get' | 'shown' | 'patch' | 'remove'>;
  /** The settings that people decide on, if the service itself changes the rest; default: the whole record. */
  settings?(record: Rec): unknown;
  /** Given if records belong to a customer or to the operator: pages say whose, and the form of a new one asks. */
  readonly owners?: Owners;
};

type EntityForms<Rec, Body, Input, Choices, For extends ServedTo> = Entity<Rec, Body, Input, For> & {
  readonly reader: InputReader<Body, Input>;
  /** Reads the options of the forms. `owner` is the customer whose records may be named; '' is the operator. */
  choices(owner: string): Promise<Choices>;
  /** The fields of a change, or of a creation if `before` is null. */
  fields(before: Rec | null, choices: Choices): FieldTable;
  /** Groups the fields. */
  layout(form: FormLayout<Rec, Choices>): Html;
  /** Adjusts the body of a creation, or the merge patch of a change if `before` is given. */
  adjust?(body: FormBody, before: Rec | null, call: PageCall): FormBody | Promise<FormBody>;
  /** Names for messages of fields that are not in the table. */
  titles?(state: FormState): Readonly<Record<string, string>>;
  /** The refused form. Default: shows all typed values but secrets. */
  refused?(typed: URLSearchParams, refusal: Refusal): FormState;
  /** The record as the form shows it; default: as the API shows it. Throws a `Refusal` for a record that cannot be changed. */
  shown?(record: Rec): unknown;
  readonly creation: Omit<FormTexts, 'lead'> & {
    readonly lead?: string | undefined;
    /** Initial values of a new form, besides the defaults of the schema. */
    start?(
      call: PageCall,
      choices: Choices,
    ): Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
    /** Fields that name resources of the owner: another owner has others. */
    readonly ofOwner?: readonly string[];
    respond(call: PageCall, input: Input): Promise<PageResult>;
  };
  readonly change: Partial<FormTexts> & {
    /** The message after saving; default: that the record is saved. */
    done?(after: Rec, before: Rec): string;
    /** The tab of its page that shows the saved values; default: the first one. */
    tab?(after: Rec): RecordTab;
    /** Why it cannot be changed, shown instead of the form; null if it can. */
    held?(record: Rec): Held | null;
  };
};

export type FormLayout<Rec, Choices> = {
  readonly state: FormState;
  readonly before: Rec | null;
  readonly choices: Choices;
  /** Renders a field; null if the table does not have it. */
  field(name: string): Html | null;
  /** Renders the fields of one object: their names begin with `name` and a dot. */
  within(name: string): (Html | null)[];
  /** Renders a group of fields. */
  group(title: string, lead: string | null, ...names: readonly string[]): Html;
  /** Renders fields that few people need: collapsed unless one of them has a problem, or another value than a new record. */
  more(title: string, ...names: readonly string[]): Html;
  /** Whether one of these fields has a problem, or another value than a new record. */
  isSet(...names: readonly string[]): boolean;
};

type FormTexts = { readonly title: string; readonly lead?: string; readonly submit: string };

/** `{list}/new` and `{list}/{id}/edit`. */
export function recordPages<Rec extends { readonly id: string }, Body, Input, Choices, For extends ServedTo>(
  pages: Pages<For>,
  entity: EntityForms<Rec, Body, Input, Choices, For>,
): PageRoute<For>[] {
  const { list, nameOf, administration, reader, creation, change, fields, adjust = (body) => body } = entity;
  const { shown = administration.shown, owners } = entity;

  const view = async (call: PageCall, before: Rec | null, state: FormState): Promise<View> => {
    const owner = before === null ? await shownOwner(owners, call) : await readOwner(owners, before);
    const choices = await entity.choices(owner?.id ?? owners?.customerId ?? OPERATOR);
    const table = fields(before, choices);
    const isNewOfCustomer = before === null && owner !== null;
    const asksOwner = before === null && (await hasOwnerChoice(owners, call));
    const path =
      before === null ? (isNewOfCustomer ? `/customers/${owner.id}` : list.href) : `${list.href}/${before.id}`;
    const texts =
      before === null ? creation : { title: `Change ${ownedName(nameOf(before), owner)}`, submit: 'Save', ...change };
    const crumbs = before === null ? [list] : ownedCrumbs(list, owner, { href: path, label: nameOf(before) });
    const held = before === null ? null : (change.held?.(before) ?? null);
    if (held !== null) return heldView({ title: texts.title, crumbs, back: path }, held);
    const field = (name: string): Html | null => table[name]?.draw(state, name) ?? null;
    const unset = fillForm(table, defaultsOf(reader.schema));
    const isSet = (name: string): boolean => textOf(state, name) !== textOf(unset, name);
    return formView({
      title: texts.title,
      lead: texts.lead,
      csrf: call.csrf,
      state,
      submit: texts.submit,
      cancel: path,
      crumbs,
      action: before === null ? `${list.href}/new` : `${path}/edit`,
      content: html`
        ${asksOwner ? ownerChoice(state, owner, `${list.href}/new`) : null}
        ${entity.layout({
          state,
          before,
          choices,
          field,
          within: (name) =>
            Object.keys(table)
              .filter((one) => one.startsWith(`${name}.`))
              .map(field),
          group: (title, lead, ...names) => fieldGroup(title, lead, names.map(field)),
          more: (title, ...names) => moreFields(title, state, names, names.map(field), isSet),
          isSet: (...names) => names.some((name) => state.problem(name) !== null || isSet(name)),
        })}
      `,
      titles: { ...titlesOf(table), ...(asksOwner && OWNER_TITLES), ...entity.titles?.(state) },
    });
  };
  const tableOf = async (before: Rec | null, owner: OwnerName | null): Promise<FieldTable> =>
    fields(before, await entity.choices(owner?.id ?? owners?.customerId ?? OPERATOR));
  /** The customer's records are the choices of a change too. */
  const tableOfRecord = async (record: Rec): Promise<FieldTable> => tableOf(record, await readOwner(owners, record));
  const refused = async (typed: URLSearchParams, refusal: Refusal, table: FieldTable): Promise<FormState> =>
    entity.refused?.(typed, refusal) ?? refusedForm(withoutSecrets(table, typed), refusal);

  const startOf = async (call: PageCall, owner: OwnerName | null): Promise<FormState> => {
    const choices = await entity.choices(owner?.id ?? owners?.customerId ?? OPERATOR);
    const start = { ...(defaultsOf(reader.schema) as object), ...(await creation.start?.(call, choices)) };
    return fillForm(fields(null, choices), start);
  };
  /** The form as it was typed, for its new owner. Nothing is created. */
  const chosenView = async (call: PageCall, owner: OwnerName | null): Promise<View> => {
    const { ofOwner = [] } = creation;
    const typed = withoutNames(withoutSecrets(await tableOf(null, owner), call.form), ofOwner);
    const start = await startOf(call, owner);
    for (const name of ofOwner) for (const value of start.values(name)) typed.append(name, value);
    return view(call, null, withOwnerFields(keptForm(typed), owner));
  };

  return [
    ...pages.form(`${list.href}/new`, entity.for, {
      show: async (call) => {
        const owner = await newOwner(owners, call);
        return view(call, null, withOwnerFields(await startOf(call, owner), owner));
      },
      respond: async (call) => {
        const owner = await newOwner(owners, call);
        if (choosesOwner(call)) return chosenView(call, owner);
        const owned = ownedCall(call, owner);
        const body = await adjust(readForm(await tableOf(null, owner), call.form), null, owned);
        return creation.respond(owned, reader.create(owner === null ? body : { ...body, customerId: owner.id }));
      },
      invalid: async (call, refusal) => {
        const table = await tableOf(null, await shownOwner(owners, call));
        const state = await refused(call.form, refusal, table);
        // People still fill the form in.
        return choosesOwner(call)
          ? { ...(await view(call, null, besideFields(state))), status: 200 }
          : view(call, null, state);
      },
    }),
    ...pages.form(
      `${list.href}/{id}/edit`,
      entity.for,
      recordForm<Rec>({
        administration,
        ...(entity.settings !== undefined && { settings: entity.settings }),
        fill: async (record) => fillForm(await tableOfRecord(record), await shown(record)),
        view,
        refused: async (typed, refusal, record) => refused(typed, refusal, await tableOfRecord(record)),
        compared: async (typed, record) => readCompared(await tableOfRecord(record), typed),
        respond: async (call, before) => {
          const patch = await adjust(readPatch(await tableOfRecord(before), call.form), before, call);
          const after = await administration.patch(before.id, reader.patch(patch), call.acting);
          const page = tabPath(`${list.href}/${after.id}`, change.tab?.(after) ?? 'activity');
          return redirectTo(page, change.done?.(after, before) ?? `${nameOf(after)} is saved.`);
        },
      }),
    ),
  ];
}

/** The values of a field and of the fields within it, as one text. */
function textOf({ fields }: FormState, name: string): string {
  return JSON.stringify([...fields].filter(([one, value]) => value !== '' && isWithin(one, name)));
}

type FormPage = Parameters<typeof pageHeader>[0] & {
  readonly csrf: Html;
  readonly state: FormState;
  readonly action: string;
  readonly content: Html;
  readonly submit: string;
  readonly cancel: string;
  readonly titles: Readonly<Record<string, string>>;
  /** Content between the header and the form. */
  readonly above?: Html | null;
};

/** A page with one form. The script gets only the form. */
export function formView({
  csrf,
  state,
  action,
  content,
  submit,
  cancel,
  titles,
  above = null,
  ...header
}: FormPage): View {
  const { title } = header;
  const partial = form({ action, csrf, form: state, content, submit, cancel, labels: titles });
  return { title, content: html`${pageHeader(header)}${above}${partial}`, partial };
}

type Removal<Rec> = {
  /** The consequences, and that they cannot be undone. */
  text(call: PageCall, record: Rec): string | Html | Promise<string | Html>;
  /** The resources that use the record. If there are any, the page names them and does not ask. */
  uses?(record: Rec): Promise<Uses | null>;
  /** Why it cannot be deleted now, shown instead of the question; null if it can. */
  held?(record: Rec): Promise<Held | null>;
  /** Lists the resources that use it, and how to remove the reference. */
  readonly used?: { all(record: Rec): string; remedy(count: number): string };
};

/** `{list}/{id}/delete`: asks first, then deletes. */
export function removalPages<Rec extends { readonly id: string }, For extends ServedTo>(
  pages: Pages<For>,
  { for: whom, list, noun, nameOf, administration, settings, owners }: Entity<Rec, never, never, For>,
  { text, uses, used, held }: Removal<Rec>,
): PageRoute<For>[] {
  const nounOf = typeof noun === 'string' ? () => noun : noun;
  return pages.form(
    `${list.href}/{id}/delete`,
    whom,
    recordForm<Rec>({
      administration,
      ...(settings !== undefined && { settings }),
      view: async (call, record, state) => {
        const path = `${list.href}/${record.id}`;
        const owner = await readOwner(owners, record);
        const name = ownedName(nameOf(record), owner);
        const title = `Delete the ${nounOf(record)} ${name}?`;
        const refused = `${name} cannot be deleted yet`;
        const crumbs = ownedCrumbs(list, owner, { href: path, label: nameOf(record) });
        const using = (await uses?.(record)) ?? null;
        if (using !== null && used !== undefined)
          return stillUsedView({ title: refused, crumbs, back: path }, using, {
            all: used.all(record),
            remedy: used.remedy(using.count),
          });
        const reason = (await held?.(record)) ?? null;
        if (reason !== null) return heldView({ title: refused, crumbs, back: path }, reason);
        return confirmPage({
          title,
          crumbs,
          form: state,
          csrf: call.csrf,
          action: `${path}/delete`,
          cancel: path,
          submit: `Delete the ${nounOf(record)}`,
          text: await text(call, record),
        });
      },
      respond: async ({ acting }, record) =>
        attempted(
          list.href,
          `The ${nounOf(record)} ${ownedName(nameOf(record), await readOwner(owners, record))} is deleted.`,
          () => administration.remove(record.id, acting),
          `${list.href}/${record.id}`,
        ),
    }),
  );
}

type UsesShown = {
  /** Of the webhooks, if they may have several. */
  readonly owners?: RecordOwners;
  readonly none?: string;
  /** Says which of them have a filter: for events, of which they get only some. */
  readonly isFiltered?: boolean;
};

/** `all` is the path of the whole list. */
export function usesList({ count, first }: Uses, all: string, shown: UsesShown = {}): Html {
  const { owners = NO_OWNERS, none = 'none', isFiltered = false } = shown;
  if (count === 0) return html`<span class="quiet">${none}</span>`;
  const names = first.map((one) => {
    const chip = isFiltered ? filterChip(one.filter) : null;
    return html`<li><a href="/webhooks/${one.id}">${owners.namedAmong(one)}</a>${chip === null ? null : html` ${chip}`}</li>`;
  });
  const more = count - first.length;
  return html`<ul class="uses">${names}${more > 0 ? html`<li><a href="${all}">and ${more} more</a></li>` : null}</ul>`;
}

type HeldPage = {
  readonly title: string;
  readonly crumbs: NonNullable<PageHeader['crumbs']>;
  readonly back: string;
};

/** Shown instead of the question if webhooks use the record. */
function stillUsedView(
  page: HeldPage,
  uses: Uses,
  { all, remedy }: { readonly all: string; readonly remedy: string },
): View {
  const who = uses.count === 1 ? 'A webhook uses it' : `${uses.count} webhooks use it`;
  return heldView(page, {
    title: `${who}, so it cannot be deleted.`,
    text: html`<p>${remedy}</p>${usesList(uses, all)}`,
  });
}

type Held = { readonly title: string; readonly text: string | Html };

/** A page that says why something cannot be done. */
export function heldView({ title, crumbs, back }: HeldPage, reason: Held): View {
  const content = html`
    ${pageHeader({ title, crumbs })}
    ${notice({ tone: 'caution', ...reason })}
    <p>${linkButton({ href: back, label: 'Back', icon: 'previous' })}</p>
  `;
  return { title, content };
}
