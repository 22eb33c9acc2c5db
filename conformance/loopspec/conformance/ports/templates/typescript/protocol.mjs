/**
 * The port protocol: JSON lines in, one JSON line out for each. Nothing here knows your loop.
 *
 * The judge sends a command and waits; the port answers when its loop has come to rest, with
 * everything that was seen on the way. Calls that the judge wants made *inside* a delivery, or some
 * ticks behind it, come with the reset as hooks and are made here.
 *
 * @typedef {{ do: string, seq?: number } & Record<string, any>} Command
 * @typedef {{ saw: string } & Record<string, unknown>} Entry
 * @typedef {{ hook: number, at: string, by: string, n: number, k: number, call: Command }} Hook
 * @typedef {{ gate: string, aborted: boolean, call?: string }} OpenGate
 * @typedef {{ next_turn: unknown[], next_step: unknown[] }} Lists
 * @typedef {Lists & { status: string, gates: OpenGate[] }} State
 *
 * What this module needs of `adapter.mjs`. Everything that does something may be an async function;
 * a promise is awaited, and a plain value is taken at once, before any promise of the loop goes on.
 * @typedef {object} Adapter
 * @property {string} name
 * @property {string} version
 * @property {string} language
 * @property {string} profile
 * @property {string[]} capabilities
 * @property {new (message: string) => Error} refusal
 * @property {(held: string[], tell: (entry: Entry) => void) => void | Promise<void>} reset
 * @property {(command: Command) => unknown} call
 * @property {(command: Command) => boolean | Promise<boolean>} answer
 * @property {() => boolean | Promise<boolean>} tick
 * @property {() => State} state
 */

import { crc32 } from "node:zlib";

const PROTOCOL = 1;
const CONTRACT = 1;

/** The adapter was asked for something that it has not declared; the message is one sentence. */
export class CannotDo extends Error {}

/** One adapter behind the protocol: a command comes in, an answer goes out. */
export class Port {
  #adapter;
  /** @type {Entry[]} */
  #trace = [];
  /** @type {Hook[]} */
  #hooks = [];
  /** @type {{ ticks: number, hook: Hook }[]} */
  #later = [];
  /** @type {Map<string, number>} */
  #seen = new Map();
  /** Calls that were made in a delivery and have given a promise. @type {Promise<void>[]} */
  #awaited = [];

  /** Nothing is open yet; the first reset opens a session. @param {Adapter} adapter */
  constructor(adapter) {
    this.#adapter = adapter;
  }

  /** Do what a command asks. Throws CannotDo. @param {Command} command @returns {Promise<object>} */
  async answerTo(command) {
    switch (command.do) {
      case "hello":
        return this.#welcome();
      case "batch":
        return { answers: await this.#each(command.commands) };
      case "bye":
        return { bye: true };
    }
    return this.#done(command);
  }

  /** Who we are, and what we can do. */
  #welcome() {
    const { name, version, language, profile, capabilities } = this.#adapter;
    const spoken = { protocol: PROTOCOL, contract: CONTRACT };
    return { ...spoken, name, version, language, profile, capabilities, sum: true };
  }

  /** Do these one after the other, each until the loop is at rest. @param {Command[]} commands */
  async #each(commands) {
    const answers = [];
    for (const command of commands) answers.push(await this.#done(command));
    return answers;
  }

  /** Do one command until the loop is at rest, and report. @param {Command} command */
  async #done(command) {
    const [late] = this.#trace.splice(0);
    if (late !== undefined && command.do !== "reset") {
      throw new CannotDo(`the loop told ${late.saw} after tick had said that nothing is left to run`);
    }
    let open = true;
    if (command.do === "reset") await this.#reset(command);
    else if (command.do === "answer") open = await this.#give(command);
    else await this.#call(command);
    if (open) await this.#settle();
    return { trace: this.#trace.splice(0), ...this.#adapter.state(), open };
  }

