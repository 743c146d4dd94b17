import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noStatistics } from '../../src/core/methods/framework/declaration/method.js';
import { type LayerSwapParameters, layerSwap } from '../../src/core/methods/swaps/layer-swap.js';
import type { Place } from '../../src/core/models/architecture/architecture.js';
import { zoneOf } from '../fixtures/merged.js';

const compile = (parameters: Omit<LayerSwapParameters, 'task' | 'language'>, layers: number) => {
  const schema = layerSwap.schema.parse({ task: 't', language: 'l', ...parameters });
  const { expressionOf, ...compiled } = layerSwap.compile(schema, { layers, models: [], ...noStatistics });
  return { ...compiled, expressionOf: (place: Place) => expressionOf(place, '') };
};

const attention = (layer: number): Place => ({ layer, role: 'attention', module: 'self_attn.q_proj.weight' });
const blockNorm = (layer: number): Place => ({ layer, role: 'blockNorm', module: 'input_layernorm.weight' });
const embedding: Place = { layer: undefined, role: 'embedding', module: 'model.embed_tokens.weight' };

const sourceOf = (expression: ReturnType<ReturnType<typeof compile>['expressionOf']>): string =>
  expression.kind === 'copy' ? (['task', 'language'][expression.source.model] ?? '') : 'average';

const zones = (parameters: Omit<LayerSwapParameters, 'task' | 'language'>, layers: number): string[] => {
  const { expressionOf } = compile(parameters, layers);
  return Array.from({ length: layers }, (_, layer) => sourceOf(expressionOf(attention(layer))));
};

const counts = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.nat(10), fc.nat(10), fc.nat(5), fc.nat(5))
  .map(([layers, bottom, top, bottomTransition, topTransition]) => ({
    layers,
    bottom,
    top,
    bottomTransition,
    topTransition,
  }));

describe('layer swapping', () => {
  it('by default takes 5 bottom and 2 top layers of 32 from the language expert and the rest from the task expert', () => {
    const stack = zones({}, 32);
    expect(stack.slice(0, 5)).toEqual(Array(5).fill('language'));
    expect(stack.slice(5, 30)).toEqual(Array(25).fill('task'));
    expect(stack.slice(30)).toEqual(['language', 'language']);
    expect(sourceOf(compile({}, 32).expressionOf(embedding))).toBe('average');
  });

  it('takes each layer from where the paper’s figure shows it, for all counts', () => {
    fc.assert(
      fc.property(counts, ({ layers, ...parameters }) => {
        fc.pre(
          parameters.bottom + parameters.top + parameters.bottomTransition + parameters.topTransition <=
            layers,
        );
        expect(zones(parameters, layers)).toEqual(
          Array.from({ length: layers }, (_, layer) => zoneOf(layer, { layers, ...parameters })),
        );
      }),
    );
  });

  it('refuses more layers than there are', () => {
    fc.assert(
      fc.property(counts, ({ layers, ...parameters }) => {
        fc.pre(
          parameters.bottom + parameters.top + parameters.bottomTransition + parameters.topTransition >
            layers,
        );
        expect(() => compile(parameters, layers)).toThrow(
          expect.objectContaining({ code: 'TOO_MANY_LAYERS', exitCode: 2 }),
        );
      }),
    );
  });

  it('takes the transition layers from neither expert alone', () => {
    expect(zones({ bottom: 1, top: 1, bottomTransition: 1, topTransition: 2 }, 8).join(' ')).toBe(
      'language average task task task average average language',
    );
  });

  it('averages edge layers where transitions stand without swapped layers', () => {
    expect(zones({ bottom: 0, top: 0, bottomTransition: 1, topTransition: 1 }, 4)).toEqual([
      'average',
      'task',
      'task',
      'average',
    ]);
  });

  it('takes every layer from the language expert where bottom and top are all', () => {
    expect(zones({ bottom: 3, top: 1 }, 4)).toEqual(Array(4).fill('language'));
  });

  it('keeps the task expert’s layers where all counts are 0, and still averages outside them', () => {
    expect(zones({ bottom: 0, top: 0 }, 4)).toEqual(Array(4).fill('task'));
    expect(sourceOf(compile({ bottom: 0, top: 0 }, 4).expressionOf(embedding))).toBe('average');
  });

  it.each(['average', 'task', 'language'] as const)(
    'takes what is outside the layers as %s when asked',
    (others) => {
      expect(sourceOf(compile({ others }, 32).expressionOf(embedding))).toBe(others);
    },
  );

  it('knows the language expert by its short name too', () => {
    expect(sourceOf(compile({ others: 'lang' }, 32).expressionOf(embedding))).toBe('language');
  });

  it('swaps block norms with their layer, or treats them like what is outside', () => {
    expect(sourceOf(compile({}, 32).expressionOf(blockNorm(0)))).toBe('language');
    expect(sourceOf(compile({ norms: 'average' }, 32).expressionOf(blockNorm(0)))).toBe('average');
    expect(sourceOf(compile({ norms: 'average', others: 'task' }, 32).expressionOf(blockNorm(0)))).toBe(
      'task',
    );
    expect(sourceOf(compile({ norms: 'average' }, 32).expressionOf(attention(0)))).toBe('language');
  });

  it('normalises the weights', () => {
    expect(compile({ weights: [1, 3] }, 32).expressionOf(embedding)).toEqual({
      kind: 'linear',
      terms: [
        { source: { model: 0 }, weight: 0.25 },
        { source: { model: 1 }, weight: 0.75 },
      ],
    });
  });

  it('scales counts from 32 layers to the nearest, half up, and says what it used', () => {
    expect(compile({ scaled: true }, 30).resolved).toMatchObject({ bottom: 5, top: 2 });
    expect(compile({ scaled: true }, 16).resolved).toMatchObject({ bottom: 3, top: 1 });
    expect(compile({ scaled: true, bottomTransition: 1 }, 80).resolved).toMatchObject({
      bottom: 13,
      top: 5,
      bottom_transition: 3,
    });
    expect(compile({ scaled: true }, 32).resolved).toEqual(compile({}, 32).resolved);
  });
});
