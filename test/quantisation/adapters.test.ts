import { join } from 'node:path';
import { expect, it } from 'vitest';
import { adalora } from '../../src/core/models/adapters/kinds/adalora.js';
import { checkStored } from '../../src/core/models/adapters/tuned-tensor.js';
import { planMerge, relayout } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { fill, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { decode } from '../fixtures/numbers.js';
import { quantisedLlama } from '../fixtures/quantised.js';

it('refuses DoRA over a quantised base, and takes it over the base that the message has dequantised', async () => {
  const root = temporaryDirectory();
  const [base, adapter, out] = ['base', 'adapter', 'out'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  writeCheckpoint(base, quantisedLlama('FP8 in blocks'));
  writeAdapter(adapter, lora({ shapes: llamaShapes({ layers: 5 }), config: { use_dora: true } }));
  const refused = planMerge({ method: 'relayout', model: `${base}+${adapter}` });
  await expect(refused).rejects.toMatchObject({
    code: 'ADAPTER_UNSUPPORTED',
    message: expect.stringContaining(`layerloom relayout ${base} --dtype bfloat16 -o DIR`) as string,
  });
  await relayout({ model: base, dtype: 'bfloat16' }, { out });
  await expect(planMerge({ method: 'relayout', model: `${out}+${adapter}` })).resolves.toBeDefined();
});

it.each([
  ['quantised', { quantised: {} }],
  ['in pieces', { pieces: [] }],
])('says that the base is %s, and what the adapter does to it', (state, reference) => {
  const adapter = { config: { kind: { noSum: adalora.noSum } }, checkpoint: { path: './adapter' } };
  expect(() =>
    checkStored({ path: './base' } as never, adapter as never, 'q_proj', reference as never),
  ).toThrow(
    `./adapter: tensor q_proj is ${state} in the base, and the adapter's change has a third factor (AdaLoRA); write the base first`,
  );
});

it('adds an adapter of experts to quantised ones, as to the values that they are', async () => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), quantisedLlama('MXFP4 of experts'));
  const shapes = Object.fromEntries(
    Array.from({ length: 5 }, (_, layer) => `base_model.model.model.layers.${layer}.mlp.experts`).flatMap(
      (at) => [
        // From [2, 64, 6] and [2, 32, 10], stored as [in, out]: 3 ranks of 2 experts.
        [`${at}.base_layer.lora_A.weight`, [6, 64]] as const,
        [`${at}.base_layer.lora_B.weight`, [6, 6]] as const,
        [`${at}.lora_A.weight`, [6, 32]] as const,
        [`${at}.lora_B.weight`, [10, 6]] as const,
      ],
    ),
  );
  const adapter = writeAdapter(join(root, 'lora'), {
    tensors: fill(shapes, 'F32', 3),
    config: {
      peft_type: 'LORA',
      r: 3,
      lora_alpha: 2,
      target_modules: ['q_proj'],
      target_parameters: ['gate_up_proj', 'down_proj'],
      peft_version: '0.21.2',
    },
  });
  const plain = await relayout({ model: base, dtype: 'float32' }, { out: join(root, 'plain') });
  const sum = await relayout({ model: `${plain.out}+${adapter}` }, { out: join(root, 'sum') });
  const [found, expected] = [
    // The sum is rounded once, to bfloat16.
    await relayout({ model: `${base}+${adapter}` }, { out: join(root, 'found') }),
    await relayout({ model: sum.out, dtype: 'bfloat16' }, { out: join(root, 'expected') }),
  ].map(({ out }) => out) as [string, string];
  const [before, one, other] = [
    await readTensors(plain.out),
    await readTensors(found),
    await readTensors(expected),
  ];
  const name = 'model.layers.3.mlp.experts.gate_up_proj';
  expect(decode('BF16', other[name]?.data as Uint8Array)).not.toEqual(
    decode('F32', before[name]?.data as Uint8Array),
  );
  for (const [tensor, { data }] of Object.entries(other))
    expect([tensor, Buffer.from(one[tensor]?.data ?? [])]).toEqual([tensor, Buffer.from(data)]);
});
