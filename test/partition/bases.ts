import { type Partition, type PartitionBase, partNames } from '../../src/core/measure/partition/partition.js';
import { describeArchitecture } from '../../src/core/models/architecture/architecture.js';
import type { CheckpointIndex } from '../../src/core/models/checkpoint/checkpoint.js';
import { familyFixture } from '../fixtures/families.js';

export const baseOf = (
  shapes: Readonly<Record<string, readonly number[]>>,
  config: Record<string, unknown> = {},
): PartitionBase => {
  const checkpoint: CheckpointIndex = {
    name: 'base',
    path: '/base',
    files: [],
    metadata: [],
    tensors: new Map(
      Object.entries(shapes).map(([name, shape]) => [
        name,
        { file: 0, begin: 0, end: 0, dtype: 'BF16', shape },
      ]),
    ),
    config,
    sideFiles: [],
    warnings: [],
  };
  return { checkpoint, architecture: describeArchitecture(checkpoint) };
};

/** A family's shapes with its second layer repeated until there are `layers`. */
const deepened = (shapes: Readonly<Record<string, readonly number[]>>, layers: number) => {
  const deep: Record<string, readonly number[]> = { ...shapes };
  for (const [name, shape] of Object.entries(shapes)) {
    const [, before, after] = /^(.*(?:layers|h)\.)1(\..+)$/.exec(name) ?? [];
    if (before === undefined || /vision|visual/.test(name)) continue;
    for (let layer = 2; layer < layers; layer += 1) deep[`${before}${layer}${after}`] = shape;
  }
  return deep;
};

export const layers = 12;

/** Decoders whose layers are alike. */
const of = [
  ...[
    'llama-tied',
    'llama',
    'mistral',
    'qwen2',
    'qwen3',
    'gemma2',
    'gemma3',
    'phi3',
    'gpt-neox',
    'falcon',
    'mixtral',
  ],
  ...['olmo2', 'gemma3-multimodal', 'qwen2.5-vl'],
];

/** Bases of families that transformers saved for the fixtures, with twelve layers each; and GPT-2's names. */
export const bases: readonly (readonly [family: string, base: PartitionBase])[] = [
  ...of.map((family) => {
    const { shapes, config } = familyFixture(family);
    return [family, baseOf(deepened(shapes, layers), config)] as const;
  }),
  [
    'gpt2',
    baseOf({
      'transformer.wte.weight': [64, 32],
      'transformer.wpe.weight': [64, 32],
      ...Object.fromEntries(
        Array.from({ length: layers }, (_, layer) =>
          Object.entries({
            'ln_1.weight': [32],
            'ln_1.bias': [32],
            'attn.c_attn.weight': [32, 96],
            'attn.c_attn.bias': [96],
            'attn.c_proj.weight': [32, 32],
            'ln_2.weight': [32],
            'mlp.c_fc.weight': [32, 128],
            'mlp.c_proj.weight': [128, 32],
          }).map(([module, shape]) => [`transformer.h.${layer}.${module}`, shape]),
        ).flat(),
      ),
      'transformer.ln_f.weight': [32],
    }),
  ],
];

/** Names of a partition's parameters, in an order that does not reveal parts. */
export const namesOf = ({ parts }: Partition): string[] => partNames.flatMap((part) => parts[part]).sort();

export const modulesOf = (names: readonly string[]): string[] => [
  ...new Set(
    names.flatMap((name) =>
      name
        .split('.')
        .slice(0, -1)
        .map((_, index, steps) => steps.slice(0, index + 1).join('.')),
    ),
  ),
];
