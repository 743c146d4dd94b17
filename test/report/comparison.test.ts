import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Comparison, ElementDifferences, TensorComparison } from '../../src/index.js';
import { diff } from '../../src/index.js';
import { comparisonPage } from '../../src/study/pages/comparison/comparison-data.js';
import { describeComparison } from '../../src/study/pages/comparison/comparison-text.js';
import { layerTable } from '../../src/study/pages/comparison/layer-table.js';
import { verdictOf } from '../../src/study/pages/comparison/verdict.js';
import { violationsOn } from '../fixtures/accessibility.js';
import { writePair } from '../fixtures/checkpoints.js';

const stored = { dtype: 'BF16', shape: [4, 6], file: '/a' } as const;

const model = (name: string, layers: number) => ({
  name,
  path: `/models/${name}`,
  family: 'llama',
  layers,
  tensors: 9,
  parameters: 1_234_567,
  bytes: 2_469_134,
});

const differing = (relative: number | null): ElementDifferences => ({
  differing: 12,
  differingBits: 12,
  nonFinite: 0,
  max: 0.5,
  mean: 0.1,
  rms: 0.2,
  relative,
  first: { index: 7, position: [1, 1] },
});

const equal = (name: string, layer: number | null = null, module = name): TensorComparison => ({
  name,
  layer,
  module,
  state: 'equal',
  a: stored,
  b: stored,
  elements: 24,
  difference: null,
});

const differs = (tensor: TensorComparison, relative: number | null): TensorComparison => ({
  ...tensor,
  state: 'differs',
  difference: differing(relative),
});

const layerTensors = (layer: number): TensorComparison[] => [
  equal(`model.layers.${layer}.self_attn.q_proj.weight`, layer, 'self_attn.q_proj.weight'),
  equal(`model.layers.${layer}.mlp.down_proj.weight`, layer, 'mlp.down_proj.weight'),
  {
    ...equal(`model.layers.${layer}.input_layernorm.weight`, layer, 'input_layernorm.weight'),
    a: { ...stored, shape: [24] },
    b: { ...stored, shape: [24] },
  },
];

const comparisonOf = (
  layers: number,
  edit: (tensor: TensorComparison) => TensorComparison = (tensor) => tensor,
  others: Partial<Comparison> = {},
): Comparison => {
  const tensors = [
    equal('model.embed_tokens.weight'),
    ...Array.from({ length: layers }, (_, layer) => layerTensors(layer)).flat(),
  ].map(edit);
  return {
    a: model('math-1', layers),
    b: model('merged', layers),
    equal: tensors.every(({ state }) => state === 'equal'),
    sameValues: tensors.every(({ state }) => state === 'equal' || state === 'sameValues'),
    tensors,
    sideFiles: [],
    bytesRead: 1000,
    threads: 2,
    seconds: 0.5,
    warnings: [],
    ...others,
  };
};

const inLayers = (...layers: readonly (number | null)[]) =>
  comparisonOf(8, (tensor) => (layers.includes(tensor.layer) ? differs(tensor, 0.01) : tensor));

