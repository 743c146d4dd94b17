import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalName, spellingsLike } from '../../src/core/models/architecture/canonical-names.js';
import { openModel } from '../../src/core/models/reading/read-model.js';
import { analyze, diff, layerSwap, merge, soup } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import {
  fill,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { familyFixture } from '../fixtures/families.js';
import { average, readTensors } from '../fixtures/merged.js';

const renamed = (tensors: Tensors, nameOf: (name: string) => string): Tensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [nameOf(name), tensor]));

const families = readdirSync(new URL('../fixtures/families', import.meta.url)).map((file) =>
  file.replace(/\.json$/, ''),
);

/** Prefixes of base models in transformers, by family. */
const prefixes: Readonly<Record<string, readonly string[]>> = {
  'model.': ['llama', 'mistral', 'qwen3', 'gemma2', 'phi3', 'opt', 'bart', 'olmo2', 'whisper', 'modernbert'],
  'transformer.': ['gpt2', 'gpt-j', 'falcon', 'bloom', 'mpt'],
  'gpt_neox.': ['gpt-neox'],
  'backbone.': ['mamba', 'mamba2', 'falcon-mamba'],
  'rwkv.': ['rwkv'],
  'biogpt.': ['biogpt'],
  'bert.': ['bert'],
  'roberta.': ['roberta', 'camembert', 'xlm-roberta'],
  'electra.': ['electra'],
  'distilbert.': ['distilbert'],
  'mpnet.': ['mpnet'],
  'deberta.': ['deberta-v2'],
};

describe('canonical names', () => {
  it.each(families)('tell the parameters of %s apart', (family) => {
    const names = Object.keys(familyFixture(family).shapes);
    expect(new Set(names.map(canonicalName)).size).toBe(names.length);
  });

  it.each(Object.entries(prefixes))('are those of the base class, without %s', (prefix, of) => {
    for (const family of of) {
      const names = Object.keys(familyFixture(family).shapes).filter((name) => name.startsWith(prefix));
      expect(names.length, family).toBeGreaterThan(5);
      for (const name of names) expect(canonicalName(name)).toBe(canonicalName(name.slice(prefix.length)));
    }
  });

  it('are those of each version of a model with other towers', () => {
    const ways = [
      [
        'model.layers.0.q.weight',
        'model.language_model.layers.0.q.weight',
        'language_model.model.layers.0.q.weight',
      ],
      ['lm_head.weight', 'language_model.lm_head.weight'],
      ['visual.blocks.0.q.weight', 'model.visual.blocks.0.q.weight'],
      ['vision_tower.vision_model.layers.0.weight', 'model.vision_tower.layers.0.weight'],
      ['embed_out.weight', 'lm_head.weight'],
      ['bert.embeddings.LayerNorm.gamma', 'embeddings.LayerNorm.weight'],
      ['bert.embeddings.LayerNorm.beta', 'embeddings.LayerNorm.bias'],
    ];
    for (const names of ways) expect(new Set(names.map(canonicalName)).size, names.join()).toBe(1);
  });

  it('leave names alone that two tensors would share', () => {
    expect(spellingsLike(['a.weight', 'model.a.weight'], ['transformer.a.weight'])).toEqual(new Map());
    expect(spellingsLike(['a.weight'], ['model.a.weight', 'transformer.a.weight'])).toEqual(new Map());
  });

  it('are found for layers that the other model does not have', () => {
    const like = ['transformer.h.0.ln_1.weight', 'transformer.wte.weight'];
    expect(
      spellingsLike(
        ['h.0.ln_1.weight', 'h.7.ln_1.weight', 'h.7.attn.bias', 'wte.weight', 'lm_head.weight'],
        like,
      ),
    ).toEqual(
      new Map([
        ['h.0.ln_1.weight', 'transformer.h.0.ln_1.weight'],
        ['h.7.ln_1.weight', 'transformer.h.7.ln_1.weight'],
        ['wte.weight', 'transformer.wte.weight'],
        ['h.7.attn.bias', 'transformer.h.7.attn.bias'],
      ]),
    );
  });
});

/**
 * GPT-2 as its fine-tunings store it, and as the hub's base does: without the class's part of names, with
 * masks.
 */
const writeGpt2 = () => {
  const root = temporaryDirectory();
  const { shapes, config } = familyFixture('gpt2');
  const named = { ...config, architectures: ['GPT2LMHeadModel'], n_layer: 4 };
  const of = (seed: number) => fill(shapes, 'F32', seed);
  const masks = Object.fromEntries(
    [0, 1, 2, 3].map((layer) => [
      `h.${layer}.attn.bias`,
      { dtype: 'BOOL', shape: [1, 1, 2, 2], data: Buffer.alloc(4) },
    ]),
  );
  const short = (tensors: Tensors) => renamed(tensors, (name) => name.replace(/^transformer\./, ''));
  return {
    root,
    tensors: { base: of(1), a: of(2), b: of(3) },
    base: writeCheckpoint(join(root, 'base'), { tensors: { ...short(of(1)), ...masks }, config: named }),
    a: writeCheckpoint(join(root, 'a'), { tensors: of(2), config: named }),
    b: writeCheckpoint(join(root, 'b'), { tensors: of(3), config: named }),
    plainBase: writeCheckpoint(join(root, 'plain-base'), { tensors: of(1), config: named }),
  };
};

