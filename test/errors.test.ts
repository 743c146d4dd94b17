import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  rmSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { doctorCommand } from '../src/cli/work/models/doctor.js';
import { verifyCommand } from '../src/cli/work/models/verify.js';
import { batchCommand } from '../src/cli/work/studies/batch.js';
import { rebuildCommand } from '../src/cli/work/studies/rebuild.js';
import { storeVerifyCommand } from '../src/cli/work/studies/store.js';
import { checkComplete } from '../src/cli/work/studies/table.js';
import { tasksDataCommand } from '../src/cli/work/studies/tasks.js';
import { trainStatusCommand } from '../src/cli/work/studies/train.js';
import { checkOutput } from '../src/core/engine/output/output.js';
import { openStaging } from '../src/core/engine/output/staging.js';
import { readRecipe } from '../src/core/methods/recipe/read-recipe.js';
import { bringHeaders } from '../src/core/models/sources/hub/bring-headers.js';
import { mergeVocabularies } from '../src/core/models/tokenizer/merge-vocabularies.js';
import { checkBuildTools } from '../src/core/native/build-tools.js';
import {
  analyze,
  attest,
  bundle,
  chooseParts,
  type ErrorCode,
  errorCodes,
  exportModel,
  exportRecipe,
  extractLora,
  LayerloomError,
  layerSwap,
  type MergePlan,
  merge,
  openCheckpoint,
  partition,
  planMerge,
  push,
  type RecipeInput,
  rebuild,
  relayout,
  rescore,
  runExperiment,
  runPlan,
  ShardStore,
  scoreTables,
  searchExperiment,
  selectCheckpoints,
  soup,
  trainingStatus,
  verify,
} from '../src/index.js';
import { prepareTasks } from '../src/study/evaluation/data/prepare-tasks.js';
import { comparePaired } from '../src/study/scores/comparing/paired.js';
import { type AdapterFixture, lora, writeAdapter } from './fixtures/adapters.js';
import {
  assemble,
  type CheckpointFixture,
  fill,
  llama,
  llamaConfig,
  type TensorFixture,
  temporaryDirectory,
  writeCheckpoint,
  writeLarge,
  writePair,
} from './fixtures/checkpoints.js';
import { evaluationScenarios } from './fixtures/evaluation-errors.js';
import { writeExperiment } from './fixtures/experiment.js';
import { writeFamily } from './fixtures/family.js';
import { hubUser, impatient } from './fixtures/hub-client.js';
import { startHub } from './fixtures/hub-server.js';
import { HubUploads } from './fixtures/hub-uploads.js';
import { onOtherFileSystem } from './fixtures/other-file-system.js';
import { quantisedLlama } from './fixtures/quantised.js';
import { writeHeadersOnly } from './fixtures/range-cache.js';
import {
  constructedExperiment,
  constructedResult,
  exactMatch,
  mgsm,
  scoredModel,
} from './fixtures/scored.js';
import { standInPython } from './fixtures/stand-in-python.js';
import { keyOf, newStore, publish as publishShards } from './fixtures/store.js';
import { tablesOf } from './fixtures/tables.js';
import { pickle, torchFile } from './fixtures/torch-files.js';
import { writeTrained } from './fixtures/trained.js';
import { writeVocabulary } from './fixtures/vocabulary.js';
import { writeStudy } from './fixtures/written-study.js';

const mergeAdapters = (recipe: Readonly<Record<string, unknown>>, other = lora({ seed: 2 })) => {
  const root = temporaryDirectory();
  const [one, two] = [writeAdapter(join(root, 'one')), writeAdapter(join(root, 'two'), other)];
  const models = recipe['method'] === 'nearswap' ? { base: one, models: [two] } : { models: [one, two] };
  return planMerge({ ...recipe, ...models } as unknown as RecipeInput);
};

const soupOfAdapter = (adapter: AdapterFixture): Promise<unknown> => {
  const { task } = writePair();
  return planMerge({
    method: 'soup',
    models: [task, `${task}+${writeAdapter(join(temporaryDirectory(), 'lora'), adapter)}`],
  });
};

// Reaches every code through the public API: a new code without a scenario does not compile.

const bareFile = (content: Uint8Array, name = 'a.safetensors'): Promise<unknown> => {
  const file = join(temporaryDirectory(), name);
  writeFileSync(file, content);
  return openCheckpoint(file);
};

