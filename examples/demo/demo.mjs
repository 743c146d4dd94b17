// @ts-check
// Makes a small base and experts of it, swaps layers of two, checks the result, lets all answer, and runs a small experiment.
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LayerloomError, layerSwap, runExperiment } from 'layerloom';
import pc from 'picocolors';
import { answer } from './answer.mjs';
import { checkSwap, readTensors } from './check.mjs';
import { fineTune, makeBase, writeCheckpoint } from './experts.mjs';
import { ofMath, ofSwahili, shape } from './words.mjs';

/** @typedef {import('./experts.mjs').Tensor} Tensor */

const figure = (/** @type {string} */ name) =>
  fileURLToPath(new URL(`../../docs/figures/${name}.csv`, import.meta.url));
const ownDirectory = fileURLToPath(new URL('../../demo', import.meta.url));
const directory = process.argv[2] ?? ownDirectory;
const place = (/** @type {string} */ name) => join(directory, name);
const counts = { bottom: 5, top: 2 };
const last = shape.layers - 1;

/** The share of input features that fine-tuning moved in layers. @param {Tensor[]} base @param {Tensor[]} expert @param {number} from @param {number} to */
const moved = (base, expert, from, to) => {
  let [changed, all] = [0, 0];
  for (const [index, { name, data, shape: extents }] of base.entries()) {
    const [, features] = extents;
    const layer = Number(/layers\.(\d+)\./.exec(name)?.[1]);
    if (features === undefined || !(layer >= from && layer <= to)) continue;
    const other = expert[index]?.data ?? data;
    all += features;
    for (let feature = 0; feature < features; feature += 1)
      if (data[feature] !== other[feature]) changed += 1;
  }
  return `${Math.round((100 * changed) / all)} %`;
};

/** Draws groups of layers, with what fine-tuning changed of each. @param {Tensor[]} base @param {Tensor[]} math @param {Tensor[]} swahili */
const draw = (base, math, swahili) => {
  const row = (/** @type {string[]} */ ...cells) =>
    console.log(`  ${cells.map((cell, index) => cell.padEnd([14, 17, 20][index] ?? 0)).join('')}`);
  const layers = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ source) =>
    row(`layers ${from}–${to}`, moved(base, math, from, to), moved(base, swahili, from, to), source);
  const [fromSwahili, fromMath] = [pc.green('████████ swahili-1'), pc.blue('░░░░░░░░ math-2')];
  row('', 'math-2 changed', 'swahili-1 changed', 'merged');
  layers(last - counts.top + 1, last, fromSwahili);
  layers(counts.bottom, last - counts.top, fromMath);
  layers(0, counts.bottom - 1, fromSwahili);
  row('outside', '', '', pc.cyan('▒▒▒▒▒▒▒▒ average of both'));
};

const prompts = ['three plus four is', 'tatu jumlisha nne ni'];

/** Lets the models answer, side by side. @param {readonly string[]} names */
const showAnswers = async (names) => {
  const models = await Promise.all(names.map((name) => readTensors(place(name))));
  const row = (/** @type {string} */ first, /** @type {string[]} */ cells) =>
    console.log(`  ${first.padEnd(24)}${cells.map((cell) => cell.padEnd(12)).join('')}`.trimEnd());
  row('', [...names]);
  for (const prompt of prompts) {
    const [base = '', math = '', swahili = '', merged = ''] = models.map((model) => answer(model, prompt));
    row(prompt, [base, math, swahili, pc.bold(merged)]);
  }
};

const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Two math experts with the language expert, in several configurations, over one store of shards. */
const runSmallExperiment = async () => {
  const { cost, seconds } = await runExperiment(
    {
      base: place('base'),
      tasks: { 'math-1': place('math-1'), 'math-2': place('math-2') },
      languages: { swahili: { 'swahili-1': place('swahili-1') } },
      merges: [
        {
          name: 'swap',
          method: 'layer_swap',
          layers: [
            [3, 1],
            [5, 2],
            [8, 4],
          ],
        },
        { name: 'transition', method: 'layer_swap', bottomTransition: 1, topTransition: 1 },
      ],
    },
    { out: place('experiment') },
  );
  console.log(`
${cost.merges} merges of two math experts with swahili-1, in ${shown(place('experiment'))}/ after ${seconds.toFixed(2)} s:
  ${megabytes(cost.bytesDistinct)} in ${cost.shards} shared shards, instead of ${megabytes(cost.bytesPlain)}`);
};

/** @param {string} path */
const shown = (path) => relative(process.cwd(), path);

/** Prints commands to go on with. They work as they stand in the directory that the demo was started in. */
const suggest = () => {
  const at = (/** @type {string} */ name) => shown(place(name));
  console.log(`
To go on:

  npx layerloom swap --task ${at('math-2')} --lang ${at('swahili-1')} -o ${at('narrow')} --bottom 3 --top 1
  npx layerloom analyze --base ${at('base')} ${at('math-2')} ${at('swahili-1')} -o ${at('analysis')}
  npx layerloom experiment init --preset smoke --base ${at('base')} --task ${at('math-2')} --lang swahili:${at('swahili-1')} -o ${at('smoke.yaml')}

\`analyze\` draws what each expert changed: ${at('analysis/index.html')}. The experiment leads to a report; each
command prints the next. With lm_eval, \`npx layerloom try\` lets any models answer.`);
};

const main = async () => {
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    if (directory !== ownDirectory) throw new Error(`${directory} is not empty; name a directory to create`);
    // The commands that the last demo printed may have written there: nothing of it is removed.
    const aside = Array.from({ length: 1000 }, (_, index) => `${directory}.${index + 1}`).find(
      (path) => !existsSync(path),
    );
    if (aside === undefined) throw new Error(`${directory}.1 to .1000 are there; remove some`);
    renameSync(directory, aside);
    console.log(
      `\nThe former ${relative(process.cwd(), directory)} is ${relative(process.cwd(), aside)} now.`,
    );
  }
  const base = makeBase();
  const math = fineTune(base, figure('figure-5-math-2'), 5, ofMath);
  const swahili = fineTune(base, figure('figure-6-swahili-1'), 6, ofSwahili);
  writeCheckpoint(place('base'), base);
  writeCheckpoint(place('math-1'), fineTune(base, figure('figure-4-math-1'), 4, ofMath));
  writeCheckpoint(place('math-2'), math);
  writeCheckpoint(place('swahili-1'), swahili);

  const result = await layerSwap(
    { task: place('math-2'), language: place('swahili-1'), base: place('base'), ...counts },
    { out: place('merged') },
  );
  console.log(`
Two experts of a small base, merged by layer swapping into ${shown(result.out)}/ (${megabytes(result.bytesWritten)}, ${result.seconds.toFixed(2)} s):
`);
  draw(base, math, swahili);

  const { elements, wrong } = await checkSwap(place('merged'), math, swahili, {
    layers: shape.layers,
    ...counts,
  });
  if (wrong.length > 0)
    throw new Error(`${wrong.length} tensors are not what Algorithm 1 says: ${wrong.slice(0, 5).join(', ')}`);
  console.log(`
  ${pc.green('✓')} all ${elements.toLocaleString('en')} elements are what Algorithm 1 gives, to the bit

Their answers (the models are wired by hand: math-2 adds in English, swahili-1 knows the Swahili words):
`);
  await showAnswers(['base', 'math-2', 'swahili-1', 'merged']);
  await runSmallExperiment();
  suggest();
};

try {
  await main();
} catch (error) {
  console.error(error instanceof LayerloomError ? `error: ${error.message}` : error);
  process.exitCode = 1;
}
