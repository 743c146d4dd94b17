// @ts-check
// Workloads to run under faults: command lines over small models, each with a function that returns its
// words.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesToPush } from './hub.mjs';
import { large, writeAdapter, writeModel } from './models.mjs';

/**
 * Directories of a workload: `inputs` are never written, `work` is its own.
 *
 * @typedef {{ readonly inputs: string; readonly work: string }} Place
 *
 * Runs a command line to its end, without faults.
 *
 * @typedef {(words: readonly string[]) => Promise<unknown>} RunCommand
 *
 * @typedef {object} Workload
 * @property {(place: Place) => string[]} command
 * @property {(place: Place) => string[]} [again] the command after a failure; default: the command with
 * --resume
 * @property {(place: Place) => string[]} [onceMore] the command if the output exists; default: `again`
 * @property {(place: Place, run: RunCommand) => Promise<void>} [prepare] makes the first contents of `work`
 * @property {readonly string[]} [wholes] paths below `work` that are always as before or as after, never
 * between
 * @property {readonly string[]} [lasting] further paths that stay after the end, whatever happens later
 * @property {RegExp} [goesOnWithout] warning of a command that ends well with work left, which the next one
 * does
 * @property {true} [isSlow] starts processes that take a second; runs only by name
 * @property {readonly string[]} [stores] stores below `work` whose shards must never be damaged
 * @property {OfHub} [hub] its use of a hub
 *
 * A workload's hub: its models, a command that makes the output again from the cache, options of uploads, and
 * the repository that is pushed to, with its files before and after.
 *
 * @typedef {object} OfHub
 * @property {(place: Place) => Readonly<Record<string, string>>} [models] directories by the models' names
 * @property {(place: Place) => string[]} [offline]
 * @property {Pick<import('../fixtures/hub-uploads.js').UploadOptions, 'partBytes' | 'copies'>} [uploads]
 * @property {(place: Place) => { readonly id: string; readonly before: ReadonlyMap<string, Buffer>;
 *   readonly after: ReadonlyMap<string, Buffer> }} [push]
 */

/** @param {Place} place */
export const writeInputs = ({ inputs }) => {
  for (const [index, name] of ['base', 'math-1', 'math-2', 'swh-1'].entries())
    writeModel(join(inputs, name), index + 1);
  for (const [index, name] of ['lora-1', 'lora-2'].entries()) writeAdapter(join(inputs, name), index + 11);
  for (const [index, name] of ['large-math', 'large-swh'].entries())
    writeModel(join(inputs, name), index + 21, large);
};

/** @param {Place} place @param {...string} more */
export const swap = ({ inputs, work }, ...more) => [
  ...[
    'swap',
    '--task',
    join(inputs, 'math-1'),
    '--lang',
    join(inputs, 'swh-1'),
    '--bottom',
    '1',
    '--top',
    '1',
  ],
  ...['-o', join(work, 'out'), ...more],
];

/**
 * A swap of models with a shard for each layer, which can be linked. @param {Place} place @param {string} how
 */
const linked = ({ inputs, work }, how) => swap({ inputs: join(inputs, 'layered'), work }, '--link', how);

/** @param {Place} place @param {RunCommand} run */
const layered = async ({ inputs }, run) => {
  for (const name of ['math-1', 'swh-1']) {
    const out = join(inputs, 'layered', name);
    if (!existsSync(out)) await run(['relayout', join(inputs, name), '-o', out]);
  }
};

/** @param {Place} place @param {string} file @param {object} content */
export const write = ({ work }, file, content) => writeFileSync(join(work, file), JSON.stringify(content));

/** Merges in stages; two of them share shards. @param {Place} place */
export const study = ({ inputs }) => ({
  base: join(inputs, 'base'),
  tasks: { 'math-1': join(inputs, 'math-1') },
  languages: { swahili: { 'swh-1': join(inputs, 'swh-1') } },
  merges: [
    { name: 'swap', method: 'layer_swap', bottom: 1, top: 1 },
    { name: 'narrow', method: 'layer_swap', bottom: 1, top: 0 },
    { name: 'ties', method: 'ties', density: 0.5 },
  ],
});

/** @param {Place} place @param {...string} more */
const batch = ({ work }, ...more) => ['batch', join(work, 'study.yaml'), '-o', join(work, 'study'), ...more];

/** @param {Place} place */
const evaluate = ({ work }) => [
  ...['evaluate', join(work, 'study'), '--only', 'swahili/*', '--lm-eval', harness, '--separate'],
];

