// The scripted provider: each answer at its gate becomes the chunks that stand for it.
//
// The block indices of one request are its own, and a block that is open is closed by its whole
// text, as upstream's own check of the grammar of chunks wants it.

import { LlmAdapter } from '@deepseek-ai/dsh-llm';
import { ERROR_TEXTS, OWED_TOOL, hiddenCall } from './words.mjs';

export const PROVIDER = 'scripted';
export const MODEL = 'scripted';
const VISIBLE = 'text';

/** Asks `next(request)` what to answer, and streams that. */
export class Scripted extends LlmAdapter {
  #next;
  #hidden = 0;

  constructor(next) {
    super();
    this.#next = next;
  }

  async *stream(request) {
    let index = 0;
    let shown = '';
    const more = function* (text) {
      if (!shown) yield { type: 'block-start', index, blockType: 'text' };
      shown += text;
      yield { type: 'text-delta', index, text };
    };
    const close = function* () {
      if (!shown) return;
      yield { type: 'block-end', index, block: { type: 'text', text: shown } };
      index += 1;
      shown = '';
    };
    const call = function* (id, name) {
      yield { type: 'block-start', index, blockType: 'tool-call' };
      yield { type: 'tool-call-delta', index, id, name, argumentsDelta: '{}' };
      const block = { type: 'tool-call', id, name, arguments: '{}' };
      yield { type: 'block-end', index, block };
      index += 1;
    };
    const finish = (kind) => ({ type: 'finish', reason: { kind } });
    for (;;) {
      const { choice, calls } = await this.#next(request);
      switch (choice) {
        case 'partial':
          yield* more(VISIBLE);
          continue;
        case 'tools':
        case 'parallel':
          yield* close();
          for (const id of calls) yield* call(id, choice);
          yield finish('tool-calls');
          return;
        case 'owes':
          yield* more(VISIBLE);
          yield* close();
          yield* call(hiddenCall((this.#hidden += 1)), OWED_TOOL);
          yield finish('tool-calls');
          return;
        case 'error': {
          const failure = { message: ERROR_TEXTS.provider, code: 'SERVER' };
          yield { type: 'finish', reason: { kind: 'error', failure } };
          return;
        }
        case 'cut':
          throw new Error(ERROR_TEXTS.provider);
        default:
          yield* more(VISIBLE);
          yield* close();
          yield finish(choice === 'max-tokens' ? 'max-tokens' : 'stop');
          return;
      }
    }
  }
}
