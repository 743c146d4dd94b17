import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkPlan } from '../../src/core/plan/check/check-plan.js';
import { planMerge, runPlan } from '../../src/index.js';
import { temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { encode } from '../fixtures/numbers.js';
import { quantisedLlama, type SchemeName } from '../fixtures/quantised.js';

// JSON plans over quantised tensors: a run does exactly what they say, or refuses.

const [grouped, nested] = ['GPTQ of 4 bits in any order', 'NF4 of bitsandbytes with nested scales'] as const;

const tensor = 'model.layers.1.mlp.down_proj.weight';

const planOf = async (scheme: SchemeName): Promise<string> => {
  const model = writeCheckpoint(join(temporaryDirectory(), 'm'), quantisedLlama(scheme));
  return JSON.stringify(await planMerge({ method: 'relayout', model, dtype: 'float32' }));
};

type Source = Record<string, unknown>;

const tampered = (text: string, change: (source: Source) => object): unknown =>
  JSON.parse(text, (_key, value: unknown) => {
    const planned = value as { name?: unknown; expression?: { terms: { source: Source; weight: number }[] } };
    const [term] = planned?.name === tensor ? (planned.expression?.terms ?? []) : [];
    if (term === undefined) return value;
    const source = { ...term.source, ...change(term.source) };
    return { ...planned, expression: { ...planned.expression, terms: [{ ...term, source }] } };
  });

it.each([
  [grouped, { codes: 'U4', order: 'down', transposed: true, block: [8, 1] }],
  [nested, { codes: 'NF4', order: 'swapped', rows: 1, width: 640, stride: 640, block: [1, 24] }],
  ['int8 of bitsandbytes', { codes: 'I8', after: Math.fround(1 / 127) }],
] as const)('of %s say how codes are written, and are carried out from their text', async (scheme, says) => {
  const text = await planOf(scheme);
  const plan = checkPlan(JSON.parse(text));
  expect(JSON.stringify(plan)).toBe(text);
  const found: unknown[] = [];
  tampered(text, (source) => {
    found.push(source);
    return {};
  });
  expect(found).toEqual([expect.objectContaining(says)]);
  const out = join(temporaryDirectory(), 'out');
  await runPlan(plan, { out });
  const values = encode('F32', quantisedLlama(scheme).values.get(tensor) ?? []);
  expect((await readTensors(out))[tensor]?.data).toEqual(Buffer.from(values));
});

it('of schemes without order, zero points, groups and nested scales say nothing of them', async () => {
  const text = await planOf('FP8 in blocks');
  tampered(text, (source) => {
    expect(Object.keys(source)).toEqual([
      ...['dtype', 'codes', 'rows', 'width', 'stride', 'block', 'transposed', 'of', 'scales'],
    ]);
    return {};
  });
});

const of = (source: Source, key: string): Source => source[key] as Source;

it.each<[string, SchemeName, (source: Source) => object, RegExp]>([
  ['an order that is none', grouped, () => ({ order: 'up' }), /order/],
  ['codes of FP8 in words', grouped, () => ({ codes: 'F8_E4M3' }), /words hold no codes of FP8/],
  ['bytes in the order of halves', grouped, () => ({ codes: 'U8', order: 'interleaved' }), /no order inter/],
  ['rows of no whole word', nested, () => ({ order: 'interleaved', stride: 644 }), /no whole bytes/],
  ['rows that are too short', nested, () => ({ stride: 638 }), /shorter than their elements/],
  ['one code more', nested, () => ({ stride: 642 }), /codes have another length/],
  [
    'fewer zero points',
    grouped,
    (one) => ({ zeros: { ...of(one, 'zeros'), stride: 8 } }),
    /zero points, its rows/,
  ],
  [
    'zero points without a next number',
    grouped,
    (one) => ({ zeros: { ...of(one, 'zeros'), codes: 'NF4' } }),
    /NF4 have no next number/,
  ],
  [
    'more zero points',
    grouped,
    (one) => ({ zeros: { ...of(one, 'zeros'), stride: 24 } }),
    /zero points have another length/,
  ],
  [
    'groups of fewer features',
    grouped,
    (one) => ({ groups: { ...of(one, 'groups'), end: Number(of(one, 'groups')['end']) - 4 } }),
    /groups have another length/,
  ],
  ['groups of another dtype', grouped, (one) => ({ groups: { ...of(one, 'groups'), dtype: 'I32' } }), /I32/],
  ['groups that are nothing', grouped, () => ({ groups: null }), /not a range of a file/],
  [
    'fewer nested scales',
    nested,
    (one) => ({ nested: { ...of(one, 'nested'), block: 1 } }),
    /nested scales have another length/,
  ],
  [
    'nested scales of no block',
    nested,
    (one) => ({ nested: { ...of(one, 'nested'), block: 0 } }),
    /nested\.block/,
  ],
  [
    'an offset of 64 bits',
    nested,
    (one) => ({ nested: { ...of(one, 'nested'), offset: 0.1 } }),
    /nested\.offset/,
  ],
  [
    'numbers elsewhere',
    nested,
    (one) => ({
      nested: { ...of(one, 'nested'), numbers: { ...of(of(one, 'nested'), 'numbers'), end: 2 ** 40 } },
    }),
    /outside its file/,
  ],
  ['a last factor that is none', 'int8 of bitsandbytes', () => ({ after: 'x' }), /after/],
])('with %s are refused', async (_, scheme, change, reason) => {
  const text = await planOf(scheme);
  expect(() => checkPlan(tampered(text, change))).toThrow(
    expect.objectContaining({ code: 'PLAN_INVALID', message: expect.stringMatching(reason) as string }),
  );
});
