import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { planMerge } from '../../src/api/plan-merge.js';
import { anyNumber } from '../../src/core/methods/framework/declaration/settings.js';
import { tensorMethod } from '../../src/core/methods/framework/tensors/tensor-method.js';
import { methods, registerMethod } from '../../src/core/methods/index.js';
import { bibtexOf } from '../../src/core/plan/card/citation.js';
import type { MergePlan, RecipeInput } from '../../src/index.js';
import { llamaConfig, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { type Family, type Member, writeFamily } from '../fixtures/family.js';

const cardOf = ({ files }: MergePlan): string => {
  const card = files.find(({ name }) => name === 'README.md');
  return card !== undefined && 'text' in card ? card.text : '';
};

const frontMatterOf = (card: string): Record<string, unknown> =>
  parse(/^---\n(.*?)\n---\n/s.exec(card)?.[1] ?? '');

const titleOf = (card: string): string => /^# (.*)$/m.exec(card)?.[1] ?? '';

const planCard = async (recipe: RecipeInput): Promise<string> => cardOf(await planMerge(recipe));

const small = { layers: 3 };
const counts = { bottom: 1, top: 1 };

describe('the title of a card', () => {
  it('names a base only where its weights enter', async () => {
    const { base, a, b } = writeFamily(small);
    const titles = await Promise.all(
      [
        { method: 'layer_swap', task: a, language: b, base, ...counts },
        { method: 'soup', models: [a, b], base },
        { method: 'task_arithmetic', models: [a, b], base, weight: 0.5, dialect: 'mergekit' },
        { method: 'slerp', models: [b], base: a, t: 0.5, dialect: 'mergekit' },
        { method: 'revert', model: a, base, ...counts },
        { method: 'linear', models: [a, b, base], weights: [1, 0, 2] },
      ].map(async (recipe) => titleOf(await planCard(recipe as RecipeInput))),
    );
    expect(titles).toEqual([
      'Layer swap of a and b',
      'Soup of a and b',
      'Task arithmetic of a, b and base',
      'SLERP of a and b',
      'Revert of a and base',
      'Linear of a and base',
    ]);
  });
});

describe('hub models', () => {
  afterEach(() => vi.unstubAllEnvs());

  const commit = '0123456789abcdef0123456789abcdef01234567';

  const writeHub = (): Family & { hub: string } => {
    const family = writeFamily(small);
    vi.stubEnv('HF_HUB_CACHE', undefined);
    vi.stubEnv('HF_HOME', family.root);
    const write = (member: Member, repository: string, folder = '') => {
      const root = join(family.root, 'hub', `models--${repository.replace('/', '--')}`);
      mkdirSync(join(root, 'refs'), { recursive: true });
      writeFileSync(join(root, 'refs', 'main'), commit);
      return writeCheckpoint(join(root, 'snapshots', commit, folder), {
        tensors: family.tensors[member],
        config: llamaConfig(small),
      });
    };
    const hub = write('a', 'math/expert');
    return { ...family, hub, b: write('b', 'swahili/expert', 'checkpoint-100') };
  };

  it('are recorded with their commit, and are all that base_model names', async () => {
    const { hub, b, c } = writeHub();
    for (const task of ['math/expert', 'math/expert@main', hub]) {
      const plan = await planMerge({ method: 'layer_swap', task, language: c, ...counts });
      expect(plan.inputs[0]?.hub).toEqual({ id: 'math/expert', revision: commit });
      expect(plan.completeRecipe).toMatchObject({ task: `math/expert@${commit}`, language: './c' });
      expect(frontMatterOf(cardOf(plan))).toMatchObject({ base_model: ['math/expert'] });
      expect(titleOf(cardOf(plan))).toBe('Layer swap of math/expert and c');
    }
    const plan = await planMerge({ method: 'soup', models: ['mine=math/expert', b] });
    expect(plan.inputs[1]?.hub).toEqual({
      id: 'swahili/expert',
      revision: commit,
      inside: 'checkpoint-100',
    });
    expect(plan.completeRecipe).toMatchObject({
      models: [`mine=math/expert@${commit}`, './checkpoint-100'],
    });
    expect(frontMatterOf(cardOf(plan))['base_model']).toEqual(['math/expert', 'swahili/expert']);
  });

  it('are told apart by their commits where two revisions are merged', async () => {
    const { root, tensors } = writeHub();
    const other = 'f'.repeat(40);
    const snapshots = join(root, 'hub', 'models--math--expert', 'snapshots');
    writeCheckpoint(join(snapshots, other), { tensors: tensors.c, config: llamaConfig(small) });
    const language = `math/expert@${other}`;
    const plan = await planMerge({ method: 'layer_swap', task: 'math/expert', language, ...counts });
    expect(titleOf(cardOf(plan))).toBe('Layer swap of math/expert@0123456 and math/expert@fffffff');
    expect(plan.completeRecipe).toMatchObject({ task: `math/expert@${commit}`, language });
    expect(frontMatterOf(cardOf(plan))['base_model']).toEqual(['math/expert']);
    await expect(
      planMerge({ method: 'layer_swap', task: 'x=math/expert', language: `x=${language}`, ...counts }),
    ).rejects.toThrow(/^two models are named x: /);
  });

  it('are found in the cache again by the card', async () => {
    const { c, root } = writeHub();
    const plan = await planMerge({ method: 'soup', models: ['math/expert', c] });
    writeFileSync(join(root, 'card.md'), cardOf(plan));
    const again = await planMerge(join(root, 'card.md'));
    expect(again.shards).toEqual(plan.shards);
    expect(cardOf(again)).toBe(cardOf(plan));
  });

  it('are left out where there are none', async () => {
    const { a, b } = writeFamily(small);
    expect(frontMatterOf(await planCard({ method: 'soup', models: [a, b] }))).toEqual({
      base_model_relation: 'merge',
      library_name: 'transformers',
      pipeline_tag: 'text-generation',
      tags: ['merge', 'layerloom', 'model-soup'],
    });
  });
});

describe('the licence of a card', () => {
  const withLicences = async (a: string, b: string): Promise<string> => {
    const family = writeFamily(small);
    for (const [member, lines] of [
      ['a', a],
      ['b', b],
      ['base', 'license: mit'],
    ] as const)
      writeFileSync(join(family[member], 'README.md'), `---\n${lines}\n---\n`);
    return planCard({ method: 'soup', models: [family.a, family.b], base: family.base });
  };

  it('is the one that all models in the output have, with its name and link', async () => {
    const other = 'license: other\nlicense_name: ours\nlicense_link: LICENSE';
    const card = await withLicences(other, other);
    expect(frontMatterOf(card)).toMatchObject({
      license: 'other',
      license_name: 'ours',
      license_link: 'LICENSE',
    });
    expect(card).not.toContain('## Licences');
  });

  it('is left out where they differ, and all are listed', async () => {
    const card = await withLicences('license: apache-2.0', 'tags: [x]');
    expect(frontMatterOf(card)).not.toHaveProperty('license');
    expect(card).toContain('| a | apache-2.0 |\n| b | not stated |\n');
  });
});

describe('what else a card says', () => {
  it('is how to load it, by the class of its architecture', async () => {
    const { a, b } = writeFamily(small);
    writeFileSync(join(a, 'tokenizer.json'), '{"model": {"vocab": {}}}');
    writeFileSync(join(b, 'tokenizer.json'), '{"model": {"vocab": {}}}');
    const card = await planCard({ method: 'soup', models: [a, b] });
    expect(card).toContain('from transformers import AutoModelForCausalLM, AutoTokenizer\n');
    expect(card).toContain('AutoModelForCausalLM.from_pretrained(model_id, torch_dtype="auto")');
    const bare = join(temporaryDirectory(), 'bare');
    writeCheckpoint(bare, {
      tensors: (await import('../fixtures/checkpoints.js')).fill(llamaShapes(small), 'BF16', 1),
    });
    const without = await planCard({ method: 'soup', models: [bare] });
    expect(without).not.toContain('transformers');
  });

  it('is the source of every method, nested ones included', async () => {
    const without = [...methods.values()].filter(({ citations = [] }) => citations.length === 0);
    expect(without.map(({ name }) => name)).toEqual(['relayout']);
    const { base, a, b } = writeFamily(small);
    const ties: RecipeInput = { method: 'ties', base, models: [a, b], weight: 1, density: 0.5 };
    const card = await planCard({ method: 'layer_swap', task: ties, language: b, ...counts });
    expect(card).toContain('eprint = {2410.01335}');
    expect(card).toContain('eprint = {2306.01708}');
    expect(
      bibtexOf({ key: 'k', title: 'T', authors: ['A, B', 'C, D'], year: 1985, source: { url: 'https://x' } }),
    ).toBe(
      '@misc{k,\n  title = {{T}},\n  author = {A, B and C, D},\n  year = {1985},\n  url = {https://x}\n}',
    );
  });

  it('is which model or nested recipe has which magnitude weight', async () => {
    const { base, a, b, c } = writeFamily(small);
    const task: RecipeInput = { method: 'soup', models: [a, b] };
    const weights = 'magnitude' as const;
    const swap = await planCard({ method: 'layer_swap', base, task, language: c, weights, ...counts });
    expect(swap).toMatch(/magnitude weights: soup\(a, b\) 0\.\d{4}, c 0\.\d{4}\./);
    const soup = await planCard({ method: 'soup', base, models: [c, task], weights });
    expect(soup).toMatch(/magnitude weights: c 0\.\d{4}, soup\(a, b\) 0\.\d{4}\./);
    expect(await planCard({ method: 'soup', base, models: [c, a], weights })).toMatch(/weights: c 0.*, a 0/);
  });

  it('is a table that no name of a model breaks', async () => {
    const { root, a, b } = writeFamily(small);
    const odd = join(root, 'x|y\n| z |');
    renameSync(a, odd);
    const card = await planCard({ method: 'soup', models: [odd, b] });
    expect(card).toContain('| 0–2 | 0.5 x\\|y\\\\u000a\\| z \\| + 0.5 b |\n');
  });

  it('is which methods come from a plugin', async () => {
    registerMethod(
      tensorMethod({
        name: 'halve',
        title: 'Halve',
        base: 'ignored',
        models: { least: 1, most: 1 },
        shared: { by: anyNumber(0.5) },
        expression: ({ models: [source], shared: { by } }) => ({
          kind: 'linear',
          terms: [{ source, weight: by }],
        }),
      }),
    );
    const { a } = writeFamily(small);
    const card = await planCard({ method: 'halve', models: [a], by: 0.25 } as unknown as RecipeInput);
    expect(card).toContain('merge README.md -o merged --plugin FILE`');
    expect(card).toContain('Not of layerloom itself: halve.');
    expect(card).not.toContain('## Citation');
  });
});
