import { testForwardAuth } from '../support/forward-auth.ts';
import { startNginx } from '../support/proxies.ts';

testForwardAuth('nginx', startNginx);
