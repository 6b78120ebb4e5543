/** Issued access tokens (`access_token`), and all that the gate needs to know of one in a single look-up. */
import type { AccessToken, TokenGrant } from '../access/token.ts';

export type TokenStore = {
  /**
   * Throws `StaleWrite` when the application or its user was switched off, or its tokens were revoked, since
   * `tokensRevokedThrough` was read: nothing is issued past a revocation. The key is to be above that, or the token is refused from
   * birth.
   */
  issue(token: AccessToken & Pick<TokenGrant, 'tokensRevokedThrough'>): Promise<void>;
  find(key: number): Promise<TokenGrant | null>;
  /** While this stays the same number, what `find` answered still holds, but for the token's end. Read it before. */
  version(): number;
  /** Forgets one token of an application; no error when there is none. */
  revoke(key: number, applicationId: string): Promise<void>;
};
