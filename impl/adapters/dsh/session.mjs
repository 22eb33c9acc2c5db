// One session of the genuine loop: its gates, its hooks, and everything that is seen of it.
//
// Four rules. A gate is a promise that an answer resolves; nothing else of ours is awaited. A tick
// is a microtask. A session that crashed is dead at once: what its code still does is not told, and
// its gates fail, so that it ends. The log that a crash leaves is what was persisted by then; it is
// persisted where a checkpointing host does so: before a request, before a tool's body, at idle.

import {
  ERROR_TEXTS,
  EVENTS,
  causeTo,
  codeOf,
  folded,
  messageOf,
  messageTo,
  numberTo,
  recordOf,
  repairedOf,
} from './words.mjs';

const INBOX_CALLS = new Set(['append', 'prepend', 'splice', 'replace', 'remove', 'clear']);

/** What a session tells goes to `told(entry, at, by)`; `at` names a moment that hooks wait for. */
export class Life {
  gates = [];
  armed = [];
  dead = false;
  turn = 0;
  step = 0;
  #host;
  #told;
  #held;
  #prompt;
  #handle;
  #disposal;
  #folded = { seen: 0, lists: undefined };

  /** `prompt`: the provider's stream notices an abort and ends by itself. */
  constructor(host, held, prompt, told) {
    this.#host = host;
    this.#held = held;
    this.#prompt = prompt;
    this.#told = told;
  }

  /** Take over an agent that was created or resumed for this session. */
  begin(handle) {
    this.#handle = handle;
    this.agent = handle.agent;
    this.session = handle.agent.session;
    this.#folded.seen = this.session.header.seedLength ?? 0;
    this.turn = lastTurn(this.session.events);
    this.#host.life = this;
    this.#host.hold(this.#held);
    this.persist();
  }

