import { expect, it } from 'vitest';
import { averagedTensor } from '../../src/core/plan/operands/averaged.js';
import { blockTensor } from '../../src/core/plan/operands/blocks.js';
import { columnTensor } from '../../src/core/plan/operands/columns.js';
import { computedTensor } from '../../src/core/plan/operands/computed.js';
import { doraTensor } from '../../src/core/plan/operands/dora.js';
import { factoredTensor } from '../../src/core/plan/operands/factored.js';
import { gatheredTensor } from '../../src/core/plan/operands/gathered.js';
import { lowRankTensor } from '../../src/core/plan/operands/low-rank.js';
import { multipliedTensor } from '../../src/core/plan/operands/multiplied.js';
import { tensorInPieces } from '../../src/core/plan/operands/pieces.js';
import { pursuedTensor } from '../../src/core/plan/operands/pursued.js';
import { quantisedTensor } from '../../src/core/plan/operands/quantised.js';
import type { PlannedExpression, PlannedTensor, StoredTensor } from '../../src/core/plan/plan.js';
import { type Identify, shardKey } from '../../src/core/plan/shard-key.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';
import type { Sparsifier } from '../../src/index.js';

// Keys name shards in existing stores: these were computed by the first code of version 1.

const stored = (input: number, dtype: StoredTensor['dtype'] = 'BF16'): StoredTensor =>
  storedTensor(input, { file: 0, begin: 128 + input, end: 192 + input, dtype });

const [a, b, c] = [stored(0), stored(1), stored(2, 'F32')];

const identify: Identify = ({ input, file }) => `model ${input} file ${file}`;

const term = (sparsifier: Sparsifier | null, rescale: 'norm' | 'density' | null = null) => ({
  source: b,
  weight: 0.7,
  pruning: sparsifier && { sparsifier, rescale },
});

const consensus = (...terms: ReturnType<typeof term>[]) =>
  ({
    kind: 'consensus',
    base: a,
    terms,
    election: { weighted: true, tie: 'positive' },
    divisor: 'weights',
    scale: 0.6,
  }) as const;

const linear = {
  kind: 'linear',
  terms: [
    { source: a, weight: 0.25 },
    { source: c, weight: 0.75 },
  ],
} as const;

const quantised = quantisedTensor(
  0,
  { file: 0, begin: 128, end: 160, dtype: 'BF16', shape: [4, 8] },
  {
    ...{ codes: 'F8_E4M3', rows: 4, width: 8, stride: 8, block: [2, 4], transposed: false },
    scales: { file: 0, begin: 160, end: 176, dtype: 'F32', shape: [2, 2] },
    factor: { kind: 'divisor', of: { file: 0, begin: 176, end: 180, dtype: 'F32', shape: [] } },
    parts: new Map(),
  },
);

const inBlocks = blockTensor(
  0,
  { file: 0, begin: 128, end: 164, dtype: 'BF16', shape: [2, 32] },
  { type: 'Q4_0', width: 32, head: 2, plus: -1 },
);

const inWords = quantisedTensor(
  0,
  { file: 0, begin: 128, end: 144, dtype: 'BF16', shape: [4, 8] },
  {
    ...{ codes: 'U4', order: 'down', rows: 8, width: 4, stride: 4, block: [4, 1], transposed: true },
    scales: { file: 0, begin: 160, end: 168, dtype: 'U8', shape: [2, 4] },
    zeros: {
      ...{ codes: 'U4', order: 'interleaved', stride: 8, oneMore: true },
      of: { file: 0, begin: 144, end: 152, dtype: 'I32', shape: [2, 1] },
    },
    groups: { file: 0, begin: 200, end: 232, dtype: 'I32', shape: [8] },
    nested: {
      ...{ block: 4, offset: 0.5 },
      numbers: { file: 0, begin: 1000, end: 2024, dtype: 'F32', shape: [256] },
      scales: { file: 0, begin: 232, end: 240, dtype: 'F32', shape: [2] },
    },
    after: 0.25,
    parts: new Map(),
  },
);

