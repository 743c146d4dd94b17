import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { familyOfType, typesIn } from '../../src/core/models/architecture/families.js';
import { foreignPrefixesOf } from '../../src/core/models/reading/foreign-prefix.js';
import { openModel } from '../../src/core/models/reading/read-model.js';
import { diff, extractLora, layerSwap, relayout, soup } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { familyFixtures } from '../fixtures/families.js';
import { average, readTensors } from '../fixtures/merged.js';

const options = { layers: 2, tied: false } as const;

const rename = (tensors: Tensors, nameOf: (name: string, index: number) => string): Tensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor], index) => [nameOf(name, index), tensor]));

const writeRenamed = (
  nameOf: (name: string, index: number) => string,
  config: Record<string, unknown> | undefined = llama(options).config,
) => {
  const root = temporaryDirectory();
  const model = llama(options);
  return {
    root,
    model,
    plain: writeCheckpoint(join(root, 'plain'), { ...model, config }),
    wrapped: writeCheckpoint(join(root, 'wrapped'), { tensors: rename(model.tensors, nameOf), config }),
  };
};

const ways: readonly (readonly [string, (name: string, index: number) => string])[] = [
  ['torch.compile', (name) => `_orig_mod.${name}`],
  ['DDP', (name) => `module.${name}`],
  ['DDP twice', (name) => `module.module.${name}`],
  ['FSDP', (name) => `_fsdp_wrapped_module.${name}`],
  ['Lightning', (name) => `_forward_module.${name}`],
  ['PEFT', (name) => `base_model.model.${name}`],
  ['one within another', (name) => `module._orig_mod._fsdp_wrapped_module.${name}`],
  ['PEFT around a compiled model', (name) => `base_model.model._orig_mod.${name}`],
  ['DDP around PEFT', (name) => `module.base_model.model.${name}`],
  ['compiled blocks', (name) => name.replace(/layers\.(\d+)\./, 'layers.$1._orig_mod.')],
  [
    'FSDP blocks with checkpointing',
    (name) => name.replace(/layers\.(\d+)\./, 'layers.$1._fsdp_wrapped_module._checkpoint_wrapped_module.'),
  ],
  ['Opacus', (name) => `_module.${name}`],
  ['DDP within a model', (name) => name.replace('model.', 'model.module.')],
  ['DDP of blocks', (name) => name.replace(/layers\.(\d+)\./, 'layers.$1.module.')],
  ['the attribute of a training program', (name) => `policy.${name}`],
  ['attributes within attributes', (name) => `actor.module.pretrained_model.${name}`],
  ['that of another family', (name) => `transformer.${name}`],
  ['that of a larger model', (name) => `language_model.${name}`],
  ['some blocks', (name) => name.replace('layers.1.', 'layers.1._orig_mod.')],
  ['some tensors', (name, index) => (index % 3 === 0 ? `module.${name}` : name)],
];