  /**
   * End without a trace: every gate fails until nothing runs any more.
   *
   * An agent that stands still without a gate never ends: a throwing interceptor of its status
   * leaves it running without a driver. It is left behind, under an id that nobody uses again.
   */
  async retire() {
    this.dead = true;
    this.armed.length = 0;
    let over = false;
    const done = () => (over = true);
    this.#handle.dispose().then(done, done);
    if (this.#host.life === this) this.#host.life = undefined;
    let failed;
    do {
      failed = this.gates.splice(0);
      for (const gate of failed) gate.reject(new Error('this session is gone'));
      await new Promise(setImmediate);
    } while (!over && failed.length > 0);
  }

  // --- Projections ---------------------------------------------------------------------------

  get lists() {
    const { nextTurn, nextStep } = this.agent.inbox;
    return { next_turn: nextTurn.map(messageOf), next_step: nextStep.map(messageOf) };
  }

  get status() {
    return this.agent.status;
  }

  get openGates() {
    return this.gates.map(({ kind, call, signal }) => ({
      gate: kind,
      aborted: signal.aborted,
      call,
    }));
  }

  /** The fold of the log; each event is read once. */
  get folded() {
    const known = this.#folded;
    const { seq } = this.session;
    if (known.lists === undefined || known.seen < seq) {
      known.lists = folded(this.session.events, known.seen, known.lists);
      known.seen = seq;
    }
    return { next_turn: known.lists['next-turn'], next_step: known.lists['next-step'] };
  }

  // --- What happens ----------------------------------------------------------------------------

  /** Tell an entry, and let the hooks that wait for it make their calls. */
  tell(entry, at, by = '') {
    if (!this.dead) this.#told(entry, at, by);
  }

  fault(name, error) {
    this.tell({ saw: 'fault', name, error });
  }

  /** Upstream has contained what a listener raised; ours raise nothing but what was armed. */
  contained(text) {
    if (!/append-refused|dispatch-failed/.test(text)) this.fault('listener failed', text);
  }

  event(name, payload, by) {
    if (name === 'agent/status' && payload.status === 'idle' && by === 'first') this.persist();
    this.#tellSafely(() => ({ saw: name, by, ...EVENTS[name](payload) }), by);
  }

  record(event, by) {
    if (by === 'first') {
      if (event.type === 'turn/start') [this.turn, this.step] = [event.data.turn, 0];
      if (event.type === 'step/start') this.step = event.data.step;
    }
    this.#tellSafely(() => {
      const data = recordOf(event);
      return data === undefined ? undefined : { saw: event.type, by, ...data };
    }, by);
  }

  #tellSafely(translated, by) {
    if (this.dead) return;
    let entry;
    try {
      entry = translated();
    } catch (error) {
      this.fault('unreadable', String(error));
      return;
    }
    if (entry !== undefined) this.tell(entry, entry.saw, by);
  }

  /** Make the log durable as it stands. */
  persist() {
    if (this.dead) return;
    const { id, header, events } = this.session;
    this.#host.stored.set(id, { meta: header, events });
  }

  // --- Gates -----------------------------------------------------------------------------------

  #hold(kind, signal, data, call = '') {
    const gate = { kind, call, signal, ...Promise.withResolvers() };
    if (this.dead) {
      gate.reject(new Error('this session is gone'));
      return gate;
    }
    this.gates.push(gate);
    this.tell({ saw: kind, ...data }, kind);
    return gate;
  }

  /** Answer the oldest open gate that takes an answer; false when there is none. */
  answer({ gate: kind, choice, messages = null, calls = [] }) {
    const index = this.gates.findIndex(
      (gate) =>
        gate.kind === kind && (gate.call === '' || calls.length === 0 || calls.includes(gate.call)),
    );
    if (index < 0) return false;
    const [gate] = this.gates.splice(index, 1);
    gate.resolve({ choice, messages: messages?.map(messageTo) ?? null, calls });
    return true;
  }

  async assemble(signal, next) {
    const data = { turn: this.turn, step: this.step + 1 };
    const { choice } = await this.#hold('assemble', signal, data).promise;
    if (choice === 'failed') throw new Error(ERROR_TEXTS.assemble);
    return next();
  }

  /** The seams that ask for a decision: pre-step, request and request-error. */
  async decide(kind, payload, next) {
    const { turn, step, signal } = payload;
    const data = { turn, step };
    if (kind === 'pre-step') data.messages = payload.messages.map(messageOf);
    const { choice, messages } = await this.#hold(kind, signal, data).promise;
    if (choice === 'raise') throw new Error(ERROR_TEXTS[kind]);
    if (choice === 'reject') return { kind: 'reject' };
    if (choice === 'retry') return { kind: 'retry' };
    return messages === null ? next() : { kind: 'enter', messages };
  }

  async turnStopping({ turn, signal }) {
    const { choice } = await this.#hold('turn-stopping', signal, { turn }).promise;
    if (choice === 'raise') throw new Error(ERROR_TEXTS['turn-stopping']);
  }

  /** What the provider answers next. */
  reply(signal) {
    this.persist();
    if (!this.#held.has('provider')) return { choice: 'done', calls: [] };
    const gate = this.#hold('provider', signal, { turn: this.turn, step: this.step });
    if (!this.#prompt) return gate.promise;
    const notice = () => {
      const index = this.gates.indexOf(gate);
      if (index >= 0) this.gates.splice(index, 1);
      gate.reject(signal.reason);
    };
    if (signal.aborted) notice();
    else signal.addEventListener('abort', notice, { once: true });
    return gate.promise;
  }

  async runTool(exec) {
    this.persist();
    if (!this.#held.has('tool')) return [];
    const data = { turn: this.turn, step: this.step, call: exec.callId };
    const gate = this.#hold('tool', exec.signal, data, exec.callId);
    const { choice, messages } = await gate.promise;
    for (const message of messages ?? []) exec.deferContext(message);
    if (choice === 'raise') throw new Error(ERROR_TEXTS.tool);
    if (choice === 'concludes') exec.concludeTurn();
    return [];
  }

  async #maintain(signal) {
    if (!this.#held.has('maintenance')) return;
    const { choice } = await this.#hold('maintenance', signal, {}).promise;
    if (choice === 'raise') throw new Error(ERROR_TEXTS.maintenance);
  }

  // --- Calls -----------------------------------------------------------------------------------

  /** Take a fault off the list of those that were armed; false when it was not. */
  disarm(name) {
    const index = this.armed.indexOf(name);
    if (index >= 0) this.armed.splice(index, 1);
    return index >= 0;
  }

  /** Make a call now, and tell what it returned or raised. */
  call(command) {
    const name = command.do;
    let value = null;
    let raised = null;
    let begun;
    try {
      const returned = this.#made(name, command);
      if (returned instanceof Promise) begun = returned;
      else if (name === 'splice') value = returned.map(({ id }) => id);
      else value = returned ?? null;
    } catch (error) {
      raised = codeOf(error);
    }
    this.tell({ saw: 'return', call: name, value, raised });
    begun?.then(
      () => this.tell({ saw: 'settled', call: name, error: null }),
      (error) => this.tell({ saw: 'settled', call: name, error: String(error?.message) }),
    );
  }

  #made(name, command) {
    const { agent } = this;
    if (INBOX_CALLS.has(name)) return this.#edit(name, command);
    switch (name) {
      case 'followup':
      case 'steer':
      case 'inject':
        this.#needsFound();
        return agent[name](messageTo(command.message));
      case 'cancel':
        return agent.cancel(causeTo(command.cause), { keepInbox: command.mode === 'keep' });
      case 'maintenance':
        this.#needsFound();
        return agent.runMaintenance((signal) => this.#maintain(signal));
      case 'when-idle':
        return agent.whenIdle();
      case 'dispose':
        return this.#dispose();
      case 'refuse':
        this.armed.push(command.record);
        return null;
      case 'throw':
        this.armed.push(command.event);
        return null;
      default:
        throw new Error(`expected a call of the contract, got ${name}`);
    }
  }

  #edit(name, { target, message, messages, id, start, count }) {
    const { inbox } = this.agent;
    switch (name) {
      case 'append':
      case 'prepend':
        return inbox[name](target, messageTo(message));
      case 'splice':
        return inbox.splice(target, numberTo(start), numberTo(count), messages.map(messageTo));
      case 'replace':
        return inbox.replace(id, messageTo(message));
      case 'remove':
        return inbox.remove(id);
      default:
        return inbox.clear();
    }
  }

  /** A host looks an agent up before it uses it; one that was disposed of is not found. */
  #needsFound() {
    if (!this.#host.finds(this.agent)) throw new Error('disposed');
  }

  /** All disposals share one promise, which is told once. */
  #dispose() {
    const disposal = this.#handle.dispose();
    if (this.#disposal === disposal) return null;
    this.#disposal = disposal;
    const persist = () => this.persist();
    disposal.then(persist, persist);
    return disposal;
  }
}

/** The number of the last turn of a log. */
export function lastTurn(events) {
  return events.findLast(({ type }) => type === 'turn/start')?.data.turn ?? 0;
}

/** What is told of a session that was opened from a log of `known` events. */
export function openedBy(call, life, known) {
  const { events } = life.session;
  const repaired = repairedOf(events.slice(known));
  return { saw: 'opened', call, turn: lastTurn(events), ...life.lists, repaired };
}