const golden: readonly (readonly [name: string, expression: PlannedExpression, key: string])[] = [
  ['copy', { kind: 'copy', source: a }, 'b958caf5a63221307aa68980ff63bf40c74b382458709d763751cb132345d274'],
  [
    'same',
    { kind: 'same', sources: [a, b] },
    '5346aaceef75c588bf37fdd316a9edbb89e9bcc1eca7eb1d298dcd5056044caa',
  ],
  ['linear', linear, '8a855e1a4783e09c6d38710db51da92887f0ca5f3cf2ac0cc8f94d60b2969c0f'],
  [
    'rowSelect',
    { kind: 'rowSelect', source: a, base: b, rows: 'input', kept: 'Bg==' },
    'c03c16dc6ae7f741dd8cac78c8e9e201cf7672534622a6d9a62d6f3d1cc61390',
  ],
  [
    'gram of tensors',
    { kind: 'gram', rule: 'slerp', origin: null, sources: [a, b], of: 'tensor', parameters: { t: 0.3 } },
    '05837fe2cff16c2da692e49c4c53817fbec5991d9431b45e3de9dce24966d7ab',
  ],
  [
    'gram of rows',
    {
      kind: 'gram',
      rule: 'multislerp',
      origin: a,
      sources: [b, c],
      of: 'output',
      parameters: { weights: [1, 2], normalizeWeights: true, eps: 1e-8 },
    },
    '1daba8a7b402a68b221a1d743f95f7116c3e850c8ca1bde55997b8fb0cb0f220',
  ],
  [
    'consensus of whole changes',
    { kind: 'consensus', base: a, terms: [term(null)], election: null, divisor: 'none', scale: 1 },
    '5f07ec4db3612be9f0f3c7ae3273ed37edb0488096e26926ca95b4d28396d23b',
  ],
  [
    'consensus by magnitude',
    consensus(
      term({ by: 'magnitude', density: 0.5, least: 1 }),
      term({ by: 'magnitude', density: 0.2, least: 0 }, 'norm'),
    ),
    '6ab3d059a64d0b5bc5a5342a6ee3e551e24abf1c0b09c2bb1e3f2b4497152c76',
  ],
  [
    'consensus by outliers',
    consensus(term({ by: 'outliers', density: 0.5, gamma: 0.01 })),
    'c191c9d0d7cc4a15473cf2b2d8b037ad13bbbc94838946579d9c04b01f0ea47e',
  ],
  [
    'consensus by chance',
    consensus(term({ by: 'random', density: 0.5, seed: '3/x/0' }, 'density')),
    '14237472a622678314820696f60ffb106b8b8f0ec727d95c7682b15dea16f1b2',
  ],
  [
    'consensus by rank',
    consensus(term({ by: 'rank', density: 0.5, epsilon: 0.15, seed: '3/x/0' })),
    'd8d8d4ae38732ad0883620dc1a7fb8a7408bbc6a1fe7005915da626d87bbb98b',
  ],
  [
    'consensus by threshold',
    {
      ...consensus(term({ by: 'threshold', atLeast: 0.001 })),
      election: { weighted: false, tie: 'negative' },
      divisor: 'count',
    },
    '3789e48fdf9161b4431e59a477ddba8eebca8a92b0f5f4b4babdc7a653513c9f',
  ],
  [
    'sce',
    { kind: 'sce', base: a, sources: [b, c], share: 0.3 },
    '0628193535bedb9a1793958e9b679fe3e9679f1136c7f7bd5c4722e6638c3973',
  ],
  [
    'nearSwap',
    { kind: 'nearSwap', base: a, source: b, t: 0.002 },
    'b5e63d0fec6923e58c92e164b0de26ce778f5b2695c8ee919ed9cb4da7d5245e',
  ],
  [
    'fisher',
    {
      kind: 'fisher',
      terms: [
        { source: a, importance: c, weight: 0.25 },
        { source: b, importance: c, weight: 0.75 },
      ],
      eps: 1e-6,
    },
    'c64a784929d2cdfa57966dcaed1fa0ec9a90b629a08c2dbdc2b1db13d76ad140',
  ],
  [
    'regMean',
    {
      kind: 'regMean',
      terms: [
        { source: a, gram: c, weight: 0.25 },
        { source: b, gram: c, weight: 0.75 },
      ],
      scaling: 0.9,
      ridge: 0,
    },
    '1753f72e09fbfba624f2b555f366a5da9c5a0ea9f997770c01beb27a168e6a53',
  ],
  [
    'spectral',
    { kind: 'spectral', rule: 'iso_c', base: a, sources: [b, c], scale: 0.5 },
    '288be04c595dbdda2eae75aa8a8b0379ed595e5ee8b7cf339d2dc2b037f77c77',
  ],
  [
    'ram',
    { kind: 'ram', base: a, sources: [b, c], epsilon: 0.001, bonus: { rate: 0.1, most: 0.2 } },
    'e58a63a2c91773a90501d4e387b32cbff38e5c925c229b2a4be03f0754e0fb8d',
  ],
  [
    'fusion',
    { kind: 'fusion', base: a, source: b },
    '417f11eaee971b7f8dc6b86150cc79bcc1af7eef70c619c4a831e6049cb7cfc7',
  ],
  [
    'assemble',
    {
      kind: 'assemble',
      parts: [
        { source: gatheredTensor(4, [[0, 1, 2]], a), rows: [[0, 2]] },
        { source: b, rows: [[2, 2]] },
      ],
    },
    '59323d9815c136e5b8f58caa29b9d6068576e86c1ef5de6f65b2d23362d1f279',
  ],
  [
    'a tensor in pieces',
    {
      kind: 'linear',
      terms: [
        {
          source: tensorInPieces(0, { dtype: 'F32', shape: [2, 3] }, [
            { file: 0, begin: 8, end: 24, at: [0, 0], sizes: [2, 2] },
            { file: 1, begin: 9, end: 17, at: [0, 2], sizes: [2, 1] },
          ]),
          weight: 1,
        },
      ],
    },
    '508bf1e832e0fe3fbf80cd796e24a40c173d9874161b832c67ef61559fee9f7c',
  ],
  [
    'a Kronecker product',
    {
      kind: 'linear',
      terms: [
        { source: a, weight: 1 },
        {
          source: factoredTensor({
            kronecker: true,
            factors: [
              [{ form: 'diagonal', rows: 2, columns: 2, stride: 1, source: b }],
              [
                { form: 'matrix', rows: 2, columns: 3, stride: 4, source: c },
                { form: 'transposed', rows: 3, columns: 4, stride: 3, source: c },
              ],
            ],
          }),
          weight: 0.5,
        },
      ],
    },
    '89a5429d4c08cd182865dae898a991d3847ff2bb6f7aa8213758209cb6022f05',
  ],
  [
    'a matrix by scales, rotations and reflections',
    {
      kind: 'linear',
      terms: [
        {
          source: multipliedTensor({
            dtype: 'BF16',
            tensor: a,
            multipliers: [
              { by: 'scales', rows: 'input', source: b },
              {
                ...{ by: 'blocks', size: 2, blocks: 4, skew: 'whole', terms: 5, limit: 0.5 },
                butterfly: { stage: 1, stages: 2 },
                source: c,
              },
              { by: 'reflections', vectors: 2, orthogonal: true, source: c },
            ],
          }),
          weight: 1,
        },
      ],
    },
    'f8b2bb0ec259a685a2aca64a0954adc29349a020297aaa72450aa1403f8a024a',
  ],
  [
    'padRows',
    { kind: 'padRows', source: a, from: 3 },
    '2d07817ee07916e23d8ba2760b3317b49448f5381afdb12555fea3785ead7475',
  ],
  [
    'concatenate',
    {
      kind: 'concatenate',
      along: 'columns',
      parts: [
        {
          source: columnTensor({ columns: 4, first: 0, count: 3 }, a),
          count: 3,
          factor: 1,
          weight: 0.5,
        },
        {
          source: columnTensor({ columns: 4, first: 3, count: 1 }, b),
          count: 1,
          factor: 2,
          weight: 0.5,
        },
      ],
    },
    'c19d5c171f68b0b424dabfe1a2ef269eaf847de6f3f8419a8f249e80bda9cacb',
  ],
  [
    'factor',
    {
      kind: 'factor',
      of: 'model.layers.0.mlp.up_proj.weight',
      side: 'left',
      shape: [4, 16],
      terms: [
        { source: lowRankTensor({ rank: 2, transposed: false, a, b }), coefficient: 1.5, weight: 0.5 },
        { source: lowRankTensor({ rank: 2, transposed: false, a: b, b: a }), coefficient: 1, weight: 0.5 },
      ],
    },
    '02a1e2b1caa4049a11965c542d5e242b240a8a0d8d3913f853eb421fe5036404',
  ],
  [
    'a matrix with a DoRA adapter',
    {
      kind: 'linear',
      terms: [
        {
          source: doraTensor({
            ...{ dtype: 'BF16', tensor: a, scale: 0.5, magnitudes: c },
            product: lowRankTensor({ rank: 2, transposed: false, a, b }),
          }),
          weight: 1,
        },
      ],
    },
    'de3a644b629bc2e08c8be5c00489ca23cdb8eed6edcc69ee9c25ce70a6f91717',
  ],
  [
    'a recipe in a recipe',
    {
      kind: 'linear',
      terms: [
        { source: computedTensor('F32', linear), weight: 0.5 },
        { source: b, weight: 0.5 },
      ],
    },
    '0a4a3beaf67227451ce9cfc2d436aacf8307d34ba8d700a9ada9142fa8321548',
  ],
  [
    'a recipe in a formula',
    {
      kind: 'nearSwap',
      base: computedTensor('BF16', {
        kind: 'sce',
        base: a,
        sources: [computedTensor('F16', linear)],
        share: 1,
      }),
      source: b,
      t: 1,
    },
    '4c3be9dceaf0f85105cfb8e1c7789be7af0f108c739ff1ce5f4429d47f04a4b2',
  ],
  [
    'a copy in a formula',
    { kind: 'fusion', base: computedTensor('BF16', { kind: 'copy', source: a }), source: b },
    'b81bd3e5fe7fcf2ea7c6e8e9c46375dcb41282976d3904ecf471d3b1bf22046e',
  ],
  [
    'a quantised tensor',
    { kind: 'linear', terms: [{ source: quantised, weight: 1 }] },
    '1924f8cbb16f60d1332ef07d2ada086d5b362b407c0dfb928ceeb103eab45246',
  ],
  [
    'random numbers',
    { kind: 'random', distribution: 'uniform', scale: 0.25, seed: '0/gate', onto: null },
    'bd6b07f2312088eba194ccb38c98cc193d5c70cf209288c3f75d14d87d737c92',
  ],
  [
    'random numbers added to a tensor',
    { kind: 'random', distribution: 'normal', scale: 0.01, seed: '3/w1', onto: { source: a, weight: 0.5 } },
    '883e0c2006965f4943ede5f23c6f262eb03d8360df3d6552f405e5ceb59c840e',
  ],
  [
    'codes',
    {
      kind: 'quantise',
      of: 'w',
      part: 'codes',
      scheme: 'int8',
      shape: [4, 8],
      block: [1, 8],
      source: a,
      base: b,
    },
    'ba3df36f071fb1b626949e70e37a9a75568e00cdd7c3675d940c4d34a5f73b34',
  ],
  [
    'a quantised tensor in words',
    { kind: 'linear', terms: [{ source: inWords, weight: 1 }] },
    '16cf7140f17a4e9d2199f25e67212f7a5deb78c11303d9dacc321c74117cf17b',
  ],
  [
    'a tensor in blocks',
    { kind: 'linear', terms: [{ source: inBlocks, weight: 1 }] },
    'c24246cc545d405c9b2a61140f5b9219d9dcc2f4bfd06eec04acbd02dcedaf6e',
  ],
  [
    'rows approximated as in another tensor',
    {
      kind: 'linear',
      terms: [
        {
          source: pursuedTensor({
            ...{ rows: 4, k: 2, tokens: [[1, 2, 2]], shared: [[0, 0, 1]], source: a, donor: b, width: 8 },
          }),
          weight: 1,
        },
      ],
    },
    'db361a24c5d5a95ebf43e499bb08cf38e25ce21963287e0cd61c90c0ae134fdd',
  ],
  [
    'means of rows',
    { kind: 'linear', terms: [{ source: averagedTensor(4, [[1, 0, 2]], a), weight: 1 }] },
    'f1daf402344a32af349810fd3963696cc78cf0ea6f27b90201917aae2bb8740e',
  ],
  [
    'the mean of all rows',
    { kind: 'linear', terms: [{ source: averagedTensor(4, 'all', a), weight: 1 }] },
    '57b8394448f0d5625d83882e1d0d77fc3be2c50f3cb9a76ff5797601e3e7fe91',
  ],
];

