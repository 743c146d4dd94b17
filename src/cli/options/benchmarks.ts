import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import {
  type BenchmarkName,
  benchmarkNames,
  isBenchmarkName,
  paperBenchmarks,
} from '../../study/evaluation/data/benchmarks.js';

/** Benchmarks separated by commas, each once. @throws LayerloomError INVALID_PARAMETER */
export const toBenchmarks = (text: string): BenchmarkName[] => [
  ...new Set(
    text.split(',').flatMap((name) => {
      if (name === 'all') return paperBenchmarks;
      if (isBenchmarkName(name)) return [name];
      throw invalidParameter('benchmarks', name, ['all', ...benchmarkNames].join(', '));
    }),
  ),
];
