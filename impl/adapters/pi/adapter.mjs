// The adapter: the loop of pi-agent-core behind the port protocol.
//
//   node adapter.mjs [--fault NAME]
//
// Reads one command a line and answers each with one line. `--fault` plants a fault (faults.mjs).

import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { Port, refuse } from '../protocol/port.mjs';
import { FAULTS } from './faults.mjs';

function planted() {
  let given;
  try {
    given = parseArgs({ options: { fault: { type: 'string' } } }).values.fault;
  } catch (error) {
    refuse(error.message);
  }
  if (given !== undefined && !Object.hasOwn(FAULTS, given))
    refuse(`expected --fault ${Object.keys(FAULTS).join('|')}, got ${given}`);
  return FAULTS[given];
}

async function package_() {
  try {
    return await import('./session.mjs');
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return refuse('expected the packages of pi beside the adapter, got none: run `npm ci` here');
  }
}

const fault = planted();
const { Session } = await package_();
const pins = createRequire(import.meta.url)('./package.json').dependencies;
const said = {
  name: 'pi-agent-core',
  version: pins['@mariozechner/pi-agent-core'],
  language: `JavaScript (Node ${process.version})`,
  profile: 'pi',
  capabilities: [
    ...['steering', 'cancel', 'calls-in-listeners', 'first-listener', 'ticks', 'tools', 'waiting'],
    'batch',
  ],
};
await new Port(said, (see) => new Session(see, fault)).serve();
process.exitCode = 0;
