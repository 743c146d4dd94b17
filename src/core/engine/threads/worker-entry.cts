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

// Piscina loads this file in each thread by `require`: the bundle of it (scripts/bundle-program.mjs), in which the worker's
// modules run with the first task. A thread that no task has reached by the time a small merge is done runs none. It is
// CommonJS, because Node's `require` of an ES module crashes the process when such a thread is terminated during it.

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