describe('the verdict of a comparison', () => {
  it.each<[Comparison, string]>([
    [comparisonOf(8), 'equal to the bit: 25 tensors, 600 parameters'],
    [inLayers(0, 1, 2), '9 of 25 tensors differ, all in layers 0–2'],
    [inLayers(null, 0, 1, 4), '10 of 25 tensors differ, all in layers 0–1, 4 and outside the layers'],
    [inLayers(null), '1 of 25 tensors differs, outside the layers'],
    [inLayers(0, 1, 2, 3, 4, 5, 6, 7), '24 of 25 tensors differ, in all layers, none outside them'],
    [inLayers(null, 0, 1, 2, 3, 4, 5, 6, 7), '25 of 25 tensors differ, in all layers and outside them'],
    [
      comparisonOf(8, (tensor) => ({ ...tensor, state: 'sameValues' })),
      'equal in every value, not in every bit: 25 of 25 tensors have another dtype, or zeros or NaN with other bits',
    ],
    [
      comparisonOf(1, (tensor) => ({ ...tensor, state: 'onlyInA', b: null })),
      'the models have no tensor in common: 4 tensors only in A',
    ],
    [
      comparisonOf(1, (tensor) =>
        tensor.layer === null ? { ...tensor, state: 'onlyInB', a: null } : tensor,
      ),
      'the 3 tensors in both models are equal; 1 tensor only in B',
    ],
  ])('of %#', (comparison, verdict) => {
    expect(verdictOf(comparison)).toBe(verdict);
  });

  it('names side files that differ, and none that are written differently', () => {
    const files = (...states: readonly Comparison['sideFiles'][number]['state'][]) =>
      comparisonOf(1, undefined, {
        sideFiles: states.map((state, index) => ({ name: `file-${index}`, state, keys: [] })),
      });
    expect(verdictOf(files('equal', 'sameContent'))).toBe('equal to the bit: 4 tensors, 96 parameters');
    expect(verdictOf(files('differs', 'equal', 'onlyInA'))).toMatch(/; file-0, file-2 differ$/);
    expect(verdictOf(files('differs', 'differs', 'differs', 'onlyInB'))).toMatch(
      /; 4 files beside the weights differ$/,
    );
  });
});

