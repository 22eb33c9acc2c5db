// What the upstream packages take for granted and Node 20 lacks. Imported before any of them:
// modules are evaluated in the order of their imports.

Promise.withResolvers ??= function withResolvers() {
  let resolve, reject;
  const promise = new this((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
};
