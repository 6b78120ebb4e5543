/** API products: the catalogue that the gate reads (`product`). */
import type { ApiProduct } from '../access/product.ts';
import type { ResourceStore } from './resource.ts';

export type ProductStore = ResourceStore<ApiProduct> & {
  all(): Promise<ApiProduct[]>;
  /** Another text after every change, whoever made it. */
  version(): Promise<string>;
  /**
   * The product, which has been compared with all others at this version: `insert` and `update` throw `StaleWrite` at any other, so
   * that no two that come at the same moment take the same paths or scopes.
   */
  onlyAt(product: ApiProduct, version: string): ApiProduct;
  /** Replaces every built-in product by those of this version. */
  replaceBuiltIn(products: readonly ApiProduct[]): Promise<void>;
};
