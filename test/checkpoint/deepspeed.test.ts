import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { diff, merge, openCheckpoint, type RecipeInput, relayout, soup } from '../../src/index.js';
import { fill, llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { weightsIn } from '../fixtures/contents.js';
import { writeZero, type ZeroFixture, zeroFiles } from '../fixtures/deepspeed-files.js';
import { changed } from '../fixtures/distributed-mutations.js';
import { generator } from '../fixtures/numbers.js';
import { pickle } from '../fixtures/torch-files.js';

const made = llama({ dtype: 'F32', layers: 2 });

const q = 'model.layers.0.self_attn.q_proj.weight';

const write = (fixture: Partial<ZeroFixture> = {}): string =>
  writeZero(join(temporaryDirectory(), 'run'), { ...made, stage: 2, world: 2, ...fixture });

const step = (run: string, name = ''): string => join(run, 'global_step7', name);

const plain = (tensors = made.tensors): string =>
  writeCheckpoint(join(temporaryDirectory(), 'run'), { ...made, tensors });

const refused = async (run: string, code: string, message: RegExp) =>
  expect(openCheckpoint(run)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });

describe.each([
  [1, 1],
  [2, 2],
  [2, 3],
  [2, 7],
  [3, 1],
  [3, 2],
  [3, 3],
  [3, 7],
] as const)('a checkpoint of ZeRO, stage %i of %i ranks', (stage, world) => {
  it('is the model whose float32 weights are in safetensors', async () => {
    for (const more of [{}, { most: 101 }, { padding: 3 }]) {
      const model = write({ stage, world, ...more });
      expect((await diff(model, plain())).equal).toBe(true);
      const [one, other] = [join(temporaryDirectory(), 'out'), join(temporaryDirectory(), 'out')];
      await relayout({ model }, { out: one });
      await relayout({ model: plain() }, { out: other });
      expect(weightsIn(one).equals(weightsIn(other))).toBe(true);
    }
  });

  it('has frozen parameters and buffers in their own dtypes, and shared ones under each name', async () => {
    const tensors = {
      ...made.tensors,
      ...fill({ [q]: made.tensors[q]?.shape ?? [] }, 'BF16', 4),
      ...fill({ steps: [3], 'model.scale': [5, 2] }, 'F16', 5),
      ...fill({ 'model.layers.0.other.weight': [3, 5] }, 'F32', 6),
    };
    const twin = { 'model.layers.1.other.weight': 'model.layers.0.other.weight' };
    const other = tensors['model.layers.0.other.weight'];
    if (other === undefined) throw new Error('there is no such tensor');
    const model = write({
      ...{ stage, world, tensors, shared: twin },
      ...{ frozen: [q], buffers: ['steps', 'model.scale'] },
    });
    const whole = { ...tensors, 'model.layers.1.other.weight': other };
    expect((await diff(model, plain(whole))).equal).toBe(true);
  });
});

it('merges into the bytes of the same models in safetensors', async () => {
  const root = temporaryDirectory();
  const models = ['base', 'a', 'b'].map(
    (name, seed) => [name, llama({ seed, layers: 1, dtype: 'F32' })] as const,
  );
  const places = (kind: string, writer: (path: string, model: typeof made) => string) =>
    models.map(([name, model]) => writer(join(root, kind, name), model));
  const whole = places('plain', writeCheckpoint);
  const divided = places('zero', (path, model) =>
    writeZero(path, { ...model, stage: 3, world: 3, most: 77 }),
  );
  for (const method of ['ties', 'dare_ties', 'breadcrumbs', 'model_stock'] as const) {
    const outs = [];
    for (const [kind, [base = '', ...experts]] of [whole, divided].entries()) {
      const given = {
        method,
        base,
        models: experts,
        ...(method === 'model_stock' ? {} : { weight: 0.5, density: 0.5 }),
      };
      outs.push((await merge(given as RecipeInput, { out: join(root, `${kind}-${method}`) })).out);
    }
    const [one = '', other = ''] = outs;
    expect([method, weightsIn(one).equals(weightsIn(other))]).toEqual([method, true]);
  }
});

