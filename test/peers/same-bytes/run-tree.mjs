// @ts-check
// Runs the compared operations with one tree's build, and writes hashes of the results. Arguments: TREE
// MODELS OUTPUT RESULTS DTYPE ONLY THREADS.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runBatches } from './batches.mjs';
import { largeModelsIn, modelsIn } from './checkpoints.mjs';
import { largeMergesOf, mergesOf } from './merges.mjs';
import { runCommands, runDemo } from './programs.mjs';
import { recorderOf } from './recorder.mjs';
import { refusalsOf } from './refusals.mjs';

/** @typedef {import('./checkpoints.mjs').Models} Models */

const [tree = '', directory = '', root = '', results = '', dtype = 'BF16', only = '', threads = '1'] =
  process.argv.slice(2);
const recorder = await recorderOf(tree, root, new RegExp(only));
const { hashOf, add, record, refusal, wants } = recorder;
const { analyze, explainTensor, merge, methods, planMerge, runPlan } = recorder.layerloom;

/** @param {string} group @param {string} output @param {import('./merges.mjs').Merge} what @param {boolean} [explains] */
const recordMerge = (group, output, { recipe, file = false, options = {} }, explains = false) =>
  record(group, output, async (out) => {
    const path = join(root, 'recipe.yaml');
    // Every JSON text is YAML.
    if (file) writeFileSync(path, JSON.stringify(recipe, null, 2));
    const input = file
      ? path
      : /** @type {import('../../../src/index.js').RecipeInput} */ (/** @type {unknown} */ (recipe));
    const all = { threads: Number(threads), ...options };
    const plan = await planMerge(input, all);
    const result = await runPlan(plan, { ...all, out });
    const tensor = plan.shards[0]?.tensors[0]?.name ?? '';
    return {
      '(plan)': hashOf(plan),
      '(result)': hashOf(result),
      ...(explains ? { '(explanation)': hashOf(await explainTensor(input, tensor, all)) } : {}),
    };
  });

/** @param {Models} models @param {'BF16' | 'F32'} of */
const runMerges = async (models, of) => {
  const merges = mergesOf(models, of);
  const few = [...methods.keys()].filter((name) => (merges.get(name)?.length ?? 0) < 10);
  if (few.length > 0) console.warn(`${of}: fewer than ten merges are compared of ${few.join(', ')}`);
  for (const [method, ten] of merges)
    for (const [index, one] of ten.entries())
      await recordMerge(`${method} ${of}`, String(index), one, index === 0);
};

/** @param {Models} models @param {string} of */
const runAnalyses = async ({ base, a, b, c, half }, of) => {
  for (const rows of /** @type {const} */ (['input', 'output']))
    await record('analysis', `${of} ${rows}`, async (out) => {
      const result = await analyze(
        { base, experts: [a, `second=${b}`, c, half], rows, threshold: 0.002, bottom: 2, top: 1 },
        { out },
      );
      const saved = await analyze(
        { from: [join(out, 'a.mav.safetensors')], threshold: 0.004 },
        { out: join(out, 'again') },
      );
      await merge(
        { method: 'revert', base, model: a, threshold: 0.003, rows },
        { out: join(out, 'reverted'), analysis: out },
      );
      return { '(result)': hashOf(result), '(again)': hashOf(saved) };
    });
};

/** @param {Models} models */
const runRefusals = async (models) => {
  if (!wants('refusals')) return;
  for (const [name, work] of Object.entries(refusalsOf(recorder.layerloom, models, root))) {
    try {
      await work(join(root, 'refused'));
      add('refusals', name, { '(not refused)': '' });
    } catch (error) {
      add('refusals', name, refusal(error));
    }
  }
};

mkdirSync(root, { recursive: true });
const isFirst = dtype === 'BF16';
const of = isFirst ? 'BF16' : 'F32';
const models = modelsIn(directory, of);
await runMerges(models, of);
await runAnalyses(models, of);
await runBatches(recorder, models, of);
// The two parts run side by side, so each does about half of the operations that are needed once.
if (isFirst) {
  await runRefusals(models);
  for (const [name, one] of largeMergesOf(largeModelsIn(directory)))
    await recordMerge('large tensors', name, one);
} else {
  runCommands(recorder, models);
  runDemo(recorder);
}
writeFileSync(results, JSON.stringify(recorder.groups));
