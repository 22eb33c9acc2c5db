// Faults that can be planted into pi's agent, each of which its documents rule out.
//
// They are changes of one agent in memory; no file of the package is touched.

export const FAULTS = {
  /** Two follow-ups leave the queue at once, and the second is forgotten. */
  'lost-followup'(agent) {
    const queue = agent.followUpQueue;
    const drain = queue.drain.bind(queue);
    queue.drain = () => {
      const drained = drain();
      drain();
      return drained;
    };
  },

  /** An abort empties both queues. */
  'abort-clears'(agent) {
    const abort = agent.abort.bind(agent);
    agent.abort = () => {
      agent.clearAllQueues();
      abort();
    };
  },

  /** Everything that steers enters before the next request, whatever the mode says. */
  'steers-at-once'(agent) {
    agent.steeringQueue.mode = 'all';
  },

  /** Tools that have not begun are passed over when somebody steers. */
  'steer-skips-tools'(agent) {
    agent.beforeToolCall = async () =>
      agent.steeringQueue.hasItems() ? { block: true, reason: 'skipped' } : undefined;
  },

  /** Follow-ups are asked for where steering should be. */
  'followups-first'(agent) {
    const { steeringQueue, followUpQueue } = agent;
    const drain = steeringQueue.drain.bind(steeringQueue);
    steeringQueue.drain = () => {
      const early = followUpQueue.hasItems() ? followUpQueue.drain() : [];
      return early.length > 0 ? early : drain();
    };
  },
};
