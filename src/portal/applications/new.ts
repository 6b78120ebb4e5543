/** Registering an application from the portal, with an existing user or a new service account. */
import type { ApplicationInput, WithSecret } from '../../access/applications.ts';
import { userReader } from '../../access/users.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { PageCall } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';

type Dependencies = Pick<PageDependencies, 'services' | 'store'>;

/** Registers the application. A new service account is deleted again if the application is refused. */
export async function registerApplication(
  { services: { applications, users }, store }: Dependencies,
  { form, acting }: PageCall,
  input: ApplicationInput,
): Promise<WithSecret> {
  if (form.get('actsAs') !== 'new') return applications.create(input, acting);
  const rules = (await store.products.all()).flatMap((product) => product.rules);
  const needed = rules.filter(({ scope }) => input.scopes.includes(scope));
  const permissions = [...new Set(needed.map(({ scope, permission = scope }) => permission))];
  const account = { userName: form.get('accountName')?.trim() ?? '', displayName: input.name, permissions };
  const { id } = await namingAccount(async () =>
    users.create(userReader.create({ ...account, role: 'service' }), acting),
  );
  try {
    return await applications.create({ ...input, userId: id }, acting);
  } catch (error) {
    await users.remove(id, acting);
    throw error;
  }
}

/** Moves the problems of the account's name to the field that it was typed in. */
async function namingAccount<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const taken = 'is the name of a user already: choose that user, or type another name';
    const all = error.details ?? [{ field: 'userName', problem: error.message }];
    const details = all.map(({ field, problem }) =>
      field === 'userName'
        ? { field: 'accountName', problem: error.code === 'conflict' ? taken : problem }
        : { field, problem },
    );
    throw new Refusal(error.code, error.message, { details });
  }
}
