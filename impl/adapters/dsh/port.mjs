// The port: commands in, reports out; hooks, ticks, and the sessions that follow one another.
//
// A command is answered when nothing is left to do. Nothing behind a gate of ours waits for a
// timer or for a file, so all that runs are microtasks, and these are over before a callback of
// `setImmediate` is called.

import { createRequire } from 'node:module';
import { Life, openedBy } from './session.mjs';

const RELEASE = createRequire(import.meta.url)('@deepseek-ai/dsh-agent-loop/package.json').version;

const CAPABILITIES = [
  ...['steering', 'edits', 'cancel', 'calls-in-listeners', 'first-listener', 'ticks'],
  ...['assemble-gate', 'fold', 'tools', 'streaming', 'seams', 'maintenance', 'waiting', 'disposal'],
  ...['faults', 'crashes', 'batch', 'log'],
];

/** The adapter could not do what it was asked. */
class CannotDo extends Error {}

export class Port {
  #host;
  #life;
  #held = new Set();
  #prompt;
  #extra;
  #trace = [];
  #hooks = [];
  #counts = new Map();
  #lives = 0;
  #sessions = 0;
  /** How the next session is opened, from the moment in which this one has crashed. */
  #next;
  /** Calls that hooks make some ticks later. */
  #waiting = new Set();

  /** `prompt`: see `Life`; `extra`: turns of the event loop that every command waits beyond. */
  constructor(host, { prompt = false, extra = 0 } = {}) {
    this.#host = host;
    this.#prompt = prompt;
    this.#extra = extra;
    process.on('unhandledRejection', (error) => {
      this.#life?.fault('task failed', String(error?.message ?? error));
    });
  }

  /** Answer one command. */
  async answerTo(command) {
    const seq = command.seq ?? 0;
    try {
      switch (command.do) {
        case 'hello':
          return this.#welcome(seq);
        case 'batch': {
          const answers = [];
          for (const each of command.commands) answers.push(await this.#done(each));
          return { seq, answers };
        }
        case 'dump':
          return { seq, log: this.#dumped() };
        case 'bye':
          await this.#life?.retire();
          return { seq, bye: true };
        default:
          return await this.#done(command);
      }
    } catch (error) {
      const text = error instanceof CannotDo ? error.message : `the adapter failed: ${error}`;
      return { seq, failed: text.split('\n', 1)[0] };
    }
  }

  #welcome(seq) {
    return {
      seq,
      protocol: 1,
      name: 'dsh',
      version: RELEASE,
      language: `JavaScript (Node ${process.version})`,
      contract: 1,
      profile: 'dsh-0.1',
      capabilities: CAPABILITIES,
      sum: false,
    };
  }

  // --- Commands --------------------------------------------------------------------------------

  async #done(command) {
    this.#trace = [];
    let open = true;
    if (command.do === 'reset') await this.#reset(command);
    else if (this.#life === undefined) throw new CannotDo('expected a reset before anything else');
    else if (command.do === 'load') await this.#load(command.log);
    else if (command.do === 'answer') open = this.#give(command);
    else this.#call(command);
    if (open) await this.#quiet();
    return this.#report(command.seq ?? 0, open);
  }

  #report(seq, open) {
    const life = this.#life;
    const report = {
      trace: this.#trace,
      ...life.lists,
      status: life.status,
      gates: life.openGates,
      folded: life.folded,
      open,
      seq,
    };
    return report;
  }

  /** Wait until nothing is left to do; a session that crashed is followed by the next one. */
  async #quiet() {
    do {
      if (this.#next !== undefined) await this.#follow(this.#next);
      for (let turns = 0; turns <= this.#extra; turns += 1) await new Promise(setImmediate);
    } while (this.#next !== undefined);
  }

  async #reset({ held, hooks = [] }) {
    await this.#end();
    this.#hooks = [...hooks];
    this.#counts.clear();
    this.#waiting.clear();
    this.#host.stored.clear();
    this.#held = new Set(held);
    await this.#begin(this.#host.create(this.#fresh()));
  }

  #fresh() {
    this.#sessions += 1;
    return `session-${this.#sessions}`;
  }

  async #begin(opening) {
    const life = new Life(this.#host, this.#held, this.#prompt, (...told) => this.#see(...told));
    life.begin(await opening);
    this.#life = life;
  }

