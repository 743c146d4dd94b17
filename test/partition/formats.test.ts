import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { valueAt } from '../../src/core/base/errors/lookup.js';
import type { AnalysedExpert } from '../../src/core/measure/partition/analysed-expert.js';
import { formatPartition } from '../../src/core/measure/partition/formats/index.js';
import type { PartitionFormat } from '../../src/core/measure/partition/formats/names.js';
import {
  adaptedBy,
  granularities,
  type Partition,
  type PartitionBase,
  partNames,
  type Side,
  sides,
  trainedBy,
} from '../../src/core/measure/partition/partition.js';
import { partitionOf } from '../../src/core/measure/partition/partition-of.js';
import { patternsOf } from '../../src/core/measure/partition/regexes.js';
import { generator } from '../fixtures/numbers.js';
import { baseOf, bases, layers, modulesOf, namesOf } from './bases.js';
import { axolotlTrains, llamaFactoryTrains, peftAdapts } from './trainers.js';

/** Experts of a base with random changes of few values, so that many are tied. */
const randomExpert = ({ checkpoint }: PartitionBase, name: string, seed: number): AnalysedExpert => {
  const random = generator(seed);
  return {
    name,
    file: `${name}.json`,
    base: { name: 'base', path: '/base', files: [] },
    tensors: Object.fromEntries(
      [...checkpoint.tensors.keys()].flatMap((tensor) =>
        random() < 0.1
          ? []
          : [
              [
                tensor,
                {
                  rows: 2,
                  parametersPerRow: 4,
                  layer: null,
                  module: tensor,
                  meanMav: 1 + Math.floor(random() * 4),
                  nonFiniteRows: 0,
                },
              ],
            ],
      ),
    ),
  };
};

const location = fc
  .tuple(fc.nat(layers), fc.nat(layers), fc.constantFrom(...partNames), fc.constantFrom('layer', 'others'))
  .filter(([bottom, top]) => bottom + top <= layers)
  .map(
    ([bottom, top, others, norms]) =>
      (base: PartitionBase) =>
        partitionOf(base, { bottom, top, others, norms: norms as 'layer' }),
  );

const analysis = fc
  .tuple(
    fc.integer(),
    fc.constantFrom(...granularities),
    fc.option(fc.constantFrom(...partNames), { nil: undefined }),
  )
  .map(
    ([seed, granularity, others]) =>
      (base: PartitionBase) =>
        partitionOf(base, {
          experts: {
            language: randomExpert(base, 'swh', seed),
            task: randomExpert(base, 'math', seed + 1),
          },
          granularity,
          others,
        }),
  );

const any = fc.oneof(location, analysis);

const textOf = (partition: Partition, format: PartitionFormat, side: Side): string | undefined => {
  try {
    return formatPartition(partition, format).files.find(({ name }) => name.startsWith(`${side}.`))?.text;
  } catch (error) {
    if (error instanceof LayerloomError && error.code === 'PARTITION_UNSUPPORTED') return undefined;
    throw error;
  }
};

const runs = { numRuns: 25 };

describe.each(bases)('%s', (_, base) => {
  const all = [...base.checkpoint.tensors.keys()].sort();

  it('is divided into parts that have every parameter once', () => {
    fc.assert(
      fc.property(any, (find) => {
        const partition = find(base);
        expect(namesOf(partition)).toEqual(all);
        const elements = partNames.reduce((sum, part) => sum + partition.parameters[part], 0);
        const counted = [...base.checkpoint.tensors.values()].map(({ shape }) =>
          shape.reduce((a, b) => a * b, 1),
        );
        expect(elements).toBe(counted.reduce((a, b) => a + b, 0));
      }),
      runs,
    );
  });

  it('has regular expressions that match the part of each side and nothing else', () => {
    fc.assert(
      fc.property(any, (find) => {
        const partition = find(base);
        for (const part of partNames) {
          const patterns = patternsOf(partition, partition.parts[part]).map((pattern) => new RegExp(pattern));
          const matched = all.filter((name) => patterns.some((pattern) => pattern.test(name)));
          expect(matched).toEqual([...partition.parts[part]].sort());
        }
      }),
      runs,
    );
  });

  it('is unfrozen by axolotl, and adapted by PEFT, as the partition says', () => {
    fc.assert(
      fc.property(any, (find) => {
        const partition = find(base);
        for (const side of sides) {
          const trained = [...trainedBy(partition, side)].sort();
          const axolotl = textOf(partition, 'axolotl', side);
          if (axolotl === undefined) expect(trained).toEqual([]);
          else expect(axolotlTrains(parse(axolotl).unfrozen_parameters, all)).toEqual(trained);
          const peft = textOf(partition, 'peft', side);
          const adapted = [...adaptedBy(partition, side)].sort();
          if (peft === undefined) expect(adapted).toEqual([]);
          else expect(peftAdapts(JSON.parse(peft), modulesOf(all)).sort()).toEqual(adapted);
        }
      }),
      runs,
    );
  });

  it('is trained by LLaMA-Factory as the partition says, or with less outside the layers, or refused', () => {
    fc.assert(
      fc.property(any, (find) => {
        const partition = find(base);
        for (const side of sides) {
          const text = textOf(partition, 'llama-factory', side);
          if (text === undefined) continue;
          const trains = llamaFactoryTrains(parse(text), all, layers);
          const trained = trainedBy(partition, side);
          expect(trained).toEqual(expect.arrayContaining(trains));
          const left = trained.filter((name) => !trains.includes(name));
          const { warnings } = formatPartition(partition, 'llama-factory');
          for (const name of left) {
            expect(base.architecture.places.get(name)?.layer).toBeUndefined();
            expect(warnings.join()).toContain(name);
          }
        }
      }),
      runs,
    );
  });
});

