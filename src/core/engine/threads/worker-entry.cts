import type { Message } from './task.js' with { 'resolution-mode': 'import' };

// Each thread requires the bundle of this file (scripts/bundle-program.mjs). Other modules load with the
// first task, so that unused threads load none. It is CommonJS, because requiring an ES module crashes Node
// if the thread is terminated meanwhile.

module.exports = {
  run: async (message: Message) => (await import('./worker.js')).carryOut(message),
};
