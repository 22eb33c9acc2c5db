// Upstream's own runtime invariants as a second oracle: what they object to is reported too.

import { InvariantRegistry } from '@deepseek-ai/dsh-invariants';

const PARTS = ['session', 'agent', 'agent-loop', 'scope', 'llm', 'tools', 'system-prompt'];

/** Mount the invariants; `report` is told what is violated before upstream raises it. */
export async function mountOracle(ctx, report) {
  class Reporting extends InvariantRegistry {
    register(name, installer) {
      const told = (childCtx, fail) =>
        installer(childCtx, (message) => {
          report(`invariant of ${name}: ${message}`);
          fail(message);
        });
      if (installer.inject !== undefined) told.inject = installer.inject;
      return super.register(name, told);
    }
  }
  await ctx.plugin(Reporting, {});
  for (const part of PARTS) {
    await ctx.plugin(await import(`@deepseek-ai/dsh-${part}/invariant`));
  }
}
