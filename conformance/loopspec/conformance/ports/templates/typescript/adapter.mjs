/**
 * The adapter: your loop in the words of the port protocol. This is the file that you edit.
 *
 * `node adapter.mjs` answers commands on its standard input, one JSON object a line.
 *
 * @import { Command, Entry, State } from "./protocol.mjs"
 */

import { pathToFileURL } from "node:url";
import { Loop, Refused } from "./loop.mjs";
import { CannotDo, serve } from "./protocol.mjs";

const GATES = ["assemble", "pre-step", "provider", "tool", "maintenance"];
const REPLIES = ["done", "owes", "max-tokens", "error", "cut"];

/** One loop at a time, driven from outside. */
export class Adapter {
  name = "my-loop";
  version = "0.1.0";
  language = "TypeScript";
  profile = "notes";

  /** What the loop can do. Whatever is not declared is skipped; whatever is must conform. */
  capabilities = [
    "steering", // steer and inject
    "cancel",
    "assemble-gate", // the assembly of the prompt waits to be answered
    "calls-in-listeners", // a listener may call the loop, inside the delivery
    "first-listener", // somebody listens before all others
    "ticks", // a call can be made between two ticks of the loop
    "batch", // done by the protocol: many commands in one line
  ];

  /** What the loop throws when it refuses a call; its message is the code. */
  refusal = Refused;

  #loop = new Loop([], () => {});

  /**
   * Begin afresh. From now on `tell` gets every record, event and gate as it happens.
   *
   * @param {string[]} held
   * @param {(entry: Entry) => void} tell
   */
  reset(held, tell) {
    const foreign = held.find((gate) => !GATES.includes(gate));
    if (foreign !== undefined) throw new CannotDo(`this adapter has no gate ${foreign}`);
    const heardBy = (/** @type {"first" | "last"} */ by) =>
      (/** @type {string} */ name, /** @type {object} */ values) =>
        tell({ saw: name, by, ...values });
    this.#loop = new Loop([heardBy("first"), heardBy("last")], (gate, values) =>
      tell({ saw: gate, ...values }),
    );
  }

  /** Make a call and give what it returns. @param {Command} command @returns {unknown} */
  call(command) {
    switch (command.do) {
      case "followup":
        return this.#loop.followup(command.message);
      case "steer":
        return this.#loop.steer(command.message);
      case "inject":
        return this.#loop.inject(command.message);
      case "cancel":
        return this.#loop.cancel(command.cause, command.mode);
    }
    throw new CannotDo(`this adapter has no ${command.do}`);
  }

  /** Answer a gate. False, and nothing done, when no such gate is open. @param {Command} command */
  answer({ gate, choice, messages }) {
    if (gate === "provider" && !REPLIES.includes(choice)) {
      throw new CannotDo(`this adapter's provider has no answer ${choice}`);
    }
    return this.#loop.answer(gate, choice, messages ?? null);
  }

  /** Let the loop do its next piece of work. False when there is none. */
  tick() {
    return this.#loop.tick();
  }

  /** What the loop says of itself at rest. @returns {State} */
  state() {
    const { gate, cause, lists, status } = this.#loop;
    return {
      next_turn: lists["next-turn"].map((item) => item.message),
      next_step: lists["next-step"].map((item) => item.message),
      status,
      gates: gate === null ? [] : [{ gate, aborted: cause !== null }],
    };
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await serve(new Adapter());