const header = (entries: Record<string, unknown> | string, dataBytes = 0) =>
  bareFile(
    assemble(typeof entries === 'string' ? entries : JSON.stringify(entries), new Uint8Array(dataBytes)),
  );

const tensor = (dtype: string, shape: number[], begin: number, end: number) => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});

const index = (weightMap: unknown): Promise<unknown> => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }));
  return openCheckpoint(directory);
};

const plan = (
  language: CheckpointFixture,
  task: CheckpointFixture = llama(),
  counts: object = {},
): Promise<MergePlan> => {
  const root = temporaryDirectory();
  return planMerge({
    method: 'layer_swap',
    task: writeCheckpoint(join(root, 'task'), task),
    language: writeCheckpoint(join(root, 'language'), language),
    bottom: 1,
    top: 1,
    ...counts,
  });
};

const withTensor = (name: string, dtype: string, ...values: number[]): CheckpointFixture => ({
  tensors: { ...llama().tensors, [name]: { dtype, shape: [values.length], data: Uint8Array.from(values) } },
});

const run = async (
  prepare: (context: { plan: MergePlan; root: string; task: string; out: string }) => unknown,
  out = 'out',
): Promise<unknown> => {
  const { root, task, language } = writePair();
  const context = {
    plan: await planMerge({ method: 'soup', models: [task, language] }),
    root,
    task,
    out: join(root, out),
  };
  const changed = (await prepare(context)) as MergePlan | undefined;
  return runPlan(changed ?? context.plan, { out: context.out });
};

const inProcess = async (
  program: string,
  env: NodeJS.ProcessEnv = {},
  call = 'instructionSets()',
): Promise<never> => {
  const url = JSON.stringify(new URL('../dist/index.js', import.meta.url).href);
  const script = `${program}; const { instructionSets, soup } = await import(${url}); try { ${call}; } catch (error) { console.log(JSON.stringify(error)); }`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, ...env },
  });
  throw Object.assign(new LayerloomError('USAGE', { reason: 'from another process' }), JSON.parse(stdout));
};

const failureOf = async (task: string, problems: string): Promise<never> => {
  const data = temporaryDirectory();
  writeFileSync(join(data, 'mgsm_sw.tsv'), problems);
  throw (await prepareTasks([task], { data }, join(data, 'prepared'))).failures.get(task);
};

