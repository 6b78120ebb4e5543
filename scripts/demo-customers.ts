/**
 * `npm run demo:customers` shows two customers of one operator: own endpoints, a filter, a reader that pulls, portal links opened in a
 * browser, and one portal framed in a page of the operator's product. Nothing of one customer reaches the other. `--json` prints one JSON
 * object instead of text. Without Chromium, the steps with a browser are left out, and a line says so. Exits with 1 and the reason if a
 * step fails.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate } from '../src/cli/listen/self-signed.ts';
import { createApi, requestToken } from './demo/api.ts';
import { runCustomers } from './demo/customers.ts';
import { type Portals, startPortals } from './demo/portals.ts';
import { createStage } from './demo/processes.ts';
import { jsonStory, reasonOf, terminalStory } from './demo/story.ts';

const { stdout, argv } = process;
const write = (text: string): unknown => stdout.write(text);
const story = argv.includes('--json')
  ? jsonStory(write)
  : terminalStory(write, stdout.isTTY === true && !process.env.NO_COLOR);
const stage = createStage();
let reason: string | null = null;
let portals: Portals | null = null;
try {
  story.chapter('Two processes start');
  const identity = makeCertificate(['127.0.0.1', 'localhost'], Date.now());
  const caFile = join(stage.folder, 'receiver.pem');
  writeFileSync(caFile, identity.certificate);
  const shop = await startPortals(identity);
  portals = shop;
  const { receiver, service } = await story.step('start', 'Sallyport and a receiver', async (tell) => {
    const service = await stage.startService({
      SALLYPORT_CA_FILE: caFile,
      SALLYPORT_CUSTOMER_EGRESS_ALLOW: '127.0.0.1/32',
      SALLYPORT_LOG_LEVEL: 'warn',
      SALLYPORT_PORTAL_FRAME_ANCESTORS: shop.shopOrigin,
    });
    tell.fact('url', service.url);
    return { receiver: await stage.startReceiver(identity), service };
  });
  const token = await requestToken(service.url, service);
  const admin = createApi(service.url, token.access_token);
  const customers = await runCustomers({ story, admin, receiver });
  await shop.run({ story, admin, customers, serviceUrl: service.url });
} catch (error) {
  reason = reasonOf(error);
} finally {
  portals?.close();
  await stage.clear();
}
story.end(reason);
process.exitCode = reason === null ? 0 : 1;
