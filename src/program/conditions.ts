/** The last argument of methods that create, change and act (contract §4.3), read at run time. */
import { z } from 'zod';
import type { Acting, IfMatch } from '../domain/acting.ts';
import { validate } from '../kernel/validation.ts';
import { entityTag, refuseChanged } from '../resources/entity-tag.ts';
import type { RunOnce } from '../services/once.ts';
import type { Beside } from '../store/port/resource.ts';
import { readId } from './lists.ts';
import type { ActionOptions, ChangeOptions, CreateOptions } from './program.ts';

const createOptions = z.strictObject({ idempotencyKey: z.string().optional() });
const changeOptions = z.strictObject({ ifMatch: z.looseObject({ id: z.string() }).optional() });
const actionOptions = createOptions.extend(changeOptions.shape);

/** Runs `work` once for each key, and resolves with the view of the first result under it. */
export type Once = {
  /** `input` was read before, so it has bounds. */
  create<Made, View>(
    call: { readonly resource: string; readonly input: unknown; readonly options: CreateOptions | undefined },
    view: (made: Made) => View,
    work: (beside: Beside<Made> | undefined) => Promise<Made>,
  ): Promise<View>;
  /** A method that acts on a record. `verb` is its name in the API: `endpoints/rotate-secret`. */
  action<Input, Made, View>(
    verb: string,
    schema: z.ZodType<Input>,
    view: (made: Made) => View,
    work: (id: string, input: Input, acting: Acting, beside: Beside<Made> | undefined) => Promise<Made>,
  ): (named: string, input?: unknown, options?: ActionOptions<object>) => Promise<View>;
};

/** Keys belong to the actor: the embedding program itself, or an application. */
export function createOnce(runOnce: RunOnce, acting: Acting): Once {
  const run = async <Made, View>(
    { idempotencyKey: key }: CreateOptions,
    request: readonly unknown[],
    view: (made: Made) => View,
    work: (beside: Beside<Made> | undefined) => Promise<Made>,
  ): Promise<View> => {
    if (key === undefined) return view(await work(undefined));
    const { body } = await runOnce<Made>(
      { owner: { applicationId: acting.actor, key }, field: 'idempotencyKey', request },
      (made) => ({ status: 201, headers: {}, body: JSON.stringify(view(made)) }),
      work,
    );
    return JSON.parse(body) as View;
  };
  return {
    create: async ({ resource, input, options }, view, work) =>
      run(validate(createOptions, options ?? {}), [resource, input], view, work),
    action:
      (verb, schema, view, work) =>
      async (named, input = {}, given = {}) => {
        const id = readId(named);
        const asked = validate(schema, input);
        const options = validate(actionOptions, given);
        const as = { ...acting, ifMatch: tagsOf(options) };
        return run(options, [verb, id, input], view, (beside) => work(id, asked, as, beside));
      },
  };
}

/** The actor, with the tag of the record that the change is based on. */
export function actingOn(acting: Acting, options: ChangeOptions<object> | undefined): Acting {
  return { ...acting, ifMatch: tagsOf(validate(changeOptions, options ?? {})) };
}

/** The id of a record that is as the caller read it, for an action that keeps its row. Throws 412. `read` returns the shown record. */
export async function idAsRead(
  named: string,
  options: ChangeOptions<object> | undefined,
  title: string,
  read: (id: string) => Promise<object>,
): Promise<string> {
  const id = readId(named);
  const tags = tagsOf(validate(changeOptions, options ?? {}));
  if (tags !== undefined) refuseChanged(tags, await read(id), title);
  return id;
}

/** A secret that was shown once is not part of the tag. */
function tagsOf({ ifMatch }: z.output<typeof changeOptions>): IfMatch | undefined {
  if (ifMatch === undefined) return undefined;
  const { secret, clientSecret, ...shown } = ifMatch;
  return [entityTag(shown)];
}
