import { LayerloomError } from '../../core/base/errors/errors.js';
import { nearest } from '../../core/base/nearest.js';
import {
  type BenchmarkName,
  benchmarkNames,
  isBenchmarkName,
  paperBenchmarks,
} from '../../study/evaluation/data/benchmarks.js';

/** Parses benchmarks separated by commas, keeping each once. @throws INVALID_PARAMETER */
export const toBenchmarks = (text: string): BenchmarkName[] => [
  ...new Set(
    text.split(',').flatMap((name) => {
      if (name === 'all') return paperBenchmarks;
      if (isBenchmarkName(name)) return [name];
      throw new LayerloomError('INVALID_PARAMETER', {
        parameter: 'benchmarks',
        value: name,
        expected: ['all', ...benchmarkNames].join(', '),
        nearest: nearest(name, benchmarkNames),
      });
    }),
  ),
];
