import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { layerSwap, merge, relayout, soup } from '../../src/index.js';

// Models quantised by the libraries that define the schemes, merged here and by independent Python code.

const {
  LAYERLOOM_PYTHON: python = '',
  LAYERLOOM_EXPERTS: experts,
  LAYERLOOM_QUANTISED_TABLE: table,
} = process.env;
const has = (modules: string): boolean =>
  python !== '' && spawnSync(python, ['-c', `import ${modules}`]).status === 0;
const script = fileURLToPath(new URL('quantised/quantised.py', import.meta.url));

const run = <T>(args: readonly string[]): T[] =>
  execFileSync(python, [script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  })
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as T);

interface Checked {
  readonly case: string;
  readonly out: string;
  readonly quantised: boolean;
  readonly names: boolean;
  readonly elements: number;
  /** Unequal elements, or tensors of values; and elements further off than a neighbour in bfloat16. */
  readonly unequal: number;
  readonly beyond: number;
}

interface Loaded {
  readonly case: string;
  readonly out: string;
  readonly finite: boolean;
  readonly missing: readonly string[];
  readonly unexpected: readonly string[];
}

const lies = (name: string): boolean =>
  python !== '' &&
  spawnSync(python, ['-c', `import importlib.util as u, sys; sys.exit(u.find_spec('${name}') is None)`])
    .status === 0;

const [transformers, compressedTensors, olderCompressedTensors, modelOpt, gptq, awq, bitsandbytes] = [
  has('transformers, torch'),
  has('transformers, compressed_tensors.compressors.mxfp4'),
  has('transformers, compressed_tensors.compressors.quantized_compressors.pack_quantized'),
  has('modelopt.torch.quantization.qtensor'),
  lies('auto_gptq'),
  lies('awq'),
  has('bitsandbytes'),
];

describe.each([
  ['fp8-block', transformers],
  ['fp8-tensor', transformers],
  ['fp8-channel', transformers],
  ['mxfp4', transformers],
  ['ct-int8', compressedTensors],
  ['ct-int4', compressedTensors],
  ['ct-fp8', compressedTensors],
  ['ct-nvfp4', compressedTensors],
  ['ct-mxfp4', compressedTensors],
  ['ct-int4-zeros', compressedTensors],
  ['ct-int8-zeros', compressedTensors],
  ['ct-groups', olderCompressedTensors],
  ['modelopt-nvfp4', modelOpt],
  ['gptq', gptq],
  ['awq', awq],
  ['bnb-nf4', bitsandbytes],
  ['bnb-fp4', bitsandbytes],
  ['bnb-int8', bitsandbytes],
])('models quantised as %s (LAYERLOOM_PYTHON with its library)', (scheme, isThere) => {
  describe.skipIf(!isThere)('of random shapes, and experts (LAYERLOOM_EXPERTS)', () => {
    const work = mkdtempSync(join(tmpdir(), 'layerloom-'));
    let checked: readonly Checked[] = [];

    beforeAll(async () => {
      run(['make', work, scheme]);
      const real =
        experts === undefined ? [] : ['base', 'math-1', 'jpn-1'].map((name) => join(experts, name));
      if (real.length > 0 && scheme !== 'mxfp4' && real.every((model) => existsSync(model)))
        run(['make', work, scheme, ...real]);
      for (const name of readdirSync(work)) {
        const at = (model: string) => join(work, name, model);
        for (const model of ['base', 'a', 'b'])
          await relayout({ model: at(model), dtype: 'float32' }, { out: at(`values-${model}`) });
        await soup({ models: [at('a'), at('b')] }, { out: at('soup') });
        await merge(
          { method: 'ties', base: at('base'), models: [at('a'), at('b')], weight: 1, density: 0.4 },
          { out: at('ties') },
        );
        await merge({ method: 'slerp', base: at('a'), models: [at('b')], t: 0.3 }, { out: at('slerp') });
        const zones = { bottom: 1, top: 1, bottomTransition: 1, topTransition: 1 };
        await layerSwap({ task: at('a'), language: at('b'), ...zones }, { out: at('swap') });
      }
      checked = run(['check', work]);
      if (table !== undefined)
        appendFileSync(table, checked.map((one) => `${JSON.stringify({ scheme, ...one })}\n`).join(''));
    }, 1_800_000);

    afterAll(() => rmSync(work, { recursive: true, force: true }));

    it('have the values of the own dequantiser, bit for bit', () => {
      const values = checked.filter(({ out }) => out.startsWith('values'));
      expect(values.length).toBeGreaterThanOrEqual(30);
      expect(values.filter(({ unequal, names }) => unequal > 0 || !names)).toEqual([]);
    });

    it('merge to what float32 of these values gives', () => {
      const merges = checked.filter(({ out }) => !out.startsWith('values'));
      expect(merges.length).toBeGreaterThanOrEqual(40);
      expect(merges.filter(({ names, quantised }) => !names || quantised)).toEqual([]);
      for (const { out, unequal, beyond, elements } of merges) {
        // SLERP is compared in float64 with its angle's error; few elements round to another number.
        const holds = out === 'slerp' ? beyond === 0 && unequal <= 1 + elements / 1e4 : unequal === 0;
        expect({ out, unequal, beyond, holds }).toMatchObject({ holds: true });
      }
    });

    it('merge to models that transformers loads', () => {
      const loaded = run<Loaded>(['load', work]);
      expect(loaded.length).toBeGreaterThanOrEqual(40);
      expect(
        loaded.filter(({ finite, missing, unexpected }) => !finite || missing.length + unexpected.length > 0),
      ).toEqual([]);
    });

    it('swap by copies to a model that is quantised like them', async () => {
      const at = (model: string) => join(work, 'tiny-0', model);
      const swap = { task: at('a'), language: at('b'), bottom: 1, top: 1, others: 'task' as const };
      await layerSwap(swap, { out: at('copied') });
      const config = (model: string) =>
        JSON.parse(readFileSync(join(at(model), 'config.json'), 'utf8')) as Record<string, unknown>;
      expect(config('copied')['quantization_config']).toEqual(config('a')['quantization_config']);
    });
  });
});
