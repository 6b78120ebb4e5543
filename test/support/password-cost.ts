/** Makes new password hashes cheap in this process: at their full cost each takes a third of a second of a processor. */
import { setPasswordCost } from '../../src/access/password.ts';

setPasswordCost(4);
