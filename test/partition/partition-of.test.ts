import { describe, expect, it } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import type { AnalysedExpert } from '../../src/core/measure/partition/analysed-expert.js';
import type { Partition } from '../../src/core/measure/partition/partition.js';
import { partitionOf } from '../../src/core/measure/partition/partition-of.js';
import { llamaShapes } from '../fixtures/checkpoints.js';
import { baseOf } from './bases.js';

const llama = (layers: number, tied = false) =>
  baseOf(llamaShapes({ layers, tied }), { model_type: 'llama', tie_word_embeddings: tied });

const layersOf = (names: readonly string[]): number[] =>
  names.flatMap((name) => {
    const layer = /layers\.(\d+)\.self_attn\.q_proj/.exec(name)?.[1];
    return layer === undefined ? [] : [Number(layer)];
  });

const outside = (names: readonly string[]): string[] => names.filter((name) => !name.includes('.layers.'));

describe('by location', () => {
  it('gives the first and last layers to the language, the middle to the task, the rest to the language', () => {
    const { parts, linear, parameters, found, stack } = partitionOf(llama(8), { bottom: 2, top: 1 });
    expect(layersOf(parts.language)).toEqual([0, 1, 7]);
    expect(layersOf(parts.task)).toEqual([2, 3, 4, 5, 6]);
    expect(outside(parts.language)).toEqual([
      'model.embed_tokens.weight',
      'model.norm.weight',
      'lm_head.weight',
    ]);
    expect(outside(parts.task)).toEqual([]);
    // 5 matrices a layer; q_norm is a vector.
    expect(linear.language).toHaveLength(3 * 5);
    expect(linear.task).toHaveLength(5 * 5);
    expect(linear.task[0]).toBe('model.layers.2.self_attn.q_proj');
    const perLayer = 16 + 256 + 128 + 4 + 256 + 16 + 640 + 640;
    expect(parameters).toEqual({
      language: 3 * perLayer + 24 * 16 * 2 + 16,
      task: 5 * perLayer,
      both: 0,
      neither: 0,
    });
    expect({ found, stack }).toEqual({
      found: { by: 'location', bottom: 2, top: 1, others: 'language', norms: 'layer' },
      stack: 'model.layers',
    });
  });

  it.each(['language', 'task', 'both', 'neither'] as const)('gives the rest to %s where asked', (others) => {
    const { parts } = partitionOf(llama(8), { others });
    expect(outside(parts[others])).toHaveLength(3);
  });

  it('takes block norms out of their layers where asked, and leaves the norms of attention there', () => {
    const { parts } = partitionOf(llama(8), { bottom: 0, top: 0, others: 'neither', norms: 'others' });
    expect(parts.neither.filter((name) => name.includes('layernorm'))).toHaveLength(16);
    expect(parts.task.filter((name) => name.includes('q_norm'))).toHaveLength(8);
  });

  it('scales the counts from 32 layers, half up', () => {
    expect(partitionOf(llama(16), { scaled: true }).found).toMatchObject({ bottom: 3, top: 1 });
    expect(partitionOf(llama(32), { scaled: true }).found).toMatchObject({ bottom: 5, top: 2 });
  });

  it('takes every layer where the counts add up to L, and refuses more', () => {
    expect(partitionOf(llama(7), {}).parts.task).toEqual([]);
    expect(() => partitionOf(llama(6), {})).toThrow(
      'bottom 5 + top 2 = 7 layers, but the models have 6; lower the counts or use `scaled`',
    );
  });

  it('trains no buffers, integers and other towers', () => {
    const base = baseOf({
      ...llamaShapes({ layers: 8 }),
      'model.layers.0.self_attn.rotary_emb.inv_freq': [4],
      'vision_tower.encoder.layers.0.mlp.fc1.weight': [4, 4],
    });
    expect(partitionOf(base, { others: 'both' }).parts.neither).toEqual([
      'model.layers.0.self_attn.rotary_emb.inv_freq',
      'vision_tower.encoder.layers.0.mlp.fc1.weight',
    ]);
  });

  it('refuses a model without layers, and parameters that cannot be', () => {
    const codeOf = (make: () => Partition): unknown => {
      try {
        return make();
      } catch (error) {
        return error instanceof LayerloomError ? error.code : error;
      }
    };
    expect(codeOf(() => partitionOf(baseOf({ 'model.norm.weight': [4] }), {}))).toBe('NO_LAYERS');
    for (const wrong of [{ bottom: -1 }, { top: 0.5 }, { others: 'average' }, { norms: 'average' }])
      expect(codeOf(() => partitionOf(llama(8), wrong as object))).toBe('INVALID_PARAMETER');
  });
});