const scenarios: Record<ErrorCode, () => unknown> = {
  USAGE: () => planMerge({ method: 'soup', models: ['a'], modles: [] } as never),
  INVALID_PARAMETER: () => planMerge({ method: 'soup', models: ['a'], weights: [1, 2] }),
  RECIPE_INVALID: () => {
    const file = join(temporaryDirectory(), 'merge.yaml');
    writeFileSync(file, 'metod: soup\n');
    return readRecipe(file);
  },
  EXPORT_UNSUPPORTED: () => {
    const { task, language } = writePair();
    return exportRecipe({ method: 'soup', models: [task, language], layout: 'size' });
  },
  PARTS_INVALID: () => plan(llama(), llama(), { bottom: undefined, top: undefined, langLayers: 9 }),
  TOO_MANY_LAYERS: () => plan(llama(), llama(), { bottom: 9 }),
  PARTITION_UNSUPPORTED: async () => {
    const { root, task } = writePair();
    await partition(task, { bottom: 1, top: 1 }, { out: join(root, 'parts'), formats: ['llama-factory'] });
  },
  PARTITION_INVALID: () => {
    const { root, task } = writePair();
    return partition(task, { from: root, language: 'swh-1', task: 'math-1' });
  },
  NAME_CLASH: () => {
    const { task } = writePair();
    return planMerge({ method: 'soup', models: [task, task] });
  },
  ADAPTER_WITHOUT_BASE: () => openCheckpoint(writeAdapter(join(temporaryDirectory(), 'lora'))),
  ADAPTER_INVALID: () => soupOfAdapter(lora({ config: { r: 0 } })),
  ADAPTER_UNSUPPORTED: () => soupOfAdapter(lora({ config: { use_qalora: true } })),
  ADAPTER_MISMATCH: () => soupOfAdapter(lora({ shapes: { 'model.layers.0.q_proj.weight': [8, 8] } })),
  FORMS_MIXED: () => {
    const { root, task } = writePair();
    return planMerge({ method: 'soup', models: [task, writeAdapter(join(root, 'lora'))] });
  },
  NO_ADAPTER_FORM: () => mergeAdapters({ method: 'nearswap', t: 0.1 }),
  ADAPTERS_DIFFER: () => mergeAdapters({ method: 'soup' }, lora({ config: { fan_in_fan_out: true } })),
  BASE_NEEDED: () => mergeAdapters({ method: 'soup', as: 'full' }),
  INSTRUCTION_SET: () => inProcess('', { LAYERLOOM_ISA: 'mmx' }),
  OUTPUT_INVALID: () => run(({ out }) => writeFileSync(out, '')),
  OUTPUT_EXISTS: () => run(({ out }) => void mkdirSync(join(out, 'something'), { recursive: true })),
  OUTPUT_NOT_OURS: async () => {
    const { root, task, language } = writePair();
    mkdirSync(join(root, 'out', 'something'), { recursive: true });
    return soup({ models: [task, language] }, { out: join(root, 'out'), force: true });
  },
  BUNDLE_REFUSED: async () => {
    const directory = temporaryDirectory();
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 1 });
    symlinkSync('/etc/hostname', join(directory, 'CITATION.cff'));
    return bundle(directory, { out: join(directory, 'study.tar') });
  },
  BUNDLE_INVALID: async () => {
    const file = join(temporaryDirectory(), 'study.tar');
    writeFileSync(file, '');
    return rebuild(file);
  },
  RESCORE_REFUSED: async () => {
    const directory = temporaryDirectory();
    await writeStudy(directory, { languages: ['swahili'], gridOf: [], problems: 1 });
    return rescore(directory, { filter: 'none-such' });
  },
  MERGES_DIFFER: async () => {
    const { root, file, out } = writeExperiment(
      '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n',
    );
    await runExperiment(file, { out });
    await bundle(out, { out: join(root, 'study.tar') });
    cpSync(join(root, 'math-1', 'model.safetensors'), join(root, 'math-2', 'model.safetensors'));
    return rebuildCommand({
      file: join(root, 'study.tar'),
      out: join(root, 'again'),
      experts: root,
      quiet: true,
    });
  },
  RESUME_MISMATCH: async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    const former = await planMerge({ method: 'soup', models: [task, language], weights: [1, 2] });
    await (await openStaging(await checkOutput({ inputs: [] }, out, false), former, true)).keep();
    return soup({ models: [task, language] }, { out, resume: true });
  },
  JOBS_OUTDATED: () =>
    runExperiment(
      { tasks: { a: './a' }, languages: { x: { b: './b' } }, merges: [{ name: 'm', method: 'soup' }] },
      { out: join(temporaryDirectory(), 'out'), expect: '0.0.1:0000000000000000' },
    ),
  MODEL_NOT_FOUND: () => openCheckpoint('nowhere/at-all'),
  DOWNLOAD_NEEDED: async () => {
    const { root, task } = writePair();
    const model = writeHeadersOnly(join(root, 'ranges'), 'org/name', task);
    return relayout({ model }, { out: join(root, 'out') });
  },
  MODEL_AMBIGUOUS: () => openCheckpoint(writeAdapter(writePair().task)),
  NOT_AS_LOADED: () => {
    const { tensors, config } = llama();
    const wrapped = Object.fromEntries(
      Object.entries(tensors).map(([name, one]) => [`_orig_mod.${name}`, one]),
    );
    return push(writeCheckpoint(join(temporaryDirectory(), 'a'), { tensors: wrapped, config }), 'org/name', {
      dryRun: true,
    });
  },
  NOT_A_CHECKPOINT: () => openCheckpoint(temporaryDirectory()),
  RUN_UNFINISHED: () => {
    const run = join(temporaryDirectory(), 'run');
    mkdirSync(join(run, 'checkpoint-100'), { recursive: true });
    return soup({ models: [run], schedule: 'uniform' }, { out: join(run, 'out') });
  },
  FILE_MISSING: () => index({ a: 'b.safetensors' }),
  FILE_TOO_SHORT: () => bareFile(new Uint8Array(7)),
  HEADER_TOO_LARGE: () => bareFile(new Uint8Array(8).fill(255)),
  HEADER_TRUNCATED: () => bareFile(Uint8Array.from([9, 0, 0, 0, 0, 0, 0, 0, 123])),
  HEADER_INVALID: () => header('{"a": '),
  PICKLE_RUNS_CODE: () => bareFile(torchFile(pickle.of(pickle.global('os', 'system'))), 'model.bin'),
  WEIGHTS_UNSUPPORTED: () => bareFile(torchFile(pickle.of(pickle.op('2'))), 'model.bin'),
  DUPLICATE_TENSOR: () => header('{"a": {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]}, "a": {}}'),
  UNKNOWN_DTYPE: () => header({ a: tensor('F7', [1], 0, 1) }, 1),
  SHAPE_OVERFLOW: () => header({ a: tensor('I8', [2 ** 52, 2 ** 52], 0, 1) }, 1),
  LENGTH_MISMATCH: () => header({ a: tensor('F32', [1], 0, 3) }, 3),
  OFFSETS_INVALID: () => header({ a: tensor('I8', [1], 1, 2) }, 2),
  FILE_LENGTH_MISMATCH: () => header({ a: tensor('I8', [1], 0, 1) }, 2),
  INDEX_INVALID: () => index(7),
  INDEX_UNSAFE_NAME: () => index({ a: '../../etc/passwd' }),
  TENSOR_MISSING: () => {
    const directory = writeCheckpoint(temporaryDirectory(), {
      ...llama(),
      shards: [Object.keys(llama().tensors)],
    });
    writeFileSync(
      join(directory, 'model.safetensors.index.json'),
      '{"weight_map": {"absent": "model-1.safetensors"}}',
    );
    return openCheckpoint(directory);
  },
  CONFIG_INVALID: () =>
    openCheckpoint(
      writeCheckpoint(temporaryDirectory(), {
        ...llama(),
        config: undefined,
        files: { 'config.json': '[]' },
      }),
    ),
  NO_LAYERS: () => plan({ tensors: fill({ a: [1] }, 'F32', 1) }, { tensors: fill({ a: [1] }, 'F32', 2) }),
  STACKS_AMBIGUOUS: () => {
    const shapes = { 'encoder.layers.0.a': [1], 'decoder.layers.0.a': [1] };
    return plan({ tensors: fill(shapes, 'F32', 1) }, { tensors: fill(shapes, 'F32', 2) });
  },
  LAYER_MISSING: () => plan({ tensors: fill({ 'layers.1.a': [1] }, 'F32', 1) }),
  NAMING_MISMATCH: () => plan({ tensors: fill({ 'layers.0.attention.wq.weight': [1] }, 'F32', 1) }),
  LAYER_COUNT_MISMATCH: () => plan(llama({ layers: 9 })),
  TIED_MISMATCH: () => plan(llama({ tied: false })),
  TENSOR_NAMES_DIFFER: () => plan(withTensor('model.extra', 'U8', 1)),
  SHAPE_MISMATCH: () => plan({ tensors: llama({ hidden: 32 }).tensors }),
  DTYPE_MISMATCH: () => plan(withTensor('model.ids', 'U8', 1), withTensor('model.ids', 'I8', 1)),
  CONFIG_MISMATCH: () => plan({ ...llama(), config: { ...llamaConfig(), hidden_size: 17 } }),
  STACK_UNSUPPORTED: () => {
    const config = { ...llamaConfig({ layers: 2 }), scales: [1, 2] };
    const model = writeCheckpoint(join(temporaryDirectory(), 'm'), { ...llama({ layers: 2 }), config });
    const slices = [{ sources: [{ model, layerRange: [0, 1] }] }];
    return planMerge({ method: 'passthrough', slices } as unknown as RecipeInput);
  },
  TOKENIZER_MISMATCH: () => {
    const tokenizer = (id: number) => ({ ...llama(), files: { 'vocab.json': `{"a": ${id}}` } });
    return plan(tokenizer(1), tokenizer(2));
  },
  TOKENIZER_UNSUPPORTED: async () => {
    const checkpoint = await openCheckpoint(
      writeCheckpoint(join(temporaryDirectory(), 'm'), { ...llama(), files: { 'tokenizer.model': 'x' } }),
    );
    return mergeVocabularies([{ checkpoint, rows: 1 }], {
      source: 'union',
      base: undefined,
      tokens: new Map(),
      padToMultipleOf: 8,
    });
  },
  VOCABULARY_UNMERGEABLE: () => {
    const root = temporaryDirectory();
    const [a, b] = [
      writeVocabulary(join(root, 'a'), { tokens: ['x', 'y'], added: ['<p>'] }),
      writeVocabulary(join(root, 'b'), { tokens: ['x', 'y'] }),
    ];
    return planMerge({ method: 'soup', models: [a, { method: 'soup', models: [a, b] }, b] });
  },
  QUANTISED_WEIGHTS: () => {
    const quantised = withTensor('model.norm.weight_scale', 'F8_E4M3', 1);
    return plan(quantised, quantised);
  },
  QUANTISATION_INVALID: () => {
    const { tensors, config } = quantisedLlama('FP8 in blocks');
    const [scale = ''] = Object.keys(tensors).filter((name) => name.endsWith('_scale_inv'));
    const { [scale]: _, ...without } = tensors;
    const path = writeCheckpoint(join(temporaryDirectory(), 'm'), { tensors: without, config });
    return planMerge({ method: 'relayout', model: path });
  },
  NON_FINITE: async () => {
    const { root, task } = writePair({ dtype: 'F32' });
    const { tensors, config } = llama({ dtype: 'F32' });
    const poison = { ...tensors['model.norm.weight'], data: new Uint8Array(64).fill(0xff) } as TensorFixture;
    const expert = { tensors: { ...tensors, 'model.norm.weight': poison }, config };
    const experts = [writeCheckpoint(join(root, 'poisoned'), expert)];
    return analyze({ base: task, experts }, { out: join(root, 'analysis') });
  },
  NOTHING_TO_EXTRACT: () => {
    const { root, task } = writePair();
    return extractLora({ base: task, expert: `same=${task}`, rank: 2 }, { out: join(root, 'lora') });
  },
  MAV_UNDEFINED: () => {
    const { task, language } = writePair();
    return planMerge({
      method: 'soup',
      models: [`same=${task}`, language],
      base: task,
      weights: 'magnitude',
    });
  },
  MEASUREMENT_INVALID: () => {
    const file = join(temporaryDirectory(), 'math-1.json');
    writeFileSync(file, '{}');
    return chooseParts({ task: file, language: file });
  },
  ANALYSIS_MISMATCH: () => {
    const { root, task, language } = writePair();
    return planMerge(
      { method: 'soup', models: [language], base: task, weights: 'magnitude' },
      { analysis: root },
    );
  },
  VECTORS_INVALID: () => {
    const { root, task } = writePair();
    const from = [join(task, 'model.safetensors')];
    return analyze({ from }, { out: join(root, 'analysis') });
  },
  MERGE_UNDEFINED: async () => {
    const root = temporaryDirectory();
    const zero = { dtype: 'BF16', shape: [1], data: new Uint8Array(2) };
    const tensors = { ...llama().tensors, 'model.zero.weight': zero };
    const models = ['a', 'b', 'c'].map((name) => ({
      model: writeCheckpoint(join(root, name), { tensors }),
      weight: 1,
    }));
    return runPlan(await planMerge({ method: 'multislerp', models }), { out: join(root, 'out') });
  },
  NON_FLOATING_MISMATCH: async () =>
    runPlan(await plan(withTensor('model.ids', 'U8', 1), withTensor('model.ids', 'U8', 2)), {
      out: join(temporaryDirectory(), 'out'),
    }),
  INPUT_CHANGED: () => run(({ task }) => utimesSync(join(task, 'model.safetensors'), 1, 1)),
  INPUT_NOT_AS_RECORDED: async () => {
    const { task, language } = writePair();
    const out = join(temporaryDirectory(), 'out');
    await soup({ models: [task, language] }, { out });
    utimesSync(join(task, 'model.safetensors'), 1, 1);
    return planMerge(join(out, 'layerloom.json'));
  },
  INPUT_SHRANK: async () => {
    const root = temporaryDirectory();
    // A single shard, journalled only at its end: a journalled one would report the change itself.
    const models = ['a', 'b'].map((name, seed) => writeLarge(join(root, name), 1, 256, seed));
    const onProgress = ({ done }: { done: number }) => {
      if (done > 0) truncateSync(join(models[1] ?? '', 'model.safetensors'), 0);
    };
    return soup({ models }, { out: join(root, 'out'), threads: 1, onProgress });
  },
  READ_FAILED: () => run(({ task }) => rmSync(task, { recursive: true })),
  OUTPUT_INSIDE_INPUT: () => {
    const { task, language } = writePair();
    return layerSwap({ task, language, bottom: 1, top: 1 }, { out: join(language, 'out') });
  },
  SEARCH_INVALID: () =>
    searchExperiment(
      {
        tasks: { 'math-1': '/math-1' },
        languages: { swahili: { 'swh-1': '/swh-1' } },
        merges: [{ name: 'default', method: 'layer_swap' }],
      },
      { out: temporaryDirectory(), task: 'mgsm_direct_sw' },
    ),
  TEMPLATE_INVALID: () => {
    const { task } = writePair();
    return planMerge({ method: 'soup', models: [task], chatTemplate: '{% if x %}' });
  },
  SELECTION_INVALID: () => selectCheckpoints({ candidates: [], distances: [] }),
  RESULTS_NOT_PAIRED: async () =>
    comparePaired(
      constructedResult({ model: 'a', scores: [1, 0, 1] }),
      constructedResult({ model: 'b', scores: [1, 0] }),
      exactMatch,
    ),
  SUMMARIES_INVALID: () => {
    const file = join(temporaryDirectory(), 'summaries.csv');
    writeFileSync(
      file,
      'language,benchmark,row,statistic,value,unit\nswahili,MGSM,base,median,24.8,percent\n',
    );
    return scoreTables(undefined, { summaries: [file] });
  },
  TABLES_INCOMPLETE: async () => {
    const experiment = constructedExperiment({
      swahili: { base: 20, pairs: { default: [30, 31, 32, 33, 34, 35, 36, 37, 38] } },
    });
    const models = experiment.models.map((model) =>
      model.role === 'base'
        ? scoredModel({ ...model, results: { [mgsm('swahili')]: constructedResult({ scores: [1, 0] }) } })
        : model,
    );
    checkComplete(tablesOf({ ...experiment, models }));
  },
  HUB_ACCESS: async () => {
    const hub = await startHub();
    hub.addDirectory('org/model', writePair().task, { access: 'gated' });
    return bringHeaders('org/model', impatient(hubUser(hub)));
  },
  HUB_NOT_FOUND: async () => bringHeaders('org/model', impatient(hubUser(await startHub()))),
  HUB_FILE_CHANGED: async () => {
    const hub = await startHub();
    hub.addDirectory('org/model', writePair().task);
    hub.faults.push({ kind: 'etag', etag: 'f'.repeat(40), on: /resolve/ });
    return bringHeaders('org/model', impatient(hubUser(hub)));
  },
  HUB_UNAVAILABLE: async () =>
    bringHeaders('org/model', impatient(hubUser(await startHub(), { HF_HUB_OFFLINE: '1' }))),
  OUTPUT_UNRECORDED: () => verify(writePair().task),
  OUTPUT_DAMAGED: async () => {
    const { task, language } = writePair();
    const out = join(temporaryDirectory(), 'out');
    await layerSwap({ task, language, bottom: 1, top: 1 }, { out, layout: 'size' });
    truncateSync(join(out, 'model.safetensors'), 100);
    return verifyCommand({ out, quiet: true });
  },
  NOT_LOADABLE: async () => {
    const { task, language } = writePair();
    const out = join(temporaryDirectory(), 'out');
    await layerSwap({ task, language, bottom: 1, top: 1 }, { out });
    return verifyCommand({ out, quiet: true, loads: true, python: standInPython({ missing: ['a.weight'] }) });
  },
  LIBRARY_MISSING: async () => {
    const { task, language } = writePair();
    const out = join(temporaryDirectory(), 'out');
    await layerSwap({ task, language, bottom: 1, top: 1 }, { out });
    return verify(out, { loads: true, python: standInPython({ absent: ['torch'] }) });
  },
  STORE_INVALID: () => ShardStore.open(temporaryDirectory()),
  STORE_DAMAGED: async () => {
    const { store, paths } = await newStore();
    await publishShards(store, keyOf('a'));
    rmSync(paths.shard(keyOf('a')));
    return storeVerifyCommand({ directory: store.directory, quiet: true });
  },
  STORE_SHARD_MISSING: async () => {
    const { store } = await newStore();
    return store.link(keyOf('a'), join(temporaryDirectory(), 'a'), 'hard');
  },
  OUTPUT_BUSY: () =>
    run(async ({ plan, out }) => {
      const held = await openStaging(await checkOutput({ inputs: [] }, out, false), plan, false);
      onTestFinished(() => held.discard());
    }),
  DISK_SPACE: () => {
    const root = temporaryDirectory();
    const { bavail, bsize } = statfsSync(root);
    const bytes = bavail * bsize + 2 ** 30;
    const file = join(root, 'model.safetensors');
    const start = assemble(JSON.stringify({ a: tensor('U8', [bytes], 0, bytes) }));
    writeFileSync(file, start);
    truncateSync(file, start.length + bytes);
    return soup({ models: [file] }, { out: join(root, 'out') });
  },
  MEMORY_NEEDED: () => {
    const { root, base, a, b } = writeFamily();
    vi.spyOn(process, 'constrainedMemory').mockReturnValue(30e6);
    onTestFinished(() => void vi.restoreAllMocks());
    return merge({ method: 'iso_c', base, models: [a, b] }, { out: join(root, 'out') });
  },
  PUSH_REFUSED: async () => {
    const hub = await startHub({ tokens: ['writer'], granted: ['writer'] });
    new HubUploads(hub, { writers: ['writer'] });
    hub.faults.push({ kind: 'status', status: 400, on: /commit/, body: 'no card' });
    return push(writePair().task, 'me/merged', { env: hubUser(hub, { HF_TOKEN: 'writer' }) });
  },
  LINK_REFUSED: async () => {
    const { root, task } = writePair();
    const laidOut = join(root, 'by-layer');
    await relayout({ model: task }, { out: laidOut });
    const elsewhere = onOtherFileSystem();
    if (elsewhere === undefined) throw new Error('there is no other file system');
    return relayout({ model: laidOut }, { out: join(elsewhere, 'out'), link: 'hard' });
  },
  WRITE_FAILED: () => run(({ root }) => writeFileSync(join(root, 'file'), ''), 'file/out'),
  PLATFORM_UNSUPPORTED: () => inProcess("Object.defineProperty(process, 'platform', { value: 'win32' })"),
  INSTALLATION_BROKEN: () => doctorCommand({ directory: '/proc', quiet: true }),
  SIGSTORE_UNAVAILABLE: () => attest(writePair().task, { keyless: true }),
  BUILD_FAILED: () => checkBuildTools({ PATH: temporaryDirectory() }),
  ADDON_BROKEN: () => {
    const file = join(temporaryDirectory(), 'layerloom.node');
    writeFileSync(file, 'no addon');
    return inProcess('', { LAYERLOOM_ADDON: file });
  },
  THREADS_UNAVAILABLE: () => {
    const { root, task, language } = writePair();
    const given = [{ models: [task, language] }, { out: join(root, 'out'), threads: 2 }].map((one) =>
      JSON.stringify(one),
    );
    return inProcess(
      `import threads from 'node:worker_threads'; threads.Worker = class { constructor() { throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' }); } }`,
      {},
      `await soup(${given.join()})`,
    );
  },
  ADDON_MISSING: () => inProcess("Object.defineProperty(process, 'arch', { value: 'abacus' })"),
  PLAN_INVALID: () =>
    run(({ plan }) => ({
      ...plan,
      shards: plan.shards.map((shard) => ({ ...shard, bytes: shard.bytes + 1 })),
    })),
  BATCH_INCOMPLETE: () => {
    const root = temporaryDirectory();
    writeCheckpoint(join(root, 'math-1'), withTensor('model.ids', 'U8', 1));
    writeCheckpoint(join(root, 'swh-1'), withTensor('model.ids', 'U8', 2));
    const file = join(root, 'experiment.yaml');
    writeFileSync(
      file,
      'tasks: {math-1: ./math-1}\nlanguages: {swahili: {swh-1: ./swh-1}}\nmerges: [{name: soup, method: soup}]\n',
    );
    return batchCommand({ experiment: file, out: join(root, 'out'), quiet: true });
  },
  DATA_MISSING: () => failureOf('layerloom_mgsm_de', ''),
  CODE_NOT_ALLOWED: async () => {
    throw (await prepareTasks(['mbpp'], {}, temporaryDirectory())).failures.get('mbpp');
  },
  INCLUDE_INVALID: () => prepareTasks([], { include: ['/no/such/directory'] }, temporaryDirectory()),
  DATA_INVALID: () => failureOf('layerloom_mgsm_sw', 'a question without an answer\n'),
  TASK_DATA_INVALID: () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'mgsm_sw.tsv'), 'a question without an answer\n');
    return tasksDataCommand({ directory, quiet: true });
  },
  TRAINING_INVALID: () => trainingStatus([temporaryDirectory()]),
  TRAINING_INCOMPLETE: () => {
    const root = temporaryDirectory();
    writeTrained(root, join(root, 'base'));
    rmSync(join(root, 'checkpoints'), { recursive: true });
    return trainStatusCommand({ directories: [root], quiet: true });
  },
  PROGRAM_MISSING: () => {
    const { task } = writePair();
    return exportModel(task, {
      to: 'gguf',
      type: 'q4_k_m',
      converter: 'true',
      llamaCpp: temporaryDirectory(),
    });
  },
  EXPORT_FAILED: () => {
    const { task } = writePair();
    const converter = "sh -c 'echo Model is not supported >&2; exit 1'";
    return exportModel(task, { to: 'gguf', type: 'q8_0', converter });
  },
  ...evaluationScenarios,
  INTERRUPTED: () => {
    const { root, task, language } = writePair();
    return soup({ models: [task, language] }, { out: join(root, 'out'), signal: AbortSignal.abort() });
  },
};

