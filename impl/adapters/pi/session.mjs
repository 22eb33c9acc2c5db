// One agent of pi-agent-core under control: its calls, its gates, and what it is seen to do.
//
// A run of pi (`agent_start` to `agent_end`) is told as a turn, and a turn of pi (one request and
// its tools) as a step. `claimed` is pi's own event about a queued message that enters the run;
// `user/message` is told when a message is in the context of a request for the first time, so it
// is what the model gets and not what pi says. That something was queued or dropped pi does not
// tell: the adapter looks at both queues right after the call.

import { Agent } from '@mariozechner/pi-agent-core';
import { createAssistantMessageEventStream } from '@mariozechner/pi-ai';
import { Type } from 'typebox';
import { CannotDo } from '../protocol/port.mjs';

const ALONE = 'alone';
const BESIDE = 'beside';
const USAGE = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const STOPS = { tools: 'toolUse', parallel: 'toolUse', 'max-tokens': 'length' };
const FAILURES = { error: 'error', cut: 'aborted' };

export class Session {
  #see;
  #agent;
  #dead = false;
  #gates = [];
  /** Our message of each message of pi's, by identity: pi hands the same object on. */
  #ours = new Map();
  #queued = new Set();
  /** How often each message stood in the context of the last request. */
  #shown = new Map();
  #turn = 0;
  #step = 0;

