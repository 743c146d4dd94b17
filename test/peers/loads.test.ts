import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { checkLoading } from '../../src/core/loading/check-loading.js';
import {
  extractLora,
  layerSwap,
  merge,
  type RecipeInput,
  relayout,
  revert,
  soup,
  verify,
} from '../../src/index.js';

// transformers and PEFT as the oracle: every family loads whole after it is merged, stacked, swapped,
// quantised and extracted.

const {
  LAYERLOOM_PYTHON: python = '',
  LAYERLOOM_FAMILIES: only = '',
  LAYERLOOM_LOADS_TABLE: table,
} = process.env;
const canRun = python !== '' && spawnSync(python, ['-c', 'import transformers, peft']).status === 0;
const script = fileURLToPath(new URL('families/loads.py', import.meta.url));

const run = (...args: readonly string[]): string =>
  execFileSync(python, ['-W', 'ignore', script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).toString();

interface Made {
  readonly name: string;
  readonly error?: string;
  readonly hasTokenizer: boolean;
  readonly stacks: Readonly<Record<string, number>>;
}

type Order = readonly (readonly [directory: string, layer: number])[];

interface Job {
  readonly family: string;
  readonly out: string;
  readonly [key: string]: unknown;
}

interface Outcome {
  readonly out: string;
  readonly ok?: string;
  readonly failed?: string;
}

const ordersOf = (layers: number, a: string, b: string): Readonly<Record<string, Order>> => {
  const range = (from: number, end: number, of = a): Order =>
    Array.from({ length: end - from }, (_, index) => [of, from + index] as const);
  const last = layers - 1;
  return {
    repeat: [...range(0, layers), ...range(last - 1, layers)],
    drop: [...range(0, 1), ...range(last - 1, layers)],
    upper: range(1, layers),
    moved: [...range(1, 2), ...range(0, 1), ...range(2, layers)],
    middle: [...range(0, last), ...range(1, layers)],
    alternate: [
      ...range(0, last).map(([, layer]) => [layer % 2 === 0 ? a : b, layer] as const),
      ...range(last, layers),
    ],
    both: [...range(0, last), ...range(1, last, b), ...range(last, layers)],
  };
};

const stacked = (order: Order, stack: string | undefined): RecipeInput =>
  ({
    method: 'passthrough',
    ...(stack === undefined ? {} : { stack }),
    slices: order.map(([model, layer]) => ({ sources: [{ model, layerRange: [layer, layer + 1] }] })),
  }) as unknown as RecipeInput;

/**
 * Families whose files and classes name stacks differently, or with one name for two: such a stack is refused
 * by name.
 */
const otherwiseNamed = new Set([
  ...['cosmos3_omni', 'encoder-decoder', 'granite_speech', 'granite_speech_plus', 'pi0', 'pix2struct'],
  ...['seamless_m4t', 'seamless_m4t_v2', 'tipsv2_text_model', 'video_llava', 'vision-encoder-decoder'],
]);

/** Warnings of outputs that a loader does not load whole. */
const saysNotLoaded = /^(PEFT 0\.21 does not find|transformers 5\.24 does not load)/;

/**
 * Outputs whose loader refuses a special token without an id, which the donor's vocabulary lacks. The merge
 * warns that the id is null.
 */
const refusesNull = /modernbert-decoder\/transplant$/;

/** Families of dense models that can form mixtures. */
const mixable = new Set(['llama', 'mistral', 'qwen2', 'qwen3']);

describe.skipIf(!canRun)('what loaders make of outputs (LAYERLOOM_PYTHON with transformers and peft)', () => {
  const root = mkdtempSync(join(tmpdir(), 'layerloom-loads-'));
  const jobs: Job[] = [];
  const refused: {
    readonly family: string;
    readonly what: string;
    readonly code: string;
    readonly key: string;
  }[] = [];
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const write = async (
    family: string,
    what: string,
    job: Omit<Job, 'family' | 'out'>,
    make: (out: string) => Promise<{ readonly warnings: readonly string[] }>,
  ) => {
    const out = join(root, family, what);
    try {
      const { warnings } = await make(out);
      // Loaders must fail where a warning says so, and only there.
      const isTold = warnings.some((warning) => saysNotLoaded.test(warning));
      jobs.push({ family, out, ...(isTold ? { isTold } : {}), ...job });
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      const key = 'key' in error.details ? String(error.details.key) : '';
      refused.push({ family, what, code: error.code, key });
    }
  };

  const writeAll = async ({ name, stacks, hasTokenizer }: Made): Promise<void> => {
    const [a, b, donor] = ['a', 'b', 'donor'].map((one) => join(root, name, one)) as [string, string, string];
    const paths = Object.keys(stacks);
    const whole = { like: a };
    await write(name, 'soup', whole, (out) => soup({ models: [a, b] }, { out }));
    await write(name, 'bfloat16', whole, (out) =>
      relayout({ model: a, dtype: 'bfloat16' }, { out, layout: 'size' }),
    );
    await write(name, 'fp8', { ...whole, quantised: true }, (out) =>
      soup({ models: [a, b], quantize: 'fp8-block' }, { out }),
    );
    await write(name, 'lora', { like: b, adapter: true }, (out) =>
      extractLora({ base: b, expert: a, rank: 2 }, { out }),
    );
    if (hasTokenizer)
      await write(name, 'transplant', whole, (out) =>
        merge({ method: 'transplant', model: a, donor, rows: 'mean' }, { out }),
      );
    if (mixable.has(name))
      await write(name, 'mixture', {}, (out) =>
        merge({ method: 'mixture', base: a, models: [a, b], gateMode: 'random' } as RecipeInput, { out }),
      );
    for (const path of paths) {
      const layers = itemAt(Object.values(stacks), paths.indexOf(path));
      const stack = paths.length === 1 ? undefined : (/encoder|decoder/.exec(path)?.[0] ?? path);
      const counts = { stack, bottom: 1, top: 1 };
      await write(name, `swap-${path}`, whole, (out) =>
        layerSwap({ task: a, language: b, ...counts, bottomTransition: 1 }, { out }),
      );
      await write(name, `revert-${path}`, whole, (out) => revert({ base: b, model: a, ...counts }, { out }));
      for (const [shape, order] of Object.entries(ordersOf(layers, a, b)))
        await write(name, `${shape}-${path}`, { stack: path, order, first: a }, (out) =>
          merge(stacked(order, stack), { out }),
        );
    }
  };

  it('is every tensor and no other, with the logits of the layers that were stacked', async () => {
    const made = run('make', root, ...only.split(' ').filter(Boolean))
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Made);
    // Two are listed twice, with other settings.
    const named = made.flatMap((one) => (one.error === undefined ? [[one.name, one] as const] : []));
    const families = [...new Map(named).values()];
    for (const family of families) await writeAll(family);
    const file = join(root, 'jobs.jsonl');
    writeFileSync(file, jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
    const outcomes = run('check', file)
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Outcome);
    const ran = outcomes.filter(({ ok }) => ok?.startsWith('logits'));
    const figures = {
      families: families.length,
      outputs: outcomes.length,
      withLogits: ran.length,
      refused: refused.length,
    };
    console.info(JSON.stringify(figures));
    if (table !== undefined)
      writeFileSync(
        table,
        JSON.stringify(
          { ...figures, notMade: made.filter(({ error }) => error), refused, outcomes },
          null,
          1,
        ),
      );
    const told = new Set(jobs.flatMap(({ out, isTold }) => (isTold ? [out] : [])));
    expect(
      outcomes.filter(({ failed, out }) => failed !== undefined && !told.has(out) && !refusesNull.test(out)),
    ).toEqual([]);
    expect(outcomes.filter(({ failed, out }) => failed === undefined && told.has(out))).toEqual([]);
    expect(outcomes).toHaveLength(jobs.length);
    expect(refused.filter(({ code, key }) => code === 'STACK_UNSUPPORTED' && key === '')).toEqual([]);
    const ofStacks = refused.filter(({ family, what }) => what.includes('-') && !otherwiseNamed.has(family));
    expect(ofStacks.filter(({ code }) => code !== 'STACK_UNSUPPORTED')).toEqual([]);
    if (only === '') {
      expect(families.length).toBeGreaterThan(250);
      expect(ran.length).toBeGreaterThan(1000);
    }
  }, 10_000_000);
});