  async #end() {
    const life = this.#life;
    this.#life = undefined;
    this.#next = undefined;
    await life?.retire();
  }

  /** End this session, open another one, and tell that it was opened from a log. */
  async #follow({ call, known, open }) {
    await this.#end();
    await this.#begin(open());
    this.#trace.push(openedBy(call, this.#life, known));
    for (const due of this.#waiting) queueMicrotask(() => this.#tick(due));
  }

  #returned(call, raised = null) {
    this.#trace.push({ saw: 'return', call, value: null, raised });
  }

  /** Whether upstream refuses to open a session of this id, as it does while one of it lives. */
  #isLive(id) {
    try {
      this.#host.ctx.sessions.prepare(id);
    } catch {
      return true;
    }
    return false;
  }

  /** Make durable what was recorded; a session that is gone has made it so when it went. */
  #flush() {
    this.#life.persist();
    this.#returned('flush');
  }

  #resume() {
    const { id, events } = this.#life.session;
    if (this.#isLive(id)) this.#returned('resume', 'log-busy');
    else this.#leave('resume', events.length, () => this.#host.resume(id));
  }

  #fork() {
    const { session } = this.#life;
    const { sessions } = this.#host.ctx;
    const { events } = session;
    const id = this.#fresh();
    if (this.#isLive(session.id)) {
      try {
        sessions.fork(session, undefined, this.#fresh());
      } catch (error) {
        if (error?.code !== 'OPEN_TURN') throw error;
        this.#returned('fork', 'fork-refused');
        return;
      }
    }
    const meta = { parentSession: session.id, seedLength: events.length };
    this.#leave('fork', events.length, () => this.#host.create(id, [...events], meta));
  }

  /** What is persisted by now is all that is left. */
  #crash() {
    const { meta, events } = this.#host.stored.get(this.#life.session.id);
    const id = this.#fresh();
    this.#leave('crash', events.length, () => {
      this.#host.stored.set(id, { meta: { ...meta, id }, events });
      return this.#host.resume(id);
    });
  }

  /** This session is over where it stands; `open` opens the next one once nothing runs. */
  #leave(call, known, open) {
    this.#life.dead = true;
    this.#lives += 1;
    this.#next = { call, known, open };
  }

  async #load([header, ...events]) {
    const { type: _, ...meta } = header;
    const id = this.#fresh();
    this.#host.stored.set(id, { meta: { ...meta, id }, events });
    await this.#follow({ call: 'load', known: events.length, open: () => this.#host.resume(id) });
  }

  #dumped() {
    if (this.#life === undefined) throw new CannotDo('expected a reset before anything else');
    const { header, events } = this.#life.session;
    return [{ type: 'session', ...header }, ...events];
  }

  #give(command) {
    if (!this.#life.answer(command)) return false;
    this.#come(`${command.gate} answer`, '');
    return true;
  }

  #call(command) {
    switch (command.do) {
      case 'flush':
        return this.#flush();
      case 'crash':
        return this.#crash();
      case 'resume':
        return this.#resume();
      case 'fork':
        return this.#fork();
      default:
        return this.#life.call(command);
    }
  }

  // --- Hooks and ticks -------------------------------------------------------------------------

  #see(entry, at, by) {
    this.#trace.push(entry);
    if (at !== undefined) this.#come(at, by);
  }

  /** A moment that hooks may wait for has come; first those that wait some ticks more. */
  #come(at, by) {
    const where = `${at} ${by}`;
    const number = (this.#counts.get(where) ?? 0) + 1;
    this.#counts.set(where, number);
    if (this.#hooks.length === 0) return;
    const due = this.#hooks.filter((each) => each.at === at && each.by === by && each.n === number);
    if (due.length === 0) return;
    this.#hooks = this.#hooks.filter((each) => !due.includes(each));
    const lives = this.#lives;
    for (const hook of due) if (hook.k > 0) this.#later({ left: hook.k, hook });
    for (const hook of due) if (hook.k === 0 && lives === this.#lives) this.#make(hook);
  }

  #make({ hook, call }) {
    this.#trace.push({ saw: 'made', hook });
    this.#call(call);
  }

  #later(due) {
    this.#waiting.add(due);
    queueMicrotask(() => this.#tick(due));
  }

  /** One tick has passed; between a crash and the next session none does. */
  #tick(due) {
    if (this.#next !== undefined || this.#life === undefined || !this.#waiting.has(due)) return;
    due.left -= 1;
    if (due.left > 0) {
      queueMicrotask(() => this.#tick(due));
      return;
    }
    this.#waiting.delete(due);
    this.#make(due.hook);
  }
}
