import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeLoading } from '../../src/cli/text/loading-text.js';
import { tuners } from '../../src/core/models/adapters/kinds/tuners.js';
import { extractLora, soup, verify } from '../../src/index.js';
import { temporaryDirectory, writePair } from '../fixtures/checkpoints.js';
import { standInPython } from '../fixtures/stand-in-python.js';

// Verdicts on answers of a stand-in for Python; test/peers/loads.test.ts uses transformers.

const program = new URL('../../python/layerloom_loads/__main__.py', import.meta.url);

const written = async (): Promise<string> => {
  const { task, language } = writePair();
  const out = join(temporaryDirectory(), 'out');
  await soup({ models: [task, language] }, { out });
  return out;
};

const ask = async (answer: Readonly<Record<string, unknown>> | string) => {
  const { loading, intact } = await verify(await written(), { loads: true, python: standInPython(answer) });
  return { loading, intact, text: loading === null ? '' : describeLoading(loading) };
};

describe('verify with loads', () => {
  it('says that a model loads, as what and by whom, and asks of the folder alone', async () => {
    const [out, python] = [await written(), standInPython({})];
    const { loading } = await verify(out, { loads: true, python });
    expect(loading).toMatchObject({ loads: true, loadedAs: 'LlamaForCausalLM', by: { transformers: '5.0' } });
    const words = readFileSync(join(dirname(python), 'words'), 'utf8')
      .trim()
      .split('\n');
    expect(words).toEqual([expect.stringMatching(/python\/layerloom_loads$/), out]);
    expect(loading && describeLoading(loading)).toBe(
      'loads as LlamaForCausalLM: no tensor is missing, unexpected or of another shape (transformers 5.0, torch 2.0)',
    );
  });

  it('is asked of adapters of every kind that is read', () => {
    const [, kinds = ''] = /^ADAPTERS = \{(.*)\}$/m.exec(readFileSync(program, 'utf8')) ?? [];
    expect(kinds.split(', ')).toEqual(
      expect.arrayContaining(['LORA', ...tuners.map(({ type }) => type)].map((kind) => `"${kind}"`)),
    );
  });

  it('is not asked for unless it is wanted', async () => {
    expect((await verify(await written())).loading).toBeNull();
    await expect(verify(await written(), { python: 'python3' })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
  });

  it.each([
    [{ missing: ['a.weight', 'b.weight'] }, 'missing: a.weight, b.weight'],
    [{ unexpected: ['a.weight'] }, 'unexpected: a.weight'],
    [
      { mismatched: [{ tensor: 'a.weight', stored: [2, 3], model: [3, 3] }] },
      'a.weight is [2, 3], but [3, 3] in the model',
    ],
    [
      { dtype: { said: 'bfloat16', stored: { float32: 7 } } },
      'config.json says bfloat16, but the tensors are float32 (7)',
    ],
    [{ refused: 'no such activation' }, 'no such activation'],
  ])('says what keeps a model from loading: %j', async (answer, words) => {
    const { loading, intact, text } = await ask(answer);
    expect([loading?.loads, intact]).toEqual([false, true]);
    expect(text).toContain(`does not load as LlamaForCausalLM (transformers 5.0, torch 2.0):\n  ${words}`);
  });

  it('says why it could not be checked, which is neither', async () => {
    const { loading, text } = await ask({ notChecked: 'code in the folder is not run' });
    expect(loading?.loads).toBeNull();
    expect(text).toMatch(/^loading was not checked: code in the folder is not run/);
  });

  it('refuses an answer that is none, and a Python that fails', async () => {
    await expect(ask('Traceback')).rejects.toMatchObject({ code: 'PROCESS_UNAVAILABLE' });
    await expect(ask({ program: 2 })).rejects.toMatchObject({ code: 'PROCESS_UNAVAILABLE' });
    await expect(ask({ missing: 3 })).rejects.toMatchObject({ code: 'PROCESS_UNAVAILABLE' });
    const python = standInPython({});
    writeFileSync(python, '#!/bin/sh\necho "ImportError: numpy" >&2\nexit 1\n');
    await expect(verify(await written(), { loads: true, python })).rejects.toThrow(/ImportError: numpy/);
    rmSync(python);
    await expect(verify(await written(), { loads: true, python })).rejects.toMatchObject({
      code: 'PROGRAM_MISSING',
    });
  });

  it('asks of no folder that is not an output', async () => {
    const python = standInPython({});
    await expect(verify(writePair().task, { loads: true, python })).rejects.toMatchObject({
      ...{ code: 'OUTPUT_UNRECORDED', details: { verdict: 'not-an-output' } },
    });
    expect(existsSync(join(dirname(python), 'words'))).toBe(false);
  });

  it('names the base of an adapter where it is here', async () => {
    const { task: base, language: expert } = writePair();
    const python = standInPython({ class: 'PEFT of LlamaForCausalLM' });
    const out = join(temporaryDirectory(), 'lora');
    await extractLora({ base, expert, rank: 1 }, { out });
    expect((await verify(out, { loads: true, python })).loading?.loads).toBe(true);
    const words = readFileSync(join(dirname(python), 'words'), 'utf8')
      .trim()
      .split('\n');
    expect(words.slice(1)).toEqual([out, '--base', base]);
  });
});
