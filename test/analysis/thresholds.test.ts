import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { constructedExperiment, writeRecord } from '../../bench/constructed-experiment.mjs';
import { describeAnalysis } from '../../src/cli/text/models/analysis-summary.js';
import { readVectors } from '../../src/core/measure/analysis/vectors-file.js';
import { type AnalyzeParameters, analyze } from '../../src/index.js';
import type { PageAnalysis, ReportData } from '../../src/study/pages/components/data/data.js';
import { showThresholds } from '../../src/study/pages/components/data/numbers.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { writeReportOf } from '../fixtures/tables.js';

vi.setConfig({ testTimeout: 180_000 });

const [common, ofB] = [0.03, 0.036];

const writeFamily = () => {
  const root = temporaryDirectory();
  const [base = '', a = '', b = '', c = ''] = ['base', 'a', 'b-1', 'c'].map((name, seed) =>
    writeCheckpoint(join(root, name), llama({ seed, hidden: 64, layers: 3 })),
  );
  return { root, base, a, b, c };
};

const run = (parameters: AnalyzeParameters) =>
  analyze(parameters, { out: join(temporaryDirectory(), 'analysis') });

const dataIn = <Data>(file: string): Data =>
  JSON.parse(
    /<script type="application\/json" id="data">(?<json>.*?)<\/script>/s.exec(readFileSync(file, 'utf8'))
      ?.groups?.['json'] ?? '',
  );

const stopsOf = ({ stops, experts }: PageAnalysis) =>
  experts.map(({ name, analysed }) => [name, stops[analysed]]);

const filesOf = (out: string, name: string) =>
  ['json', 'csv'].map((ending) => readFileSync(join(out, `${name}.${ending}`), 'utf8'));

describe('thresholds of single experts', () => {
  it('hold in all files of these experts, and one of all in the others', async () => {
    const { base, a, b, c } = writeFamily();
    const of = { base, experts: [a, b, `swh=${c}`] };
    const mixed = await run({ ...of, threshold: common, thresholds: { 'b-1': ofB, swh: 0 } });
    expect(mixed.experts.map(({ name, threshold }) => [name, threshold])).toEqual([
      ['a', common],
      ['b-1', ofB],
      ['swh', 0],
    ]);
    for (const [name, threshold] of [
      ['a', common],
      ['b-1', ofB],
      ['swh', 0],
    ] as const) {
      const single = await run({ ...of, threshold });
      expect(filesOf(mixed.out, name)).toEqual(filesOf(single.out, name));
      expect(readFileSync(join(mixed.out, `${name}.svg`), 'utf8')).toContain(`MAV above ${threshold};`);
    }
  });

  it('are each expert’s own in the rows above in both of a pair', async () => {
    const { base, a, b } = writeFamily();
    const { out, overlaps } = await run({
      ...{ base, experts: [a, b], threshold: common, thresholds: { 'b-1': ofB } },
    });
    const [one, two] = await Promise.all(
      ['a', 'b-1'].map((name) => readVectors(join(out, `${name}.mav.safetensors`))),
    );
    let [rows, above] = [0, 0];
    for (const [name, vector] of one?.vectors ?? [])
      for (const [row, mav] of vector.entries()) {
        rows += 1;
        if (mav > common && (two?.vectors.get(name)?.[row] ?? 0) > ofB) above += 1;
      }
    expect(above).toBeGreaterThan(0);
    expect(overlaps[0]?.whole.rowsAboveInBoth).toBe(above / rows);
  });

  it('are taken with saved vectors as with weights, and beside the automatic one of all', async () => {
    const { base, a, b } = writeFamily();
    const auto = await run({ base, experts: [a, b], threshold: 'auto' });
    const own = { threshold: 'auto', thresholds: { 'b-1': ofB } } as const;
    const fresh = await run({ base, experts: [a, b], ...own });
    expect(fresh.experts.map(({ threshold }) => threshold)).toEqual([auto.experts[0]?.threshold, ofB]);
    const from = ['a', 'b-1'].map((name) => join(auto.out, `${name}.mav.safetensors`));
    expect((await run({ from, ...own })).experts).toEqual(fresh.experts);
  });

  it('are what the page and a report call "as analysed", and the summary’s', async () => {
    const { base, a, b } = writeFamily();
    const result = await run({ base, experts: [a, b], threshold: common, thresholds: { 'b-1': ofB } });
    const expected = [
      ['a', common],
      ['b-1', ofB],
    ];
    const page = join(result.out, 'index.html');
    expect(stopsOf(dataIn<PageAnalysis>(page))).toEqual(expected);
    const html = readFileSync(page, 'utf8');
    const text = html.replaceAll(/<!--.*?-->/g, '').replaceAll(/\s+/g, ' ');
    expect(text).toContain(`As analysed (${common} for a, ${ofB} for b-1)`);
    expect(text).toContain('a third of the changed rows of matrices inside layers exceed');
    expect(describeAnalysis(result, 5, 2)).toContain(`threshold ${common} for a, ${ofB} for b-1;`);

    const directory = temporaryDirectory();
    const experiment = constructedExperiment({
      ...{ languages: ['swahili'], gridOf: ['swahili'], problems: 40, directory },
    });
    writeRecord(experiment);
    const out = join(directory, 'report.html');
    await writeReportOf(experiment, { out, analysis: result.out });
    const { analysis } = dataIn<ReportData>(out);
    expect(analysis === null ? [] : stopsOf(analysis)).toEqual(expected);
  });

  it('are refused for a name that no expert has, and where they are none', async () => {
    const { base, a, b } = writeFamily();
    const refused = (parameters: AnalyzeParameters) => expect(run(parameters)).rejects;
    const of = { base, experts: [a, b] };
    await refused({ ...of, thresholds: { 'b-11': 1 } }).toMatchObject({
      code: 'INVALID_PARAMETER',
      message: 'thresholds: expected the name of an expert: a, b-1, got "b-11"; did you mean b-1?',
    });
    await refused({ ...of, thresholds: { 'b-1': -1 } }).toThrow(/a number, 0 or more, for b-1, got -1/);
    await refused({ ...of, thresholds: { a: 'auto' as never } }).toThrow(/0 or more, for a, got "auto"/);
    const { out } = await run(of);
    const from = [join(out, 'a.mav.safetensors')];
    await refused({ from, thresholds: { 'b-1': 1 } }).toThrow(/the name of an expert: a, got "b-1"/);
  });

  it('leave no directory where they are refused', async () => {
    const { base, a, b } = writeFamily();
    const out = join(temporaryDirectory(), 'analysis');
    const of = { base, experts: [a, b] };
    await expect(analyze({ ...of, thresholds: { c: 1 } }, { out })).rejects.toThrow(/got "c"/);
    await expect(analyze({ ...of, task: ['c'] }, { out })).rejects.toThrow(/got "c"/);
    expect(existsSync(out)).toBe(false);
  });

  it('are shown once where they are one', () => {
    const shown = (...thresholds: number[]) =>
      showThresholds(thresholds.map((threshold, index) => ({ name: `m${index}`, threshold })));
    expect(shown(1e-5, 1e-5)).toBe('1e-5');
    expect(shown(1e-5, 1.9e-5, 1e-5)).toBe('1e-5 for m0 and m2, 1.9e-5 for m1');
  });
});