describe.skipIf(!canRun)('verify with loads, asked of transformers and PEFT', () => {
  const root = mkdtempSync(join(tmpdir(), 'layerloom-verify-loads-'));
  const [a, b] = [join(root, 'llama', 'a'), join(root, 'llama', 'b')];
  beforeAll(() => run('make', root, 'llama'), 600_000);
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const copyOf = (name: string, edits: Readonly<Record<string, unknown>> = {}): string => {
    const out = join(root, name);
    cpSync(a, out, { recursive: true });
    const file = join(out, 'config.json');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...edits }));
    return out;
  };
  const loadingOf = (folder: string, base?: string) => checkLoading(folder, { python, base });

  it('loads a model that transformers wrote, and a merge of two', async () => {
    expect(await loadingOf(a)).toMatchObject({ loads: true, loadedAs: 'LlamaForCausalLM' });
    const out = join(root, 'soup');
    await soup({ models: [a, b] }, { out });
    expect(await verify(out, { loads: true, python })).toMatchObject({ loading: { loads: true } });
  }, 600_000);

  it.each([
    [{ num_hidden_layers: 5 }, { missing: expect.arrayContaining([expect.stringContaining('layers.4.')]) }],
    [
      { num_hidden_layers: 3 },
      { unexpected: expect.arrayContaining([expect.stringContaining('layers.3.')]) },
    ],
    [
      { vocab_size: 97 },
      { mismatched: expect.arrayContaining([expect.objectContaining({ model: [97, expect.any(Number)] })]) },
    ],
    [{ dtype: 'bfloat16' }, { dtype: { said: 'bfloat16', stored: { float32: expect.any(Number) } } }],
    [{ hidden_act: 'nothing' }, { reason: expect.stringContaining('nothing') }],
  ])(
    'does not load with %j',
    async (edits, found) => {
      const name = `wrong-${Object.keys(edits).join()}-${Object.values(edits).join()}`;
      expect(await loadingOf(copyOf(name, edits))).toMatchObject({ loads: false, ...found });
    },
    600_000,
  );

  it('runs no code of a folder, and opens no pickle', async () => {
    const ran = join(root, 'ran');
    const code = `open(${JSON.stringify(ran)}, 'w').close()\nfrom transformers import *\n`;
    const own = { auto_map: { AutoConfig: 'own.Own', AutoModelForCausalLM: 'own.Own' } };
    const known = copyOf('known', own);
    const strange = copyOf('strange', { ...own, model_type: 'own', architectures: ['Own'] });
    const shadows = copyOf('shadows');
    for (const folder of [known, strange, shadows])
      for (const file of ['own.py', 'torch.py', 'transformers.py', 'peft.py'])
        writeFileSync(join(folder, file), code);
    expect(await loadingOf(known)).toMatchObject({ loads: true });
    expect(await loadingOf(strange)).toMatchObject({ loads: null, reason: expect.any(String) });
    expect(await loadingOf(shadows)).toMatchObject({ loads: true });
    vi.stubEnv('PYTHONPATH', shadows);
    await expect(loadingOf(shadows)).rejects.toMatchObject({ code: 'PROCESS_UNAVAILABLE' });
    vi.unstubAllEnvs();
    const pickled = copyOf('pickled');
    renameSync(join(pickled, 'model.safetensors'), join(pickled, 'pytorch_model.bin'));
    expect(await loadingOf(pickled)).toMatchObject({
      loads: null,
      reason: expect.stringContaining('pickled'),
    });
    expect(existsSync(ran)).toBe(false);
  }, 600_000);

  it('has PEFT load an adapter upon its base, and says what it lacks', async () => {
    const out = join(root, 'lora');
    await extractLora({ base: a, expert: b, rank: 2 }, { out });
    expect(await loadingOf(out, a)).toMatchObject({ loads: true, loadedAs: 'PEFT of LlamaForCausalLM' });
    const file = join(out, 'adapter_config.json');
    const settings = JSON.parse(readFileSync(file, 'utf8'));
    const targets = settings.target_modules as string[];
    const edit = (edits: Readonly<Record<string, unknown>>) =>
      writeFileSync(file, JSON.stringify({ ...settings, ...edits }));
    edit({ target_modules: [...targets, 'lm_head'] });
    expect(await loadingOf(out, a)).toMatchObject({
      ...{ loads: false, missing: expect.arrayContaining([expect.stringContaining('lm_head')]) },
    });
    edit({ target_modules: targets.filter((target) => target !== 'q_proj') });
    expect(await loadingOf(out, a)).toMatchObject({
      ...{ loads: false, unexpected: expect.arrayContaining([expect.stringContaining('q_proj')]) },
    });
    edit({ init_lora_weights: 'pissa' });
    expect(await loadingOf(out, a)).toMatchObject({ loads: true });
    edit({ megatron_config: {}, megatron_core: 'antigravity' });
    expect(await loadingOf(out, a)).toMatchObject({
      loads: null,
      reason: expect.stringContaining('Megatron'),
    });
    edit({ peft_type: 'PROMPT_TUNING', num_virtual_tokens: 2, tokenizer_name_or_path: out });
    expect(await loadingOf(out, a)).toMatchObject({ loads: null, reason: expect.stringContaining('PROMPT') });
  }, 600_000);
});
