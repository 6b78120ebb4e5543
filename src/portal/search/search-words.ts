/**
 * Words of the service interface specification for things that have another name here. The search leads from each to its page or field.
 * docs/glossary.md has a row for each.
 */
import { idOf } from '../parts/fields.ts';

type OtherWord = {
  readonly word: string;
  /** A list of the portal. */
  readonly page: string;
  /** A field of the form for a new resource, with its label; else the word leads to the list. */
  readonly field?: { readonly name: string; readonly label: string };
};

export const OTHER_WORDS: readonly OtherWord[] = [
  { word: 'API Management', page: '/applications' },
  {
    word: 'Access Token Validity Period',
    page: '/applications',
    field: { name: 'accessTokenValiditySeconds', label: 'Token lifetime (seconds)' },
  },
  { word: 'Regenerate', page: '/applications' },
  { word: 'Endpoint Management', page: '/endpoints' },
  { word: 'callback', page: '/webhooks' },
  { word: 'callback', page: '/endpoints' },
  { word: 'Token Challenge', page: '/endpoints', field: { name: 'tokenChallenge', label: 'Ownership' } },
  {
    word: 'OAuth Authentication',
    page: '/endpoints',
    field: { name: 'oauth', label: 'OAuth: a bearer token instead of the signature' },
  },
  {
    word: 'Token Expiration',
    page: '/endpoints',
    field: { name: 'oauth.tokenExpirationMinutes', label: 'Token lifetime (minutes)' },
  },
  { word: 'Key Management (Report Encryption Keys)', page: '/keys' },
  { word: 'Imports and Feeds', page: '/keys' },
];

/** A shorter text would be in almost every word. */
const TEXT_MIN_LENGTH = 3;

/** The words that a text is a part of, or that it contains. */
export function otherWords(text: string): readonly OtherWord[] {
  const wanted = text.trim().replaceAll(/\s+/g, ' ').toLowerCase();
  if (wanted.length < TEXT_MIN_LENGTH) return [];
  return OTHER_WORDS.filter(({ word }) => {
    const known = word.toLowerCase();
    return known.includes(wanted) || wanted.includes(known);
  });
}

/** Where a word leads. Only users who may create a resource can open its form. */
export function pathOf({ page, field }: OtherWord, mayCreate: boolean): string {
  return field === undefined || !mayCreate ? page : `${page}/new#${idOf(field.name)}`;
}
