import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { scored, writeData } from './data.js';
import { Walk } from './walk.js';

// A study from the first training run to the last table, by the commands that each command prints.

const {
  LAYERLOOM_STUDY_PYTHON: python = '',
  LAYERLOOM_STUDY_BASE: base = '',
  LAYERLOOM_MGSM: mgsm = '',
  LAYERLOOM_STUDY_DIRECTORY: kept,
  LAYERLOOM_SEED: seed = '1',
} = process.env;
const lacks = Object.entries({ python, base, mgsm })
  .filter(([, path]) => !existsSync(path))
  .map(([name]) => (name === 'mgsm' ? 'LAYERLOOM_MGSM' : `LAYERLOOM_STUDY_${name.toUpperCase()}`));

const measured = `--benchmarks mgsm,perplexity --data ${mgsm} --limit ${scored} --max-tokens 24`;

/** A reader's edits for two cores: Swahili alone, no shots, and all models in one precision. */
const onTwoCores = (text: string) =>
  text
    .replace(/^ {4}english: .*\n/m, '')
    .replace(
      /^ {2}fewshot: \d+$/m,
      '  fewshot: 0\n  device: cpu\n  model_args: {dtype: float32}\n  batch_size: 25\n  every_language: true',
    );

it.skipIf(lacks.length > 0)(
  `a study by the commands that it prints${lacks.map((name) => `, without ${name}`)}`,
  async () => {
    const directory = kept ?? mkdtempSync(join(tmpdir(), 'layerloom-study-'));
    mkdirSync(directory, { recursive: true });
    const at = (name: string) => join(directory, name);
    const edit = (name: string, change: (text: string) => string) =>
      writeFileSync(at(name), change(readFileSync(at(name), 'utf8')));
    const walk = new Walk(directory, { python, seed: Number(seed) });
    writeData(directory, mgsm);

    writeFileSync(at('base.yaml'), pruned);
    await walk.type('layerloom merge base.yaml -o base');

    const sweep =
      '--base ./base --cpu --set learning_rate=3e-5,1e-4 --set steps=16 --set batch_size=4 --set sequence_length=128 --set checkpoint_every=32';
    for (const preset of [
      'own-task --data math.jsonl -o math',
      'own-language --language swahili --data swahili.jsonl -o swahili',
    ]) {
      const printed = await walk.type(`layerloom train init --preset ${preset} ${sweep}`);
      const [, training = ''] = /^ {2}(bash \S+)/m.exec(printed) ?? [];
      await walk.kill(training, 40, 2);
      await walk.type(training);
    }

    const checkpoints = await walk.next('layerloom train status math swahili');
    const record = await walk.next(`${checkpoints} ${measured}`);
    edit('checkpoints.yaml', onTwoCores);
    const scoring = await walk.next(record);
    await walk.kill(scoring, 45, 2);
    const selection = await walk.next(scoring);

    const study = await walk.next(`${selection} --count 2`);
    const batch = await walk.next(`${study} ${measured}`);
    edit('study.yaml', (text) => onTwoCores(text.replace(/^merges:[\s\S]*?(?=^# Scores)/m, cutMerges)));
    await walk.kill(`${batch} --resume`, 1, 2);
    const scores = await walk.next(`${batch} --resume`);
    await walk.kill(scores, 60, 4);
    const report = await walk.next(scores);
    await walk.type(report);
    await walk.type('layerloom table study --margin 20 --format csv -o tables.csv');
    await walk.type('layerloom table study --margin 20 -o tables.txt');

    const checked = execFileSync(
      python,
      [fileURLToPath(new URL('check.py', import.meta.url)), at('study'), at('tables.csv'), mgsm],
      { encoding: 'utf8' },
    );
    process.stderr.write(checked);
    expect(checked).toMatch(/^\d+ figures of \d+ tables, all as computed from the answers$/m);
    expect(walk.kills).toBeGreaterThanOrEqual(10);
    if (kept === undefined) rmSync(directory, { recursive: true });
  },
);

/**
 * Ten of the thirty layers of SmolLM2-135M, chosen by the least loss among those tried: a study of all would
 * take hours.
 */
const pruned = `merge_method: passthrough
dtype: bfloat16
slices:
  - sources: [{model: ${base}, layer_range: [0, 4]}]
  - sources: [{model: ${base}, layer_range: [24, 30]}]
`;

const cutMerges = `merges:
  - {name: default, method: layer_swap}
  - {name: soup, method: soup}
  - {name: ties, method: ties, density: 0.5}
  - {name: reverted, method: revert, model: task, bottom: 5, top: 2}
  - {name: soup-of-each, method: layer_swap, task: soup, language: soup}

`;
