// @ts-check
// Time and memory of the tables of a large study with sampled answers.
//
//   npm run bench:sampled [-- --samples 30 --problems 250 --dir DIR --keep]
//
// Writes a constructed study of 2,988 merges (the preset `grid` with default swaps and soups; no model was
// merged or scored), each with so many answers to each problem, as evaluations write them: 9 GB by default.
// Then makes all tables of it, and prints processor and wall seconds and peak resident memory.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { constructedExperiment, metric, writeRecord } from './constructed-experiment.mjs';
import { measure } from './lib/measure.mjs';

const { values } = parseArgs({
  options: {
    samples: { type: 'string', default: '30' },
    problems: { type: 'string', default: '250' },
    dir: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const [samples, problems] = [Number(values.samples), Number(values.problems)];
const directory = values.dir ?? mkdtempSync(join(tmpdir(), 'layerloom-sampled-'));
const filter = metric.slice(metric.indexOf(',') + 1);

const hash = (/** @type {string} */ text) => createHash('sha256').update(text).digest('hex');

/** A generator of numbers in [0, 1) (Numerical Recipes). @param {number} seed */
const seeded = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

/** The beginning of each problem's line, which all results share. @param {string} task */
const headsOf = (task) =>
  Array.from({ length: problems }, (_, id) => {
    const hashes = ['document', 'prompt', 'target'].map((of) => [of, hash(`${of} ${task} ${id}`)]);
    return JSON.stringify({ id, ...Object.fromEntries(hashes) }).slice(0, -1);
  });

const writeStudy = () => {
  const experiment = constructedExperiment({
    gridOf: ['swahili', 'telugu', 'bengali', 'japanese'],
    problems: 1,
    directory,
  });
  writeRecord(experiment, 32);
  const evaluations = join(directory, 'evaluations');
  mkdirSync(evaluations, { recursive: true });
  const random = seeded(59);
  /** @type {Map<string, { heads: string[], hard: number[] }>} */
  const tasks = new Map();
  /** @type {Map<string, Record<string, unknown>>} */
  const scores = new Map();
  for (const { name, role, entry, results } of experiment.models) {
    /** @type {Record<string, unknown>} */
    const own = {};
    for (const [task, constructed] of results) {
      const known = tasks.get(task);
      const { heads, hard } = known ?? {
        heads: headsOf(task),
        hard: Array.from({ length: problems }, () => 4 * random() - 1),
      };
      if (known === undefined) tasks.set(task, { heads, hard });
      const ability = (role === 'base' ? 0 : 0.5) + (entry === 'grid' ? 0.4 * random() : 0.2);
      const files = Array.from({ length: samples }, (_, sample) => {
        let right = 0;
        const lines = heads.map((head, id) => {
          const is = random() < 1 / (1 + Math.exp(Number(hard[id]) - ability));
          right += is ? 1 : 0;
          const answer = is ? 7 * id : 7 * id + 1 + Math.floor(30 * random());
          return `${head},"response":"There are ${sample} steps, and the answer is ${answer}.","scores":{"${metric}":${is ? 1 : 0}},"answers":{"${filter}":"${answer}"}}`;
        });
        const file = `${task}-${hash(`${name} ${task} ${sample}`).slice(0, 16)}`;
        const summary = {
          ...{ ...constructed, problems: undefined, weights: hash(name), sampling: 'temperature=0.6' },
          ...{ seed: `${sample},${1234 + sample},${1234 + sample},1234`, n: problems, source: 'run' },
          metrics: { [metric]: right / problems },
        };
        writeFileSync(join(evaluations, `${file}.problems.json`), `[${lines.join(',')}]\n`);
        writeFileSync(join(evaluations, `${file}.json`), `${JSON.stringify(summary, null, 2)}\n`);
        return { file: `evaluations/${file}.json`, mean: right / problems };
      });
      const mean = files.reduce((sum, one) => sum + one.mean, 0) / samples;
      own[task] = {
        ...{ taskVersion: constructed.taskVersion, fewshot: 8, n: problems, rows: null },
        ...{ sampling: 'temperature=0.6', metrics: { [metric]: mean }, result: files[0]?.file },
        ...(samples > 1 ? { samples: files.map(({ file }) => file) } : {}),
      };
    }
    scores.set(name, own);
  }
  const path = join(directory, 'experiment.json');
  const record = JSON.parse(readFileSync(path, 'utf8'));
  const references = experiment.models
    .filter(({ role }) => role !== 'merge')
    .map(({ name, role, languages }) => ({
      ...{ name, role, languages, model: `${name}=/constructed/${name}` },
      scores: scores.get(name),
    }));
  const merges = record.merges.map((/** @type {{ name: string }} */ merge) => ({
    ...merge,
    scores: scores.get(merge.name),
  }));
  const evaluate = { tasks: Object.fromEntries(experiment.tasks) };
  writeFileSync(path, JSON.stringify({ ...record, merges, references, evaluate }));
};

if (!existsSync(join(directory, 'experiment.json'))) writeStudy();
const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const started = performance.now();
const cost = await measure(process.execPath, [cli, 'table', directory, '--format', 'csv']);
const wall = (performance.now() - started) / 1000;
console.log(
  `tables of ${samples} answers to ${problems} problems: ${wall.toFixed(1)} s, of the processor ${cost.processorSeconds.toFixed(1)} s; ${(cost.peakBytes / 1e9).toFixed(2)} GB resident; ${cost.stdout.split('\n').length} lines`,
);
if (!values.keep) rmSync(directory, { recursive: true });