describe('models of one base in several spellings', () => {
  it('merge as in one, with the names of the first', async () => {
    const { root, base, plainBase, a, b } = writeGpt2();
    const out = (name: string) => join(root, name);
    await merge({ method: 'task_arithmetic', base, models: [a, b], weights: [1, 1] }, { out: out('one') });
    await merge(
      { method: 'task_arithmetic', base: plainBase, models: [a, b], weights: [1, 1] },
      { out: out('other') },
    );
    expect(await readTensors(out('one'))).toEqual(await readTensors(out('other')));
    const { warnings } = await soup({ models: [base, a] }, { out: out('soup') });
    expect(warnings.join()).toMatch(/a names transformer\.h.* they are taken for one/);
    const merged = await readTensors(out('soup'));
    const [one, two] = [await readTensors(plainBase), await readTensors(a)];
    expect(Object.keys(merged).sort()).toEqual(
      Object.keys(one)
        .map((name) => name.replace(/^transformer\./, ''))
        .sort(),
    );
    for (const [name, tensor] of Object.entries(one))
      expect(merged[name.replace(/^transformer\./, '')]?.data).toEqual(
        Buffer.from(average('F32', [tensor, two[name] as TensorFixture], [1, 1])),
      );
  });

  it('give magnitudes, swaps and analyses the same figures', async () => {
    const { root, base, plainBase, a, b } = writeGpt2();
    const swap = (name: string, of: string) =>
      layerSwap(
        { task: a, language: b, base: of, bottom: 1, top: 1, weights: 'magnitude' },
        { out: join(root, name) },
      );
    await swap('one', base);
    await swap('other', plainBase);
    expect(await readTensors(join(root, 'one'))).toEqual(await readTensors(join(root, 'other')));
    const meansOf = async (of: string) =>
      (
        await analyze({ base: of, experts: [a, b] }, { out: join(temporaryDirectory(), 'analysis') })
      ).experts.map(({ name, meanMav }) => [name, meanMav]);
    expect(await meansOf(base)).toEqual(await meansOf(plainBase));
    const { equal, bytesRead } = await diff(plainBase, base);
    expect(bytesRead).toBeGreaterThan(0);
    expect(equal).toBe(false);
  });

  it('stack, whatever layers each has', async () => {
    const { root, base, a } = writeGpt2();
    const slices = [
      { sources: [{ model: base, layerRange: [0, 2] }] },
      { sources: [{ model: a, layerRange: [2, 4] }] },
    ];
    const out = join(root, 'stack');
    await merge({ method: 'passthrough', slices } as never, { out });
    const [stack, other] = [await readTensors(out), await readTensors(a)];
    expect(stack['h.3.ln_1.weight']?.data).toEqual(other['transformer.h.3.ln_1.weight']?.data);
  });

  it('may be of classes with other heads: the first’s is kept, and it is said', async () => {
    const root = temporaryDirectory();
    const { shapes, config } = familyFixture('bert');
    const whole = fill(shapes, 'F32', 1);
    const encoder = Object.fromEntries(
      Object.entries(fill(shapes, 'F32', 2)).flatMap(([name, tensor]) =>
        name.startsWith('bert.') && !name.includes('pooler') ? [[name.slice('bert.'.length), tensor]] : [],
      ),
    );
    const pooler = fill({ 'pooler.dense.weight': [4, 4] }, 'F32', 3);
    const [enc, mlm] = [
      writeCheckpoint(join(root, 'enc'), {
        tensors: { ...encoder, ...pooler },
        config: { ...config, architectures: ['BertModel'] },
      }),
      writeCheckpoint(join(root, 'mlm'), {
        tensors: Object.fromEntries(Object.entries(whole).filter(([name]) => !name.includes('pooler'))),
        config: { ...config, architectures: ['BertForMaskedLM'] },
      }),
    ];
    const out = join(root, 'out');
    const { warnings } = await soup({ models: [enc, mlm] }, { out });
    expect(warnings.join('\n')).toMatch(
      /mlm has no pooler\.dense\.weight, of the head of enc; that of enc is kept/,
    );
    expect(warnings.join('\n')).toMatch(
      /enc has no cls\..*of the head of mlm, which the output does not get/,
    );
    const merged = await readTensors(out);
    expect(Object.keys(merged).sort()).toEqual(Object.keys({ ...encoder, ...pooler }).sort());
    expect(merged['pooler.dense.weight']?.data).toEqual(
      Buffer.from((pooler['pooler.dense.weight'] as TensorFixture).data),
    );
    const name = Object.keys(encoder)[0] as string;
    expect(merged[name]?.data).toEqual(
      Buffer.from(average('F32', [encoder[name], whole[`bert.${name}`]] as TensorFixture[], [1, 1])),
    );
    const third = writeCheckpoint(join(root, 'third'), {
      tensors: { ...encoder, ...pooler },
      config: { ...config, architectures: ['BertModel'] },
    });
    await expect(soup({ models: [enc, mlm, third] }, { out: join(root, 'three') })).rejects.toMatchObject({
      code: 'TENSOR_NAMES_DIFFER',
    });
  });

  it('take adapters of any of them', async () => {
    const { shapes } = familyFixture('gpt2');
    const { base, plainBase } = writeGpt2();
    const adapter = lora({ shapes, targets: ['c_attn'], config: { fan_in_fan_out: true } });
    for (const nameOf of [
      (name: string) => name,
      (name: string) => name.replace('model.transformer.', 'model.'),
    ]) {
      const directory = writeAdapter(join(temporaryDirectory(), 'lora'), {
        ...adapter,
        tensors: renamed(adapter.tensors, nameOf),
      });
      for (const of of [base, plainBase]) {
        const { tensors } = await openModel(`${of}+${directory}`);
        expect([...tensors.values()].filter(({ change }) => change !== undefined)).toHaveLength(4);
      }
    }
  });
});
