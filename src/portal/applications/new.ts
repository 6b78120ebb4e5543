/** `/applications/new`, and the change of an application: one form, and what comes of it. */

import type { Application } from '../../access/application.ts';
import { applicationReader } from '../../access/applications.ts';
import type { ApiProduct } from '../../access/catalogue.ts';
import type { User } from '../../access/user.ts';
import { userReader } from '../../access/users.ts';
import { html } from '../../http/html.ts';
import { CHOICES_MAX } from '../../kernel/limits/portal.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type PageCall, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { form } from '../parts/form.ts';
import type { FormState } from '../parts/form-state.ts';
import { pageHeader } from '../parts/header.ts';
import { recordForm } from '../record-form.ts';
import {
  APPLICATION_LABELS,
  applicationBody,
  applicationFields,
  applicationForm,
  newApplicationForm,
  refusedApplicationForm,
} from './form.ts';
import { registeredView } from './secret.ts';

const LIST = { href: '/applications', label: 'Applications' };

export function applicationFormPages({ pages, results, services, store, publicUrl }: PageDependencies): PageRoute[] {
  const { applications, users } = services;
  const choices = async (): Promise<{ users: User[]; products: ApiProduct[] }> => {
    const [accounts, products] = await Promise.all([
      store.registry.users({ state: 'active' }, null, CHOICES_MAX),
      store.products.all(),
    ]);
    return { users: accounts.map(({ user }) => user), products };
  };
  /** Of whoever was named, offered or not; what is no name goes on as it is, to be refused beside whatever else is wrong. */
  const userIdOf = async (typed: URLSearchParams): Promise<string> => {
    const userName = typed.get('userId')?.trim() ?? '';
    return (await store.users.getByName(userName))?.id ?? userName;
  };
  const newView = async (call: PageCall, state: FormState): Promise<View> => {
    const title = 'Register an application';
    const content = html`${pageHeader({ title, crumbs: [LIST], lead: 'It gets a client id and a secret, shown with code that asks for a token.' })}${form(
      {
        action: '/applications/new',
        csrf: call.csrf,
        form: state,
        content: applicationFields(state, { ...(await choices()), isNew: true }),
        submit: 'Register the application',
        cancel: LIST.href,
        labels: APPLICATION_LABELS,
        title: 'The application is not registered',
      },
    )}`;
    return { title, content };
  };
  const changeView = async ({ csrf }: PageCall, application: Application, state: FormState): Promise<View> => {
    const { id, name } = application;
    const path = `/applications/${id}`;
    const title = `Change ${name}`;
    const lead = 'A scope that is taken away counts no longer at once, also in tokens that have it.';
    const content = html`${pageHeader({ title, crumbs: [LIST, { href: path, label: name }], lead })}${form({
      action: `${path}/edit`,
      csrf,
      form: state,
      content: applicationFields(state, { ...(await choices()), isNew: false }),
      submit: 'Save',
      cancel: path,
      labels: APPLICATION_LABELS,
    })}`;
    return { title, content };
  };

  /** A new service account with the permissions that the scopes' rules ask for; taken back where the application is refused. */
  const withNewAccount = async ({ form: typed, acting }: PageCall) => {
    const scopes = new Set(typed.getAll('scopes'));
    const rules = (await store.products.all())
      .flatMap((product) => product.rules)
      .filter(({ scope }) => scopes.has(scope));
    const permissions = new Set(rules.map(({ scope, permission = scope }) => permission));
    const account = await (async () =>
      users.create(
        userReader.create({
          userName: typed.get('accountName')?.trim() ?? '',
          displayName: typed.get('name')?.trim() || null,
          role: 'service',
          permissions: [...permissions],
        }),
        acting,
      ))().catch((error: unknown) => {
      throw error instanceof Refusal ? asProblemOfAccount(error) : error;
    });
    try {
      return await applications.create(applicationReader.create(applicationBody(typed, account.id)), acting);
    } catch (error) {
      await users.remove(account.id, acting);
      throw error;
    }
  };

  const register = async (call: PageCall) => {
    const actsAs = call.form.get('actsAs');
    if (actsAs === 'new') return withNewAccount(call);
    // Without a choice it is refused beside whatever else is wrong.
    const userId = actsAs === 'existing' ? await userIdOf(call.form) : '';
    return applications.create(applicationReader.create(applicationBody(call.form, userId)), call.acting);
  };

  return [
    ...pages.form('/applications/new', {
      show: async (call) => newView(call, newApplicationForm()),
      respond: (call) =>
        results.once(call, async () => {
          const made = await register(call);
          return () => registeredView(made, publicUrl());
        }),
      invalid: async (call, refusal) => newView(call, refusedApplicationForm(call.form, refusal)),
    }),
    ...pages.form(
      '/applications/{id}/edit',
      recordForm({
        administration: applications,
        fill: async (application) => applicationForm(application, (await users.get(application.userId)).userName),
        view: changeView,
        refused: refusedApplicationForm,
        compared: (fields) => applicationBody(fields, fields.get('userId')?.trim() ?? ''),
        respond: async ({ form: typed, acting }, before) => {
          const patch = applicationBody(typed, await userIdOf(typed));
          const { id, name } = await applications.patch(before.id, applicationReader.patch(patch), acting);
          return redirectTo(`/applications/${id}`, `${name} is saved.`);
        },
      }),
    ),
  ];
}

/** What is wrong with the account is wrong with what was typed for it. */
function asProblemOfAccount(refusal: Refusal): Refusal {
  const taken = 'is the name of a user already: choose that user, or type another name';
  const details = (refusal.details ?? [{ field: 'userName', problem: refusal.message }]).map(({ field, problem }) =>
    field === 'userName'
      ? { field: 'accountName', problem: refusal.code === 'conflict' ? taken : problem }
      : { field, problem },
  );
  return new Refusal(refusal.code, refusal.message, { details });
}
