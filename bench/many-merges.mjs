// @ts-check
// Private memory over many merges, and planning them.
//
//   npm run bench:many [-- --loop 1000 --batch 1000,3000 --plan 100000 --dir DIR]
//
// Merges checkpoints with the 291 tensors of Llama 3.1 8B and 80 KB of weights: memory can grow only by what
// is kept of each merge. `--loop` calls `swap` repeatedly in one process; `--batch` runs one experiment.
// Prints private memory (RssAnon) and V8's heap over time, and the slope of a least-squares fit after the
// first tenth. `--gc` collects garbage before each sample, so that only kept memory grows.
//
// `--plan` plans an experiment of so many swaps by `batch --dry-run --json`, and prints seconds and peak
// resident memory.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { merge, runExperiment } from 'layerloom';
import { measure } from './lib/measure.mjs';
import { makeSmallCheckpoints } from './lib/small-checkpoints.mjs';

const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: tmpdir() },
    loop: { type: 'string' },
    batch: { type: 'string' },
    plan: { type: 'string' },
    gc: { type: 'boolean', default: false },
    /** Internal: the work to sample in this process, `loop N` or `batch N`. */
    run: { type: 'string' },
  },
});

const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const [tasks, languages] = [
  ['math-1', 'math-2'],
  ['swh-1', 'swh-2', 'swh-3', 'swh-4', 'swh-5'],
];

/**
 * An experiment of at most 100,000 merges: two tasks by five language experts, and a grid of swaps.
 *
 * @param {number} merges
 */
const experimentOf = (merges) => {
  const count = Math.ceil(merges / (tasks.length * languages.length));
  const list = (/** @type {number} */ length, /** @type {number} */ from = 0) =>
    `[${Array.from({ length }, (_, index) => index + from).join(', ')}]`;
  const paths = (/** @type {string[]} */ names) =>
    `{${names.map((name) => `${name}: ./${name}`).join(', ')}}`;
  const weights = Array.from({ length: Math.ceil(count / 2500) }, (_, index) => `[${index + 1}, 1]`);
  const inner = Math.min(count, 2500);
  const steps = Math.ceil(inner / 100);
  const [bottoms, tops] = inner < 100 ? [inner, 1] : [10, 10];
  return `tasks: ${paths(tasks)}
languages:
  swahili: ${paths(languages)}
merges:
  - name: grid
    method: layer_swap
    bottom: ${list(Math.min(bottoms, 20))}
    top: ${list(tops)}
    bottom_transition: ${list(Math.min(steps, 5))}
    top_transition: ${list(Math.ceil(steps / 5))}
    weights: [${weights.join(', ')}]
`;
};

/** Anonymous memory of this process, in bytes. */
const privateBytes = () =>
  Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;

/** @typedef {{ merges: number, rss: number, heap: number, external: number }} Sample */

/**
 * Does the work and prints samples as JSON.
 *
 * @param {string} kind
 * @param {number} merges
 * @param {string} directory
 */
const watch = async (kind, merges, directory) => {
  /** @type {Sample[]} */
  const samples = [];
  const every = Math.max(1, Math.floor(merges / 100));
  const sample = (/** @type {number} */ done) => {
    if (done % every !== 0) return;
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    samples.push({ merges: done, rss: privateBytes(), heap: heapUsed, external });
  };
  const out = join(directory, kind);
  if (kind === 'loop')
    for (let done = 1; done <= merges; done += 1) {
      await merge(
        { method: 'layer_swap', task: join(directory, 'math-1'), language: join(directory, 'swh-1') },
        { out, threads: 2 },
      );
      rmSync(out, { recursive: true });
      sample(done);
    }
  else {
    let done = 0;
    writeFileSync(join(directory, 'experiment.yaml'), experimentOf(merges));
    const { experiment } = await runExperiment(join(directory, 'experiment.yaml'), {
      out,
      threads: 2,
      onMerge: () => sample(++done),
    });
    if (experiment.state !== 'done') throw new Error(`the batch is ${experiment.state}`);
  }
  process.stdout.write(JSON.stringify(samples));
};

/**
 * Slope of a least-squares line, in units of y per unit of x.
 *
 * @param {readonly (readonly [number, number])[]} points
 */
const slopeOf = (points) => {
  const mean = (/** @type {0 | 1} */ of) => points.reduce((sum, point) => sum + point[of], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const top = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return top / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
};

const inMb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const inKb = (/** @type {number} */ bytes) => `${(bytes / 1e3).toFixed(2)} KB`;

/** @param {string} kind @param {number} merges @param {string} directory */
const report = (kind, merges, directory) => {
  rmSync(join(directory, kind), { recursive: true, force: true });
  const self = fileURLToPath(import.meta.url);
  const flags = values.gc ? ['--expose-gc'] : [];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, self, '--run', `${kind} ${merges}`, '--dir', directory],
    { encoding: 'utf8', maxBuffer: 1e8 },
  );
  if (status !== 0) throw new Error(`${kind} of ${merges} merges ended with ${status}\n${stderr}`);
  /** @type {Sample[]} */
  const samples = JSON.parse(stdout);
  const warm = samples.filter((sample) => sample.merges > merges / 10);
  const slope = (/** @type {'rss' | 'heap'} */ of) =>
    slopeOf(warm.map((sample) => /** @type {const} */ ([sample.merges, sample[of]])));
  console.log(`${kind} of ${merges} merges${values.gc ? ', garbage collected before each sample' : ''}`);
  for (const at of samples.filter((_, index) => (index + 1) % Math.ceil(samples.length / 10) === 0))
    console.log(
      `  ${String(at.merges).padStart(7)}  private ${inMb(at.rss).padStart(9)}  heap ${inMb(at.heap).padStart(9)}  external ${inMb(at.external).padStart(8)}`,
    );
  console.log(
    `  behind the first tenth: private memory ${inKb(slope('rss'))} a merge, V8's heap ${inKb(slope('heap'))} a merge; peak ${inMb(Math.max(...samples.map(({ rss }) => rss)))}`,
  );
  rmSync(join(directory, kind), { recursive: true, force: true });
};

/** @param {number} merges @param {string} directory */
const reportPlan = async (merges, directory) => {
  const file = join(directory, 'plan.yaml');
  writeFileSync(file, experimentOf(merges));
  const { seconds, peakBytes, stdout } = await measure(process.execPath, [
    cli,
    'batch',
    file,
    '--dry-run',
    '--json',
  ]);
  const { cost } = JSON.parse(stdout);
  console.log(
    `plan of ${cost.merges} merges, ${cost.shards} distinct shards: ${seconds.toFixed(1)} s, peak ${inMb(peakBytes)}`,
  );
};

const counts = (/** @type {string | undefined} */ text) =>
  (text ?? '').split(',').filter(Boolean).map(Number);

if (values.run !== undefined) {
  const [kind = '', merges] = values.run.split(' ');
  await watch(kind, Number(merges), values.dir);
} else {
  mkdirSync(values.dir, { recursive: true });
  const directory = mkdtempSync(join(values.dir, 'layerloom-many-'));
  const all = values.loop === undefined && values.batch === undefined && values.plan === undefined;
  try {
    makeSmallCheckpoints(directory, [...tasks, ...languages]);
    for (const merges of counts(all ? '1000' : values.loop)) report('loop', merges, directory);
    for (const merges of counts(all ? '1000,3000' : values.batch)) report('batch', merges, directory);
    for (const merges of counts(all ? '100000' : values.plan)) await reportPlan(merges, directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