const caught = async (scenario: () => unknown): Promise<unknown> => {
  try {
    await scenario();
  } catch (error) {
    return error;
  }
  return 'nothing was thrown';
};

describe('every error', () => {
  it.each(errorCodes)('%s is reached, with a message for people and details for programs', async (code) => {
    const error = await caught(scenarios[code]);
    expect(error).toBeInstanceOf(LayerloomError);
    expect(error).toMatchObject({ code });
    const { message, details } = error as LayerloomError;
    expect(message).not.toMatch(/undefined|\[object|NaN/);
    expect(details).toBeTypeOf('object');
  });

  it('is documented', async () => {
    const { readFile } = await import('node:fs/promises');
    const page = await readFile(fileURLToPath(new URL('../docs/errors.md', import.meta.url)), 'utf8');
    expect(errorCodes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});

describe('the context of an error', () => {
  const error = new LayerloomError('WRITE_FAILED', { file: '/out/a', reason: 'full' }, { cause: 'disk' });
  const place = { file: 'merge.yaml', line: 3, column: 5, excerpt: '  bottom: 9\n  ^' };

  it('stands in the message around what the code says, in whatever order it was added', () => {
    const message =
      'grid: merge.yaml:3:5: /out/a cannot be written: full; what is done waits in /out for `resume`\n  bottom: 9\n  ^';
    expect(error.with({ merge: 'grid' }).with({ keptIn: '/out' }).with({ place }).message).toBe(message);
    expect(error.with({ place, keptIn: '/out' }).with({ merge: 'grid' }).message).toBe(message);
  });

  it('is in the details, where programs find it', () => {
    const { code, details, cause, exitCode } = error
      .with({ recipePath: ['models', 1], merge: 'grid' })
      .with({ place, keptIn: '/out' });
    expect({ code, cause, exitCode }).toEqual({ code: 'WRITE_FAILED', cause: 'disk', exitCode: 1 });
    expect(details).toEqual({
      path: ['models', 1],
      file: 'merge.yaml',
      line: 3,
      column: 5,
      merge: 'grid',
      kept: '/out',
      reason: 'full',
    });
  });

  it('leaves a path that is the code’s own', () => {
    const refused = new LayerloomError('NOT_A_CHECKPOINT', { path: '/a', reason: 'is empty' });
    expect(refused.with({ recipePath: ['task'] }).details).toEqual({ path: '/a', reason: 'is empty' });
  });

  it('leaves the error as it was', () => {
    expect(error.context).toEqual({});
    expect(error.details).toEqual({ file: '/out/a', reason: 'full' });
  });
});
