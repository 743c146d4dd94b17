import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { attest, runExperiment, verify } from '../../src/index.js';
import { mergesOfFixture, writeExperiment } from '../fixtures/experiment.js';

// Statements of the merges of a batch.

vi.setConfig({ testTimeout: 180_000 });

const statementOf = (merge: string): string => join(merge, 'layerloom.intoto.jsonl');

const textsOf = (merges: readonly string[]): string[] =>
  merges.map((merge) => readFileSync(statementOf(merge), 'utf8'));

describe('a batch with attest', () => {
  it('states each merge in the bytes that attest writes', async () => {
    const { file, out } = writeExperiment();
    const { merges } = await runExperiment(file, { out, attest: true });
    expect(merges).toHaveLength(mergesOfFixture);
    const paths = merges.map(({ name }) => join(out, name));
    const texts = textsOf(paths);
    for (const merge of paths) {
      expect(await verify(merge)).toMatchObject({ verdict: 'intact', statement: { valid: true } });
      rmSync(statementOf(merge));
      const { statement } = await attest(merge);
      expect(statement?.identified).toBe(statement?.inputs);
    }
    expect(textsOf(paths)).toEqual(texts);
  });

  it('states merges that an earlier run wrote without statements, and keeps the others', async () => {
    const { file, out } = writeExperiment('\n  - {name: soup, method: soup}\n');
    const { merges } = await runExperiment(file, { out });
    const paths = merges.map(({ name }) => join(out, name));
    const [first = ''] = paths;
    await attest(first);
    const [stated] = textsOf([first]);
    const again = await runExperiment(file, { out, resume: true, attest: true });
    expect(again.merges.every(({ state, isKept }) => state === 'done' && isKept)).toBe(true);
    expect(textsOf(paths)[0]).toBe(stated);
    for (const merge of paths) expect((await verify(merge)).statement?.valid).toBe(true);
  });

  it('does not state a kept merge that was damaged', async () => {
    const { file, out } = writeExperiment('\n  - {name: soup, method: soup}\n');
    const { merges } = await runExperiment(file, { out });
    const [{ name = '' } = {}] = merges;
    writeFileSync(join(out, name, 'config.json'), '{}');
    const again = await runExperiment(file, { out, resume: true, attest: true });
    const [broken, ...others] = again.merges;
    expect(broken).toMatchObject({ name, state: 'failed', error: { code: 'OUTPUT_DAMAGED' } });
    expect(others.every(({ state }) => state === 'done')).toBe(true);
    expect(() => readFileSync(statementOf(join(out, name)))).toThrow('ENOENT');
  });
});
