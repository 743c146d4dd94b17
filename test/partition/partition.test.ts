import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPartition } from '../../src/core/measure/partition/read-partition.js';
import { analyze, type PartitionParameters, partition } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';

const analysed = async () => {
  const { root, base, a, b } = writeFamily();
  const from = join(root, 'analysis');
  await analyze({ base, experts: [a, b] }, { out: from });
  return { root, base, a, from, experts: { from, language: 'a', task: 'b' } };
};

describe('partition', () => {
  it('writes partition.json and every format that can say it, and reads it back', async () => {
    const { root, base } = writeFamily();
    const out = join(root, 'parts');
    const found = await partition(base, { bottom: 2, top: 1 }, { out });
    expect(readdirSync(out).sort()).toEqual([
      'freeze.py',
      'language.axolotl.yaml',
      'language.names.txt',
      'language.peft.json',
      'language.regex.txt',
      'partition.json',
      'task.axolotl.yaml',
      'task.names.txt',
      'task.peft.json',
      'task.regex.txt',
    ]);
    expect(found.warnings).toEqual([expect.stringContaining('the options of LLaMA-Factory cannot say')]);
    expect(await readPartition(join(out, 'partition.json'))).toMatchObject(found.partition);
  });

  it('writes one file where the output is one, and only the formats that were asked for', async () => {
    const { root, base } = writeFamily();
    const file = join(root, 'parts.json');
    expect((await partition(base, { bottom: 2 }, { out: file })).files).toEqual([file]);
    const out = join(root, 'parts');
    await partition(base, { bottom: 2 }, { out, formats: ['regex'] });
    expect(readdirSync(out).sort()).toEqual(['language.regex.txt', 'partition.json', 'task.regex.txt']);
    const refused = partition(base, { bottom: 2 }, { out: file, formats: ['peft'] });
    await expect(refused).rejects.toThrow('out: expected a directory');
    const unknown = partition(base, {}, { out, formats: ['deepspeed' as 'peft'] });
    await expect(unknown).rejects.toThrow('format: expected json, python, peft');
  });

  it('replaces files only where forced, and writes none where one is there', async () => {
    const { root, base } = writeFamily();
    const out = join(root, 'parts');
    await partition(base, { bottom: 2 }, { out, formats: ['names'] });
    const again = partition(base, { bottom: 3 }, { out });
    await expect(again).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(existsSync(join(out, 'freeze.py'))).toBe(false);
    await partition(base, { bottom: 3 }, { out, force: true });
    expect((await readPartition(join(out, 'partition.json'))).found).toMatchObject({ bottom: 3 });
  });

  it('takes the models of an analysis for its experts, and no other model of the same name', async () => {
    const { root, base, a, experts } = await analysed();
    const byName = await partition(base, experts);
    const byModel = await partition(base, { ...experts, language: a, task: `b=${join(root, 'b')}` });
    expect(byModel.partition).toEqual(byName.partition);
    // Files that are written in one clock tick have the same time.
    utimesSync(join(root, 'c', 'model.safetensors'), 1, 1);
    const other = partition(base, { ...experts, language: `a=${join(root, 'c')}` });
    await expect(other).rejects.toMatchObject({
      code: 'PARTITION_INVALID',
      message: expect.stringContaining(`a was analyzed as ${a}, which is not ${join(root, 'c')}`) as string,
    });
    const missing = partition(base, { ...experts, task: join(root, 'none') });
    await expect(missing).rejects.toThrow(/has no analysis of .*none, but of a, b/);
  });

  it('reads an analysis from its JSON or from its vectors, with the same result', async () => {
    const { base, from, experts } = await analysed();
    const byJson = await partition(base, experts);
    const { parts, found } = byJson.partition;
    expect(found).toMatchObject({ by: 'analysis', language: { name: 'a', file: join(from, 'a.json') } });
    expect(parts.language.length).toBeGreaterThan(0);
    expect(parts.task.length).toBeGreaterThan(0);
    writeFileSync(join(from, 'a.json'), '{"name": "a"}');
    const damaged = partition(base, experts);
    await expect(damaged).rejects.toThrow(
      /a\.json: is not the analysis of an expert, or is damaged; analyze/,
    );
    rmSync(join(from, 'a.json'));
    expect((await partition(base, experts)).partition.parts).toEqual(parts);
  });

  it('refuses an unknown expert, another base, a directory without an analysis', async () => {
    const { root, base, a, experts } = await analysed();
    // Written at once with the same shapes: only their times differ.
    utimesSync(join(a, 'model.safetensors'), 0, 0);
    const failing = (model: string, parameters: PartitionParameters, message: string | RegExp) =>
      expect(partition(model, parameters)).rejects.toThrow(message);
    await failing(
      base,
      { ...experts, language: 'aa' },
      /has no analysis of aa, but of a, b; name one of these/,
    );
    await failing(a, experts, /a\.json: a was compared with .*base, which is not .*\/a or has changed since/);
    await failing(base, { ...experts, from: root }, 'nor of any other expert');
    await failing(base, { ...experts, from: join(root, 'none') }, 'no such file');
    await failing(base, { ...experts, bottom: 2 }, 'bottom: expected no value together with from');
    await failing(base, { from: experts.from, task: 'b' }, 'language is missing');
    await failing(base, { task: 'b' }, 'task: expected no value without from');
    await failing(base, { ...experts, granularity: 'row' as 'layer' }, 'granularity: expected tensor');
  });

  it('refuses files that are no partition', async () => {
    const { root, base } = writeFamily();
    const file = join(root, 'parts.json');
    const { partition: found } = await partition(base, { bottom: 2 }, { out: file });
    const write = (value: unknown) => writeFileSync(file, JSON.stringify(value));
    write({ ...found, format: 'other' });
    await expect(readPartition(file)).rejects.toThrow('is not a partition (format');
    const [first = ''] = found.parts.task;
    write({ ...found, parts: { ...found.parts, both: [first] } });
    await expect(readPartition(file)).rejects.toThrow(`${first} is in it twice`);
    writeFileSync(file, '{');
    await expect(readPartition(file)).rejects.toThrow('is not JSON');
    await expect(readPartition(join(root, 'none.json'))).rejects.toMatchObject({ code: 'READ_FAILED' });
  });
});