/** @param {Place} place */
const search = ({ work }) => [
  ...['search', join(work, 'study.yaml'), '-o', join(work, 'study'), '--problems', '20', '--hold-out', '5'],
  ...['--budget', '40', '--lm-eval', harness],
];

const inStudy = ['swap', 'narrow', 'ties'].map((name) => `study/swahili/math-1+swh-1/${name}`);

/** @param {Place} place */
const initial = ({ inputs, work }) => [
  ...['experiment', 'init', '--preset', 'smoke', '--task', `math-1=${join(inputs, 'math-1')}`],
  ...['--lang', `swahili:swh-1=${join(inputs, 'swh-1')}`, '-o', join(work, 'study.yaml')],
];

/** A command that makes `out` again. @param {Workload} workload @returns {Workload} */
const ofOut = (workload) => ({
  ...{ wholes: ['out'], onceMore: (place) => [...workload.command(place), '--force'] },
  ...workload,
});

/** Models on the hub: a model of a single file, and a model with a file for each layer. @param {Place} place */
const onHub = ({ inputs }) => ({
  'org/math': join(inputs, 'large-math'),
  'org/swh': join(inputs, 'layered', 'large-swh'),
});

/** @param {Place} place @param {RunCommand} run */
const putOnHub = async ({ inputs }, run) => {
  const out = join(inputs, 'layered', 'large-swh');
  if (existsSync(out)) return;
  await run(['relayout', join(inputs, 'large-swh'), '-o', out]);
  // It names paths, which would make the commit vary between runs.
  rmSync(join(out, 'layerloom.json'));
};

/** @param {Place} place @param {...string} more */
const download = ({ work }, ...more) => [
  ...['relayout', 'org/math', '-o', join(work, 'out'), '--download', ...more],
];

/** @param {Place} place @param {...string} more */
const swapOfHub = ({ work }, ...more) => [
  ...['swap', '--task', 'org/math', '--lang', 'org/swh', '--bottom', '1', '--top', '1'],
  ...['-o', join(work, 'out'), '--download', ...more],
];

/** Merges that are pushed one after another. @param {Place} place @param {RunCommand} run */
const merges = async ({ inputs }, run) => {
  for (const [name, weights] of [
    ['pushed', '1,1'],
    ['pushed-before', '1,3'],
  ]) {
    const out = join(inputs, name ?? '');
    if (!existsSync(out))
      await run([...swap({ inputs, work: inputs }).slice(0, -1), out, '--weights', weights ?? '']);
  }
};

/** @param {Place} place */
const push = ({ inputs }) => ['push', join(inputs, 'pushed'), 'org/merged'];

/** @param {Place} place */
const pushOfHub = ({ inputs }) => ['push', join(inputs, 'pushed-of-hub'), 'org/merged'];

/**
 * A merge of hub models with a file for each layer: one output file mixes both models, the others are
 * unchanged.
 *
 * @param {Place} place @param {RunCommand} run
 */
const mergeOfHub = async ({ inputs, work }, run) => {
  await layered({ inputs, work }, run);
  const out = join(inputs, 'pushed-of-hub');
  if (existsSync(out)) return;
  const place = { inputs: join(inputs, 'layered'), work };
  await run([...swap(place).slice(0, -1), out, '--top', '0', '--top-transition', '1']);
  const file = join(out, 'layerloom.json');
  const provenance = JSON.parse(readFileSync(file, 'utf8'));
  const named = Object.entries(layeredOnHub({ inputs, work }));
  for (const input of provenance.inputs) {
    const [id] = named.find(([, directory]) => input.path === directory) ?? [];
    input.hub = { id, revision: 'main' };
  }
  writeFileSync(file, JSON.stringify(provenance));
};

/** @param {Place} place */
const layeredOnHub = ({ inputs }) => ({
  'org/layered-math': join(inputs, 'layered', 'math-1'),
  'org/layered-swh': join(inputs, 'layered', 'swh-1'),
});

/**
 * A push of a merge to an empty repository.
 * @param {string} name
 * @returns {(place: Place) => ReturnType<NonNullable<OfHub['push']>>}
 */
const pushedFirst =
  (name) =>
  ({ inputs }) => ({ id: 'org/merged', before: new Map(), after: filesToPush(join(inputs, name)) });

/** A stand-in for lm_eval; the library does not enter its processes. */
const harness = `${process.execPath} ${fileURLToPath(new URL('../fixtures/lm-eval.mjs', import.meta.url))}`;
const evaluated = { evaluate: { tasks: { swahili: 'mgsm_direct_sw' } } };

