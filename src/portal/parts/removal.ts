/** The section *Delete* at the end of the page of a record. */
import { type Html, html } from '../../http/html.ts';
import { buttonRow, linkButton, section } from './header.ts';

/** Why a record cannot be deleted now, and what to do instead. */
export type HeldRecord = { readonly title: string; readonly text: string | Html; readonly list?: Html };

/** Leads to the question at `{path}/delete`. A record that would be refused there has the reason in place of the button. */
export function removalSection({
  path,
  noun,
  text,
  held = null,
}: {
  readonly path: string;
  readonly noun: string;
  /** The text about everything that is deleted with it. */
  readonly text: string;
  readonly held?: HeldRecord | null | undefined;
}): Html {
  const button = linkButton({ href: `${path}/delete`, label: `Delete the ${noun}`, icon: 'trash' });
  return section({
    title: 'Delete',
    id: 'delete',
    lead: held?.title ?? text,
    content: held === null ? buttonRow([button]) : html`<p>${held.text}</p>${held.list ?? null}`,
  });
}