describe('by an analysis', () => {
  const expert = (name: string, means: Readonly<Record<string, number>>): AnalysedExpert => ({
    name,
    file: `${name}.json`,
    base: { name: 'base', path: '/base', files: [] },
    tensors: Object.fromEntries(
      Object.entries(means).map(([tensor, meanMav]) => [
        tensor,
        { rows: 1, parametersPerRow: 4, layer: null, module: tensor, meanMav, nonFiniteRows: 0 },
      ]),
    ),
  });
  const q = (layer: number, kind = 'weight') => `model.layers.${layer}.self_attn.q_proj.${kind}`;
  const norm = 'model.norm.weight';
  const base = baseOf({
    [q(0)]: [4, 4],
    [q(0, 'bias')]: [4],
    [q(1)]: [4, 4],
    [q(1, 'bias')]: [4],
    [norm]: [4],
  });

  it('gives each module to the expert that changed it more, relative to its own mean', () => {
    // The task expert moved a hundred times as far, but most in layer 1.
    const language = expert('swh', { [q(0)]: 3, [q(0, 'bias')]: 1, [q(1)]: 1, [q(1, 'bias')]: 1, [norm]: 1 });
    const task = expert('math', {
      [q(0)]: 100,
      [q(0, 'bias')]: 300,
      [q(1)]: 300,
      [q(1, 'bias')]: 300,
      [norm]: 100,
    });
    const { parts, found } = partitionOf(base, { experts: { language, task } });
    // Layer 0: (3 + 1) / 2 ÷ 1.4 against 200 ÷ 220; the final norm: 1 ÷ 1.4 against 100 ÷ 220.
    expect(parts).toEqual({
      language: [q(0), q(0, 'bias'), norm],
      task: [q(1), q(1, 'bias')],
      both: [],
      neither: [],
    });
    expect(found).toMatchObject({ by: 'analysis', granularity: 'module', others: null });
    const byTensor = partitionOf(base, { experts: { language, task }, granularity: 'tensor' });
    expect(byTensor.parts.language).toEqual([q(0), norm]);
    const byLayer = partitionOf(base, { experts: { language, task }, granularity: 'layer', others: 'task' });
    expect(byLayer.parts.language).toEqual([q(0), q(0, 'bias')]);
  });

  it('gives ties to the task, also where neither expert changed anything', () => {
    const same = { [q(0)]: 1, [q(0, 'bias')]: 0, [q(1)]: 1, [q(1, 'bias')]: 0, [norm]: 0 };
    const experts = { language: expert('swh', same), task: expert('math', same) };
    expect(partitionOf(base, { experts }).parts.task).toHaveLength(5);
  });

  it('gives what the analysis left out to the part of its layer', () => {
    const experts = {
      language: expert('swh', { [q(0)]: 3, [q(1)]: 1 }),
      task: expert('math', { [q(0)]: 1, [q(1)]: 3 }),
    };
    const { parts } = partitionOf(base, { experts, granularity: 'tensor' });
    expect(parts.language).toEqual([q(0), q(0, 'bias')]);
    expect(parts.task).toEqual([q(1), q(1, 'bias'), norm]);
  });

  it('keeps a head that is the embeddings in their part', () => {
    const [embedding, head] = ['model.embed_tokens.weight', 'lm_head.weight'];
    const tied = baseOf(
      { [embedding]: [8, 4], [q(0)]: [4, 4], [head]: [8, 4] },
      { tie_word_embeddings: true },
    );
    const experts = {
      language: expert('swh', { [embedding]: 9, [q(0)]: 1, [head]: 1 }),
      task: expert('math', { [embedding]: 1, [q(0)]: 1, [head]: 9 }),
    };
    expect(partitionOf(tied, { experts }).parts.language).toEqual([embedding, head]);
  });

  it('refuses an expert that changed nothing', () => {
    const experts = { language: expert('swh', { [q(0)]: 0 }), task: expert('math', { [q(0)]: 1 }) };
    expect(() => partitionOf(base, { experts })).toThrow('swh.json: swh equals its base');
  });
});
