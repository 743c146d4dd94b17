import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { suggest } from '../../src/index.js';
import { Workplace } from '../docs/workplace.js';

let place: Workplace;
beforeAll(() => {
  place = new Workplace();
}, 60_000);
afterAll(() => place.remove());

const session = (name: string) => {
  const directory = place.directory(`suggest-${name}`);
  return { directory, type: (line: string) => place.run(line, directory) };
};

const models = '--base ./llama-3.1-8b --task ./math-1 --lang ./swh-1';

describe('layerloom suggest', () => {
  it('prints a swap that runs, and writes an experiment that runs', { timeout: 120_000 }, async () => {
    const { directory, type } = session('runs');
    const found = await type(`layerloom suggest ${models} --budget 3 -o study/suggested.yaml`);
    expect(found.stderr).toMatch(/^Next: layerloom batch study\/suggested\.yaml -o study\/suggested$/m);
    expect(found.status).toBe(0);
    const swap = /^layerloom swap .*$/m.exec(found.stdout)?.[0] ?? '';
    expect(await type(swap)).toMatchObject({ status: 0 });
    expect(existsSync(join(directory, 'merged-math-1-swh-1', 'layerloom.json'))).toBe(true);
    const next = /^Next: (.*)$/m.exec(found.stderr)?.[1] ?? '';
    expect(await type(next)).toMatchObject({ status: 0 });
    const record = readFileSync(join(directory, 'study/suggested/experiment.json'), 'utf8');
    expect((JSON.parse(record) as { merges: readonly unknown[] }).merges).toHaveLength(3);
  });

  it('prints and writes the configuration of models without one', { timeout: 120_000 }, async () => {
    const { directory, type } = session('config');
    const text = readFileSync(join(directory, 'math-1/config.json'));
    mkdirSync(join(directory, 'configs'));
    writeFileSync(join(directory, 'configs/config.json'), text);
    for (const name of ['llama-3.1-8b', 'math-1', 'swh-1']) rmSync(join(directory, name, 'config.json'));
    const found = await type(
      `layerloom suggest ${models} --config configs --budget 3 -o study/suggested.yaml`,
    );
    const analyzed = await type(
      `layerloom analyze ${models.replace('--base', '--config configs --base')} -o analysis --json`,
    );
    const { proposals } = JSON.parse(analyzed.stdout) as { proposals: readonly { command: string }[] };
    const swaps = [/^layerloom swap .*$/m.exec(found.stdout)?.[0], proposals[0]?.command];
    for (const swap of swaps) {
      expect(await type(`${swap} --force`)).toMatchObject({ status: 0 });
      const out = join(directory, 'merged-math-1-swh-1');
      expect(JSON.parse(readFileSync(join(out, 'config.json'), 'utf8'))).toMatchObject(JSON.parse(`${text}`));
      const { inputs } = JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8'));
      expect(inputs).toContainEqual(
        expect.objectContaining({ role: 'config', path: join(directory, 'configs') }),
      );
    }
    const next = /^Next: (.*)$/m.exec(found.stderr)?.[1] ?? '';
    expect(await type(next)).toMatchObject({ status: 0 });
  });

  it('prints what the function returns', { timeout: 60_000 }, async () => {
    const { directory, type } = session('json');
    const { stdout } = await type(`layerloom suggest ${models} --budget 2 --json`);
    const [base, task, language] = ['llama-3.1-8b', 'math-1', 'swh-1'].map((name) => join(directory, name));
    const found = await suggest({ base: base ?? '', task: task ?? '', language: language ?? '', budget: 2 });
    const { bottom, top, reasons, swaps, undecided } = found;
    expect(JSON.parse(stdout)).toMatchObject({ bottom, top, reasons, swaps, undecided });
    expect(found.experiment.merges).toHaveLength(1);
  });

  it('does not decide by a base in doubt', { timeout: 60_000 }, async () => {
    const { type } = session('doubt');
    await type(
      "layerloom merge '{method: linear, models: [{model: ./llama-3.1-8b, weight: -1}], normalize: false}' -o ./negated",
    );
    const { status, stdout, stderr } = await type(
      'layerloom suggest --base ./negated --task ./math-1 --lang ./swh-1',
    );
    expect(stderr).toContain('math-1 has nothing in common with negated');
    expect(stdout).toContain(
      'The measurements are not conclusive: the base is in doubt, as the warning says.',
    );
    expect(status).toBe(0);
  });

  let refused = 0;
  it.each([
    [`${models} --budget 0`, /--budget 0|budget.*1 or more/],
    ['--base ./llama-3.1-8b --task ./math-1', /--lang/],
    ['--base ./llama-3.1-8b --task ./math-1 --lang ./math-1', /math-1/],
    ['--base ./nowhere --task ./math-1 --lang ./swh-1', /nowhere/],
    [`${models} -o ./math-1/config.json`, /exists already/],
  ])('refuses %s in words', { timeout: 60_000 }, async (args, words) => {
    refused += 1;
    const { type } = session(`refused-${refused}`);
    const { status, stderr } = await type(`layerloom suggest ${args}`);
    expect(status).toBeGreaterThan(1);
    expect(stderr).toMatch(words);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});
