import { join } from 'node:path';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { planMerge } from '../../src/api/plan-merge.js';
import { drawLayers } from '../../src/cli/text/layer-stack.js';
import { describeRecipe } from '../../src/cli/text/plan-text.js';
import type { RecipeInput } from '../../src/core/methods/recipes.js';
import { drawChart } from '../../src/core/plan/card/layer-chart-text.js';
import { pictureOf } from '../../src/core/plan/card/layer-picture.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const plain = pc.createColors(false);
const bars = /[▁▂▃▄▅▆▇·]/g;

const models = (layers: number) => {
  const root = temporaryDirectory();
  const [a = '', b = '', base = ''] = ['a', 'b', 'base'].map((name, seed) =>
    writeCheckpoint(join(root, name), llama({ layers, seed })),
  );
  return { a, b, base };
};

const draw = async (recipe: RecipeInput) => drawLayers(await planMerge(recipe), plain).split('\n');

describe('a picture of layers that are stacked', () => {
  it('names the tensors outside the layers where they are of different models', async () => {
    const { a, b } = models(4);
    const stacked = await draw({
      method: 'passthrough',
      slices: [
        { sources: [{ model: a, layerRange: [0, 3] }] },
        { sources: [{ model: b, layerRange: [1, 4] }] },
      ],
    });
    const outside = stacked.slice(stacked.findIndex((line) => line.includes('outside'))).join(' ');
    expect(outside).toContain('embed_tokens: a');
    expect(outside).toMatch(/norm[^;:]*: b/);
  });
});

describe('a picture of numbers over layers', () => {
  it('is a line for each model of a gradient', async () => {
    const { a, b } = models(12);
    const lines = await draw({
      method: 'linear',
      models: [
        { model: a, weight: [1, 0] },
        { model: b, weight: [0, 1] },
      ],
    });
    expect(lines).toEqual([
      '  layer      0         11',
      '  a  weight  ▇▇▆▆▅▄▄▃▂▂▁·  1 → 0',
      '  b  weight  ·▁▂▂▃▄▄▅▆▆▇▇  0 → 1',
      '  outside  a',
    ]);
  });

  it('is a line for each group of modules that has a t of its own', async () => {
    const { a, b } = models(4);
    const lines = await draw({
      method: 'slerp',
      base: a,
      models: [b],
      t: [{ filter: 'self_attn', value: 0.25 }, { filter: 'mlp', value: [0.75, 0, 0.75] }, { value: 0.5 }],
    });
    expect(lines.slice(0, 4)).toEqual([
      '  layer         0  3',
      '  t  self_attn  ▂▂▂▂  0.25',
      '     mlp        ▆▂▂▆  0.75 → 0.25 → 0.75',
      '     norms      ▄▄▄▄  0.5',
    ]);
    expect(lines.slice(4).join(' ')).toContain('at t 0.5');
  });

  it('names single matrices, and the rest as others', async () => {
    const { a, b, base } = models(4);
    const plan = await planMerge({
      method: 'ties',
      base,
      models: [
        { model: a, weight: 1, density: [{ filter: 'q_proj', value: 0.25 }, { value: 0.5 }] },
        { model: b, weight: [{ filter: 'mlp', value: [0.25, 1] }, { value: 0.5 }], density: 1 },
      ],
    });
    const { chart } = pictureOf(plan);
    const rows = chart?.map(({ model, figure, modules }) => [model, figure, modules]);
    expect(rows).toEqual([
      ['a', 'weight', null],
      ['a', 'density', 'q_proj'],
      ['a', 'density', 'others'],
      ['b', 'weight', 'norms, self_attn'],
      ['b', 'weight', 'mlp'],
    ]);
    expect(chart?.at(-1)?.values).toEqual([0.25, 0.5, 0.75, 1]);
  });

  it('fits in 80 columns for 80 layers and long names', async () => {
    const root = temporaryDirectory();
    const [a = '', b = ''] = ['an-expert-with-a-very-long-name-1', 'an-expert-with-a-very-long-name-2'].map(
      (name, seed) => writeCheckpoint(join(root, name), llama({ layers: 80, seed })),
    );
    const plan = await planMerge({
      method: 'linear',
      models: [
        { model: a, weight: [{ filter: 'mlp', value: [0, 1 / 3, 0, 1] }, { value: [1, 0] }] },
        { model: b, weight: 0.7 },
      ],
      normalize: false,
    });
    const lines = `${describeRecipe(plan)}\n${drawLayers(plan, plain)}`.split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines.join('\n')).toContain('each character is the mean of 5 layers');
    expect(lines.some((line) => line.match(bars)?.length === 16)).toBe(true);
  });

  it('names the layers that a stack of layers is made of, neighbours of one model apart', async () => {
    const { a, b } = models(4);
    const source = (model: string, layerRange: [number, number]) => ({ sources: [{ model, layerRange }] });
    const lines = await draw({
      method: 'passthrough',
      slices: [source(a, [0, 3]), source(a, [2, 4]), source(b, [3, 4])],
    });
    expect(lines.filter((line) => line.includes('its layer')).map((line) => line.trim())).toEqual([
      expect.stringMatching(/^layer 5 .* b \(its layer 3\)$/),
      expect.stringMatching(/^layer 4 .* a \(its layers 2–3\)$/),
      expect.stringMatching(/^layer 2 .* a \(its layers 0–2\)$/),
    ]);
  });

  it('shows the share of rows that stay an expert’s', async () => {
    const { a, base } = models(4);
    const lines = await draw({ method: 'revert', model: a, base, targetKept: 0.5 });
    expect(lines.join('\n')).toMatch(/a {2}rows kept {2}/);
  });

  it('is in the model card too', async () => {
    const { a, b } = models(12);
    const plan = await planMerge({
      method: 'nuslerp',
      models: [
        { model: a, weight: [1, 0] },
        { model: b, weight: 0.5 },
      ],
    });
    const card = plan.files.find(({ name }) => name === 'README.md');
    const { chart, layers } = pictureOf(plan);
    expect(card !== undefined && 'text' in card && card.text).toContain(
      `\`\`\`text\n${drawChart(chart ?? [], layers)}\n\`\`\``,
    );
  });

  it('gives other mixtures other shades', async () => {
    const { a, b, base } = models(6);
    const lines = await draw({
      method: 'layer_swap',
      task: { method: 'soup', models: [a, b] },
      language: { method: 'soup', models: [b, base] },
      bottom: 2,
      top: 1,
    });
    const shades = lines.map((line) => /[▒▚╱]/.exec(line)?.[0]);
    expect(new Set(shades.filter((shade) => shade !== undefined)).size).toBe(3);
    expect(lines.every(({ length }) => length <= 80)).toBe(true);
  });
});
