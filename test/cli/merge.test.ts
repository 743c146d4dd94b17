import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Explanation, type MergePlan, merge, planMerge } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';

const tensor = 'model.layers.2.self_attn.q_proj.weight';

const prepare = (text: string) => {
  const family = writeFamily({ layers: 4 });
  const recipe = join(family.root, 'merge.yaml');
  writeFileSync(recipe, text.replaceAll('@', family.root));
  const out = join(family.root, 'out');
  const run = (...more: string[]) => cli(['merge', recipe, ...more]);
  return { ...family, recipe, out, run };
};

const ties = `method: ties
base: ./base
models:
  - {model: ./a, weight: [0.5, 2]}
  - {model: ./b, weight: 1}
density:
  - {filter: self_attn, value: 0.25}
  - {value: 0.5}
`;

describe('layerloom merge', () => {
  it('takes the recipe itself in the place of its file', async () => {
    const { root, out } = prepare(ties);
    const models = [join(root, 'a'), join(root, 'b')];
    const { code, stderr } = await cli(['merge', JSON.stringify({ method: 'soup', models }), '-o', out]);
    expect([code, stderr]).toEqual([0, '']);
    await merge({ method: 'soup', models }, { out: join(root, 'function') });
    expect(await readTensors(out)).toEqual(await readTensors(join(root, 'function')));
  });

  it('makes what the function makes, and says what came from where', async () => {
    const { run, recipe, root, out } = prepare(ties);
    const { code, stdout, stderr } = await run('-o', out);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^TIES: /);
    expect(stdout).toMatch(/base \+ \[[\d.]+ Δa \([\d.]+ % by magnitude\) \+ 1 Δb/);
    await merge(recipe, { out: join(root, 'function') });
    expect(await readTensors(out)).toEqual(await readTensors(join(root, 'function')));
  });

  it('takes a recipe of mergekit’s as it is', async () => {
    const { run, out, root } = prepare(`
merge_method: task_arithmetic
base_model: @/base
models:
  - model: @/a
    parameters: {weight: 0.5}
  - model: @/base
parameters: {normalize: false}
dtype: float32
out_dtype: bfloat16
`);
    expect(await run('-o', out, '-q')).toEqual({ code: 0, stdout: '', stderr: '' });
    const ours = join(root, 'ours.yaml');
    writeFileSync(ours, 'method: task_arithmetic\nbase: ./base\nmodels: [{model: ./a, weight: 0.5}]\n');
    await merge(ours, { out: join(root, 'ours') });
    expect(await readTensors(out)).toEqual(await readTensors(join(root, 'ours')));
  });

  it('explains one tensor: its parameters, and what it is, with nothing written', async () => {
    const { run, root } = prepare(ties);
    const { code, stdout } = await run('--explain', tensor);
    expect(code).toBe(0);
    expect(stdout).toMatch(/layer +2\n/);
    expect(stdout).toMatch(/shape +\[16, 16\] BF16/);
    expect(stdout).toMatch(
      /formula +base \+ \[1.5 Δa \(25 % by magnitude\) \+ 1 Δb \(25 % by magnitude\)\] of one sign/,
    );
    expect(stdout).toMatch(
      /- model: a\n +tensor: model\.layers\.2\.self_attn\.q_proj\.weight\n +weight: 1\.5\n +density: 0\.25/,
    );
    const explanation = JSON.parse((await run('--explain', tensor, '--json')).stdout) as Explanation;
    expect(explanation).toMatchObject({ tensor, layer: 2, expression: { kind: 'consensus' } });
    const unknown = await run('--explain', tensor.replace('q_proj', 'q_prj'));
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining(`such as ${tensor}`) });
    const template = await run('--explain', tensor, '--chat-template', 'chatml-2');
    expect(template).toMatchObject({ code: 2, stderr: expect.stringContaining('--chat-template') });
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'base', 'c', 'merge.yaml']);
  });

  it('prints what a merge costs and measures when run dry, and writes nothing', async () => {
    const { run, root, recipe, out } = prepare(ties);
    const { stdout } = await run('--dry-run', '-o', out);
    expect(stdout).toMatch(/to read +[\d.]+ kB/);
    expect(stdout).toMatch(/to measure +[\d.]+ kB read first, for thresholds\n/);
    expect(stdout).toMatch(/to write +[\d.]+ kB/);
    const plan = JSON.parse((await run('--dry-run', '--json')).stdout) as MergePlan;
    expect(plan).toEqual(JSON.parse(JSON.stringify(await planMerge(recipe))));
    expect(plan.cost.bytesToMeasure).toBe(plan.cost.bytesToRead);
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'base', 'c', 'merge.yaml']);
  });

  it.each<[string, string, string]>([
    ['slerp', 'base: ./base\nmodels: [./a]\nt: 0.5', 'Gram matrices'],
    ['arcee_fusion', 'base: ./base\nmodels: [./a]', 'divergences, quantiles'],
    ['sce', 'base: ./base\nmodels: [./a, ./b]\nselect_topk: 0.5', 'variances, thresholds, Gram matrices'],
    ['dare_ties', 'base: ./base\nmodels: [./a, ./b]\nweight: 1\ndensity: 0.5', 'norms'],
  ])('says what %s measures', async (method, more, words) => {
    const { run } = prepare(`method: ${method}\n${more}\n`);
    expect((await run('--dry-run')).stdout).toMatch(new RegExp(`to measure .*, for ${words}\n`));
  });

  it('says nothing of measures where none are', async () => {
    const { run } = prepare('method: linear\nweight: 1\nmodels: [./a, ./b]\n');
    const plan = JSON.parse((await run('--dry-run', '--json')).stdout) as MergePlan;
    expect(plan.cost.bytesToMeasure).toBe(0);
    expect((await run('--dry-run')).stdout).not.toContain('to measure');
  });

  it('reads as many bytes as it has announced', async () => {
    const { recipe, out } = prepare('method: slerp\nbase: ./base\nmodels: [./a]\nt: 0.5\n');
    const { cost } = await planMerge(recipe);
    const { bytesRead } = await merge(recipe, { out });
    expect(bytesRead).toBe(cost.bytesToRead + cost.bytesToMeasure);
  });

  it('warns of a filter that matches nothing, and with --strict refuses it', async () => {
    const { run, out } = prepare(ties.replace('self_attn', 'self_atn'));
    expect(await run('-o', out, '--strict')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/merge\.yaml:7:5: density\.0: .*filter self_atn/),
    });
    expect(existsSync(out)).toBe(false);
    expect(await run('-o', out)).toMatchObject({
      code: 0,
      stderr: 'warning: filter self_atn (density.0) matches no tensor\n',
    });
  });

  it('converts with --dtype, whatever the recipe says', async () => {
    const { run, out } = prepare(`${ties}dtype: float16\n`);
    await run('-o', out, '--dtype', 'float32', '-q');
    expect((await readTensors(out))[tensor]?.dtype).toBe('F32');
    expect(JSON.parse(readFileSync(join(out, 'config.json'), 'utf8'))).toMatchObject({ dtype: 'float32' });
  });

  it('says where a recipe is wrong, for people and for programs, with exit code 2', async () => {
    const { run, out } = prepare(ties.replace('0.25', '1.25'));
    const { code, stdout, stderr } = await run('-o', out, '--json');
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^error: .*merge\.yaml:7:32: density\.0\.value: expected a share from 0 to 1, got 1.25\n {2}.*\n +\^\n$/,
    );
    expect(JSON.parse(stdout)).toMatchObject({
      error: {
        code: 'INVALID_PARAMETER',
        details: { file: expect.stringMatching(/merge\.yaml$/), line: 7, column: 32 },
      },
    });
    expect(existsSync(out)).toBe(false);
  });

  it.each<[string, string, number]>([
    ['is not there', 'method: soup\nmodels: [./a, ./d]\n', 3],
    ['is no recipe', 'models: [./a, ./b]\n', 2],
    ['is no YAML', 'method: [soup\n', 2],
    [
      'asks for layers that are not there',
      'method: passthrough\nslices:\n  - sources: [{model: ./a, layer_range: [2, 6]}]\n',
      2,
    ],
  ])('leaves nothing where what it names %s', async (_, text, expected) => {
    const { run, out, root } = prepare(text);
    const { code, stderr } = await run('-o', out);
    expect([code, stderr]).toEqual([expected, expect.stringMatching(/merge\.yaml/)]);
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'base', 'c', 'merge.yaml']);
  });

  it('takes the tokenizer of the model that is named, and the template that is given', async () => {
    const root = temporaryDirectory();
    for (const [seed, name] of ['base', 'a', 'b'].entries())
      writeCheckpoint(join(root, name), {
        ...llama({ seed, layers: 2 }),
        files: {
          'tokenizer.json': '{"model": {"vocab": {"x": 0}}}',
          'tokenizer_config.json': JSON.stringify({ of: name }),
          'generation_config.json': JSON.stringify({ of: name }),
          'chat_template.jinja': `{{ ${name} }}`,
        },
      });
    const recipe = (more: string) => {
      writeFileSync(
        join(root, 'merge.yaml'),
        `method: ties\nbase: ./base\nweight: 1\nmodels: [./a, ./b]\n${more}`,
      );
      return cli(['merge', join(root, 'merge.yaml'), '-o', join(root, 'out'), '--force', '-q']);
    };
    const text = (name: string) => readFileSync(join(root, 'out', name), 'utf8');
    const owners = () =>
      [text('tokenizer_config.json'), text('generation_config.json')].map((json) => JSON.parse(json).of);
    expect(await recipe('')).toMatchObject({ code: 0, stderr: '' });
    expect([...owners(), text('chat_template.jinja')]).toEqual(['a', 'a', '{{ a }}']);
    await recipe('tokenizer_source: base\n');
    expect([...owners(), text('chat_template.jinja')]).toEqual(['base', 'a', '{{ base }}']);
    await recipe('tokenizer_source: ./b\nchat_template: "{{ mine }}"\n');
    expect([...owners(), text('chat_template.jinja')]).toEqual(['b', 'a', '{{ mine }}']);
  });
});
