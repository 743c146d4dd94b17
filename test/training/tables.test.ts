import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Papa from 'papaparse';
import { describe, expect, it } from 'vitest';
import { trainingData } from '../../src/study/paper/training-data.js';
import { expertRuns } from '../../src/study/paper/training-runs.js';

const rowsOf = (number: number): Record<string, string>[] => {
  const file = fileURLToPath(new URL(`../../docs/tables/training/table-${number}.csv`, import.meta.url));
  return Papa.parse<Record<string, string>>(readFileSync(file, 'utf8'), {
    header: true,
    comments: '#',
    skipEmptyLines: true,
  }).data;
};

describe('the tables of training', () => {
  it('are the hyper-parameters that Table 4 prints, all fifteen rows', () => {
    const printed = rowsOf(4).map((row) => [
      row['expert'],
      {
        learningRate: Number(row['learning rate']),
        batchSize: Number(row['batch size']),
        sequenceLength: Number(row['sequence length']),
        weightDecay: Number(row['weight decay']),
        maxGradNorm: Number(row['max grad norm']),
        schedule: row['schedule'],
        warmup: Number(row['warmup']),
        beta2: Number(row['beta2']),
      },
    ]);
    expect(printed).toHaveLength(15);
    expect(Object.entries(expertRuns)).toEqual(printed);
  });

  it('are the data sets that Table 3 prints, by category', () => {
    const printed = rowsOf(3).map((row) => [row['category'], row['data set'], row['hub id'] || undefined]);
    const ours = Object.entries(trainingData).flatMap(([category, sets]) =>
      sets.map(({ title, hub }) => [category, title, hub]),
    );
    expect(ours).toHaveLength(17);
    expect(ours).toEqual(expect.arrayContaining(printed));
    expect(printed).toEqual(expect.arrayContaining(ours));
  });
});
