import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { ExperimentRecord } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

vi.setConfig({ testTimeout: 180_000 });

const models = () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  for (const [seed, name] of ['base', 'math-1', 'math-2', 'swh-1'].entries())
    writeCheckpoint(at(name), {
      ...llama({ layers: 6, seed }),
      files: { 'chat_template.jinja': `{{ ${name} }}`, 'tokenizer.json': '{"model": {"vocab": {"x": 0}}}' },
    });
  return { root, at };
};

const swapOf = (task: string, language: string, out: string, ...more: string[]) =>
  cli(['swap', '--task', task, '--lang', language, '--bottom', '2', '--top', '1', '-o', out, ...more]);

describe('what a merge says of its shards', () => {
  it('is how many are links, and what was written besides', async () => {
    const { at } = models();
    for (const name of ['math-1', 'swh-1'])
      await cli(['relayout', at(name), '-o', at(`${name}-layers`), '-q']);
    const { code, stdout, stderr } = await swapOf(
      at('math-1-layers'),
      at('swh-1-layers'),
      at('out'),
      '--link',
      'hard',
    );
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('nothing can be linked')]);
    const linked = (
      JSON.parse(readFileSync(join(at('out'), 'layerloom.json'), 'utf8')) as { shards: { link?: string }[] }
    ).shards.filter(({ link }) => link === 'hard').length;
    expect(linked).toBe(6);
    expect(stdout).toMatch(/^\d+ shards, [\d.]+ kB: 6 hard links \([\d.]+ kB\), [\d.]+ k?B written in /m);
  });

  it('is why nothing can be linked', async () => {
    const { at } = models();
    const whole = await swapOf(at('math-1'), at('swh-1'), at('out'), '--link', 'hard');
    expect(whole.stderr).toMatch(/--link hard: nothing can be linked: 6 shards \(.*layerloom relayout MODEL/);
    expect(whole.stdout).toMatch(/^\d+ shards, [\d.]+ kB written in [\d.]+ s \(/m);
    const soup = ['soup', at('math-1'), at('swh-1'), '-o', at('soup'), '--dry-run', '--link', 'symbolic'];
    expect((await cli(soup)).stderr).toContain(
      '--link symbolic: nothing can be linked: every tensor is computed',
    );
  });
});

describe('what a command says of models', () => {
  it('is that a template is kept only where a model is written', async () => {
    const { at } = models();
    const merged = await swapOf(at('math-1'), at('swh-1'), at('out'));
    expect(merged.stderr).toContain('differ in chat template; that of math-1 is kept');
    const analysed = await cli(['analyze', '--base', at('base'), at('math-1'), '-o', at('analysis')]);
    expect(analysed.stderr).toMatch(/differ in chat template$/m);
    expect(analysed.stderr).not.toContain('is kept');
  });

  it('lists all that are missing at once, with the nearest name or the command that gets them', async () => {
    const { at } = models();
    const { code, stderr } = await swapOf(at('math-3'), 'meta-llama/Llama-3.1-8B@v1', at('out'));
    expect(code).toBe(3);
    expect(stderr).toMatch(/^error: 2 models are missing:\n/);
    expect(stderr).toContain(`did you mean ${at('math-1')}?`);
    expect(stderr).toContain(
      '--download fetches what is needed of it, and `hf download meta-llama/Llama-3.1-8B --revision v1` all of it',
    );
    expect((await cli(['inspect', './no-such'])).stderr).not.toContain('hf download');
  });

  it('names options as they are typed, and parameters as a recipe spells them', async () => {
    const { root, at } = models();
    expect((await cli(['analyze', at('math-1'), '-o', at('analysis')])).stderr).toBe(
      'error: --base is missing: expected the model that the experts were fine-tuned from\n',
    );
    const magnitude = await swapOf(at('math-1'), at('swh-1'), at('out'), '--weights', 'magnitude');
    expect(magnitude.stderr).toMatch(/^error: --base is missing/);
    expect((await swapOf(at('math-1'), at('swh-1'), at('out'), '--bottom-transition', 'x')).stderr).toMatch(
      /^error: --bottom-transition: expected/,
    );
    const recipe = join(root, 'recipe.yaml');
    writeFileSync(recipe, 'method: linear\nweight: 1\nmodels: [./math-1, ./swh-1]\nchat_template: 5\n');
    expect((await cli(['merge', recipe, '-o', at('out')])).stderr).toMatch(
      /recipe\.yaml:4:\d+: chat_template: /,
    );
  });

  it('says what a file is that is given for another, and the nearest of a misspelt one', async () => {
    const { root, at } = models();
    const [recipe, experiment] = [join(root, 'recipe.yaml'), join(root, 'experiment.yaml')];
    writeFileSync(recipe, 'method: linear\nweight: 1\nmodels: [./math-1, ./swh-1]\n');
    writeFileSync(experiment, 'tasks: {}\nlanguages: {}\nmerges: []\n');
    const said = async (...args: string[]) => (await cli([...args, '-o', at('out')])).stderr;
    expect(await said('merge', experiment)).toContain('this is an experiment, which `layerloom batch` runs');
    expect(await said('batch', recipe)).toContain('this is a recipe, which `layerloom merge` runs');
    expect(await said('merge', join(root, 'recip.yaml'))).toContain(`no such file; did you mean ${recipe}?`);
    expect(await said('merge', at('math-1'))).toContain('is a directory; expected the file of a recipe');
    writeFileSync(recipe, 'method: layer_swap\ntask: ./math-1\nlangauge: ./swh-1\n');
    expect(await said('merge', recipe)).toMatch(/:3:1: .*no parameter langauge.*did you mean language\?/);
  });

  it('names a tensor that is near to one that the output does not have', async () => {
    const { root, at } = models();
    const recipe = join(root, 'recipe.yaml');
    writeFileSync(recipe, 'method: linear\nweight: 1\nmodels: [./math-1, ./swh-1]\n');
    const near = async (tensor: string) =>
      /such as (\S+),/.exec((await cli(['merge', recipe, '--explain', tensor, '-o', at('out')])).stderr)?.[1];
    expect(await near('gate_proj')).toBe('model.layers.0.mlp.gate_proj.weight');
    expect(await near('layers.3.self_attn.q.weight')).toMatch(/^model\.layers\.3\.self_attn\..*weight$/);
  });
});

