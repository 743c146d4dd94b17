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

// Piscina requires the bundle of this file (scripts/bundle-program.mjs) in each thread. The worker's modules
// load with the first task, so unused threads load none. CommonJS: requiring an ES module crashes Node if the
// thread is terminated meanwhile.

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