describe('the table of layers', () => {
  it('has a column for each matrix and one for the norms, whose largest difference it shows', () => {
    const comparison = comparisonOf(2, (tensor) => {
      if (tensor.layer !== 1) return tensor;
      return tensor.module.startsWith('mlp') ? differs(tensor, null) : differs(tensor, 0.25);
    });
    expect(layerTable(comparison)).toEqual({
      columns: ['q', 'down', 'norms'],
      cells: [
        [0, 0, 0],
        [0.25, 'other', 0.25],
      ],
    });
  });

  it('fits 80 columns, however many modules there are', () => {
    const many = Array.from({ length: 12 }, (_, expert) =>
      differs(
        equal(`model.layers.0.mixer.part${expert}.weight`, 0, `mixer.part${expert}.weight`),
        0.0123 * expert + 1e-6,
      ),
    );
    const text = describeComparison(
      { ...inLayers(0, 3), tensors: [...inLayers(0, 3).tensors, ...many] },
      false,
    );
    const [, table = ''] = text.split('‖a − b‖ / ‖a‖ in per cent');
    const lines = table.split('\n\n')[0]?.split('\n') ?? [];
    expect(lines.length).toBeGreaterThan(4);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(80);
    expect(table).toContain('7 more modules: --json, --out');
  });

  it('fits 80 columns with long names of models, paths and tensors', () => {
    const { a, b, tensors, ...comparison } = inLayers(0, 3);
    const long = (model: typeof a) => ({
      ...model,
      path: `/scratch/${'checkpoints/'.repeat(4)}${model.name}`,
    });
    const renamed = tensors.map((tensor) => ({ ...tensor, name: `model.language_model.${tensor.name}` }));
    const text = describeComparison({ ...comparison, a: long(a), b: long(b), tensors: renamed }, false);
    for (const line of text.split('\n')) expect([...line].length).toBeLessThanOrEqual(80);
    expect(text).toMatch(/^ {2}A +\/scratch\//m);
  });

  it('joins neighbouring layers that are alike', () => {
    const text = describeComparison(inLayers(3), false);
    expect(text).toMatch(/^ {2}0–2 +· +· +·$/m);
    expect(text).toMatch(/^ {2}3 +█ 1\.0 +█ 1\.0 +█ 1\.0$/m);
    expect(text).toMatch(/^ {2}4–7 +· +· +·$/m);
  });
});

describe('the text of a comparison', () => {
  it('says where the first difference is, if few tensors differ', () => {
    const one = comparisonOf(2, (tensor) =>
      tensor.module.startsWith('mlp') && tensor.layer === 1 ? differs(tensor, 4) : tensor,
    );
    const text = describeComparison(one, false);
    expect(text.split('\n')[0]).toBe('1 of 7 tensors differs, in layer 1');
    expect(text).toContain('model.layers.1.mlp.down_proj.weight: first difference at element 7, [1, 1]');
    expect(text).not.toContain('model.layers.0.mlp');
  });

  it('lists every tensor if asked', () => {
    const text = describeComparison(inLayers(1), true);
    for (const { name } of inLayers(1).tensors) expect(text).toContain(name);
  });

  it('lists tensors that cannot be compared, and dtypes', () => {
    const text = describeComparison(
      comparisonOf(1, (tensor) => {
        if (tensor.layer === null) return { ...tensor, state: 'onlyInA', b: null };
        if (tensor.module.startsWith('mlp'))
          return { ...tensor, state: 'otherShape', b: { ...stored, shape: [4, 7] } };
        return { ...tensor, state: 'sameValues', b: { ...stored, dtype: 'F32' } };
      }),
      false,
    );
    expect(text).toMatch(/model\.embed_tokens\.weight +only in A: BF16 \[4, 6\]/);
    expect(text).toMatch(/mlp\.down_proj\.weight +BF16 \[4, 6\] against BF16 \[4, 7\]/);
    expect(text).toContain('2 tensors have another dtype: BF16 against F32');
    expect(text).toContain('(· equal, ≠ differs, but the\ndifference has no number)');
  });

  it('draws no number where a tensor differs without one', () => {
    const { cells } = comparisonPage(
      comparisonOf(1, (tensor) =>
        tensor.module.startsWith('mlp') ? { ...tensor, state: 'onlyInA', b: null } : tensor,
      ),
    );
    expect(cells).toEqual([[0, 'other', 0]]);
  });

  it('says which keys of side files differ', () => {
    const keys = [
      { key: 'rope_theta', a: '10000', b: '500000' },
      { key: 'new', a: null, b: '1' },
      { key: 'long' },
    ];
    const text = describeComparison(
      comparisonOf(1, undefined, {
        sideFiles: [
          { name: 'config.json', state: 'differs', keys },
          { name: 'tokenizer.json', state: 'equal', keys: [] },
        ],
      }),
      false,
    );
    expect(text).toContain('config.json: rope_theta 10000 against 500000; new absent against 1; long');
    expect(text).toContain('other files that are equal: tokenizer.json');
  });
});

const executablePath = process.env['LAYERLOOM_CHROMIUM'] ?? '/usr/bin/chromium';

describe('files of a comparison', () => {
  it('are a picture with a cell for each layer and module, and a table with a line for each tensor', async () => {
    const { root, task, language } = writePair({ layers: 3 });
    const [svg, csv] = [join(root, 'x.svg'), join(root, 'x.csv')];
    const { tensors } = await diff(task, language, { out: svg });
    await diff(task, language, { out: csv });
    const picture = readFileSync(svg, 'utf8');
    expect(picture.match(/data-cell=/g)).toHaveLength(3 * 6);
    expect(picture).toContain('‖a − b‖ / ‖a‖');
    const lines = readFileSync(csv, 'utf8').trim().split('\n');
    expect(lines).toHaveLength(1 + tensors.length);
    const first = tensors[0];
    expect(lines[1]?.split(',')).toEqual(
      expect.arrayContaining([first?.name, 'differs', String(first?.difference?.relative)]),
    );
  });

  // The project does not depend on a browser: .ci/run installs one.
  it.skipIf(!existsSync(executablePath))(
    'are a page that needs no network and breaks no rule of accessibility',
    async () => {
      const { root, task, language } = writePair({ layers: 3 });
      const out = join(root, 'x.html');
      await diff(task, language, { out, only: '*proj*' });
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
      try {
        const page = await browser.newPage();
        const [requests, errors]: [string[], string[]] = [[], []];
        page.on('request', (request) => requests.push(request.url()));
        page.on('pageerror', (error) => errors.push(error.message));
        await page.goto(pathToFileURL(out).href);
        await page.getByLabel('Filter').fill('layers.2 down');
        expect(await page.locator('.data-table tbody tr').count()).toBe(1);
        expect(await page.locator('[data-cell]').count()).toBe(3 * 5);
        expect({ errors, requests }).toEqual({ errors: [], requests: [pathToFileURL(out).href] });
        expect(await violationsOn(page)).toEqual([]);
      } finally {
        await browser.close();
      }
    },
  );
});
