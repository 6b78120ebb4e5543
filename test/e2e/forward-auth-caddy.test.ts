import { testForwardAuth } from '../support/forward-auth.ts';
import { startCaddy } from '../support/proxies.ts';

testForwardAuth('Caddy', startCaddy);
