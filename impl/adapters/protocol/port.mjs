// The port: lines in, lines out, and the calls that wait for a moment (hooks).
//
// It knows the protocol and nothing of any loop. A loop stands behind it as a session with `call`,
// `answer`, `lists`, `status`, `gates` and `close`; all that a session sees, it tells to `see`. A
// command is answered when nothing is left to do: nothing behind a gate waits for a timer or for a
// file, so all that runs are microtasks, and these are over before a callback of `setImmediate`.

import { createInterface } from 'node:readline';

/** The adapter could not do what it was asked; the text is one sentence. */
export class CannotDo extends Error {}

/** Say on standard error in one sentence why the adapter cannot start, and end with 2. */
export function refuse(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

export class Port {
  #said;
  #open;
  #session;
  #trace = [];
  #hooks = [];
  #counts = new Map();
  /** Sessions so far; what an earlier one still tells is dropped. */
  #lives = 0;

  /** `said` is what the welcome says; `open(see)` begins a fresh session. */
  constructor(said, open) {
    this.#said = said;
    this.#open = open;
    process.on('unhandledRejection', (error) => {
      this.#trace.push({ saw: 'fault', name: 'task failed', error: String(error?.message ?? error) });
    });
  }

  /** Answer one command. */
  async answerTo(command) {
    const seq = command.seq ?? 0;
    try {
      switch (command.do) {
        case 'hello':
          return { seq, protocol: 1, contract: 1, sum: false, ...this.#said };
        case 'batch': {
          const answers = [];
          for (const each of command.commands) answers.push(await this.#done(each));
          return { seq, answers };
        }
        case 'bye':
          this.#session?.close();
          return { seq, bye: true };
        default:
          return await this.#done(command);
      }
    } catch (error) {
      const text = error instanceof CannotDo ? error.message : `the adapter failed: ${error}`;
      return { seq, failed: text.split('\n', 1)[0] };
    }
  }

  /** Answer every line of standard input until bye or its end. */
  async serve() {
    for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
      const command = commandIn(line);
      const answer =
        command === undefined
          ? { seq: 0, failed: 'expected a command, one JSON object a line' }
          : await this.answerTo(command);
      process.stdout.write(`${JSON.stringify(answer)}\n`);
      if (answer.bye) break;
    }
    process.stdin.destroy();
  }

  async #done(command) {
    this.#trace = [];
    let open = true;
    if (command.do === 'reset') this.#reset(command);
    else if (this.#session === undefined) throw new CannotDo('expected a reset before anything');
    else if (command.do === 'answer') open = this.#answer(command);
    else this.#session.call(command);
    if (open) await new Promise(setImmediate);
    const { lists, status, gates } = this.#session;
    return { trace: this.#trace, ...lists, status, gates, open, seq: command.seq ?? 0 };
  }

  #reset({ hooks = [] }) {
    this.#session?.close();
    this.#hooks = [...hooks];
    this.#counts.clear();
    this.#lives += 1;
    const life = this.#lives;
    this.#session = this.#open((...told) => {
      if (life === this.#lives) this.#see(...told);
    });
  }

  #answer(command) {
    if (!this.#session.answer(command)) return false;
    this.#come(`${command.gate} answer`, '');
    return true;
  }

  /** Write down what was seen; where it is a delivery, `at` and `by` say which. */
  #see(entry, at, by) {
    this.#trace.push(entry);
    if (at !== undefined) this.#come(at, by);
  }

  /** A moment that hooks may wait for has come; first those that wait some ticks more. */
  #come(at, by) {
    const where = `${at} ${by}`;
    const number = (this.#counts.get(where) ?? 0) + 1;
    this.#counts.set(where, number);
    const due = this.#hooks.filter((each) => each.at === at && each.by === by && each.n === number);
    if (due.length === 0) return;
    this.#hooks = this.#hooks.filter((each) => !due.includes(each));
    for (const hook of due) if (hook.k > 0) this.#later(hook, hook.k, this.#lives);
    for (const hook of due) if (hook.k === 0) this.#make(hook);
  }

  #make({ hook, call }) {
    this.#trace.push({ saw: 'made', hook });
    this.#session.call(call);
  }

  /** Make a call that many ticks from now: a tick is one turn of the queue of microtasks. */
  #later(hook, left, life) {
    queueMicrotask(() => {
      if (life !== this.#lives) return;
      if (left > 1) this.#later(hook, left - 1, life);
      else this.#make(hook);
    });
  }
}

function commandIn(line) {
  try {
    const command = JSON.parse(line);
    if (typeof command?.do === 'string') return command;
  } catch {
    // Told by the caller, as any line that is no command.
  }
  return undefined;
}
