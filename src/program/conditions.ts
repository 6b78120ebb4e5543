/** The last argument of methods that create and change (contract §4.3), read at run time. */
import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import { validate } from '../kernel/validation.ts';
import { entityTag } from '../resources/entity-tag.ts';
import type { RunOnce } from '../services/once.ts';
import type { Beside } from '../store/port/resource.ts';
import type { ChangeOptions, CreateOptions } from './program.ts';

const createOptions = z.strictObject({ idempotencyKey: z.string().optional() });
const changeOptions = z.strictObject({ ifMatch: z.looseObject({ id: z.string() }).optional() });

/** Creates once for each key, and resolves with the result of the first call under it. `input` was read before, so it has bounds. */
export type CreateOnce = <Made, View>(
  call: { readonly resource: string; readonly input: unknown; readonly options: CreateOptions | undefined },
  view: (made: Made) => View,
  work: (beside: Beside<Made> | undefined) => Promise<Made>,
) => Promise<View>;

/** Keys belong to the actor: the embedding program itself, or an application. */
export function createCreateOnce(runOnce: RunOnce, { actor }: Pick<Acting, 'actor'>): CreateOnce {
  return async <Made, View>(
    { resource, input, options }: Parameters<CreateOnce>[0],
    view: (made: Made) => View,
    work: (beside: Beside<Made> | undefined) => Promise<Made>,
  ): Promise<View> => {
    const { idempotencyKey: key } = validate(createOptions, options ?? {});
    if (key === undefined) return view(await work(undefined));
    const { body } = await runOnce<Made>(
      { owner: { applicationId: actor, key }, field: 'idempotencyKey', request: [resource, input] },
      (made) => ({ status: 201, headers: {}, body: JSON.stringify(view(made)) }),
      work,
    );
    return JSON.parse(body) as View;
  };
}

/** The actor, with the tag of the record that the change is based on. A secret that was shown once is not part of it. */
export function actingOn(acting: Acting, options: ChangeOptions<object> | undefined): Acting {
  const { ifMatch } = validate(changeOptions, options ?? {});
  if (ifMatch === undefined) return acting;
  const { secret, clientSecret, ...shown } = ifMatch;
  return { ...acting, ifMatch: [entityTag(shown)] };
}
