/** The webhooks that use a record: the first few names, and how many more. */
import { type Html, html } from '../../http/html.ts';
import type { Uses } from '../../store/directory.ts';
import type { View } from '../call.ts';
import { linkButton } from '../parts/button.ts';
import { type PageHeader, pageHeader } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';

/** `all` is the path of the whole list. */
export function usesList({ count, first }: Uses, all: string, none = 'none'): Html {
  if (count === 0) return html`<span class="quiet">${none}</span>`;
  const names = first.map(({ id, name }) => html`<li><a href="/webhooks/${id}">${name}</a></li>`);
  const more = count - first.length;
  return html`<ul class="uses">${names}${more > 0 ? html`<li><a href="${all}">and ${more} more</a></li>` : null}</ul>`;
}

/** Shown instead of the question whether to delete a record that webhooks use. */
export function stillUsedView({
  title,
  crumbs,
  uses,
  all,
  remedy,
  back,
}: {
  readonly title: string;
  readonly crumbs: NonNullable<PageHeader['crumbs']>;
  readonly uses: Uses;
  readonly all: string;
  readonly remedy: string;
  readonly back: string;
}): View {
  const who = uses.count === 1 ? 'A webhook uses it' : `${uses.count} webhooks use it`;
  const content = html`${pageHeader({ title, crumbs })}${notice({
    tone: 'caution',
    title: `${who}, so it stays.`,
    text: html`<p>${remedy}</p>${usesList(uses, all)}`,
  })}<p>${linkButton({ href: back, label: 'Back', icon: 'previous' })}</p>`;
  return { title, content };
}