describe('names with the parts of wrappers', () => {
  it.each(ways)('are read without them: %s', async (_, nameOf) => {
    const { model, wrapped } = writeRenamed(nameOf);
    const { tensors, warnings, notAsLoaded } = await openModel(wrapped);
    expect([...tensors.keys()].sort()).toEqual(Object.keys(model.tensors).sort());
    expect(warnings.join()).toMatch(/wrappers/);
    expect(notAsLoaded).toMatch(/wrappers/);
    expect(await readTensors(wrapped)).toEqual(
      await readTensors(writeCheckpoint(join(temporaryDirectory(), 'a'), model)),
    );
  });

  it('are plain in outputs of merges, swaps and copies, and in adapters', async () => {
    const { root, plain, wrapped, model } = writeRenamed((name) => `_orig_mod.${name}`);
    const other = writeCheckpoint(join(root, 'other'), llama({ ...options, seed: 2 }));
    const names = Object.keys(model.tensors).sort();
    const outputs = {
      soup: () => soup({ models: [wrapped, other] }, { out: join(root, 'soup') }),
      swap: () =>
        layerSwap({ task: wrapped, language: other, bottom: 1, top: 0 }, { out: join(root, 'swap') }),
      copy: () => relayout({ model: wrapped }, { out: join(root, 'copy') }),
    };
    for (const [name, make] of Object.entries(outputs)) {
      const { warnings } = await make();
      expect(warnings.join(), name).toMatch(/wrapped: its names have parts of wrappers/);
      expect(Object.keys(await readTensors(join(root, name))).sort(), name).toEqual(names);
    }
    expect(await readTensors(join(root, 'copy'))).toEqual(await readTensors(plain));
    const merged = await readTensors(join(root, 'soup'));
    const [a, b] = [await readTensors(plain), await readTensors(other)];
    for (const name of names)
      expect(merged[name]?.data, name).toEqual(
        Buffer.from(average('BF16', [a[name], b[name]] as never, [1, 1])),
      );
    await extractLora({ base: wrapped, expert: other, rank: 2 }, { out: join(root, 'lora') });
    const { openAdapter } = await import('../fixtures/open-adapter.js');
    for (const { names: factors } of (await openAdapter(join(root, 'lora'))).pairs.values())
      expect(factors.a).not.toContain('_orig_mod');
  });

  it('are no difference of a model and its copy, whose weights are compared', async () => {
    const { plain, wrapped } = writeRenamed((name) => `module.${name}`);
    const { equal, bytesRead, tensors } = await diff(plain, wrapped);
    expect(equal).toBe(true);
    expect(bytesRead).toBeGreaterThan(0);
    expect(tensors.every(({ state }) => state === 'equal')).toBe(true);
  });

  it('are refused where a tensor stands there with a wrapper and without', async () => {
    const model = llama(options);
    const norm = model.tensors['model.norm.weight'];
    const twice = { ...model.tensors, '_orig_mod.model.norm.weight': norm } as Tensors;
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), { ...model, tensors: twice });
    await expect(openModel(directory)).rejects.toMatchObject({
      code: 'DUPLICATE_TENSOR',
      message: expect.stringMatching(
        /_orig_mod\.model\.norm\.weight\).*model\.norm\.weight\)|model\.norm\.weight\).*_orig_mod/,
      ),
    });
  });

  it('are refused where FSDP has flattened the parameters', async () => {
    const model = llama(options);
    const flat = {
      ...model.tensors,
      '_fsdp_wrapped_module._flat_param': model.tensors['model.norm.weight'],
    } as Tensors;
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), { ...model, tensors: flat });
    await expect(openModel(directory)).rejects.toMatchObject({ code: 'WEIGHTS_UNSUPPORTED' });
  });

  it('may be those of modules of a model that is not known, or comes with code', async () => {
    const within = (name: string) => `backbone.${name.replace('self_attn', 'module')}`;
    const inside = writeRenamed(within, { model_type: 'new' });
    expect([...(await openModel(inside.wrapped)).tensors.keys()]).toContain(
      'backbone.model.layers.0.module.q_proj.weight',
    );
    const some = writeRenamed((name, index) => (index < 3 ? `module.${name}` : name), { model_type: 'new' });
    expect(
      [...(await openModel(some.wrapped)).tensors.keys()].filter((name) => name.startsWith('module.')),
    ).toHaveLength(3);
    const code = { model_type: 'new', auto_map: { AutoModel: 'modeling.New' } };
    const own = writeRenamed((name) => `module.${name}`, code);
    expect(
      [...(await openModel(own.wrapped)).tensors.keys()].every((name) => name.startsWith('module.')),
    ).toBe(true);
    const all = writeRenamed((name) => `module.${name}`, { model_type: 'new' });
    expect(
      [...(await openModel(all.wrapped)).tensors.keys()].some((name) => name.startsWith('module.')),
    ).toBe(false);
  });

  it.each(Object.entries(familyFixtures))('are told from those of a family: %s', (_, { shapes, config }) => {
    const prefixesOf = (prefix: string) =>
      foreignPrefixesOf({
        config,
        tensors: new Map(
          Object.keys(shapes).map((name) => [
            `${prefix}${name}`,
            { file: 0, dtype: 'F32', shape: [], begin: 0, end: 0 },
          ]),
        ),
      });
    expect(prefixesOf('')).toEqual([]);
    const isKnown = typesIn(config).some(
      (type) => (familyOfType(type)?.form ?? 'diffusion transformer') !== 'diffusion transformer',
    );
    if (isKnown) expect(prefixesOf('policy.net.')).toEqual(['policy.net']);
  });

  it('are refused where two models lie in one file', async () => {
    const { root, model } = writeRenamed((name) => name);
    const tensors = {
      ...rename(model.tensors, (name) => `actor.${name}`),
      ...rename(model.tensors, (name) => `critic.${name}`),
    };
    const both = writeCheckpoint(join(root, 'both'), { ...model, tensors });
    await expect(openModel(both)).rejects.toMatchObject({ code: 'DUPLICATE_TENSOR' });
  });

  it('are read of a bare file, and of a model without a configuration', async () => {
    const { wrapped, model } = writeRenamed((name) => `module.${name}`, undefined);
    const { tensors } = await openModel(join(wrapped, 'model.safetensors'));
    expect([...tensors.keys()].sort()).toEqual(Object.keys(model.tensors).sort());
  });

  it('are read in adapters that were trained within a wrapper', async () => {
    const { config, tensors } = lora();
    const base = writeCheckpoint(join(temporaryDirectory(), 'base'), llama());
    const plain = writeAdapter(join(temporaryDirectory(), 'plain'), { config, tensors });
    const wrapped = writeAdapter(join(temporaryDirectory(), 'wrapped'), {
      config,
      tensors: rename(
        tensors,
        (name) => `module.${name.replace('.layers.', '._fsdp_wrapped_module.layers.')}`,
      ),
    });
    const [one, other] = [await openModel(`${base}+${plain}`), await openModel(`${base}+${wrapped}`)];
    expect([...other.tensors]).toEqual(
      [...one.tensors].map(([name, tensor]) => [name, expect.objectContaining({ shape: tensor.shape })]),
    );
    expect([...other.tensors.values()].filter(({ change }) => change).length).toBeGreaterThan(0);
  });

  it('keep their tensors in the folders of modules', async () => {
    const root = temporaryDirectory();
    const model = llama(options);
    const directory = writeCheckpoint(join(root, 'a'), {
      ...model,
      tensors: rename(model.tensors, (name) => `module.${name}`),
      files: { 'modules.json': '[]' },
    });
    mkdirSync(join(directory, '2_Dense'));
    const dense = writeCheckpoint(join(root, 'dense'), {
      tensors: { 'linear.weight': Object.values(model.tensors)[0] } as Tensors,
    });
    const { readFileSync } = await import('node:fs');
    writeFileSync(
      join(directory, '2_Dense', 'model.safetensors'),
      readFileSync(join(dense, 'model.safetensors')),
    );
    const names = [...(await openModel(directory)).tensors.keys()];
    expect(names).toContain('2_Dense/linear.weight');
    expect(names).toContain('model.norm.weight');
  });
});

it('leaves the towers of an unknown model with a known language model as they are', () => {
  const names = [0, 1].flatMap((layer) => [
    `video_tower.encoder.layers.${layer}.mlp.fc1.weight`,
    `image_tower.encoder.layers.${layer}.mlp.fc1.weight`,
    `language_model.model.layers.${layer}.mlp.up_proj.weight`,
  ]);
  const { tensors } = llama(options);
  const [some] = Object.values(tensors);
  const file = writeCheckpoint(join(temporaryDirectory(), 'a'), {
    tensors: Object.fromEntries(names.map((name) => [name, some as (typeof tensors)[string]])),
    config: { model_type: 'two_towers', text_config: { model_type: 'llama', num_hidden_layers: 2 } },
  });
  return expect(openModel(file)).resolves.toMatchObject({ warnings: [] });
});
