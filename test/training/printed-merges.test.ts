import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  analyze,
  type PartitionParameters,
  partition,
  type TrainingParameters,
  trainInit,
} from '../../src/index.js';
import { Workplace } from '../docs/workplace.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { type LlamaOptions, llamaConfig, type Tensors, writeCheckpoint } from '../fixtures/checkpoints.js';
import { type Family, fineTune, writeFamily } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';

// The commands in a training's README merge as the partition says, bit by bit: the trained tensors, and the
// base's.

let place: Workplace;
beforeAll(() => {
  place = new Workplace();
}, 60_000);
afterAll(() => place.remove());

const commandsIn = (markdown: string): string[] =>
  [...markdown.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) =>
    block.split('\n').filter((line) => line.startsWith('layerloom ')),
  );

interface Expert {
  readonly side: 'task' | 'language';
  readonly tensors: Tensors;
}

const trained = async (
  { root, base }: Family,
  side: Expert['side'],
  parameters: Omit<TrainingParameters, 'preset'>,
  writeModel: (directory: string) => unknown,
) => {
  const out = join(root, `train-${side}`);
  const preset = side === 'task' ? 'math-1' : 'swh-1';
  const { run } = await trainInit({ preset, base, devices: 1, ...parameters }, { out });
  const checkpoint = join(out, 'checkpoints', `checkpoint-${run.steps}`);
  writeModel(checkpoint);
  return { out, checkpoint, commands: commandsIn(readFileSync(join(out, 'README.md'), 'utf8')) };
};

const partlyTrained = (base: Tensors, names: readonly string[], seed: number): Tensors => {
  const whole = fineTune(base, seed);
  return Object.fromEntries(
    Object.entries(base).map(([name, tensor]) => [
      name,
      (names.includes(name) ? whole : base)[name] ?? tensor,
    ]),
  );
};

const type = async (directory: string, lines: readonly string[], other: string): Promise<void> => {
  for (const line of lines) {
    const words = line.replace(/(TASK|LANGUAGE)_EXPERT/, other);
    const { status, stderr } = await place.run(words, directory);
    expect(status, `${words}\n${stderr}`).toBe(0);
  }
};

const partitions: [
  string,
  LlamaOptions,
  (family: Family) => Promise<PartitionParameters> | PartitionParameters,
][] = [
  ['of the default', {}, () => ({})],
  ["of an untied model, what is outside the layers the task's", { tied: false }, () => ({ others: 'task' })],
  [
    'of other layers, norms as what is outside, frozen',
    {},
    () => ({ bottom: 2, top: 1, others: 'neither', norms: 'others' }),
  ],
  [
    'by change',
    { tied: false },
    async ({ root, base, a, b }) => {
      const from = join(root, 'changes');
      await analyze({ base, experts: [`swh=${a}`, `math=${b}`] }, { out: from });
      return { from, language: 'swh', task: 'math', granularity: 'tensor' };
    },
  ],
];

