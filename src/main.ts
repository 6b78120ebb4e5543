/** The command line: `sallyport <command> …`. */
import './threads.ts';
import { leave } from './cli/leave.ts';
import { run } from './cli/run.ts';
import { processTerminal } from './cli/terminal.ts';

run(process.argv.slice(2), processTerminal()).then(leave, () => leave(1));