  /** `see(entry, at, by)` is told everything; `fault` plants one. */
  constructor(see, fault) {
    this.#see = (...told) => {
      if (!this.#dead) see(...told);
    };
    const tool = (name, executionMode) => ({
      ...{ name, label: name, description: name, executionMode, parameters: Type.Object({}) },
      execute: (call, _given, signal) => this.#executed(call, signal),
    });
    this.#agent = new Agent({
      initialState: { tools: [tool(ALONE, 'sequential'), tool(BESIDE, 'parallel')] },
      streamFn: (_model, context, { signal }) => this.#requested(context, signal),
    });
    fault?.(this.#agent);
    for (const by of ['first', 'last']) this.#agent.subscribe((event) => this.#heard(event, by));
  }

  /** Whatever it still does is told to nobody. */
  close() {
    this.#dead = true;
  }

  get lists() {
    const [steering, followUps] = this.#queues();
    return { next_turn: followUps, next_step: steering };
  }

  get status() {
    return this.#agent.state.isStreaming ? 'running' : 'idle';
  }

  get gates() {
    return this.#gates.map(({ gate, call, signal }) => ({ gate, call, aborted: signal.aborted }));
  }

  // --- Calls -----------------------------------------------------------------------------------

  call(command) {
    const agent = this.#agent;
    switch (command.do) {
      case 'followup':
        if (agent.state.isStreaming) this.#queue(command, (message) => agent.followUp(message));
        else this.#prompt(this.#theirs(command.message));
        break;
      case 'steer':
        this.#queue(command, (message) => agent.steer(message));
        break;
      case 'clear':
        this.#dropping(() => agent.clearAllQueues());
        break;
      case 'cancel':
        if (command.mode === 'drop') this.#dropping(() => agent.clearAllQueues());
        this.#dropping(() => agent.abort());
        break;
      case 'when-idle':
        agent.waitForIdle().then(() => this.#see({ saw: 'settled', call: 'when-idle' }));
        break;
      default:
        throw new CannotDo(`expected a call that pi has, got ${command.do}`);
    }
    this.#see({ saw: 'return', call: command.do });
  }

  #theirs(message) {
    const content = message.blocks.map(({ text }) => ({ type: 'text', text }));
    const theirs = { role: 'user', content, timestamp: 0 };
    this.#ours.set(theirs, message);
    return theirs;
  }

  #prompt(message) {
    this.#agent.prompt(message).then(
      () => this.#tell('agent/status', { status: 'idle' }),
      (error) => this.#see({ saw: 'fault', name: 'task failed', error: String(error.message) }),
    );
  }

  #queue(command, put) {
    const message = this.#theirs(command.message);
    this.#queued.add(message);
    put(message);
    this.#tell('agent/inbox/inserted', { message: command.message });
  }

  /** Make a call and tell which messages are gone from the queues behind it. */
  #dropping(make) {
    const before = this.#queues().flat();
    make();
    const left = this.#queues().flat();
    for (const message of before)
      if (!left.includes(message)) this.#tell('agent/inbox/discarded', { message });
  }

  #queues() {
    return [this.#agent.steeringQueue, this.#agent.followUpQueue].map(({ messages }) =>
      messages.map((each) => this.#ours.get(each)),
    );
  }

  // --- Gates -----------------------------------------------------------------------------------

  answer({ gate, choice, calls = [] }) {
    const named = gate === 'tool' ? calls[0] : undefined;
    const at = this.#gates.findIndex(
      (each) => each.gate === gate && (named === undefined || each.call === named),
    );
    if (at < 0) return false;
    const [{ give }] = this.#gates.splice(at, 1);
    give({ choice, calls });
    return true;
  }

  #hold(gate, signal, call = '') {
    const { promise, resolve } = deferred();
    this.#gates.push({ gate, call, signal, give: resolve });
    const seen = { saw: gate, turn: this.#turn, step: this.#step };
    this.#see(call ? { ...seen, call } : seen, gate, '');
    return promise;
  }

  #requested(context, signal) {
    const seen = new Map();
    for (const each of context.messages) {
      if (each.role !== 'user') continue;
      const count = (seen.get(each) ?? 0) + 1;
      seen.set(each, count);
      if (count > (this.#shown.get(each) ?? 0))
        this.#tell('user/message', { message: this.#ours.get(each) });
    }
    this.#shown = seen;
    const stream = createAssistantMessageEventStream();
    this.#hold('provider', signal).then(({ choice, calls }) => {
      const name = choice === 'tools' ? ALONE : BESIDE;
      const message = {
        role: 'assistant',
        content: calls.map((id) => ({ type: 'toolCall', id, name, arguments: {} })),
        ...{ api: 'held', provider: 'held', model: 'held', usage: USAGE, timestamp: 0 },
        stopReason: FAILURES[choice] ?? STOPS[choice] ?? 'stop',
      };
      if (calls.length === 0) message.content.push({ type: 'text', text: 'done' });
      const failed = choice in FAILURES;
      if (failed) message.errorMessage = `the provider ended with ${choice}`;
      stream.push({ type: 'start', partial: message });
      stream.push(
        failed
          ? { type: 'error', reason: message.stopReason, error: message }
          : { type: 'done', reason: message.stopReason, message },
      );
    });
    return stream;
  }

  async #executed(call, signal) {
    const { choice } = await this.#hold('tool', signal, call);
    if (choice === 'raise') throw new Error('tool raised');
    const terminate = choice === 'concludes';
    return { content: [{ type: 'text', text: choice }], details: {}, terminate };
  }

  // --- What pi tells ---------------------------------------------------------------------------

  #tell(name, data, listeners = ['first', 'last']) {
    for (const by of listeners) this.#see({ saw: name, by, ...data }, name, by);
  }

  #heard(event, by) {
    if (by === 'first') this.#count(event);
    const told = this.#told(event);
    if (told !== undefined) this.#tell(...told, [by]);
    if (event.type === 'agent_start') this.#tell('agent/status', { status: 'running' }, [by]);
  }

  #count({ type }) {
    if (type === 'agent_start') [this.#turn, this.#step] = [this.#turn + 1, 0];
    if (type === 'turn_start') this.#step += 1;
  }

  /** The name and the keys of an event of pi's that has a word of ours. */
  #told(event) {
    const [turn, step] = [this.#turn, this.#step];
    switch (event.type) {
      case 'agent_start':
        return ['turn/start', { turn }];
      case 'agent_end':
        return ['turn/end', { turn, ...ending(event.messages.at(-1)) }];
      case 'turn_start':
        return ['step/start', { turn, step }];
      case 'turn_end':
        return ['step/end', { turn, step }];
      case 'tool_execution_start':
        return ['tool/call', { turn, step, call: event.toolCallId }];
      case 'message_start':
        if (!this.#queued.has(event.message)) return undefined;
        return ['agent/inbox/claimed', { message: this.#ours.get(event.message), turn }];
      case 'message_end':
        return this.#ended(event.message, turn, step);
      default:
        return undefined;
    }
  }

  #ended(message, turn, step) {
    if (message.role === 'assistant') {
      const calls = message.content.filter(({ type }) => type === 'toolCall').map(({ id }) => id);
      const interrupted = message.stopReason === 'error' || message.stopReason === 'aborted';
      return ['assistant/message', { turn, step, calls, interrupted }];
    }
    if (message.role !== 'toolResult') return undefined;
    const outcome = message.isError ? 'error' : 'ok';
    return ['tool/result', { turn, step, call: message.toolCallId, outcome }];
  }
}

function ending(last) {
  if (last?.stopReason === 'aborted') return { reason: 'aborted', cause: 'user' };
  if (last?.stopReason === 'error') return { reason: 'error', error: last.errorMessage };
  return { reason: 'completed' };
}

function deferred() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
