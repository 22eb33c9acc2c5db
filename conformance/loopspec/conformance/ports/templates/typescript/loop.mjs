/**
 * A toy agent loop: the part that you replace by your own.
 *
 * It takes prompts (`followup`), steering (`steer`, `inject`) and `cancel`, and waits at three
 * gates for somebody else: the assembly of the prompt, the pre-step decision, and the provider.
 * Between two waits it runs at once, in the stack of whoever called it: no promise, no timer.
 *
 * @typedef {{ id: string, role: string, source: string, blocks: unknown[] }} Message
 * @typedef {"next-turn" | "next-step"} Target
 * @typedef {"assemble" | "pre-step" | "provider"} Gate
 * @typedef {(name: string, values: Record<string, unknown>) => void} Listener
 *
 * What a pending message asks of the driver: nothing (`quiet`), to be seen by the one that runs
 * (`waking`), or one that nobody has started yet (`due`).
 * @typedef {{ message: Message, mark: "quiet" | "waking" | "due" }} Item
 */

/** Why the loop did not do what it was asked; the message is a code of the contract. */
export class Refused extends Error {}

/** One session: two lists of pending messages, and at most one driver that works them off. */
export class Loop {
  /** @type {Record<Target, Item[]>} */
  lists = { "next-turn": [], "next-step": [] };
  /** @type {"idle" | "running"} */
  status = "idle";
  /** Who aborted what runs; the first one counts. @type {string | null} */
  cause = null;
  /** Where the driver waits. @type {Gate | null} */
  gate = null;

  /** What the driver does on the next tick. @type {(() => void) | null} */
  #ready = null;
  /** It has looked at the lists for the last time. */
  #leaving = false;
  /** While a record is told, nothing else can be recorded. */
  #recording = false;
  #turn = 0;
  #step = 0;
  /** Claimed, and owned by the open turn. @type {Message[]} */
  #batch = [];
  /** What the steps of this turn amount to. @type {"completed" | "max-tokens" | null} */
  #outcome = null;
  /** The last step owes a reply. */
  #owes = false;
  #listeners;
  #atGate;

  /**
   * An idle loop. Every record and event goes to each listener, every gate to `atGate`.
   *
   * @param {Listener[]} listeners
   * @param {Listener} atGate
   */
  constructor(listeners, atGate) {
    this.#listeners = listeners;
    this.#atGate = atGate;
  }

  // -- What a user may ask -----------------------------------------------------------------------

  /** Queue a prompt for a turn of its own, and wake. @param {Message} message */
  followup(message) {
    this.#send("next-turn", message);
  }

  /** Queue a message for the next step, and wake. @param {Message} message */
  steer(message) {
    this.#send("next-step", message);
  }

  /** Queue a message for the next step, whoever brings it about. @param {Message} message */
  inject(message) {
    this.#insert("next-step", { message, mark: "quiet" });
  }

  /**
   * Abort what runs; with `drop`, withdraw first what is pending now.
   *
   * @param {string} cause
   * @param {"keep" | "drop"} mode
   */
  cancel(cause, mode) {
    const wasRunning = this.status === "running";
    const doomed = this.#pending();
    const refused = mode === "drop" && doomed.length > 0 && this.#recording;
    if (refused) {
      for (const item of doomed) item.mark = "quiet";
    } else if (mode === "drop") {
      this.#withdraw(doomed);
    }
    if (wasRunning) this.cause ??= cause;
    if (refused) throw new Refused("append-refused");
  }

  // -- What the environment does -----------------------------------------------------------------

  /**
   * Answer the open gate; the driver goes on with the next tick. False when it is closed.
   *
   * @param {string} gate
   * @param {string} choice
   * @param {Message[] | null} messages
   */
  answer(gate, choice, messages) {
    if (gate !== this.gate) return false;
    const goOn = {
      assemble: () => this.#assembled(choice),
      "pre-step": () => this.#decided(choice, messages),
      provider: () => this.#replied(choice),
    };
    this.#ready = goOn[this.gate];
    this.gate = null;
    return true;
  }

