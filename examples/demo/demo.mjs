// @ts-check
// Makes a small base and experts of it, swaps layers of two, shows what came from where, checks the result, and runs a small experiment over all.
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LayerloomError, layerSwap, runExperiment } from 'layerloom';
import pc from 'picocolors';
import { checkSwap } from './check.mjs';
import { fineTune, makeBase, shape, writeCheckpoint } from './experts.mjs';

/** @typedef {import('./experts.mjs').Tensor} Tensor */

const figure = (/** @type {string} */ name) =>
  fileURLToPath(new URL(`../../docs/figures/${name}.csv`, import.meta.url));
const ownDirectory = fileURLToPath(new URL('../../demo', import.meta.url));
const directory = process.argv[2] ?? ownDirectory;
const place = (/** @type {string} */ name) => join(directory, name);
const counts = { bottom: 5, top: 2 };

/** The share of a layer's input features that fine-tuning moved, over its seven matrices. @param {Tensor[]} base @param {Tensor[]} expert */
const movedByLayer = (base, expert) => {
  const sums = Array.from({ length: shape.layers }, () => ({ moved: 0, features: 0 }));
  for (const [index, { name, data, shape: extents }] of base.entries()) {
    const [, features] = extents;
    const sum = sums[Number(/layers\.(\d+)\./.exec(name)?.[1])];
    if (sum === undefined || features === undefined) continue;
    const other = expert[index]?.data ?? data;
    sum.features += features;
    for (let feature = 0; feature < features; feature += 1)
      if (data[feature] !== other[feature]) sum.moved += 1;
  }
  return sums.map(({ moved, features }) => moved / features);
};

/** A bar of up to 20 cells, for 0 to 40%. @param {number} share */
const bar = (share) => {
  const eighths = Math.min(160, Math.round((share / 0.4) * 160));
  const parts = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
  return ('█'.repeat(Math.floor(eighths / 8)) + (parts[eighths % 8] ?? '')).padEnd(20);
};

/** @param {number[]} math @param {number[]} swahili */
const draw = (math, swahili) => {
  const outside = pc.cyan('▒▒▒▒▒▒▒▒▒▒▒▒  average of both');
  console.log(`             ${'math-2 changed'.padEnd(22)}${'swahili-1 changed'.padEnd(22)}merged`);
  console.log(`   head, norm${' '.repeat(44)}${outside}`);
  for (let layer = shape.layers - 1; layer >= 0; layer -= 1) {
    const fromLanguage = layer < counts.bottom || layer > shape.layers - 1 - counts.top;
    const source = fromLanguage ? pc.green('████████████  swahili-1') : pc.blue('░░░░░░░░░░░░  math-2');
    console.log(
      `   layer ${String(layer).padEnd(4)}${pc.blue(bar(math[layer] ?? 0))}  ${pc.green(bar(swahili[layer] ?? 0))}  ${source}`,
    );
  }
  console.log(`   embeddings${' '.repeat(44)}${outside}`);
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
  const less = (cost.bytesPlain / cost.bytesDistinct).toFixed(1);
  console.log(`
A small experiment: two math experts × one Swahili expert × four configurations
  ${cost.merges} merges, ${megabytes(cost.bytesPlain)} if each were written by itself
  ${megabytes(cost.bytesDistinct)} written, in ${cost.shards} distinct shards (${less} times less), and ${megabytes(cost.bytesToRead)} read
  in ${seconds.toFixed(2)} s, in ${shown(place('experiment'))}/
`);
};

/** @param {string} path */
const shown = (path) => relative(process.cwd(), path);

/** Prints commands to go on with. They work as they stand in the directory that the demo was started in. */
const suggest = () => {
  const at = (/** @type {string} */ name) => shown(place(name));
  console.log(`To go on:

  npx layerloom inspect ${at('merged')}
  npx layerloom swap --task ${at('math-2')} --lang ${at('swahili-1')} -o ${at('narrow')} --bottom 3 --top 1
  npx layerloom experiment init --preset smoke --base ${at('base')} --task ${at('math-2')} --lang swahili:${at('swahili-1')} -o ${at('smoke.yaml')}
  npx layerloom analyze --base ${at('base')} ${at('math-2')} ${at('swahili-1')} -o ${at('analysis')}

The experiment leads from these experts to a report; each of its commands prints the next one.
The last one writes tables and pictures of what each expert changed; open ${at('analysis/index.html')}.
README.md has the other commands.
`);
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
  const math = fineTune(base, figure('figure-5-math-2'), 5);
  const swahili = fineTune(base, figure('figure-6-swahili-1'), 6);
  writeCheckpoint(place('base'), base);
  writeCheckpoint(place('math-1'), fineTune(base, figure('figure-4-math-1'), 4));
  writeCheckpoint(place('math-2'), math);
  writeCheckpoint(place('swahili-1'), swahili);
  console.log(
    `\nA base of ${shape.layers} layers and two experts, changed where Figures 5 and 6 of the paper show it\n(a full bar: fine-tuning moved 40% of the layer's input features or more):\n`,
  );

  const result = await layerSwap(
    { task: place('math-2'), language: place('swahili-1'), base: place('base'), ...counts },
    { out: place('merged') },
  );
  draw(movedByLayer(base, math), movedByLayer(base, swahili));

  const { elements, wrong } = await checkSwap(place('merged'), math, swahili, {
    layers: shape.layers,
    ...counts,
  });
  if (wrong.length > 0)
    throw new Error(`${wrong.length} tensors are not what Algorithm 1 says: ${wrong.slice(0, 5).join(', ')}`);
  console.log(
    `\n${pc.green('✓')} all ${elements.toLocaleString('en')} elements are what Algorithm 1 gives, to the bit`,
  );
  console.log(
    `  ${result.shards.length} shards, ${megabytes(result.bytesWritten)} in ${result.seconds.toFixed(2)} s, in ${shown(result.out)}/`,
  );
  await runSmallExperiment();
  suggest();
};

try {
  await main();
} catch (error) {
  console.error(error instanceof LayerloomError ? `error: ${error.message}` : error);
  process.exitCode = 1;
}
