/** `/applications/new`, and the change of an application: one form, and what comes of it. */
import { html } from '../../http/html.ts';
import { CHOICES_MAX } from '../../portal-limits.ts';
import { Refusal } from '../../refusal.ts';
import type { Application } from '../../store/applications.ts';
import type { ApiProduct } from '../../store/products.ts';
import type { User } from '../../store/users.ts';
import { type PageCall, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { form } from '../parts/form.ts';
import type { FormState } from '../parts/form-state.ts';
import { pageHeader } from '../parts/header.ts';
import {
  APPLICATION_LABELS,
  applicationBody,
  applicationFields,
  applicationForm,
  newApplicationForm,
  refusedApplicationForm,
} from './applications-form.ts';
import { registeredView } from './applications-secret.ts';

const LIST = { href: '/applications', label: 'Applications' };

export function applicationFormPages({ pages, services, store, publicUrl }: PageDependencies): PageRoute[] {
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

  /** An account with the permissions that the scopes' rules ask for; taken back where the application is refused. */
  const withOwnAccount = async ({ form: typed, acting }: PageCall) => {
    const scopes = new Set(typed.getAll('scopes'));
    const rules = (await store.products.all())
      .flatMap((product) => product.rules)
      .filter(({ scope }) => scopes.has(scope));
    const permissions = new Set(rules.map(({ scope, permission = scope }) => permission));
    const name = typed.get('name') ?? '';
    const account = await users
      .create(
        {
          userName: accountName(name),
          displayName: name.trim() || null,
          role: 'service',
          permissions: [...permissions],
        },
        acting,
      )
      .catch((error: unknown) => {
        throw error instanceof Refusal ? asProblemOfName(error) : error;
      });
    try {
      return await applications.create(applicationBody(typed, account.id), acting);
    } catch (error) {
      await users.remove(account.id, acting);
      throw error;
    }
  };

  return [
    ...pages.form('/applications/new', {
      show: async (call) => newView(call, newApplicationForm()),
      respond: async (call) => {
        const userId = await userIdOf(call.form);
        const made =
          userId === ''
            ? await withOwnAccount(call)
            : await applications.create(applicationBody(call.form, userId), call.acting);
        // In the answer itself and not behind a redirect: the secret is in nothing that could be asked for again.
        return { ...registeredView(made, publicUrl()), status: 201 };
      },
      invalid: async (call, refusal) => newView(call, refusedApplicationForm(call.form, refusal)),
    }),
    ...pages.form('/applications/{id}/edit', {
      show: async (call) => {
        const application = await applications.get(call.params.id ?? '');
        const user = await users.get(application.userId);
        return changeView(call, application, applicationForm(application, user.userName));
      },
      respond: async ({ params, form: typed, acting }) => {
        const patch = applicationBody(typed, await userIdOf(typed));
        const { id, name } = await applications.patch(params.id ?? '', patch, acting);
        return redirectTo(`/applications/${id}`, `${name} is saved.`);
      },
      invalid: async (call, refusal) => {
        if (refusal.code === 'not_found') return null;
        const application = await applications.get(call.params.id ?? '');
        return changeView(call, application, refusedApplicationForm(call.form, refusal));
      },
    }),
  ];
}

/** `Acme: order import` → `acme-order-import`. */
function accountName(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ['application'];
  return words.join('-').slice(0, 100);
}

/** Whoever fills in the form knows of no account: what is wrong with it is wrong with the name that it was made of. */
function asProblemOfName(refusal: Refusal): Refusal {
  const problem =
    refusal.code === 'conflict'
      ? 'is that of a user already: say that it acts as that user, or take another name'
      : refusal.message;
  return new Refusal(refusal.code, `name ${problem}`, { details: [{ field: 'name', problem }] });
}