describe('llama', () => {
  const base = valueAt(new Map(bases), 'llama');

  it('is written with short names for PEFT where layers are whole', () => {
    const partition = partitionOf(base, { bottom: 1, top: 1 });
    expect(JSON.parse(textOf(partition, 'peft', 'language') ?? '')).toEqual({
      target_modules: ['down_proj', 'gate_proj', 'up_proj', 'k_proj', 'o_proj', 'q_proj', 'v_proj'],
      layers_to_transform: [0, 11],
      layers_pattern: 'layers',
    });
    expect(textOf(partition, 'axolotl', 'language')).toBe(
      'unfrozen_parameters:\n  - ^lm_head.weight$\n  - ^model.embed_tokens.weight$\n  - ^model.norm.weight$\n  - ^model.layers.(0|11).\n',
    );
    expect(textOf(partition, 'regex', 'task')).toBe('^model\\.layers\\.(1|2|3|4|5|6|7|8|9|10)\\.\n');
  });

  it('is written for LLaMA-Factory where a part is an end, with extra modules that no other name contains', () => {
    const partition = partitionOf(base, { bottom: 5, top: 0 });
    expect(parse(textOf(partition, 'llama-factory', 'language') ?? '')).toEqual({
      finetuning_type: 'freeze',
      freeze_trainable_layers: -5,
      freeze_trainable_modules: 'all',
      freeze_extra_modules: 'lm_head,embed_tokens',
    });
    expect(parse(textOf(partition, 'llama-factory', 'task') ?? '')).toEqual({
      finetuning_type: 'freeze',
      freeze_trainable_layers: 7,
      freeze_trainable_modules: 'all',
    });
    expect(formatPartition(partition, 'llama-factory').warnings).toEqual([
      expect.stringContaining('leave model.norm.weight of the language frozen'),
    ]);
    expect(() => formatPartition(partitionOf(base, {}), 'llama-factory')).toThrow(/`top: 0` or `bottom: 0`/);
  });

  it('has regular expressions for modules that differ from layer to layer', () => {
    const experts = { language: randomExpert(base, 'swh', 1), task: randomExpert(base, 'math', 2) };
    const config = JSON.parse(textOf(partitionOf(base, { experts }), 'peft', 'task') ?? '');
    expect(Object.keys(config)).toEqual(['target_modules']);
    expect(config.target_modules).toMatch(/^model\\\.layers\\\./);
  });
});

it('gives PEFT the attention of a mixture only, as names, and warns; other families have no warning', () => {
  for (const [family, base] of bases) {
    const { warnings } = formatPartition(partitionOf(base, { bottom: 2, top: 1 }), 'peft');
    expect(warnings.length, family).toBe(family === 'mixtral' ? 2 : 0);
  }
  const mixture = valueAt(new Map(bases), 'mixtral');
  const config = JSON.parse(textOf(partitionOf(mixture, { bottom: 2, top: 1 }), 'peft', 'task') ?? '');
  expect([...config.target_modules].sort()).toEqual(['k_proj', 'o_proj', 'q_proj', 'v_proj']);
  const experts = { language: randomExpert(mixture, 'swh', 1), task: randomExpert(mixture, 'math', 2) };
  const byModule = JSON.parse(textOf(partitionOf(mixture, { experts }), 'peft', 'task') ?? '');
  // PEFT would read a regular expression as the last parts of names, in every layer.
  expect(byModule.target_modules).toEqual(
    expect.arrayContaining([expect.stringMatching(/^model\.layers\.\d+\.self_attn\.\w_proj$/)]),
  );
});

it('writes names of strangers into Python as text only', () => {
  const names = ['model.layers.0.mlp."]}; import os #.weight', 'x"\n\nimport os\n.weight', 'ends.with\\'];
  const base = baseOf(Object.fromEntries(names.map((name) => [name, [4, 4]])));
  const { files } = formatPartition(partitionOf(base, { bottom: 0, top: 0, norms: 'others' }), 'python');
  const text = files[0]?.text ?? '';
  // Such a name may occur only inside Python strings.
  expect(text.replaceAll(/r"[^"\n]*"|"([^"\\\n]|\\.)*"/g, '')).not.toContain('import os');
  expect(text).toContain('import os');
});