/** @satisfies {Readonly<Record<string, Workload>>} */
const all = {
  swap: ofOut({ command: swap }),
  'swap resumed': ofOut({
    command: (place) => swap(place, '--resume'),
    again: (place) => swap(place, '--resume'),
  }),
  'swap replacing': ofOut({
    prepare: async (place, run) => void (await run([...swap(place), '--weights', '1,3'])),
    command: (place) => swap(place, '--force'),
    again: (place) => swap(place, '--force', '--resume'),
  }),
  ties: {
    prepare: async (place) =>
      write(place, 'ties.yaml', {
        method: 'ties',
        base: join(place.inputs, 'base'),
        models: [
          { model: join(place.inputs, 'math-1'), weight: 1 },
          { model: join(place.inputs, 'swh-1'), weight: 0.5 },
        ],
        density: 0.5,
      }),
    command: ({ work }) => [
      ...['merge', join(work, 'ties.yaml'), '-o', join(work, 'out'), '--checksums', '--layout', 'size'],
      ...['--save-recipe', join(work, 'saved.yaml')],
    ],
    again: ({ work }) => [
      ...['merge', join(work, 'ties.yaml'), '-o', join(work, 'out'), '--checksums', '--layout', 'size'],
      ...['--save-recipe', join(work, 'saved.yaml'), '--resume', '--force'],
    ],
    wholes: ['out', 'saved.yaml'],
  },
  relayout: ofOut({
    command: ({ inputs, work }) => ['relayout', join(inputs, 'math-1'), '-o', join(work, 'out')],
  }),
  'swap linked': ofOut({ prepare: layered, command: (place) => linked(place, 'hard') }),
  'swap symbolic': ofOut({ prepare: layered, command: (place) => linked(place, 'symbolic') }),
  extract: ofOut({
    command: ({ inputs, work }) => [
      ...['extract-lora', '--base', join(inputs, 'base'), join(inputs, 'math-1'), '--rank', '2'],
      ...['-o', join(work, 'out')],
    ],
    again: ({ inputs, work }) => [
      ...['extract-lora', '--base', join(inputs, 'base'), join(inputs, 'math-1'), '--rank', '2'],
      ...['-o', join(work, 'out')],
    ],
  }),
  adapters: ofOut({
    command: ({ inputs, work }) => [
      ...['soup', join(inputs, 'lora-1'), join(inputs, 'lora-2'), '--base', join(inputs, 'base')],
      ...['-o', join(work, 'out')],
    ],
  }),
  batch: {
    prepare: async (place) => write(place, 'study.yaml', study(place)),
    command: batch,
    wholes: inStudy,
    lasting: ['study/experiment.json'],
    stores: ['study/.store'],
  },
  'batch resumed': {
    prepare: async (place, run) => {
      const { merges, ...rest } = study(place);
      write(place, 'study.yaml', { ...rest, merges: merges.slice(0, 1) });
      await run(batch(place));
      write(place, 'study.yaml', study(place));
    },
    command: (place) => batch(place, '--resume'),
    again: (place) => batch(place, '--resume'),
    wholes: inStudy,
    lasting: ['study/experiment.json'],
    stores: ['study/.store'],
  },
  evaluate: {
    prepare: async (place, run) => {
      const { merges, ...rest } = study(place);
      write(place, 'study.yaml', { ...rest, merges: merges.slice(0, 1), ...evaluated });
      await run(batch(place));
    },
    isSlow: true,
    command: evaluate,
    again: evaluate,
    stores: ['study/.store'],
  },
  search: {
    prepare: async (place) => {
      const grid = { name: 'grid', method: 'layer_swap', bottom: [0, 1], top: 1 };
      write(place, 'study.yaml', { ...study(place), merges: [grid], ...evaluated });
    },
    isSlow: true,
    goesOnWithout: / is left out: /,
    command: search,
    again: (place) => [...search(place), '--resume'],
    stores: ['study/.store'],
  },
  download: ofOut({
    prepare: putOnHub,
    command: download,
    hub: { models: onHub, offline: (place) => download(place, '--force') },
  }),
  'swap of the hub': ofOut({
    prepare: putOnHub,
    command: swapOfHub,
    hub: { models: onHub, offline: (place) => swapOfHub(place, '--force') },
  }),
  push: {
    prepare: merges,
    command: push,
    again: push,
    hub: { push: pushedFirst('pushed') },
  },
  'push again': {
    prepare: merges,
    command: push,
    again: push,
    hub: {
      push: ({ inputs }) => ({
        id: 'org/merged',
        before: filesToPush(join(inputs, 'pushed-before')),
        after: filesToPush(join(inputs, 'pushed')),
      }),
    },
  },
  'push in parts': {
    prepare: merges,
    command: push,
    again: push,
    hub: { uploads: { partBytes: 2000 }, push: pushedFirst('pushed') },
  },
  'push with copies': {
    prepare: mergeOfHub,
    command: pushOfHub,
    again: pushOfHub,
    hub: {
      models: layeredOnHub,
      // Does not copy the middle layer, although the hub could.
      uploads: { copies: (_, name) => !name.startsWith('model-00003-') },
      push: pushedFirst('pushed-of-hub'),
    },
  },
  gc: {
    prepare: async (place, run) => {
      write(place, 'study.yaml', study(place));
      await run(batch(place, '--store', join(place.work, 'store')));
      rmSync(join(place.work, 'study'), { recursive: true });
    },
    command: ({ work }) => ['store', 'gc', join(work, 'store')],
    again: ({ work }) => ['store', 'gc', join(work, 'store')],
    stores: ['store'],
  },
  'store verify': {
    prepare: async (place, run) => {
      write(place, 'study.yaml', study(place));
      await run(batch(place, '--store', join(place.work, 'store')));
    },
    command: ({ work }) => ['store', 'verify', join(work, 'store')],
    again: ({ work }) => ['store', 'verify', join(work, 'store')],
    wholes: inStudy,
    stores: ['store'],
  },
  verify: {
    prepare: async (place, run) => void (await run(swap(place, '--checksums'))),
    command: ({ work }) => ['verify', join(work, 'out'), '--against-inputs'],
    again: ({ work }) => ['verify', join(work, 'out'), '--against-inputs'],
    wholes: ['out'],
  },
  analyze: {
    command: ({ inputs, work }) => [
      ...['analyze', '--base', join(inputs, 'base'), join(inputs, 'math-1'), join(inputs, 'swh-1')],
      ...['-o', join(work, 'analysis')],
    ],
    again: ({ inputs, work }) => [
      ...['analyze', '--base', join(inputs, 'base'), join(inputs, 'math-1'), join(inputs, 'swh-1')],
      ...['-o', join(work, 'analysis')],
    ],
  },
  partition: {
    command: ({ inputs, work }) => [
      'partition',
      join(inputs, 'base'),
      '--bottom',
      '1',
      '--top',
      '1',
      '-o',
      join(work, 'parts.json'),
    ],
    again: ({ inputs, work }) => [
      ...['partition', join(inputs, 'base'), '--bottom', '1', '--top', '1', '-o', join(work, 'parts.json')],
      '--force',
    ],
    wholes: ['parts.json'],
  },
  select: {
    prepare: async ({ inputs, work }, run) => {
      writeFileSync(join(work, 'scores.csv'), 'name,score\nmath-1,1\nmath-2,2\nswh-1,3\n');
      const experts = ['math-1', 'math-2', 'swh-1'].map((name) => join(inputs, name));
      await run(['analyze', '--base', join(inputs, 'base'), ...experts, '-o', join(work, 'analysis')]);
    },
    command: ({ work }) => [
      ...[
        'select',
        '--scores',
        join(work, 'scores.csv'),
        '--analysis',
        join(work, 'analysis'),
        '--count',
        '2',
      ],
      ...['-o', join(work, 'chosen.json')],
    ],
    again: ({ work }) => [
      ...[
        'select',
        '--scores',
        join(work, 'scores.csv'),
        '--analysis',
        join(work, 'analysis'),
        '--count',
        '2',
      ],
      ...['-o', join(work, 'chosen.json')],
    ],
    wholes: ['chosen.json'],
  },
  'experiment init': {
    command: initial,
    again: initial,
    // It replaces no file, so the output is removed first, as a user would.
    onceMore: ({ inputs, work }) => {
      rmSync(join(work, 'study.yaml'));
      return initial({ inputs, work });
    },
    wholes: ['study.yaml'],
  },
};

/** @type {Readonly<Record<string, Workload>>} */
export const workloads = all;

/**
 * Workloads in separate processes: also the start of a command, which caches its compiled code.
 * @type {Readonly<Record<string, Workload>>}
 */
export const processWorkloads = {
  ...all,
  'compiled code': {
    prepare: async ({ work }) => mkdirSync(join(work, 'cache')),
    command: ({ inputs }) => ['inspect', join(inputs, 'base')],
    again: ({ inputs }) => ['inspect', join(inputs, 'base')],
  },
};

/** Empties a directory, or makes it. @param {string} directory */
export const emptied = (directory) => {
  mkdirSync(directory, { recursive: true });
  for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true, force: true });
};
