/** The portal with a receiver that it trusts, for the pages about deliveries. */
import type { TestContext } from 'node:test';
import { type Portal, startPortal, type Visitor, type VisitorOptions } from './browser.ts';
import type { ApiClient } from './client.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { sharedCertificates } from './tls.ts';

export type DeliverPortal = {
  readonly portal: Portal;
  readonly receiver: Receiver;
  readonly admin: ApiClient;
  /** Signs in and opens a path. */
  openAs(role: Parameters<Portal['signIn']>[0], path: string, options?: VisitorOptions): Promise<Visitor>;
};

export async function startDeliverPortal(t: TestContext): Promise<DeliverPortal> {
  const { ca, server } = sharedCertificates();
  const portal = await startPortal(t, { ca });
  const receiver = await startReceiver(t, server, { clock: portal.service.clock });
  return {
    portal,
    receiver,
    admin: portal.service.admin,
    openAs: async (role, path, options) => {
      const visitor = await portal.signIn(role, options);
      await visitor.open(path);
      return visitor;
    },
  };
}

/** Markup that causes a browser problem, and so a failing test, if a page contains it unescaped. */
export const MARKUP = `"><img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`;