describe('an analysis into a directory that has another', () => {
  it('leaves only its own files, and those of others', async () => {
    const { at } = models();
    const out = at('analysis');
    const run = (...experts: string[]) => cli(['analyze', '--base', at('base'), ...experts, '-o', out, '-q']);
    await run(at('math-1'), at('swh-1'));
    writeFileSync(join(out, 'notes.txt'), 'mine');
    expect(readdirSync(out)).toContain('swh-1.svg');
    await run(at('math-1'));
    const left = readdirSync(out).filter((name) => !name.startsWith('math-1.'));
    expect(left.sort()).toEqual(['index.html', 'notes.txt']);
  });

  it('leaves a file that was written since', async () => {
    const { at } = models();
    const out = at('analysis');
    await cli(['analyze', '--base', at('base'), at('swh-1'), '-o', out, '-q']);
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(join(out, 'swh-1.csv'), 'edited');
    await cli(['analyze', '--base', at('base'), at('math-1'), '-o', out, '-q']);
    expect(readFileSync(join(out, 'swh-1.csv'), 'utf8')).toBe('edited');
    expect(readdirSync(out)).not.toContain('swh-1.svg');
  });
});

describe('a batch', () => {
  const experiment = (root: string, merges: string) => {
    const file = join(root, 'experiment.yaml');
    writeFileSync(
      file,
      `base: ./base\ntasks: {math-1: ./math-1, math-2: ./math-2}\nlanguages: {swahili: {swh-1: ./swh-1}}\nmerges:\n${merges}`,
    );
    return file;
  };

  it('lists its merges when run dry, long lists by folders, all of them with -v', async () => {
    const { root } = models();
    const file = experiment(
      root,
      '  - {name: one, method: layer_swap, bottom: 2, top: 1}\n  - {name: grid, method: layer_swap, bottom: [0, 1, 2, 3], top: [0, 1, 2]}\n',
    );
    const { stdout } = await cli(['batch', file, '--dry-run']);
    expect(stdout).toMatch(/^ {2}swahili\/math-1\+swh-1\/one +layer_swap +math-1 \+ swh-1 +1$/m);
    expect(stdout).toMatch(/^ {2}swahili\/math-2\+swh-1\/grid\/… +layer_swap +math-2 \+ swh-1 +12$/m);
    expect(stdout).not.toContain('b3-u2');
    expect((await cli(['batch', file, '--dry-run', '-v'])).stdout).toContain('math-2+swh-1/grid/b3-u2');
    const { merges } = JSON.parse((await cli(['batch', file, '--dry-run', '--json'])).stdout) as {
      merges: object[];
    };
    expect(merges).toHaveLength(26);
    expect(merges[0]).toMatchObject({
      name: 'swahili/math-1+swh-1/one',
      method: 'layer_swap',
      task: 'math-1',
      languageExpert: 'swh-1',
    });
    expect(stdout).not.toMatch(/^ {2}time /m);
  });

  it('keeps its figures when nothing is left to do, and says so', async () => {
    const { root, at } = models();
    const file = experiment(root, '  - {name: one, method: layer_swap, bottom: 2, top: 1}\n');
    const record = () =>
      JSON.parse(readFileSync(join(at('out'), 'experiment.json'), 'utf8')) as ExperimentRecord;
    await cli(['batch', file, '-o', at('out'), '-q']);
    const before = record();
    expect(before.bytesWritten).toBeGreaterThan(0);
    const { code, stdout } = await cli(['batch', file, '-o', at('out'), '--resume']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('nothing left to do: all 2 merges')]);
    expect(record()).toEqual(before);
  });

  it('has a store that is found by the directory of the batch', async () => {
    const { root, at } = models();
    const file = experiment(root, '  - {name: one, method: layer_swap, bottom: 2, top: 1}\n');
    await cli(['batch', file, '-o', at('out'), '-q']);
    for (const command of ['ls', 'verify', 'gc']) {
      const found = await cli(['store', command, at('out')]);
      expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining(join(at('out'), '.store')) });
    }
    expect((await cli(['store', 'ls', root])).stderr).toContain('give the directory of a batch');
  });

  it('names all missing models of an experiment at once', async () => {
    const { root, at } = models();
    const file = experiment(root, '  - {name: one, method: layer_swap}\n');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('./math-2', './mth-2').replace('swh-1: ./swh-1', 'swh-1: ./swh-9'),
    );
    const { stderr } = await cli(['batch', file, '-o', at('out'), '--dry-run']);
    expect(stderr).toMatch(/^error: 2 models are missing:\n/);
    expect(stderr).toMatch(/mth-2: .*did you mean .*math-2\?\n/);
    expect(stderr).toMatch(/swh-9: .*did you mean .*swh-1\?\n/);
  });
});