  /** Let the driver work up to its next wait. False when it has nothing to do. */
  tick() {
    const goOn = this.#ready;
    this.#ready = null;
    goOn?.();
    return goOn !== null;
  }

  // -- The lists ---------------------------------------------------------------------------------

  #pending() {
    return [...this.lists["next-step"], ...this.lists["next-turn"]];
  }

  /**
   * Insert and wake. What it asks for is judged now: a listener may change what runs.
   *
   * @param {Target} target
   * @param {Message} message
   */
  #send(target, message) {
    const isSeen = this.status === "running" && this.cause === null && !this.#leaving;
    const place = this.cause === null ? target : "next-turn"; // no step will come for it
    this.#insert(place, { message, mark: isSeen ? "waking" : "due" });
    if (this.status === "idle") this.#start();
  }

  /** Put one item behind the last of a list. @param {Target} target @param {Item} item */
  #insert(target, item) {
    if (this.#pending().some(({ message }) => message.id === item.message.id)) {
      throw new Refused("duplicate-id");
    }
    if (this.#recording) throw new Refused("append-refused");
    this.#splice(target, this.lists[target].length, 0, [item], null);
    this.#tell("agent/inbox/inserted", { message: item.message });
  }

  /** Remove these items, run by run; what listeners add meanwhile stays. @param {Item[]} doomed */
  #withdraw(doomed) {
    for (const target of /** @type {const} */ (["next-step", "next-turn"])) {
      for (;;) {
        const list = this.lists[target];
        const start = list.findIndex((item) => doomed.includes(item));
        if (start < 0) break;
        const length = list.slice(start).findIndex((item) => !doomed.includes(item));
        const count = length < 0 ? list.length - start : length;
        for (const { message } of this.#splice(target, start, count, [], "canceled")) {
          this.#tell("agent/inbox/discarded", { message });
        }
      }
    }
  }

  /**
   * Record one edit of a list, then make it. Returns what was removed.
   *
   * @param {Target} target
   * @param {number} start
   * @param {number} removed
   * @param {Item[]} items
   * @param {"canceled" | null} outcome
   */
  #splice(target, start, removed, items, outcome) {
    const inserted = items.map((item) => item.message);
    this.#record("agent/inbox/spliced", { target, start, removed, inserted, outcome });
    return this.lists[target].splice(start, removed, ...items);
  }

  // -- The driver: from a wake to idle -----------------------------------------------------------

  /** Begin to work; everything that was due has its driver now. */
  #start() {
    for (const item of this.#pending()) if (item.mark === "due") item.mark = "waking";
    this.status = "running";
    this.#tell("agent/status", { status: "running" });
    if (this.cause === null) this.#openTurn();
    else this.#goIdle();
  }

  #openTurn() {
    this.#turn += 1;
    this.#step = 0;
    this.#outcome = null;
    this.#owes = false;
    this.#record("turn/start", { turn: this.#turn });
    this.#claim(1);
  }

  /**
   * Take all of next-step and that many prompts; from now on the turn owns them.
   *
   * @param {0 | 1} prompts
   */
  #claim(prompts) {
    const head = Math.min(prompts, this.lists["next-turn"].length);
    const claimed = [
      ...this.#take("next-step", this.lists["next-step"].length),
      ...this.#take("next-turn", head),
    ];
    this.#batch = claimed.map((item) => item.message);
    for (const message of this.#batch) {
      this.#tell("agent/inbox/claimed", { message, turn: this.#turn });
    }
    this.#wait("assemble", { turn: this.#turn, step: this.#step + 1 });
  }

  /** @param {Target} target @param {number} count */
  #take(target, count) {
    return count > 0 ? this.#splice(target, 0, count, [], null) : [];
  }

  /** @param {string} choice */
  #assembled(choice) {
    if (this.cause !== null) this.#endTurn("aborted");
    else if (choice === "failed") this.#endTurn("error", "assembly failed");
    else {
      const proposed = { turn: this.#turn, step: this.#step + 1, messages: this.#batch };
      this.#wait("pre-step", proposed);
    }
  }

  /**
   * An abort wins over any decision, and what was claimed never goes back.
   *
   * @param {string} choice
   * @param {Message[] | null} messages
   */
  #decided(choice, messages) {
    const entering = messages ?? this.#batch;
    if (this.cause !== null) this.#endTurn("aborted");
    else if (choice === "raise") this.#endTurn("error", "pre-step raised");
    else if (choice === "reject") this.#endTurn("blocked");
    else if (entering.length === 0 && this.#step === 0) this.#endTurn("empty");
    else if (entering.length === 0 && !this.#owes) this.#endTurn(this.#outcome ?? "completed");
    else this.#enter(entering);
  }

  /** @param {Message[]} messages */
  #enter(messages) {
    this.#step += 1;
    this.#record("step/start", { turn: this.#turn, step: this.#step });
    for (const message of messages) this.#record("user/message", { message });
    if (this.cause === null) this.#wait("provider", { turn: this.#turn, step: this.#step });
    else this.#endStep(null);
  }

  /** @param {string} choice */
  #replied(choice) {
    const failed = choice === "error" || choice === "cut";
    if (this.cause === null && !failed) {
      if (choice === "max-tokens") this.#outcome = "max-tokens";
      else if (this.#outcome !== "max-tokens") {
        this.#outcome = choice === "done" ? "completed" : null; // once truncated, always truncated
      }
      this.#owes = choice === "owes";
      const place = { turn: this.#turn, step: this.#step };
      this.#record("assistant/message", { ...place, calls: [], interrupted: false });
    }
    this.#endStep(failed ? "provider failed" : null);
  }

  /** @param {string | null} error */
  #endStep(error) {
    this.#record("step/end", { turn: this.#turn, step: this.#step });
    if (this.cause !== null) this.#endTurn("aborted");
    else if (error !== null) this.#endTurn("error", error);
    else if (this.#owes || this.lists["next-step"].length > 0) this.#claim(0);
    else this.#endTurn(this.#outcome ?? "completed");
  }

  /**
   * Close the turn; go on with what is pending only if it ended well.
   *
   * @param {"completed" | "max-tokens" | "empty" | "blocked" | "aborted" | "error"} ending
   * @param {string | null} error
   */
  #endTurn(ending, error = null) {
    if (error !== null) this.#tell("agent/error", { turn: this.#turn, step: this.#step, error });
    const reason = ending === "empty" ? "completed" : ending;
    const cause = ending === "aborted" ? this.cause : null;
    this.#record("turn/end", { turn: this.#turn, reason, cause, error });
    if ((ending === "completed" || ending === "max-tokens") && this.#pending().length > 0) {
      this.cause = null;
      this.#openTurn();
      return;
    }
    for (const item of this.#pending()) {
      // Its driver was aborted: it is owed another one.
      if (ending === "aborted" && item.mark === "waking") item.mark = "due";
    }
    this.#leaving = true;
    this.#ready = () => this.#goIdle();
  }

  /** Idle; but what came too late for this driver starts another one in the same tick. */
  #goIdle() {
    this.status = "idle";
    this.cause = null;
    this.#leaving = false;
    this.#tell("agent/status", { status: "idle" });
    if (this.status === "idle" && this.#pending().some((item) => item.mark === "due")) {
      this.#start();
    }
  }

  // -- What is told ------------------------------------------------------------------------------

  /**
   * Open a gate; nothing more happens until it is answered.
   *
   * @param {Gate} gate
   * @param {Record<string, unknown>} values
   */
  #wait(gate, values) {
    this.gate = gate;
    this.#atGate(gate, values);
  }

  /**
   * Tell a durable record; until all listeners have it, no other can be made.
   *
   * @param {string} name
   * @param {Record<string, unknown>} values
   */
  #record(name, values) {
    this.#recording = true;
    this.#tell(name, values);
    this.#recording = false;
  }

  /** @param {string} name @param {Record<string, unknown>} values */
  #tell(name, values) {
    for (const listener of this.#listeners) listener(name, values);
  }
}