const tensorOf = (name: string, expression: PlannedExpression): PlannedTensor => ({
  name: `model.layers.0.${name}`,
  dtype: 'BF16',
  shape: [4, 8],
  begin: 0,
  end: 64,
  layer: 0,
  expression,
});

it.each(golden)('gives a shard of one tensor the key it always had: %s', (name, expression, key) => {
  expect(shardKey([tensorOf(name, expression)], identify)).toBe(key);
});

it('gives a shard of several tensors the key it always had, in the order of the file', () => {
  const since = [
    'fisher',
    'regMean',
    'spectral',
    'ram',
    'assemble',
    'padRows',
    'concatenate',
    'factor',
    'a matrix with a DoRA adapter',
    'a quantised tensor',
    'random numbers',
    'random numbers added to a tensor',
    'codes',
    'a quantised tensor in words',
    'a tensor in blocks',
    'rows approximated as in another tensor',
    'means of rows',
    'a tensor in pieces',
    'a Kronecker product',
    'a matrix by scales, rotations and reflections',
    'the mean of all rows',
  ];
  const tensors = golden
    .filter(([name]) => !since.includes(name))
    .map(([name, expression]) => tensorOf(name, expression));
  expect(shardKey(tensors, identify)).toBe(
    'e85520ef155c81bffc8f0e18bfea7dfd0839040f16278319db66ab7712a3ad64',
  );
  expect(shardKey(tensors.toReversed(), identify)).not.toBe(shardKey(tensors, identify));
});

it('gives other inputs another key', () => {
  const tensors = [tensorOf('linear', linear)];
  const other: Identify = ({ input }) => `model ${input === 2 ? 3 : input} file 0`;
  expect(shardKey(tensors, other)).not.toBe(shardKey(tensors, identify));
});
