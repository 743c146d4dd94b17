import { describe, expect, it } from 'vitest';
import { parseRecipe } from '../../src/core/methods/recipe/recipe.js';

const swap = (parameters: Record<string, unknown>) =>
  parseRecipe({ method: 'layer_swap', task: 't', language: 'l', ...parameters });
const soup = (parameters: Record<string, unknown>) =>
  parseRecipe({ method: 'soup', models: ['a', 'b'], ...parameters });

describe('a recipe', () => {
  it.each<[string, Record<string, unknown>]>([
    ['a negative count', { bottom: -1 }],
    ['a fractional count', { top: 1.5 }],
    ['a count that is text', { bottomTransition: 'x' }],
    ['no number', { topTransition: Number.NaN }],
    ['one weight', { weights: [1] }],
    ['three weights', { weights: [1, 1, 1] }],
    ['weights that sum to 0', { weights: [1, -1] }],
    ['weights that sum to next to nothing', { weights: [0.3, -0.1 - 0.2] }],
    ['a weight that is no number', { weights: [1, 'x'] }],
    ['an infinite weight', { weights: [1, Number.POSITIVE_INFINITY] }],
    ['weights whose sum is infinite', { weights: [1e308, 1e308] }],
    ['an unknown choice for what is outside the layers', { others: 'neither' }],
    ['an unknown choice for norms', { norms: 'task' }],
    ['an unknown dtype', { dtype: 'int8' }],
    ['no model', { task: '' }],
  ])('of a swap with %s is refused before anything is read', (_, parameters) => {
    expect(() => swap(parameters)).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETER', exitCode: 2 }),
    );
  });

  it.each<[string, Record<string, unknown>]>([
    ['other weights than models', { weights: [1, 2, 3] }],
    ['weights that sum to 0', { weights: [2, -2] }],
    ['no models', { models: [] }],
  ])('of a soup with %s is refused before anything is read', (_, parameters) => {
    expect(() => soup(parameters)).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETER', exitCode: 2 }),
    );
  });

  it('names the parameter, what it got and what it expects', () => {
    expect(() => swap({ bottom: 1.5 })).toThrow(
      'bottom: expected a whole number of layers, 0 or more, got 1.5',
    );
  });

  it('with a parameter that the method does not have names those it has', () => {
    expect(() => swap({ botom: 3 })).toThrow(/no parameter botom; it has task, language, .*bottom/);
  });

  it('of an unknown method names those there are', () => {
    expect(() => parseRecipe({ method: 'swop' })).toThrow(/layer_swap, soup/);
  });

  it.each(['bfloat16', 'bf16', 'BF16', 'torch.bfloat16'])('takes %s for a dtype', (dtype) => {
    expect(swap({ dtype }).dtype).toBe('BF16');
  });
});
