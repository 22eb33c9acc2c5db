// The adapter: the genuine loop of DeepSeek Harness behind the port protocol.
//
//   node adapter.mjs [--abort prompt|ignore] [--oracle upstream] [--extra-turns N]
//
// Reads one command a line and answers each with one line. `--abort` says what the scripted
// provider does when its request is aborted: `ignore` (the default) waits for the answer at its
// gate, `prompt` ends at once. `--oracle upstream` mounts upstream's own invariants.

import './polyfill.mjs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

function refuse(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

function options() {
  const known = {
    abort: { type: 'string', default: 'ignore' },
    oracle: { type: 'string', default: 'none' },
    'extra-turns': { type: 'string', default: '0' },
  };
  try {
    return parseArgs({ options: known }).values;
  } catch (error) {
    return refuse(error.message);
  }
}

function oneOf(name, given, ...allowed) {
  if (!allowed.includes(given)) refuse(`expected --${name} ${allowed.join('|')}, got ${given}`);
  return given === allowed[0];
}

async function upstream() {
  try {
    return await Promise.all([import('./host.mjs'), import('./port.mjs')]);
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return refuse('expected the upstream packages beside the adapter, got none: run `npm ci` here');
  }
}

function read(line) {
  try {
    const command = JSON.parse(line);
    if (typeof command?.do === 'string') return command;
  } catch {
    // Told below, as any line that is no command.
  }
  return undefined;
}

async function main() {
  const given = options();
  const prompt = oneOf('abort', given.abort, 'prompt', 'ignore');
  const oracle = oneOf('oracle', given.oracle, 'upstream', 'none');
  const [{ Host }, { Port }] = await upstream();
  const host = await Host.create({ oracle });
  const port = new Port(host, { prompt, extra: Number(given['extra-turns']) });
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const command = read(line);
    const answer =
      command === undefined
        ? { seq: 0, failed: 'expected a command, one JSON object a line' }
        : await port.answerTo(command);
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    if (answer.bye) break;
  }
}

await main();
process.exitCode = 0;
process.stdin.destroy();
