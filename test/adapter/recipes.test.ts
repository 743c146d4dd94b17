import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { recipeText } from '../../src/core/plan/export/own-recipe.js';
import { merge, planMerge, relayout, soup } from '../../src/index.js';
import { lora, withTensors, writeAdapter } from '../fixtures/adapters.js';
import { llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { startHub } from '../fixtures/hub-server.js';

const make = () => {
  const root = temporaryDirectory();
  writeCheckpoint(join(root, 'base'), llama({ tied: false }));
  const shapes = llamaShapes({ tied: false });
  writeAdapter(join(root, 'one'), lora({ shapes, seed: 2 }));
  writeAdapter(join(root, 'two'), lora({ shapes, seed: 3, saved: ['lm_head.weight'], dtype: 'BF16' }));
  const [one, two] = ['one', 'two'].map((name) => `${join(root, 'base')}+${join(root, name)}`) as [
    string,
    string,
  ];
  return { root, one, two };
};

describe('recipes of BASE+ADAPTER', () => {
  it('name both sides in either dialect, ours from the folder of the recipe on', async () => {
    const { root, one, two } = make();
    const expected = hashOf((await soup({ models: [one, two] }, { out: join(root, 'expected') })).out);
    const recipes = {
      ours: 'method: soup\nmodels: [./base+./one, two=./base+./two]\n',
      theirs:
        `merge_method: linear\nmodels:\n  - { model: ${one}, parameters: { weight: 1 } }\n` +
        `  - { model: { model: { path: ${root}/base }, lora: { path: ${root}/two } }, parameters: { weight: 1 } }\n`,
    };
    for (const [name, text] of Object.entries(recipes)) {
      const file = join(root, `${name}.yaml`);
      writeFileSync(file, text);
      expect([name, hashOf((await merge(file, { out: join(root, name) })).out)]).toEqual([name, expected]);
    }
  });

  it('stand in the card of the output, which makes the same bytes again', async () => {
    const { root, one, two } = make();
    const { out } = await soup({ models: [one, two] }, { out: join(root, 'out') });
    expect(readFileSync(join(out, 'README.md'), 'utf8')).toContain('- ./base+./one\n  - ./base+./two\n');
    const again = await merge(join(out, 'README.md'), { out: join(root, 'again') });
    expect(hashOf(again.out)).toBe(hashOf(out));
  });

  it('are not made again of an adapter whose configuration was written', async () => {
    const { root, one, two } = make();
    const { out } = await soup({ models: [one, two] }, { out: join(root, 'out') });
    writeAdapter(join(root, 'one'), lora({ shapes: llamaShapes({ tied: false }), seed: 2, alpha: 9 }));
    const again = merge(join(out, 'layerloom.json'), { out: join(root, 'again') });
    await expect(again).rejects.toMatchObject({ code: 'INPUT_NOT_AS_RECORDED' });
  });

  it('take no file of base or adapter for a shard of the output', async () => {
    const { root, two } = make();
    writeAdapter(
      join(root, 'head'),
      withTensors(lora({ targets: [], saved: ['lm_head.weight'], shapes: llamaShapes({ tied: false }) }), {}),
    );
    for (const model of [two, `${join(root, 'base')}+${join(root, 'head')}`]) {
      const { shards } = await planMerge({ method: 'relayout', model }, { layout: 'size' });
      expect(shards.map(({ verbatim }) => verbatim)).toEqual([undefined]);
    }
  });

  it('name a layer by its adapter, and read a file that two models share once', async () => {
    const { root, one, two } = make();
    const plan = await planMerge({ method: 'soup', models: [one, two] });
    const card = plan.files.find(({ name }) => name === 'README.md');
    expect(card).toMatchObject({ text: expect.stringContaining('0.5 one + 0.5 two') });
    const of = async (model: string) => (await planMerge({ method: 'relayout', model })).cost.bytesToRead;
    const base = await of(join(root, 'base'));
    const [first, second] = [await of(one), await of(two)];
    // The second has its own head; for the first, the base's head is read.
    const head = 24 * 16 * 2;
    expect(plan.cost.bytesToRead).toBe(first + second - base + head);
  });

  it('fetch adapters of the hub as they do models, and name them by their commits', async () => {
    const hub = await startHub();
    const { root, one } = make();
    const base = `org/base@${hub.addDirectory('org/base', join(root, 'base')).commit}`;
    const adapter = `org/lora@${hub.addDirectory('org/lora', join(root, 'one')).commit}`;
    vi.stubEnv('HF_ENDPOINT', hub.endpoint);
    vi.stubEnv('HF_HOME', join(root, 'hf'));
    try {
      const { out } = await relayout(
        { model: 'org/base+org/lora' },
        { out: join(root, 'hub'), download: true },
      );
      const here = await relayout({ model: one }, { out: join(root, 'here') });
      expect(hashOf(out)).toBe(hashOf(here.out));
      expect(readFileSync(join(out, 'layerloom.json'), 'utf8')).toContain(`${base}+${adapter}`);
      const models = ['org/base+org/lora', `org/base+${join(root, 'two')}`, 'mine=org/base'];
      const saved = recipeText(await planMerge({ method: 'soup', models }), join(root, 'recipes'));
      expect(saved).toContain(`- ${base}+${adapter}\n  - ${base}+../two\n  - mine=${base}\n`);
    } finally {
      vi.unstubAllEnvs();
    }
    expect(basename(root)).toMatch(/^layerloom/);
  });
});
