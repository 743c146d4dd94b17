import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { constructedExperiment, writeRecord } from '../../bench/constructed-experiment.mjs';
import { analyze, runExperiment, writeReport } from '../../src/index.js';
import type { ReportData } from '../../src/study/pages/components/data/data.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { writeReportOf } from '../fixtures/tables.js';

const dataOf = (file: string): ReportData =>
  JSON.parse(
    /<script type="application\/json" id="data">(?<json>.*?)<\/script>/s.exec(readFileSync(file, 'utf8'))
      ?.groups?.['json'] ?? '',
  );

describe('the report of a batch', () => {
  it('has every merge with its layers, its cost and what its experts changed, before anything is scored', async () => {
    const { root, file, out } = writeExperiment();
    await runExperiment(file, { out });
    await analyze(
      {
        base: join(root, 'base'),
        experts: [join(root, 'math-1'), join(root, 'swh-1')],
        threshold: 'auto',
      },
      { out: join(out, 'analysis') },
    );
    const page = join(root, 'report.html');
    const { merges, results } = await writeReport(out, { out: page });
    expect([merges, results]).toEqual([25, 0]);

    const data = dataOf(page);
    expect(data.sentence).toBeNull();
    expect(data.models.filter(({ role }) => role === 'merge').map(({ state }) => state)).toEqual(
      Array(25).fill('done'),
    );
    const swap = data.models.find(({ name }) => name === 'swahili/math-1+swh-2/default');
    expect(swap?.bands).toMatchObject([
      { first: 0, last: 1, label: 'swh-2' },
      { first: 2, last: 4, label: 'math-1' },
      { first: 5, last: 5, label: 'swh-2' },
    ]);
    expect(swap?.path).toBe('swahili/math-1+swh-2/default');
    expect(data.costs.map(({ key }) => key)).toContain('bytesWritten');
    expect(data.analysis?.experts.map(({ name }) => name)).toEqual(['math-1', 'swh-1']);
    expect(data.analysis?.overlaps).toHaveLength(1);
    expect(data.commands.join('\n')).toContain(readFileSync(file, 'utf8').trim());
  }, 120_000);

  it('is refused, by file and merge, where a recorded configuration is none', async () => {
    const { root, file, out } = writeExperiment(
      '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n',
    );
    await runExperiment(file, { out });
    const record = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8'));
    record.merges[0].configuration.bottom = true;
    writeFileSync(join(out, 'experiment.json'), JSON.stringify(record));
    await expect(writeReport(out, { out: join(root, 'report.html') })).rejects.toMatchObject({
      code: 'EXPERIMENT_INVALID',
      message: expect.stringMatching(
        /experiment\.json: swahili\/math-1\+swh-1\/default: bottom: expected a whole number/,
      ),
    });
  });

  it('is refused where the record names its tasks otherwise, and made of one whose settings are strange', async () => {
    const { root, file, out } = writeExperiment();
    await runExperiment(file, { out });
    const record = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8'));
    const reportWith = (evaluate: unknown) => {
      writeFileSync(join(out, 'experiment.json'), JSON.stringify({ ...record, evaluate }));
      return writeReport(out, { out: join(root, 'report.html'), force: true });
    };
    for (const tasks of [[null], { swahili: true }, { swahili: [1] }, null])
      await expect(reportWith({ tasks })).rejects.toMatchObject({
        code: 'EXPERIMENT_INVALID',
        message: expect.stringMatching(/experiment\.json.*evaluate: expected tasks: a list of names/),
      });
    expect((await reportWith({ tasks: { swahili: 'mgsm_direct_sw' }, backend: 7 })).merges).toBe(25);
  });

  it('links to sections that it has, whether nothing is scored, experts only, or merges too', async () => {
    const directory = temporaryDirectory();
    const { models, ...experiment } = constructedExperiment({
      ...{ languages: ['swahili'], gridOf: ['swahili'], problems: 40, directory },
    });
    writeRecord({ ...experiment, models });
    const scoredOf = (isScored: (role: string) => boolean) =>
      models.map((model) => (isScored(model.role) ? model : { ...model, results: new Map() }));
    for (const scored of [scoredOf(() => false), scoredOf((role) => role !== 'merge'), models]) {
      const out = join(temporaryDirectory(), 'report.html');
      await writeReportOf({ ...experiment, models: scored }, { out });
      const html = readFileSync(out, 'utf8');
      const ids = new Set([...html.matchAll(/ id="([\w-]+)"/g)].map(([, id]) => id));
      const targets = [...html.matchAll(/ href="#([\w-]+)"/g)].map(([, id]) => id);
      expect(targets.length).toBeGreaterThan(3);
      expect(targets.filter((id) => !ids.has(id))).toEqual([]);
    }
  }, 120_000);

  it('needs an experiment', async () => {
    const { root } = writeExperiment();
    await expect(writeReport(root, { out: join(root, 'report.html') })).rejects.toMatchObject({
      code: 'EXPERIMENT_MISSING',
    });
  });
});

describe('a threshold that is chosen from the rows', () => {
  it('is what a third of the rows of all experts exceed', async () => {
    const { root } = writeExperiment();
    const { experts } = await analyze(
      { base: join(root, 'base'), experts: [join(root, 'math-1'), join(root, 'swh-1')], threshold: 'auto' },
      { out: join(root, 'analysis') },
    );
    const rows = experts.flatMap(({ tensors }) =>
      Object.values(tensors).filter(
        ({ layer, rows, parametersPerRow }) => layer !== null && rows > 1 && parametersPerRow > 1,
      ),
    );
    const total = rows.reduce((sum, tensor) => sum + tensor.rows, 0);
    const above = rows.reduce((sum, tensor) => sum + tensor.fractionAbove * tensor.rows, 0);
    expect(above / total).toBeCloseTo(1 / 3, 2);
  });
});
