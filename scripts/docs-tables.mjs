// @ts-check
/**
 * Writes the tables of settings in docs/ from their definitions. A table extends from a line `<!-- settings:
 * NAME -->` to an empty line. Run by `npm run docs:tables`; test/docs/tables.test.ts finds outdated tables.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { longOf } from '../dist/cli/options/spellings.js';
import { wordsOf } from '../dist/core/base/errors/setting.js';
import {
  commonSettings,
  outputSettings,
} from '../dist/core/methods/framework/declaration/common-settings.js';
import { spelt } from '../dist/core/methods/recipe/block.js';
import { families, usualStacks } from '../dist/core/models/architecture/families.js';
import { hubVariables } from '../dist/core/models/sources/hub/variables.js';
import { benchmarks, dataOf } from '../dist/study/evaluation/data/benchmarks.js';
import { evaluationSchema } from '../dist/study/evaluation/evaluation-block.js';
import { experimentSchema, furtherReference } from '../dist/study/experiment/file/blocks/experiment-block.js';
import { searchSchema } from '../dist/study/experiment/file/blocks/search-block.js';
import { choices } from '../dist/study/training/settings/choices.js';
import { runValues } from '../dist/study/training/settings/run-values.js';
import { trainingSettings } from '../dist/study/training/settings/training-settings.js';

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');

/**
 * Returns the effect of leaving a key out: its words, or its type's default. @param {import('zod').ZodType}
 * type
 */
const withoutIt = (type) => {
  const { otherwise = 'none' } = wordsOf(type) ?? {};
  const { success, data } = type.safeParse(undefined);
  if (!success) return 'required';
  const isEmpty = data === undefined || (typeof data === 'object' && Object.keys(data).length === 0);
  return isEmpty ? otherwise : `\`${data}\``;
};

/**
 * @param {string} head heading of the keys
 * @param {import('zod').ZodObject} block
 * @param {(key: string) => string} [show]
 */
const settings = (head, block, show = (key) => `\`${key}\``) =>
  table(
    [head, 'default', 'meaning'],
    Object.entries(block.shape).map(([name, type]) => [
      show(spelt(name)),
      withoutIt(type),
      wordsOf(type)?.meaning ?? '',
    ]),
  );

const thousands = (/** @type {number} */ count) => `${count / 1000} thousand`;

const training = table(
  ['what', 'source'],
  [
    [
      'learning rate, batch size, sequence length, weight decay, gradient norm, schedule, warm-up, β₂',
      'Table 4',
    ],
    [
      `30 to 40 thousand samples, a checkpoint every ${thousands(choices.checkpointEvery)}, another seed each run`,
      `§3.1; ${thousands(choices.samples)} and the number of the run as its seed are ours`,
    ],
    [
      `AdamW, β₁ = ${choices.beta1}, ε = ${choices.epsilon}; warm-up counted in steps; WSD decays linearly in the last ${choices.decayShare * 100} % of the steps`,
      'ours',
    ],
    [
      'float32 weights under bfloat16 autocast',
      "ours: steps of 1e-7 vanish in bfloat16 weights. axolotl's full presets compute in float32 (TF32)",
    ],
    ['no packing, no loss on the prompt', 'ours'],
    [
      'mixing ratios (equal shares, a small set whole); the prompts of translations (either direction)',
      'ours',
    ],
    [
      'configurations, splits and columns of the data sets',
      'ours, from their cards; not run against the hub here',
    ],
    [
      'FLORES removed from xP3 MT: files with `flores` in their names, or by a list of sentences',
      'stated; the way is ours',
    ],
    [
      `LoRA: rank ${choices.lora.rank}, alpha ${choices.lora.alphaPerRank} × rank, dropout ${choices.lora.dropout}, all linear modules in the layers; learning rate Table 4's × ${choices.lora.learningRateFactor}`,
      'ours: 1e-7 is far too small for LoRA',
    ],
    [
      `devices for full fine-tuning (FSDP 2): ${choices.devices.full}; for LoRA: ${choices.devices.lora}; batch = devices × batch per device`,
      'ours: 8B in float32 with AdamW takes 128 GB',
    ],
  ],
);

