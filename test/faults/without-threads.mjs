// @ts-check
// Hooks of Node's loader, which put the pool of `in-this-thread.mjs` in the place of piscina.

/** @type {import('node:module').ResolveHook} */
export const resolve = (specifier, context, next) =>
  specifier === 'piscina'
    ? { url: new URL('./in-this-thread.mjs', import.meta.url).href, shortCircuit: true }
    : next(specifier, context);
