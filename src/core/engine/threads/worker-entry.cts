import type { Message } from './task.js' with { 'resolution-mode': 'import' };

// Piscina requires this file's bundle (scripts/bundle-program.mjs) in each thread. Other modules load with
// the first task, so that unused threads load none. CommonJS, because requiring an ES module crashes Node if
// the thread is terminated meanwhile.

module.exports = {
  run: async (message: Message) => (await import('./worker.js')).carryOut(message),
};