describe('a checkpoint of ZeRO', () => {
  it('may be given by its step, and takes the configuration above it', async () => {
    const run = write();
    const { config, warnings, notAsLoaded } = await openCheckpoint(step(run));
    expect(config?.['model_type']).toBe('llama');
    expect(warnings).toEqual([`${step(run)} has no config.json; the one of ${run} is read`]);
    expect(notAsLoaded).toBe('it is DeepSpeed’s ZeRO checkpoint');
    const { out } = await soup({ models: [run, plain()] }, { out: join(temporaryDirectory(), 'out') });
    expect(readdirSync(out)).toContain('config.json');
  });

  it('is averaged with others of its run', async () => {
    const root = temporaryDirectory();
    for (const [kind, writer] of [
      ['zero', (path: string, model: typeof made) => writeZero(path, { ...model, stage: 3, world: 2 })],
      ['plain', writeCheckpoint],
    ] as const)
      for (const seed of [10, 20])
        writer(join(root, kind, `checkpoint-${seed}`), llama({ seed, layers: 2, dtype: 'F32' }));
    const average = (kind: string, out = `${kind}-soup`) =>
      soup({ models: [join(root, kind)], schedule: 'uniform' }, { out: join(root, out) });
    const [one, other] = [await average('zero'), await average('plain')];
    expect(weightsIn(one.out).equals(weightsIn(other.out))).toBe(true);
    rmSync(join(step(join(root, 'zero/checkpoint-20')), 'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt'));
    await expect(average('zero', 'again')).rejects.toMatchObject({ code: 'RUN_UNFINISHED' });
  });

  it('is left alone beside weights that loaders take', async () => {
    const run = write();
    writeCheckpoint(run, llama({ layers: 2, seed: 8 }));
    expect((await openCheckpoint(run)).notAsLoaded).toBeUndefined();
  });

  it.each([2, 3] as const)('of stage %i is refused with what it lacks', async (stage) => {
    for (const name of zeroFiles({ ...made, stage, world: 3 }).keys()) {
      const run = write({ stage, world: 3 });
      rmSync(step(run, name));
      await refused(run, 'NOT_A_CHECKPOINT', new RegExp(`lacks ${name.replace(/^bf16_/, '')}`));
    }
    const run = write({ stage, world: 2 });
    for (const name of readdirSync(step(run))) if (name.includes('optim')) rmSync(step(run, name));
    await refused(run, 'NOT_A_CHECKPOINT', /lacks zero_pp_rank_0_mp_rank_00_optim_states.pt/);
  });

  it('of several steps is the one that latest names', async () => {
    const run = write();
    mkdirSync(join(run, 'global_step9'));
    expect((await openCheckpoint(run)).tensors.size).toBe(Object.keys(made.tensors).length);
    writeFileSync(join(run, 'latest'), 'global_step11');
    await refused(run, 'NOT_A_CHECKPOINT', /latest that names none/);
    rmSync(join(run, 'latest'));
    await refused(run, 'NOT_A_CHECKPOINT', /global_step7, global_step9, and no file latest/);
    rmSync(join(run, 'global_step9'), { recursive: true });
    expect((await openCheckpoint(run)).tensors.size).toBe(Object.keys(made.tensors).length);
  });

  it('is refused if it is divided otherwise', async () => {
    for (const name of [
      'mp_rank_01_model_states.pt',
      'zero_pp_rank_0_mp_rank_01_optim_states.pt',
      'layer_3_expert_1_mp_rank_00_model_states.pt',
    ]) {
      const run = write();
      writeFileSync(step(run, name), '');
      await refused(run, 'WEIGHTS_UNSUPPORTED', /tensor-parallel ranks, pipeline stages or experts/);
    }
    const run = write();
    writeFileSync(step(run, 'zero_pp_rank_2_mp_rank_00_optim_states.pt'), '');
    await refused(run, 'WEIGHTS_UNSUPPORTED', /of 2 ranks, and other files/);
    const twice = write();
    writeFileSync(step(twice, 'zero_pp_rank_1_mp_rank_00_optim_states.pt'), '');
    await refused(twice, 'WEIGHTS_UNSUPPORTED', /of the same rank/);
    await refused(
      write({ model: { param_shapes: Buffer.from('N') } }),
      'WEIGHTS_UNSUPPORTED',
      /without ZeRO/,
    );
  });

  it('is refused if its parts do not fit', async () => {
    const shapes = (...extents: number[]) => {
      const sizes = pickle.tuple(pickle.tuple(...extents.map(pickle.int)));
      const size = Buffer.concat([pickle.global('torch', 'Size'), sizes, pickle.op('R')]);
      return Buffer.concat([pickle.op(']('), pickle.dict({ w: size }), pickle.op('e')]);
    };
    for (const stage of [2, 3] as const) {
      for (const extents of [[1], [2 ** 40, 2 ** 40], [0, 4]])
        await expect(
          openCheckpoint(write({ stage, model: { param_shapes: shapes(...extents) } })),
          extents.join(),
        ).rejects.toMatchObject({
          code: expect.stringMatching(/^(HEADER_INVALID|SHAPE_OVERFLOW|WEIGHTS_UNSUPPORTED)$/),
        });
      await refused(
        write({ stage, optimizer: { zero_stage: pickle.int(0) } }),
        'WEIGHTS_UNSUPPORTED',
        /zero_stage/,
      );
      await refused(
        write({ stage, optimizer: { partition_count: pickle.text('2') } }),
        'HEADER_INVALID',
        /partition_count/,
      );
    }
    const run = write();
    truncateSync(step(run, 'bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt'), 500);
    await refused(run, 'HEADER_INVALID', /no directory at its end/);
  });

  it('runs no code that it names', async () => {
    for (const key of ['model', 'optimizer'] as const) {
      const evil = Buffer.concat([
        pickle.global('os', 'system'),
        pickle.tuple(pickle.text('touch /tmp/owned')),
        pickle.op('R'),
      ]);
      await refused(write({ [key]: { ds_config: evil } }), 'PICKLE_RUNS_CODE', /os\.system/);
    }
  });
});

