import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Walk } from './walk.js';

// A study of sampled answers: tiny models that solve some sums, three answers to each of 50 problems in two
// languages, by the harness.

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_SEED: seed = '1' } = process.env;
const hasPackages =
  python !== '' && spawnSync(python, ['-c', 'import lm_eval, scipy, torch, transformers']).status === 0;
const lack = hasPackages ? '' : ', without LAYERLOOM_PYTHON of lm_eval, scipy, torch and transformers';

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const kills = 6;
const [models, languages, repeats] = [12, 2, 3] as const;

it.skipIf(!hasPackages)(`a study of sampled answers, killed six times${lack}`, async () => {
  const directory =
    process.env['LAYERLOOM_STUDY_DIRECTORY'] ?? mkdtempSync(join(tmpdir(), 'layerloom-sums-'));
  mkdirSync(join(directory, 'tasks'), { recursive: true });
  const at = (...names: string[]) => join(directory, ...names);
  const walk = new Walk(directory, { python, seed: Number(seed) });
  if (!existsSync(at('swh-2', 'config.json')))
    execFileSync(python, [file('sums/models.py'), directory], { stdio: 'inherit' });
  for (const language of ['swahili', 'english'])
    writeFileSync(at('tasks', `sums_${language}.yaml`), taskOf(language, at(`${language}.jsonl`)));
  writeFileSync(at('study.yaml'), study);

  for (const out of ['whole', 'killed']) await walk.type(`layerloom batch study.yaml -o ${out}`);
  await walk.type('layerloom evaluate whole');
  // A process of its own for each answer draws the same.
  await walk.type('layerloom batch study.yaml -o separate');
  await walk.type('layerloom evaluate separate --separate --only math-2');
  const results = (out: string) =>
    existsSync(at(out, 'evaluations'))
      ? readdirSync(at(out, 'evaluations')).filter((name) => /-[0-9a-f]{16}\.json$/.test(name))
      : [];
  const all = models * languages * repeats;
  expect(results('whole')).toHaveLength(all);
  for (let kill = 0; kill < kills; kill++) {
    const due = Math.floor((kill * all) / kills);
    await walk.killAfter('layerloom evaluate killed', () => results('killed').length >= due, 4);
  }
  expect(walk.kills).toBe(kills);
  await walk.type('layerloom evaluate killed');
  expect(contentsOf(at('killed'))).toEqual(contentsOf(at('whole')));

  const separate = contentsOf(at('separate'));
  for (const name of results('separate')) expect(separate[name]).toEqual(contentsOf(at('whole'))[name]);

  const made = ['whole', 'killed'].map((out) => at(`${out}.csv`));
  for (const out of ['whole', 'killed'])
    await walk.type(`layerloom table ${out} --margin 20 --plan 5 --format csv -o ${out}.csv`);
  const [whole = '', killed = ''] = made.map((path) => readFileSync(path, 'utf8'));
  expect(killed).toBe(whole);
  const checked = execFileSync(python, [file('sums/check.py'), at('killed'), ...made.slice(1), directory], {
    encoding: 'utf8',
  });
  process.stderr.write(checked);
  expect(checked).toMatch(/^\d+ figures of \d+ tables, all as computed from the answers$/m);
  if (process.env['LAYERLOOM_STUDY_DIRECTORY'] === undefined) rmSync(directory, { recursive: true });
});

/** Results, answers and scores by name, without times and the names of models that were scored first. */
const contentsOf = (out: string): Record<string, unknown> => {
  const of = (path: string): unknown =>
    JSON.parse(readFileSync(path, 'utf8'), (key, value) =>
      ['started', 'seconds', 'model', 'layerloom'].includes(key) ? undefined : value,
    );
  const names = readdirSync(join(out, 'evaluations')).filter((name) => name.endsWith('.json'));
  const { merges, references } = of(join(out, 'experiment.json')) as Record<string, { scores: unknown }[]>;
  return {
    ...Object.fromEntries(names.map((name) => [name, of(join(out, 'evaluations', name))])),
    scores: [...(references ?? []), ...(merges ?? [])].map(({ scores }) => scores),
  };
};

const taskOf = (language: string, data: string): string => `task: sums_${language}
dataset_path: json
dataset_kwargs: {data_files: {test: ${data}}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["."], max_gen_toks: 8}
filter_list:
  - name: number
    filter: [{function: regex, regex_pattern: '(\\d+)', group_select: -1}, {function: take_first}]
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
metadata: {version: 1}
`;

const study = `base: ./base
tasks: {math-1: ./math-1, math-2: ./math-2}
languages:
  swahili: {swh-1: ./swh-1, swh-2: ./swh-2}
merges:
  - {name: default, method: layer_swap, bottom: 1, top: 1}
  - {name: reverted, method: revert, model: task, bottom: 1, top: 1}
  - {name: soup-of-each, method: layer_swap, task: soup, language: soup, bottom: 1, top: 1}
evaluate:
  tasks: {swahili: sums_swahili, english: sums_english}
  every_language: true
  include: ./tasks
  sampling: {temperature: 0.7}
  repeats: ${repeats}
  model_args: {dtype: float32}
  device: cpu
  batch_size: 50
`;
