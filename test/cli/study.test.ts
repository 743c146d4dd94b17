import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Workplace } from '../docs/workplace.js';

// A study from data to report, by the commands that each command prints. Training and answers are stand-ins.

let place: Workplace;
beforeAll(() => {
  place = new Workplace();
}, 60_000);
afterAll(() => place.remove());

const trainer = fileURLToPath(new URL('../fixtures/trl.mjs', import.meta.url));

const workplace = () => {
  const directory = place.directory('study');
  const at = (name: string) => join(directory, name);
  mkdirSync(at('bin'));
  const program = (name: string, line: string) => {
    writeFileSync(join(at('bin'), name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(at('bin'), name), 0o755);
  };
  program('python', 'true');
  program('trl', `exec '${process.execPath}' '${trainer}'`);
  for (const name of ['math', 'prose'])
    writeFileSync(at(`${name}.jsonl`), '{"prompt": "1 + 1?", "completion": "2"}\n');
  const type = async (line: string) => {
    const { status, stdout, stderr } = await place.run(`PATH="$PWD/bin:$PATH"; ${line}`, directory);
    expect(status, `${line}\n${stdout}${stderr}`).toBe(0);
    return `${stdout}${stderr}`;
  };
  const nextOf = async (line: string) => {
    const text = await type(line);
    const next = /^(?:Next: |Next:\n {2})(layerloom .*)$/m.exec(text)?.[1];
    expect(next, `no next command after ${line}\n${text}`).toBeDefined();
    return next ?? '';
  };
  const read = (name: string) => readFileSync(at(name), 'utf8');
  return { at, type, nextOf, read };
};

describe('a study', () => {
  it('goes from data to its report by the commands that it prints', { timeout: 300_000 }, async () => {
    const { at, type, nextOf, read } = workplace();
    const sweep = '--base ./base --set seed=1,2 --set steps=4 --set checkpoint_every=16 --cpu';
    for (const [preset, out] of [
      ['own-task --data math.jsonl', 'training/math'],
      ['own-language --language swahili --data prose.jsonl', 'training/swahili'],
    ]) {
      const printed = await type(`layerloom train init --preset ${preset} ${sweep} -o ${out}`);
      const [, training = ''] = /^ {2}(bash \S+)/m.exec(printed) ?? [];
      await type(training);
    }
    const scoring = await nextOf('layerloom train status training/math training/swahili');
    const record = await nextOf(scoring);
    expect(read('checkpoints.yaml')).toMatch(/task-s2-4: .*training.math.task-s2.checkpoints.checkpoint-4$/m);
    expect(await type(`${record} --resume`)).toContain('no merges: the experiment only scores models\n');
    const evaluation = await nextOf(`${record} --resume`);
    const selection = await nextOf(evaluation);
    const study = await nextOf(`${selection} --count 1`);
    expect(JSON.parse(read('selection.json')).models).toMatchObject({
      base: expect.stringMatching(/\/base$/),
      tasks: expect.any(Object),
      languages: { swahili: expect.any(Object) },
    });
    const batch = await nextOf(study);
    // 2 of the grid's 162 configurations, to be scored quickly.
    const few = read('study.yaml').replace(
      /^( {4})(bottom|top|bottom_transition|top_transition): \[.*\]$/gm,
      '$1$2: 1',
    );
    expect(few).not.toBe(read('study.yaml'));
    writeFileSync(at('study.yaml'), few);
    const scores = await nextOf(batch);
    const report = await nextOf(scores);
    await type(report);
    expect(existsSync(at('study.html'))).toBe(true);
    expect(await type('layerloom table study --table table-1')).toContain('swahili');
  });
});