const outcomeOf = async (folder: string): Promise<string> => {
  try {
    const { tensors, files } = await openCheckpoint(folder);
    for (const [name, reference] of tensors)
      for (const { file, begin, end } of reference.pieces ?? [reference])
        if (!(begin >= 0 && begin <= end && end <= (files[file]?.bytes ?? -1)))
          throw new Error(`${name}: ${begin} to ${end}`);
    return 'accepted';
  } catch (error) {
    if (error instanceof LayerloomError) return error.code;
    throw error;
  }
};

// LAYERLOOM_MUTATIONS=100000 for more.
it('is refused by an error of ours if its bytes are changed, or lies within its files', async () => {
  const random = generator(Number(process.env['LAYERLOOM_SEED'] ?? 7));
  const folder = temporaryDirectory();
  const small = fill({ [q]: [5, 3], 'model.norm.weight': [7], frozen: [4, 2], buffer: [3] }, 'F32', 1);
  const originals = ([2, 3] as const).map((stage) =>
    zeroFiles({ tensors: small, stage, world: 2, frozen: ['frozen'], buffers: ['buffer'] }),
  );
  const outcomes = new Map<string, number>();
  for (let round = 0; round < Number(process.env['LAYERLOOM_MUTATIONS'] ?? 300); round += 1) {
    const files = new Map(originals[Math.floor(random() * originals.length)]);
    const names = [...files.keys()];
    const name = names[Math.floor(random() * names.length)] ?? '';
    let bytes = files.get(name) ?? Buffer.alloc(0);
    for (let left = 1 + Math.floor(random() * 3); left > 0; left -= 1) bytes = changed(bytes, random);
    files.set(name, bytes);
    for (const old of readdirSync(folder)) rmSync(join(folder, old));
    for (const [file, content] of files) writeFileSync(join(folder, file), content);
    const outcome = await outcomeOf(folder);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  for (const code of ['accepted', 'HEADER_INVALID', 'PICKLE_RUNS_CODE'])
    expect([code, (outcomes.get(code) ?? 0) > 5]).toEqual([code, true]);
}, 3_600_000);
