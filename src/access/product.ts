/** An API product of the catalogue. */
import type { Rule } from './catalogue.ts';

export type ProductScope = { readonly name: string; readonly description: string };

export type ApiProduct = {
  readonly id: string;
  readonly name: string;
  readonly builtIn: boolean;
  readonly scopes: readonly ProductScope[];
  readonly rules: readonly Rule[];
  readonly createdAt: number;
  readonly updatedAt: number;
};
