/** `/users/new`, and the change of a user: one form, and what comes of it. */

import type { User } from '../../access/user.ts';
import { userReader } from '../../access/users.ts';
import { html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type PageCall, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { form } from '../parts/form.ts';
import type { FormState } from '../parts/form-state.ts';
import { pageHeader } from '../parts/header.ts';
import { recordForm } from '../record-form.ts';
import { newUserForm, refusedUserForm, USER_LABELS, userBody, userFields, userForm } from './form.ts';

const LIST = { href: '/users', label: 'Users' };

export function userFormPages({ pages, services: { users }, store }: PageDependencies): PageRoute[] {
  const newView = async ({ csrf }: PageCall, state: FormState): Promise<View> => {
    const title = 'Add a user';
    const content = html`${pageHeader({ title, crumbs: [LIST], lead: 'An invitation lets them set a password of their own: nobody else ever knows it.' })}${form(
      {
        action: '/users/new',
        csrf,
        form: state,
        content: userFields(state, await store.products.all()),
        submit: 'Add the user',
        cancel: LIST.href,
        labels: USER_LABELS,
      },
    )}`;
    return { title, content };
  };
  const changeView = async ({ csrf }: PageCall, { id, userName }: User, state: FormState): Promise<View> => {
    const title = `Change ${userName}`;
    const path = `/users/${id}`;
    const lead = 'What is taken away counts from the next request on, here and for its applications.';
    const content = html`${pageHeader({ title, crumbs: [LIST, { href: path, label: userName }], lead })}${form({
      action: `${path}/edit`,
      csrf,
      form: state,
      content: userFields(state, await store.products.all()),
      submit: 'Save',
      cancel: path,
      labels: USER_LABELS,
    })}`;
    return { title, content };
  };
  return [
    ...pages.form('/users/new', {
      show: async (call) => newView(call, newUserForm(call.session.constraints)),
      respond: async ({ form: typed, acting }) => {
        const { id, userName, role } = await users.create(userReader.create(userBody(typed, false)), acting);
        const next = role === 'service' ? 'Applications can act as it.' : 'Invite them to set a password.';
        return redirectTo(`/users/${id}`, `${userName} is added. ${next}`);
      },
      invalid: async (call, refusal) => newView(call, refusedUserForm(call.form, refusal)),
    }),
    ...pages.form(
      '/users/{id}/edit',
      recordForm({
        administration: users,
        fill: userForm,
        view: changeView,
        refused: refusedUserForm,
        compared: (fields) => userBody(fields, true),
        respond: async ({ form: typed, acting, user: me }, { id, role }) => {
          const patch = userBody(typed, true);
          if (id === me.id && patch.role !== role) {
            const problem = 'is that of your own account: somebody else has to change it';
            throw new Refusal('validation_failed', `role ${problem}`, { details: [{ field: 'role', problem }] });
          }
          const { userName } = await users.patch(id, userReader.patch(patch), acting);
          return redirectTo(`/users/${id}`, `${userName} is saved.`);
        },
      }),
    ),
  ];
}