  /** Forget everything, keep the new hooks, and open a fresh session. @param {Command} command */
  #reset({ held, hooks }) {
    this.#hooks = hooks ?? [];
    this.#later = [];
    this.#seen.clear();
    this.#awaited = [];
    return this.#adapter.reset(held, (entry) => this.#tell(entry));
  }

  /**
   * Make a call where the loop is now, and tell what came back: at once, or when its promise has
   * settled.
   *
   * @param {Command} command
   * @returns {void | Promise<void>}
   */
  #call(command) {
    const returned = (/** @type {object} */ what) =>
      void this.#trace.push({ saw: "return", call: command.do, ...what });
    const refused = (/** @type {unknown} */ error) => {
      if (!(error instanceof this.#adapter.refusal)) throw error;
      returned({ raised: error.message });
    };
    let value;
    try {
      value = this.#adapter.call(command);
    } catch (error) {
      return refused(error);
    }
    if (value instanceof Promise) return value.then((value) => returned({ value }), refused);
    return returned({ value });
  }

  /**
   * Answer a gate; calls that wait for this answer come before the loop acts on it.
   *
   * @param {Command} command
   */
  async #give(command) {
    const given = this.#adapter.answer(command);
    // Awaiting a plain value would let the loop act on the answer already.
    if (!(given instanceof Promise ? await given : given)) return false;
    this.#come(`${command.gate} answer`, "");
    return true;
  }

  /** Tick until nothing is left to do; calls that are due go between two ticks. */
  async #settle() {
    for (;;) {
      const due = this.#later.filter(({ ticks }) => ticks <= 1);
      this.#later = this.#later.filter(({ ticks }) => ticks > 1);
      for (const each of this.#later) each.ticks -= 1;
      for (const { hook } of due) this.#make(hook);
      if (due.length > 0 || (await this.#adapter.tick()) || this.#later.length > 0) continue;
      if (this.#awaited.length === 0) return;
      await Promise.all(this.#awaited.splice(0));
    }
  }

  /**
   * Write down what the loop does; calls that wait for it are made inside this delivery.
   *
   * @param {Entry} entry
   */
  #tell(entry) {
    this.#trace.push(entry);
    this.#come(entry.saw, String(entry.by ?? ""));
  }

  /**
   * Something came for the n-th time: make the calls that wait for that, or begin to count.
   *
   * @param {string} at
   * @param {string} by
   */
  #come(at, by) {
    const key = `${at} ${by}`;
    const n = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, n);
    const due = this.#hooks.filter((hook) => hook.at === at && hook.by === by && hook.n === n);
    this.#hooks = this.#hooks.filter((hook) => !due.includes(hook));
    for (const hook of due) if (hook.k > 0) this.#later.push({ ticks: hook.k, hook });
    for (const hook of due) if (hook.k === 0) this.#make(hook);
  }

  /** Make the call of a hook here; nobody can wait in a delivery. @param {Hook} hook */
  #make(hook) {
    this.#trace.push({ saw: "made", hook: hook.hook });
    const settled = this.#call(hook.call);
    if (!(settled instanceof Promise)) return;
    settled.catch(() => {}); // it is awaited later, and must not count as unhandled until then
    this.#awaited.push(settled);
  }
}

/**
 * An answer as it is sent, with a checksum at its end, so that no damaged line is believed.
 *
 * @param {object} answer
 */
function lineOf(answer) {
  const line = JSON.stringify(answer);
  if ("protocol" in answer) return `${line}\n`; // it announces the checksum and has none
  const body = line.slice(0, -1);
  return `${body},"sum":"${crc32(body).toString(16).padStart(8, "0")}"}\n`;
}

/** Lines end in a line feed and nowhere else: `node:readline` would split at U+2028 as well. */
async function* lines() {
  let rest = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    const [first, ...others] = String(chunk).split("\n");
    rest += first;
    for (const next of others) {
      yield rest;
      rest = next;
    }
  }
}

/** Answer commands until `bye` or the end of the input. @param {Adapter} adapter */
export async function serve(adapter) {
  const port = new Port(adapter);
  for await (const line of lines()) {
    let seq = 0;
    let answer = {};
    try {
      const command = JSON.parse(line);
      seq = command.seq;
      answer = await port.answerTo(command);
    } catch (error) {
      if (error instanceof CannotDo) answer = { failed: error.message };
      else {
        console.error(error); // standard error: the judge quotes its last line
        answer = { failed: `the adapter failed: ${error}` };
      }
    }
    process.stdout.write(lineOf({ seq, ...answer }));
    if ("bye" in answer) break;
  }
}
