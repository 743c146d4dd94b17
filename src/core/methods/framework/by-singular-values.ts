import { itemAt } from '../../base/errors/lookup.js';
import { isFloating } from '../../tensor/dtype.js';
import type { Expression } from '../operations/expression.js';
import type { SpectralRule } from '../operations/means/spectral.js';
import type { CompileContext, Compiled, ModelReference } from './declaration/method.js';
import type { ModelInput } from './declaration/recipe-input.js';

interface Parameters {
  readonly base: ModelInput;
  readonly models: readonly ModelInput[];
}

export const bySingularValues = {
  takes: { base: 'required', models: 'list' },
  keepsCard: false,
  needsLayers: true,
  standsAlone: true,
  models: ({ base, models }: Parameters): ModelReference[] => [
    { role: 'base', model: base },
    ...models.map((model, index) => ({ role: 'model', model, path: ['models', index] })),
  ],
  companions: (): ModelReference[] => [],
} as const;

/** Merges matrices in layers by the rule; other tensors get the mean task vector. */
export const spectralOf = (
  rule: SpectralRule,
  scale: number,
  { models }: CompileContext,
): Compiled['expressionOf'] => {
  const { tensors } = itemAt(models, 0);
  const base = { model: 0 };
  const sources = models.slice(1).map((_, index) => ({ model: index + 1 }));
  const averaged: Expression = {
    kind: 'linear',
    terms: [
      { source: base, weight: 1 - scale },
      ...sources.map((source) => ({ source, weight: scale / sources.length })),
    ].filter(({ weight }) => weight !== 0),
  };
  const merged: Expression = { kind: 'spectral', rule, base, sources, scale };
  return ({ layer }, tensor) => {
    const { dtype = 'U8', shape = [] } = tensors.get(tensor) ?? {};
    const isMatrix = shape.length === 2 && !shape.includes(0) && isFloating(dtype);
    // Biases of stacked experts, and tables like Mamba's `A_log`, have two dimensions but are no linear maps.
    return layer !== undefined && isMatrix && tensor.endsWith('.weight') ? merged : averaged;
  };
};
