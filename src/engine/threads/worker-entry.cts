import type { ChecksumTask, MeasureTask, ReduceTask, Task } from './task.js' with {
  'resolution-mode': 'import',
};

// What piscina loads in each thread, by `require`. Node's `require` of an ES module brings the process down when its thread is ended
// meanwhile, as happens to a thread that no task has reached when a small merge is done: so this is CommonJS, and the first task imports.

const worker = () => import('./worker.js');

module.exports = {
  execute: async (task: Task) => (await worker()).default(task),
  reduceRows: async (task: ReduceTask) => (await worker()).reduceRows(task),
  measureBlock: async (task: MeasureTask) => (await worker()).measureBlock(task),
  checksum: async (task: ChecksumTask) => (await worker()).checksum(task),
};