describe.each(partitions)('a partition %s', (_, options, parametersOf) => {
  const written = async () => {
    const family = writeFamily(options);
    const file = join(family.root, 'parts.json');
    const { partition: found } = await partition(family.base, await parametersOf(family), { out: file });
    return { family, file, parts: found.parts };
  };

  const expectParts = async (
    merged: string,
    { parts, family }: Awaited<ReturnType<typeof written>>,
    experts: Readonly<Record<Expert['side'], Tensors>>,
  ) => {
    const found = await readTensors(merged);
    expect(Object.keys(found).sort()).toEqual(Object.keys(family.tensors.base).sort());
    const givers = { language: experts.language, task: experts.task, neither: family.tensors.base };
    for (const part of ['language', 'task', 'neither'] as const)
      for (const name of parts[part])
        expect(Buffer.from(found[name]?.data ?? []), `${name}, of ${part}`).toEqual(
          Buffer.from(givers[part][name]?.data ?? []),
        );
  };

  it('is what freezing, then typing what is printed, gives', async () => {
    const parted = await written();
    const { family, file, parts } = parted;
    const tensors = {
      task: partlyTrained(family.tensors.base, parts.task, 51),
      language: partlyTrained(family.tensors.base, parts.language, 52),
    };
    const config = llamaConfig(options);
    const train = (side: Expert['side']) =>
      trained(family, side, { way: 'freeze', partition: file }, (directory) =>
        writeCheckpoint(directory, { tensors: tensors[side], config }),
      );
    const [task, language] = [await train('task'), await train('language')];
    expect(task.commands).toHaveLength(1);
    await type(task.out, task.commands, language.checkpoint);
    await expectParts(join(task.out, 'merged'), parted, tensors);
    await type(language.out, language.commands, task.checkpoint);
    await expectParts(join(language.out, 'merged'), parted, tensors);
  });

  it('is what training everything, then typing what is printed, gives', async () => {
    const parted = await written();
    const { family, file, parts } = parted;
    const tensors = { task: family.tensors.b, language: family.tensors.a };
    const config = llamaConfig(options);
    const isDefault = Object.keys(await parametersOf(family)).length === 0;
    const train = (side: Expert['side']) =>
      // The first of the commands makes the default partition.
      trained(family, side, { way: 'revert', ...(isDefault ? {} : { partition: file }) }, (directory) =>
        writeCheckpoint(directory, { tensors: tensors[side], config }),
      );
    const [task, language] = [await train('task'), await train('language')];
    expect(task.commands).toHaveLength(isDefault ? 3 : 2);
    await type(language.out, language.commands.slice(0, -1), '');
    await type(task.out, task.commands, join(language.out, 'reverted'));
    for (const [side, { out }] of Object.entries({ task, language })) {
      const reverted = await readTensors(join(out, 'reverted'));
      for (const [name, { data }] of Object.entries(reverted)) {
        const of = parts[side as Expert['side']].includes(name)
          ? tensors[side as Expert['side']]
          : family.tensors.base;
        expect(Buffer.from(data), `${name} of the ${side}'s`).toEqual(Buffer.from(of[name]?.data ?? []));
      }
    }
    await expectParts(join(task.out, 'merged'), parted, tensors);
  });
});

describe('adapters', () => {
  it('trained in their parts are put together by what is printed', async () => {
    const family = writeFamily();
    const file = join(family.root, 'parts.json');
    const { partition: found } = await partition(family.base, { bottom: 2, top: 1 }, { out: file });
    const train = (side: Expert['side'], seed: number) =>
      trained(family, side, { way: 'freeze', method: 'lora', partition: file }, (directory) =>
        writeAdapter(
          directory,
          lora({
            seed,
            shapes: Object.fromEntries(
              found.linear[side].map((module) => [
                module,
                family.tensors.base[`${module}.weight`]?.shape ?? [],
              ]),
            ),
          }),
        ),
      );
    const [task, language] = [await train('task', 3), await train('language', 4)];
    await type(task.out, task.commands, `${family.base}+${language.checkpoint}`);
    const merged = await readTensors(join(task.out, 'merged'));
    for (const [side, run] of Object.entries({ task, language })) {
      const whole = join(family.root, `whole-${side}`);
      await type(run.out, [`layerloom relayout ${family.base}+${run.checkpoint} -o ${whole}`], '');
      const tensors = await readTensors(whole);
      for (const name of found.parts[side as Expert['side']]) expect(merged[name]).toEqual(tensors[name]);
    }
  });
});

describe('what is printed of a run whose model needs no other', () => {
  it('merges nothing', async () => {
    const family = writeFamily();
    const file = join(family.root, 'parts.json');
    await partition(family.base, { bottom: 2, top: 1 }, { out: file });
    const textOf = async (parameters: TrainingParameters, name: string) => {
      const out = join(family.root, name);
      const { next } = await trainInit({ base: family.base, ...parameters }, { out });
      const readme = readFileSync(join(out, 'README.md'), 'utf8');
      expect(readme).toContain(next.text);
      expect(readme).not.toContain('layerloom swap');
      return { next, commands: commandsIn(readme) };
    };
    const both = await textOf({ preset: 'joint', way: 'simultaneous', partition: file }, 'both');
    expect(both).toMatchObject({
      commands: [],
      next: { text: expect.stringContaining('is the merged model') },
    });
    const adapted = { preset: 'joint', way: 'simultaneous', partition: file, method: 'lora' } as const;
    expect((await textOf(adapted, 'adapted')).commands).toEqual([
      expect.stringMatching(/^layerloom relayout \S+\+checkpoints\/checkpoint-20000 -o merged /),
    ]);
    await textOf({ preset: 'math-only' }, 'baseline');
  });
});
