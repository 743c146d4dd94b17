import type {
  ChecksumTask,
  CompareTask,
  FactoriseTask,
  HashTask,
  MeasureTask,
  PursueTask,
  RegressTask,
  RunTask,
  SpectralTask,
} from './task.js' with { 'resolution-mode': 'import' };

// Piscina loads this file in each thread by `require`. It is CommonJS, and imports the worker with the first
// task, because Node's `require` of an ES module crashes the process when the thread is terminated during it:
// that happens to a thread that no task has reached by the time a small merge is done.

const worker = () => import('./worker.js');

module.exports = {
  run: async (task: RunTask) => (await worker()).run(task),
  measure: async (task: MeasureTask) => (await worker()).measure(task),
  factorise: async (task: FactoriseTask) => (await worker()).factorise(task),
  regress: async (task: RegressTask) => (await worker()).regress(task),
  mergeSpectra: async (task: SpectralTask) => (await worker()).mergeSpectra(task),
  pursue: async (task: PursueTask) => (await worker()).pursue(task),
  compare: async (task: CompareTask) => (await worker()).compare(task),
  hash: async (task: HashTask) => (await worker()).hash(task),
  checksum: async (task: ChecksumTask) => (await worker()).checksum(task),
};
