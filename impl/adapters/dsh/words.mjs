// Between upstream's words and those of the trace, both ways.
//
// What upstream hands over (events of the log, payloads, errors) is only translated: its names of
// keys become ours, its texts of refusals become codes. Chunks and request headers have no word.

/** A tool that stands for whatever makes a step owe a reply; nothing of it is told. */
export const OWED_TOOL = 'owed';
const OWED_CALL = 'owed-';

/** What a failing answer at each gate is reported as. */
export const ERROR_TEXTS = {
  assemble: 'assembly failed',
  'pre-step': 'pre-step raised',
  request: 'request raised',
  provider: 'provider failed',
  'request-error': 'recovery raised',
  tool: 'tool raised',
  'turn-stopping': 'turn-stopping raised',
  maintenance: 'maintenance raised',
};

/** What an armed fault raises where upstream dispatches; the text is its code. */
export class Injected extends Error {}

/** The events whose deliveries are told, with what is told of each payload. */
export const EVENTS = {
  'agent/inbox/inserted': (payload) => ({ message: messageOf(payload.message) }),
  'agent/inbox/discarded': (payload) => ({ message: messageOf(payload.message) }),
  'agent/inbox/claimed': (payload) => ({
    message: messageOf(payload.message),
    turn: payload.turn,
  }),
  'agent/status': (payload) => ({ status: payload.status }),
  'agent/error': (payload) => ({
    turn: payload.turn,
    step: payload.step,
    error: failureOf(payload.error.message),
  }),
};

/** A message as upstream takes it. A block of any kind keeps its text under `text`. */
export function messageTo({ id, role, source, blocks }) {
  const content = blocks.map(({ kind, text }) => ({ type: kind, text }));
  return { id, role, content, source: { kind: source } };
}

/** A message of upstream in the words of the trace. */
export function messageOf({ id, role, source, content }) {
  const blocks = content.map(({ type, text }) => ({ kind: type, text }));
  return { id, role, source: source.kind, blocks };
}

/** A cause as upstream takes it. */
export function causeTo(kind) {
  return kind === 'hook' ? { kind, reason: 'by a hook' } : { kind };
}

/** A number of a splice; those that JSON lacks come as strings. */
export function numberTo(given) {
  const lacking = { inf: Infinity, '-inf': -Infinity, nan: NaN, '-0': -0 };
  return typeof given === 'string' ? lacking[given] : given;
}

/** How an error of upstream is told when a call raises it. */
export function codeOf(error) {
  return refusalOf(String(error?.message)) ?? error?.name ?? 'Error';
}

/** How the failure of a turn is told: what has a code by its code, else as it was raised. */
export function failureOf(text) {
  return refusalOf(text) ?? text;
}

function refusalOf(text) {
  if (/^message ".*" is already pending$/s.test(text)) return 'duplicate-id';
  if (text.includes('append cannot reenter')) return 'append-refused';
  if (text.includes('carries non-JSON-serializable data')) return 'append-refused';
  if (text.includes('already has active work')) return 'busy';
  if (['append-refused', 'dispatch-failed', 'disposed'].includes(text)) return text;
  return undefined;
}

/** Whether a call belongs to the hidden tool. */
export function isHidden(callId) {
  return callId.startsWith(OWED_CALL);
}

/** The id of the n-th hidden call. */
export function hiddenCall(number) {
  return `${OWED_CALL}${number}`;
}

/** A record of the log in the words of the trace; undefined when there is none for it. */
export function recordOf({ type, data }) {
  switch (type) {
    case 'turn/start':
      return { turn: data.turn };
    case 'turn/end':
      return turnEndOf(data);
    case 'step/start':
    case 'step/end':
      return { turn: data.turn, step: data.step };
    case 'agent/inbox/spliced':
      return {
        target: data.target,
        start: data.start,
        removed: data.removedCount ?? 0,
        inserted: data.inserted.map(messageOf),
        outcome: data.outcome ?? null,
      };
    case 'user/message':
      return { message: messageOf(data) };
    case 'assistant/message':
      return {
        turn: data.turn,
        step: data.step,
        calls: data.message.content
          .filter((block) => block.type === 'tool-call' && !isHidden(block.id))
          .map((block) => block.id),
        interrupted: data.interrupted ?? false,
      };
    case 'tool/call':
      if (isHidden(data.callId)) return undefined;
      return { turn: data.turn, step: data.step, call: data.callId };
    case 'tool/result': {
      const call = data.message.source.callId;
      if (isHidden(call)) return undefined;
      return { turn: data.turn, step: data.step, call, outcome: outcomeOf(data) };
    }
    default:
      return undefined;
  }
}

function turnEndOf({ turn, reason }) {
  const cause = reason.kind === 'aborted' ? reason.reason.kind : null;
  const error = reason.kind === 'error' ? failureOf(reason.error.message) : null;
  return { turn, reason: reason.kind, cause, error };
}

const OUTCOMES = { ABORTED: 'aborted', ABORTED_BEFORE_DISPATCH: 'skipped' };

function outcomeOf({ message, error }) {
  if (!message.content[0].isError) return 'ok';
  return OUTCOMES[error?.code] ?? 'error';
}

const REPAIRED = { TOOL_NOT_STARTED: 'not-started', TOOL_OUTCOME_UNKNOWN: 'outcome-unknown' };

/** What a repair has appended to a log, in the words of the trace. */
export function repairedOf(events) {
  return events.flatMap(({ type, data }) => {
    if (type === 'session/end-seed') return [];
    if (type === 'turn/end') return [`${type} ${data.reason.kind}`];
    if (type !== 'tool/result') return [type];
    const call = data.message.source.callId;
    return isHidden(call) ? [] : [`${type} ${call} ${REPAIRED[data.error?.code] ?? 'answered'}`];
  });
}

/**
 * Both lists as the splices of a log fold, from `from` on, after what they were `before`, which
 * stays as it is: the reports of a batch go out together.
 */
export function folded(events, from, before) {
  const lists = {
    'next-turn': [...(before?.['next-turn'] ?? [])],
    'next-step': [...(before?.['next-step'] ?? [])],
  };
  for (let index = from; index < events.length; index += 1) {
    const { type, data } = events[index];
    if (type !== 'agent/inbox/spliced') continue;
    lists[data.target].splice(data.start, data.removedCount ?? 0, ...data.inserted.map(messageOf));
  }
  return lists;
}
