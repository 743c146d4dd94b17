import type { ChecksumTask, MeasureTask, RunTask } from './task.js' with { 'resolution-mode': 'import' };

// What piscina loads in each thread, by `require`. Node's `require` of an ES module brings the process down when its thread is ended
// meanwhile, as happens to a thread that no task has reached when a small merge is done: so this is CommonJS, and the first task imports.

const worker = () => import('./worker.js');

module.exports = {
  run: async (task: RunTask) => (await worker()).run(task),
  measure: async (task: MeasureTask) => (await worker()).measure(task),
  checksum: async (task: ChecksumTask) => (await worker()).checksum(task),
};