/** @param {readonly string[]} names */
const code = (names) => names.map((name) => `\`${name}\``).join(', ');

/** Benchmarks whose data are on no hub. */
const localOnly = new Set(['flores', 'mgsm-rev2', 'mgsm-pro']);

const knownFamilies = table(
  ['family', '`model_type`', 'form', 'layers'],
  families.map(({ title, types, form, stacks = usualStacks }) => [
    title,
    code(types),
    form,
    stacks === usualStacks ? 'usual' : code(stacks.map((stack) => `${stack}.N`)),
  ]),
);

const measured = table(
  ['`--benchmarks`', 'measures', 'task', 'judged by', 'shots', 'languages', 'data'],
  Object.entries(benchmarks).map(([name, benchmark]) => {
    const { title, measures, forms, languages } = benchmark;
    const [{ name: task, metrics, shots }] = forms;
    const data = dataOf(benchmark) === undefined ? 'hub' : localOnly.has(name) ? '`data:`' : 'hub, `data:`';
    return [
      `\`${name}\``,
      `${title}: ${measures}`,
      `\`${name === 'flores' ? 'layerloom_flores_SRC_TGT' : task}\``,
      `\`${metrics[0]}\``,
      shots === null ? '–' : `${shots}`,
      languages.length === 1 ? 'English' : `${languages.length}`,
      data,
    ];
  }),
);

const localData = table(
  ['benchmark', 'files in `DIR`', 'columns'],
  Object.values(benchmarks).flatMap((benchmark) => {
    const data = dataOf(benchmark);
    return data === undefined ? [] : [[benchmark.title, `\`${data.files}\``, data.rows]];
  }),
);

/** The tables by name. */
export const tables = new Map([
  ['experiment', settings('key', experimentSchema)],
  ['reference', settings('key', furtherReference)],
  ['evaluate', settings('key', evaluationSchema)],
  [
    'search',
    settings(
      'option, key under `search:`',
      searchSchema,
      (key) => `\`${longOf(key.replaceAll('_', '-'))}\`, \`${key}\``,
    ),
  ],
  [
    'hub',
    table(
      ['variable', 'default', 'meaning'],
      Object.entries(hubVariables).map(([name, words]) => [
        `\`${name}\``,
        'otherwise' in words ? words.otherwise : 'none',
        words.meaning,
      ]),
    ),
  ],
  [
    'run-values',
    table(
      ['key', 'meaning'],
      Object.entries(runValues.shape).map(([name, type]) => [
        `\`${spelt(name)}\``,
        wordsOf(type)?.meaning ?? '',
      ]),
    ),
  ],
  ['families', knownFamilies],
  ['benchmarks', measured],
  ['local-data', localData],
  ['train-init', settings('option', trainingSettings, (key) => `\`${longOf(key)}\``)],
  ['training', training],
  ['recipe', settings('key', commonSettings.extend(outputSettings.shape))],
]);

/** Pages with such tables. */
export const pages = ['evaluation', 'experiments', 'families', 'hub', 'methods', 'search', 'training'];

/** Returns a page with updated tables. @param {string} text */
export const withTables = (text) =>
  text.replace(/(<!-- settings: (\S+) -->\n)(?:\|.*\n)*/g, (_, marker, name) => {
    const made = tables.get(name);
    if (made === undefined)
      throw new Error(`no settings are named ${name}; known are ${[...tables.keys()].join(', ')}`);
    return marker + made;
  });

/** @param {string} page */
export const fileOf = (page) => fileURLToPath(new URL(`../docs/${page}.md`, import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const page of pages) {
    const text = readFileSync(fileOf(page), 'utf8');
    writeFileSync(fileOf(page), withTables(text));
  }