describe('layerloom partition', () => {
  it('draws the layers, counts parameters, and prints partition.json as JSON', async () => {
    const { base } = writeFamily();
    const { code, stdout } = await cli(['partition', base, '--bottom', '1', '--top', '1']);
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toBe('base: bottom 1, top 1, others language, norms layer');
    expect(stdout).toContain('layer 7   ████████████████████████  language');
    expect(stdout).toContain('layer 6   ░░░░░░░░░░░░░░░░░░░░░░░░  task');
    expect(stdout).toMatch(/task +48 tensors +11\.74 k parameters +73\.1 %/);
    const json = await cli(['partition', base, '--scaled', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      format: 'layerloom-partition-1',
      found: { bottom: 1, top: 1 },
    });
  });

  it('draws shares of layers that are divided, and lists the files it wrote', async () => {
    const { root, base, from } = await analysed();
    const out = join(root, 'parts');
    const options = ['--from', from, '--lang', 'a', '--task', 'b', '-o', out, '--format', 'names', 'python'];
    const { stdout } = await cli(['partition', base, ...options]);
    expect(stdout).toMatch(/language {2}share {2}attention/);
    expect(stdout.trim().split('\n').at(-1)).toBe(join(out, 'freeze.py'));
    expect(readFileSync(join(out, 'freeze.py'), 'utf8')).toContain('def train_only(model, side):');
  });

  it('ends with 2 for more layers than there are, with 3 for a model without layers', async () => {
    const root = temporaryDirectory();
    const base = writeCheckpoint(join(root, 'base'), llama({ layers: 4 }));
    const tooMany = await cli(['partition', base]);
    expect(tooMany).toMatchObject({ code: 2, stdout: '' });
    expect(tooMany.stderr).toContain('or use --scaled');
    const { tensors } = llama({ layers: 1 });
    const bare = writeCheckpoint(join(root, 'bare'), {
      tensors: Object.fromEntries(Object.entries(tensors).filter(([name]) => !name.includes('layers'))),
    });
    expect(await cli(['partition', bare])).toMatchObject({ code: 3 });
  });
});
