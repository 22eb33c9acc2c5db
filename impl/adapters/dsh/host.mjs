// The host of the genuine loop: one upstream context with the plug-ins that the loop needs.
//
// A context is made once and keeps for many sessions: with a context of its own a session takes
// eight times as long to open. All that is held or heard is handed to the session that lives now
// (`host.life`); what an earlier one still does is its own business.

import { Context } from '@deepseek-ai/cordis';
import AgentRegistry from '@deepseek-ai/dsh-agent';
import AgentLoop from '@deepseek-ai/dsh-agent-loop';
import LlmRuntime, { errorChain } from '@deepseek-ai/dsh-llm';
import SessionStore, { interruptedTurnClosers } from '@deepseek-ai/dsh-session';
import SessionPersistence from '@deepseek-ai/dsh-session-persistence';
import SystemPrompt from '@deepseek-ai/dsh-system-prompt';
import ToolRuntime, { defineContentToolFixture } from '@deepseek-ai/dsh-tools';
import { mountOracle } from './oracle.mjs';
import { MODEL, PROVIDER, Scripted } from './provider.mjs';
import { EVENTS, Injected, OWED_TOOL, isHidden } from './words.mjs';

/** Logs that are kept in memory, by session id: `{meta, events}`. */
class InMemory extends SessionPersistence {
  stored = new Map();

  async load(id) {
    const { meta, events } = this.stored.get(id);
    return { meta, events: [...events, ...interruptedTurnClosers(events)] };
  }
}

/** The seams that a session may hold, with how upstream names and calls them. */
const SEAMS = {
  assemble: 'system-prompt/assemble',
  'pre-step': 'agent/pre-step',
  request: 'agent/request',
  'request-error': 'agent/request-error',
  'turn-stopping': 'agent/turn-stopping',
};

export class Host {
  /** The session that lives now; told everything that happens. */
  life = undefined;
  #seams = new Map();

  /** Make a host. `oracle` mounts upstream's own invariants, which report through it. */
  static async create({ oracle = false } = {}) {
    const host = new Host();
    const ctx = (host.ctx = new Context());
    if (oracle) await mountOracle(ctx, (text) => host.life?.fault('listener failed', text));
    await ctx.plugin(LlmRuntime);
    await ctx.plugin(SessionStore);
    await ctx.plugin(SystemPrompt);
    await ctx.plugin(ToolRuntime);
    await ctx.plugin(AgentRegistry);
    await ctx.plugin(InMemory);
    await ctx.plugin(AgentLoop, { agents: [] });
    host.#listen();
    return host;
  }

  /** The store of the logs that are durable. */
  get stored() {
    return this.ctx.sessionPersistence.stored;
  }

  /** Create an agent on a fresh or a seeded session. */
  create(id, seed, meta) {
    const seeded = seed === undefined ? {} : { seed, meta };
    return this.ctx.agents.create({ sessionId: id, agentOptions: options(), ...seeded });
  }

  /** Resume an agent on a session that is stored; rejects while one of that id lives. */
  resume(id) {
    return this.ctx.agents.resume({ resumeSessionId: id, agentOptions: options() });
  }

  /** Whether a host can still find this agent. */
  finds(agent) {
    return this.ctx.agents.get(agent.id) === agent;
  }

  /** Let somebody listen at the seams in `held` and at no other: a listener costs a tick. */
  hold(held) {
    for (const [kind, name] of Object.entries(SEAMS)) {
      if (held.has(kind) && !this.#seams.has(kind)) {
        const listener = (...args) => this.#at(kind, args);
        this.#seams.set(kind, this.ctx.on(name, listener));
      } else if (!held.has(kind) && this.#seams.has(kind)) {
        this.#seams.get(kind)();
        this.#seams.delete(kind);
      }
    }
  }

  #at(kind, args) {
    const [payload, context] = args;
    if (kind === 'assemble') {
      return this.#owner(context.agent).assemble(context.signal, args.at(-1));
    }
    const life = this.#owner(payload.agent);
    if (kind === 'turn-stopping') return life.turnStopping(payload);
    return life.decide(kind, payload, args.at(-1));
  }

  /** The session of an agent; what a dead one asks for is refused, so that it ends. */
  #owner(agent) {
    if (this.life?.agent !== agent) throw new Error('this session is gone');
    return this.life;
  }

  #listen() {
    const { ctx } = this;
    for (const name of Object.keys(EVENTS)) {
      for (const by of ['first', 'last']) {
        const listener = (payload) => {
          if (this.life?.agent === payload.agent) this.life.event(name, payload, by);
        };
        ctx.on(name, listener, { prepend: by === 'first' });
      }
    }
    for (const by of ['first', 'last']) {
      const listener = (session, event) => {
        if (this.life?.session === session) this.life.record(event, by);
      };
      ctx.on('session/event', listener, { prepend: by === 'first' });
    }
    ctx.on('session/flush', (session) => {
      if (this.life?.session === session) this.life.persist();
    });
    ctx.on('internal/dispatch', (_type, name, args) => this.#fail(name, args));
    ctx.logger.exporter({
      levels: { default: 2 },
      export: ({ type, args }) => {
        if (type === 'info') return;
        this.life?.contained(args.map(errorChain).join(' '));
      },
    });
    ctx.llm.registerAdapter([PROVIDER], new Scripted((request) => this.#reply(request)));
    for (const [name, together] of [['tools', false], ['parallel', true], [OWED_TOOL, false]]) {
      const tool = {
        name,
        description: name,
        parameters: {},
        execute: (_args, exec) => this.#run(exec),
      };
      if (together) tool.isConcurrencySafe = () => true;
      ctx.tools.register(defineContentToolFixture(tool));
    }
  }

  #reply(request) {
    if (this.life?.session.id !== request.sessionId) throw new Error('this session is gone');
    return this.life.reply(request.signal);
  }

  #run(exec) {
    return isHidden(exec.callId) ? [] : this.#owner(exec.agent).runTool(exec);
  }

  /** Fail a dispatch that a fault was armed for: a record's append, or an event. */
  #fail(name, args) {
    const life = this.life;
    if (life === undefined || life.armed.length === 0) return;
    if (name === 'session/event' && args[0] === life.session) {
      const { type, data } = args[1];
      const hidden = isHidden(data.callId ?? data.message?.source?.callId ?? '');
      if (!hidden && life.disarm(type)) throw new Injected('append-refused');
    } else if (args[0]?.agent === life.agent && args[0]?.status !== 'idle') {
      if (life.disarm(name)) throw new Injected('dispatch-failed');
    }
  }
}

function options() {
  return { provider: PROVIDER, model: MODEL };
}
