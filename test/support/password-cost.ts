/** Makes new password hashes cheap in this process: at full cost each takes a third of a second of CPU time. */
import { setPasswordCost } from '../../src/access/password.ts';

setPasswordCost(4);
