/** The groups of event types in a catalogue: those about webhooks themselves come last, folded. */
import { type EventType, STATUS_CATEGORY } from '../../domain/event.ts';
import type { Html } from '../../http/html.ts';
import { section } from '../parts/header.ts';
import { countOf } from '../parts/text.ts';

type TypeGroup = {
  readonly title: string;
  readonly types: readonly EventType[];
  /** Null: it is not folded. */
  readonly fold: { readonly note: string; readonly isOpen: boolean } | null;
};

/** `shown`: in the order of `eventCatalogue`. `isSearched`: a closed fold would hide the types that fit. */
export function groupsOf(shown: readonly EventType[], all: readonly EventType[], isSearched: boolean): TypeGroup[] {
  const isStatus = ({ name }: EventType): boolean => name.startsWith(STATUS_CATEGORY);
  const groups = [...Map.groupBy(shown, ({ group }) => group)];
  const isOnly = all.every(isStatus);
  return groups
    .map(([group, types]) => {
      const isAboutWebhooks = types.every(isStatus);
      return {
        title: isAboutWebhooks
          ? 'Events about webhooks themselves'
          : (group ?? (groups.length === 1 ? 'Events' : OTHERS)),
        types,
        fold: isAboutWebhooks
          ? { note: `for monitoring, ${countOf(types.length, 'type')}`, isOpen: isSearched || isOnly }
          : null,
      };
    })
    .toSorted((a, b) => Number(a.fold !== null) - Number(b.fold !== null));
}

const OTHERS = 'Other events';

/** By the group that the catalogue has them in, if one of them has any. */
export function groupedTables(
  own: readonly EventType[],
  tableOf: (caption: string, types: readonly EventType[]) => Html,
): Html[] {
  if (own.length === 0) return [];
  const groups = [...Map.groupBy(own, ({ group }) => group)];
  if (groups.length === 1) return [tableOf('Your event types', own)];
  return groups
    .toSorted(([a], [b]) => Number(a === null) - Number(b === null) || (a ?? '').localeCompare(b ?? '', 'en'))
    .map(([group, types]) =>
      section({
        title: group ?? 'Without a group',
        isPlain: true,
        content: tableOf(group ?? 'Without a group', types),
      }),
    );
}
