import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { end, trainingRun, until, wholeIn } from '../fixtures/training-run.js';

const task = 'mgsm_direct_sw';

const run = async (...words: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cli(words);
  expect({ words, code, stderr }).toMatchObject({ code: 0 });
  return stdout + stderr;
};

const scoresIn = (out: string): string[] => {
  const { references, merges } = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as Record<
    'references' | 'merges',
    { readonly name: string; readonly scores?: Record<string, { readonly result: string }> }[]
  >;
  return [...references, ...merges].flatMap(({ name, scores = {} }) =>
    Object.entries(scores).map(([of, { result }]) => `${name} ${of} ${result}`),
  );
};

it('goes from a training that was killed to the scores of a study that was moved', {
  timeout: 300_000,
}, async () => {
  const { root, at, start, train, log } = await trainingRun();
  const first = start([], 40);
  await until(() => wholeIn({ at }).includes('checkpoint-8'));
  end(first.child, { at }, 'all');
  await first.ended;
  const status = await cli(['train', 'status', at()]);
  expect(status).toMatchObject({ code: 4, stderr: expect.stringContaining('goes on from checkpoint-8') });
  expect((await train()).code).toBe(0);
  expect(log()).toEqual(['begin', 'checkpoints/checkpoint-8']);
  expect(wholeIn({ at })).toHaveLength(5);

  // The stand-in trainer writes no models: these replace its output.
  for (const [seed, name] of ['base', 'swh'].entries())
    writeCheckpoint(join(root, name), llama({ layers: 8, seed }));
  writeCheckpoint(at('checkpoints', 'checkpoint-20'), llama({ layers: 8, seed: 9 }));
  const models = [
    ...['--base', join(root, 'base'), '--task', `math=${at('checkpoints', 'checkpoint-20')}`],
    ...['--lang', `swahili:swh=${join(root, 'swh')}`],
  ];
  const file = join(root, 'study.yaml');
  await run('experiment', 'init', '--preset', 'smoke', ...models, '--problems', '4-13', '-o', file);
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(
      /evaluate:[\s\S]*/,
      `evaluate: {tasks: {swahili: [${task}, stub_perplexity]}, problems: 4-13}\n`,
    ),
  );
  const out = join(root, 'study');
  await run('batch', file, '-o', out);
  expect(await run('evaluate', out, '--lm-eval', stubHarness, '--limit', '5')).not.toContain('count no more');
  await run('evaluate', out, '--lm-eval', stubHarness);
  const scores = scoresIn(out);
  expect(scores).toHaveLength(5 * 2);
  expect(readFileSync(join(out, 'experiment.json'), 'utf8')).not.toMatch(/"rows":\s*\[\s*0/);

  const moved = join(temporaryDirectory(), 'elsewhere');
  execFileSync('cp', ['-r', root, moved]);
  const [movedFile, movedOut] = [join(moved, 'study.yaml'), join(moved, 'study')];
  writeFileSync(movedFile, readFileSync(movedFile, 'utf8').replaceAll(root, moved));
  const said = await run('batch', movedFile, '-o', movedOut, '--resume');
  expect(said).not.toContain('count no more');
  expect(scoresIn(movedOut)).toEqual(scores);
  expect(await run('batch', movedFile, '-o', movedOut, '--resume', '--dry-run')).toMatch(
    /to write +0 B in 0 shards/,
  );
});
