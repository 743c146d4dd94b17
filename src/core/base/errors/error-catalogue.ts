import { argument, layerloomCommand } from './command-line.js';
import { gigabytes } from './gigabytes.js';
import { optionName } from './option-name.js';
import {
  also,
  byCause,
  each,
  failed,
  input,
  interrupted,
  joined,
  length,
  list,
  maybe,
  number,
  or,
  partial,
  quoted,
  type Sentence,
  size,
  some,
  usage,
} from './sentence.js';

/** NaN and infinity in a tensor: the number of such elements, or the place of the first. */
export type NonFinite =
  | { readonly tensor: string; readonly model: string; readonly count: number }
  | {
      readonly tensor: string;
      readonly index: readonly number[];
      readonly is: string;
      /** The input's file; absent if only the result is not finite. */
      readonly file?: string;
    };

const whereNonFinite = (found: NonFinite): string => {
  if ('count' in found) return `${found.tensor} of ${found.model} (${found.count} elements)`;
  const { tensor, index, is, file } = found;
  const element = `${tensor}[${index.join(', ')}]`;
  if (file !== undefined) return `${element} of ${file} (${is})`;
  const negative = is === 'NaN' ? ', or of a negative importance' : '';
  return `${element} of the output (${is}, of finite inputs: beyond its dtype${negative})`;
};

const expectation = ({ value, expected }: { value: unknown; expected: string }): string => {
  const isAbsent = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  if (isAbsent) return ` is missing: expected ${expected}`;
  return `: expected ${expected}, got ${typeof value === 'number' ? value : cut(JSON.stringify(value) ?? 'nothing')}`;
};

interface MissingModel {
  readonly model: string;
  readonly tried: readonly string[];
  /** A command that downloads the model, if its name looks like a hub name. */
  readonly fetch?: string | undefined;
  readonly nearest?: string | undefined;
  /** Advice for a name spelt as in other programs. */
  readonly hint?: string | undefined;
}

const nearest = maybe('nearest', (name) => `; did you mean ${name}?`);

const hinted = maybe('hint', (hint) => `; ${hint}`);

const fetchIt = maybe(
  'fetch',
  (command) =>
    `; if it is on the hub, ${optionName('download')} fetches what is needed of it, and \`${command}\` all of it`,
);

const missingModel = (one: MissingModel): string =>
  `${one.model}: no such model (tried ${one.tried.join(', ')})${nearest(one)}${hinted(one)}${fetchIt(one)}`;

const missingModels = ({ others, ...one }: MissingModel & { others?: readonly MissingModel[] }): string =>
  others === undefined
    ? missingModel(one)
    : `${others.length + 1} models are missing:\n${[one, ...others].map((model) => `  ${missingModel(model)}`).join('\n')}`;

interface MissingWeights {
  readonly model: string;
  readonly bytes: number;
  readonly of: number;
}

const neededWeights = ({ model, bytes, of }: MissingWeights): string =>
  `${gigabytes(bytes)} of ${model} (${gigabytes(of)} in all)`;

const clash = ({ name, paths }: { name: string; paths: readonly string[] }): string =>
  new Set(paths).size === 1
    ? `${paths[0]} is given twice; leave one out, or`
    : `two models are named ${name}: ${paths.join(' and ')};`;

const inOutput = (file: string): string =>
  file.replace(/\.([^/]+)\.layerloom-partial(\/checkpoint(?=\/|$))?/, '$1');

const ofTensor = maybe('tensor', (tensor) => ` (tensor ${tensor})`);
const tensorIfAny = maybe('tensor', (tensor) => `tensor ${tensor} `);
const headerOrTensor = (d: { tensor?: string }): string =>
  d.tensor === undefined ? 'header' : `tensor ${d.tensor}`;

const sum = (d: { counts: Record<string, number> }): string =>
  Object.entries(d.counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(' + ');

const otherNames = (d: { missing: readonly string[]; unexpected: readonly string[] }): string =>
  [
    ...(d.missing.length > 0 ? [`lacks ${some(d.missing)}`] : []),
    ...(d.unexpected.length > 0 ? [`also has ${some(d.unexpected)}`] : []),
  ].join('; ');

const problems = (d: { findings: readonly { subject: string; mark: string; text: string }[] }): string =>
  some(d.findings.filter(({ mark }) => mark === 'problem').map(({ subject, text }) => `${subject}: ${text}`));

/** All errors. Each code has an exit code, and a sentence that says what is wrong, where, and what to do. */
export const catalogue = {
  USAGE: usage`${'reason'}`,
  INVALID_PARAMETER: usage`${'parameter'}${expectation}${nearest}`,
  RECIPE_INVALID: usage`${maybe('file', (file) => `${file}: `)}${maybe('key', (key) => `${key}: `)}${'reason'}${maybe('expected', (expected) => `; expected ${expected}`)}${nearest}${also<{ excerpt?: string }>()}`,
  TEMPLATE_INVALID: usage`${'parameter'}: the template has an error in its syntax (${'reason'}); correct it, or give auto or the name of a format`,
  EXPORT_UNSUPPORTED: usage`${'dialect'}'s dialect cannot say ${'what'}; ${'remedy'}`,
  PARTITION_UNSUPPORTED: usage`the options of ${'format'} cannot say ${'what'}; ${'remedy'}`,
  TOO_MANY_LAYERS: usage`${sum} = ${number('requested', 'layer')}, but the models have ${number('layers')}; ${or('remedy', 'lower the counts')}`,
  PARTS_INVALID: usage`${'problem'}; ${'remedy'}${also<{ parts: readonly string[]; layers: string }>()}`,
  NAME_CLASH: usage`${clash} name them apart with NAME=PATH`,
  ADAPTER_WITHOUT_BASE: usage`${'adapter'} is an adapter, not a whole model: give BASE+ADAPTER, such as ./base+${'adapter'}`,
  FORMS_MIXED: usage`bare adapters (${list('adapters', 2)}) are mixed with whole models (${list('full', 2)}): write each adapter as BASE+ADAPTER, or give ${() => optionName('as', 'full')}`,
  NO_ADAPTER_FORM: usage`${'method'} of bare adapters gives no adapter: ${'reason'}; ${() => optionName('as', 'full')} with ${() => optionName('base')} gives full weights`,
  INSTRUCTION_SET: usage`LAYERLOOM_ISA=${'requested'}: this machine has ${joined('available', ', ')}`,
  SEARCH_INVALID: usage`${'reason'}; ${'remedy'}`,
  SELECTION_INVALID: usage`${'reason'}; ${'remedy'}`,
  OUTPUT_INVALID: usage`${'out'}: ${'reason'}`,
  OUTPUT_EXISTS: usage`${'out'} ${'reason'}; ${'remedy'}`,
  OUTPUT_NOT_OURS: usage`${'out'} holds what layerloom did not write, or what was written since (${list('others')}), and ${() => optionName('force')} would lose it; move it away or choose another output`,
  RESUME_MISMATCH: usage`${'staging'} was begun by another merge, which cannot be resumed by this one: ${joined('differences', '; ')}. Run without ${() => optionName('resume')} to start afresh`,
  JOBS_OUTDATED: usage`${'file'}: ${'reason'}; ${'remedy'}${also<{ version?: string; expectedVersion?: string; digest?: string; expectedDigest?: string }>()}`,

  // Inputs that are missing, damaged, or do not fit together.
  MODEL_NOT_FOUND: input`${missingModels}`,
  DOWNLOAD_NEEDED: input`weights are needed that are not on this machine: ${each('models', neededWeights)}; fetch them with ${() => optionName('download')}`,
  MODEL_AMBIGUOUS: input`${'path'} holds a whole model and an adapter, which loaders put together differently: give ${'model'} for the model alone, ${'model'}+${'path'} for the model with the adapter, BASE+${'path'} for another base with it, or ${'adapter'} for the adapter by itself`,
  NOT_AS_LOADED: input`${'path'}: ${'reason'}, so that loaders do not make of it the model that is merged; write it plainly (\`${'command'}\`), and ${'purpose'} that`,
  NOT_A_CHECKPOINT: input`${'path'}: ${'reason'}`,
  RUN_UNFINISHED: input`${'run'}: its last checkpoint, ${'checkpoint'}, cannot be opened (${'reason'}); wait until training has saved it${maybe('before', (step: number) => `, or end before it with ${optionName('until', String(step))}`)}`,
  ADAPTER_INVALID: input`${'file'}: ${tensorIfAny}${'reason'}; ${'remedy'}`,
  ADAPTER_UNSUPPORTED: input`${'file'}: ${'what'} ${'reason'}; ${or('remedy', 'merge the adapter into its base with PEFT (merge_and_unload), and give that model')}`,
  ADAPTERS_DIFFER: input`${'other'} and ${'first'} differ in ${'what'}; merge adapters of one base, or give ${() => optionName('as', 'full')}`,
  BASE_NEEDED: input`${'adapter'} ${'reason'}; ${or('remedy', () => `give the base with ${optionName('base')}`)}`,
  ADAPTER_MISMATCH: input`${'adapter'} is no adapter of ${'base'}: ${'tensor'} ${'reason'}; give the base that it was trained on${maybe('trainedOn', (base) => ` (its adapter_config.json names ${base})`)}`,
  FILE_MISSING: input`${'file'} is missing, though ${'neededBy'} names it; download or copy the checkpoint again`,
  FILE_TOO_SHORT: input`${'file'} has ${number('bytes', 'byte')}, too few for a file of weights; is the download complete?`,
  HEADER_TOO_LARGE: input`${'file'} announces a header${maybe('bytes', (bytes: number) => ` of ${bytes} bytes`)} that is larger than any of a file of weights; is it one?`,
  HEADER_TRUNCATED: input`${'file'} announces a header of ${number('announced')} bytes and has ${number('available')}; is the download complete?`,
  HEADER_INVALID: input`${'file'}: ${headerOrTensor}: ${'reason'}; write the file again`,
  PICKLE_RUNS_CODE: input`${'file'}: its pickle names ${'calls'}, which would run as code when the file is loaded, and has not run here; take the model as safetensors, or, if you trust who wrote it, save its tensors alone with safetensors.torch.save_file`,
  WEIGHTS_UNSUPPORTED: input`${'file'}: ${tensorIfAny}${'reason'}; ${'remedy'}`,
  DUPLICATE_TENSOR: input`${'file'}${maybe('alsoIn', (file) => ` and ${file}`)}: tensor ${'tensor'} appears twice; remove one of the two`,
  UNKNOWN_DTYPE: input`${'file'}: tensor ${'tensor'}: unknown dtype ${'dtype'}; this layerloom is older than the file`,
  SHAPE_OVERFLOW: input`${'file'}: tensor ${'tensor'}: shape [${(d: { shape: readonly number[] }) => d.shape.join(', ')}] has too many elements; write the file again`,
  LENGTH_MISMATCH: input`${'file'}: tensor ${'tensor'}: shape and dtype need ${number('expected')} bytes, the offsets give ${number('actual')}; write the file again`,
  OFFSETS_INVALID: input`${'file'}: tensor ${'tensor'}: ${'reason'}; write the file again`,
  FILE_LENGTH_MISMATCH: input`${'file'} has ${number('actual')} bytes and its header accounts for ${number('expected')}; is the download complete?`,
  INDEX_INVALID: input`${'file'}: ${'reason'}`,
  INDEX_UNSAFE_NAME: input`${'file'}: tensor ${'tensor'} is said to be in ${quoted('name')}, which is outside the checkpoint; do not trust this index`,
  TENSOR_MISSING: input`${'index'} says that ${'tensor'} is in ${'file'}, which does not have it; download or write the checkpoint again`,
  CONFIG_INVALID: input`${'file'}: ${'reason'}`,
  NO_LAYERS: input`${'model'}: no tensor is named …layers.N.… (or h, blocks), so that there are no layers to swap; \`${() => layerloomCommand('soup')}\` needs none`,
  STACKS_AMBIGUOUS: input`${'model'} has several stacks of layers (${joined('stacks', ', ')}) and layerloom cannot tell which is meant; ${(d: { choices: readonly string[] }) => optionName('stack', d.choices[0])} (stack: in a recipe) chooses: ${joined('choices', ', ')}`,
  LAYER_MISSING: input`${'model'} has no layer ${number('layer')} of ${number('layers')}; is a shard missing?`,
  NAMING_MISMATCH: input`${'first'} has ${'firstNaming'} names and ${'other'} ${'otherNaming'} names, whose q and k rows are permuted differently; convert one of them`,
  LAYER_COUNT_MISMATCH: input`${'first'} has ${number('firstLayers', 'layer')} and ${'other'} ${number('otherLayers')}; merge experts of one base`,
  TIED_MISMATCH: input`${'tied'} ties its head to the embeddings and ${'untied'} does not; merge experts that agree in it (an adapter that saves lm_head or embed_tokens unties its base)`,
  TENSOR_NAMES_DIFFER: input`${'other'} has other tensors than ${'first'}: ${otherNames}. Merge experts of one base`,
  SHAPE_MISMATCH: input`${'other'} has other shapes than ${'first'}: ${list('tensors')}. ${or('remedy', 'Merge experts of one base and vocabulary')}`,
  DTYPE_MISMATCH: input`${'other'} has other dtypes than ${'first'}, which cannot be merged so: ${list('tensors')}. Convert one of them`,
  CONFIG_MISMATCH: input`${'other'}/config.json describes another model than ${'first'}/config.json: ${list('differences')}. Merge experts of one base`,
  STACK_UNSUPPORTED: input`${'model'}/config.json cannot describe these layers in this order: ${'key'} ${'reason'}. Stack other layers`,
  TOKENIZER_MISMATCH: input`${'other'} numbers tokens otherwise than ${'first'}: ${list('tokens')}. ${or('remedy', 'Merge experts of one tokenizer')}`,
  TOKENIZER_UNSUPPORTED: input`${'directory'}: ${'reason'}`,
  VOCABULARY_UNMERGEABLE: input`${'model'}${maybe('tensor', (tensor) => `: tensor ${tensor}`)} ${'reason'}`,
  QUANTISED_WEIGHTS: input`${'model'}: tensor ${'tensor'} is quantised in a form that is not read; dequantise the model first`,
  QUANTISATION_INVALID: input`${'file'}: tensor ${'tensor'} ${'reason'}; quantise the model again, or take it out of config.json's quantization_config if it is not quantised`,
  NON_FINITE: input`not every number is finite in ${each('tensors', whereNonFinite)}; ${or('remedy', () => `mend the checkpoint, or leave those rows out with ${optionName('allowNonFinite')}`)}`,
  NOTHING_TO_EXTRACT: input`${'expert'} equals the base (${'base'}) in all ${number('tensors', 'weight')} that an adapter would change; give the fine-tuned model, or other weights with ${() => optionName('modules')}`,
  MAV_UNDEFINED: input`${'expert'} equals the base (${'base'}): its mean MAV is 0, and so it has no magnitude weight; give weights as numbers`,
  ANALYSIS_MISMATCH: input`${'file'} ${'reason'}; analyze the experts again, or leave ${() => optionName('analysis')} away`,
  MEASUREMENT_INVALID: input`${'file'} ${'reason'}; measure both experts from one base in one way: by \`${() => layerloomCommand('analyze')}\`, or by \`${() => layerloomCommand('diff')}\`, as JSON in a file`,
  PARTITION_INVALID: input`${'file'}: ${'reason'}; ${'remedy'}`,
  VECTORS_INVALID: input`${'file'}: ${'reason'}; give a NAME.mav.safetensors that \`${() => layerloomCommand('analyze')}\` wrote`,
  MERGE_UNDEFINED: input`${'method'} has no result for tensor ${'tensor'}: ${'reason'}`,
  NON_FLOATING_MISMATCH: input`tensor ${'tensor'} (${'dtype'}) would be averaged, is not floating, and differs between ${joined('files', ' and ')}; make it equal, or take what is outside the layers from one expert (${() => optionName('others')})`,
  INPUT_CHANGED: input`${'file'} ${'reason'} since the merge was planned; run it again`,
  INPUT_NOT_AS_RECORDED: input`${'file'} ${'reason'} since ${'record'} recorded it, and so the merge would be another one; put the recorded file back, or merge what is there now with ${() => optionName('allowChanged')}`,
  INPUT_SHRANK: input`${'file'} became shorter while tensor ${'tensor'} was read from it; let what writes it finish, then run again`,
  READ_FAILED: input`${'file'} cannot be read${ofTensor}: ${'reason'}`,
  DATA_MISSING: input`${'task'} needs ${'file'}; ${or('remedy', 'name the directory that has it by `data:`')}${also<{ directory?: string }>()}`,
  DATA_INVALID: input`${'file'}${maybe('line', (line: number) => `:${line}`)}: ${'reason'}; mend the file or fetch it again`,
  TASK_DATA_INVALID: input`${length('tasks', 'task')} cannot take data from ${'directory'}: ${joined('tasks', ', ')}; mend the files named above`,
  INCLUDE_INVALID: input`${'directory'} cannot be used as include: of evaluate: ${'reason'}; name a directory of task files that each define another task`,
  TRAINING_INVALID: input`${'file'}: ${'reason'}; ${or('remedy', () => `name a directory that \`${layerloomCommand('train', 'init')}\` wrote`)}`,
  /** `damaged`: a record exists but cannot be read. */
  OUTPUT_UNRECORDED: input`${'out'} ${'state'}: ${'reason'}; ${'remedy'}${also<{ verdict: 'damaged' | 'not-an-output'; hasRecipe?: boolean }>()}`,
  OUTPUT_DAMAGED: input`${'out'}: damaged: ${list('damage')}; ${'remedy'}`,
  NOT_LOADABLE: input`${'out'} does not load as ${'loadedAs'}: ${list('faults')}. Its config.json and its weights are not of one model`,
  OUTPUT_INSIDE_INPUT: input`the output ${'out'} overlaps the input ${'input'}; choose an output elsewhere`,
  RESULTS_NOT_PAIRED: input`${'task'}: ${joined('models', ' and ')} cannot be compared by problem: ${'reason'}; evaluate both with the same task, shots and problems`,
  SUMMARIES_INVALID: input`${'file'}:${number('line')}: ${'reason'}; expected the columns language, benchmark, row, statistic, value, unit and optionally n, note`,
  STORE_INVALID: input`${'store'}: ${'reason'}`,
  STORE_DAMAGED: input`${'store'} has damaged shards: ${each('damaged', (one: { file: string; reason: string }) => `${one.file} ${one.reason}`)}. They are computed again when a merge next needs them; make checkpoints again that have hard links to them`,
  STORE_SHARD_MISSING: input`${'store'} has no whole shard ${'key'}: it was removed, or found damaged, since it was looked up; run again`,
  HUB_ACCESS: input`${'model'}: ${'reason'}; ${'remedy'}`,
  HUB_NOT_FOUND: input`${'model'}: ${'reason'}; ${'remedy'}`,
  HUB_FILE_CHANGED: input`${'model'}: ${'file'} ${'reason'}; what was fetched of it was removed, run again`,
  EXPERIMENT_MISSING: input`${'directory'} ${'reason'}; ${'remedy'}`,
  EXPERIMENT_INVALID: input`${'file'}: ${'reason'}`,
  BUNDLE_REFUSED: input`${'study'} cannot be bundled: ${'reason'}`,
  BUNDLE_INVALID: input`${'file'} is no bundle of a study: ${'reason'}; nothing was unpacked`,
  MERGES_DIFFER: input`what ${'out'} records differs in ${length('merges', 'merge')}: ${list('merges')}; give the experts that the study was made from`,
  RESCORE_REFUSED: input`${'task'} cannot be scored again: ${'reason'}`,
  RESULTS_INVALID: input`${'file'}: ${'reason'}; remove it and evaluate again`,
  RESULTS_FOREIGN: input`${'file'} was not imported: ${'reason'}`,
  TASK_UNKNOWN: usage`lm_eval has no task ${list('tasks')}${nearest} (\`lm_eval ls tasks\` lists them)`,
  CODE_NOT_ALLOWED: usage`${'task'} runs the programs that models write, with your rights; run it where they can do no harm, and consent by confirm_run_unsafe_code: true under evaluate:, or leave the task out`,

  // Failures of the machine or its programs.
  PROGRAM_MISSING: failed`there is no ${joined('programs', ' or ')} ${maybe('directory', (directory) => `in ${directory} or `)}on the PATH; ${'remedy'}`,
  LIBRARY_MISSING: failed`${'python'} has no ${joined('libraries', ' and no ')}: install it there, or name a Python that has it with ${() => optionName('python')}`,
  SIGSTORE_UNAVAILABLE: failed`${'reason'}; ${'remedy'}`,
  EXPORT_FAILED: failed`${'program'} failed for ${'model'} (${'reason'}); nothing was written; its output is in ${'log'}`,
  HARNESS_MISSING: failed`${'command'} cannot be run (${'reason'}); install it with \`pip install "lm-eval[hf,api]==0.4.13"\`, or name its command with ${() => optionName('lmEval')}`,
  HARNESS_FAILED: failed`lm_eval failed for ${'model'} (${'reason'}); its output is in ${'log'}`,
  HARNESS_TIMEOUT: failed`lm_eval was ended after ${number('seconds')} s for ${'model'}; its output is in ${'log'}; raise timeout: in evaluate:`,
  WEIGHTS_DIFFER: failed`what answers did not hold the weights of ${'model'} after loading them twice (${list('tensors')}); nothing was scored; was a file written meanwhile? The process's output is in ${'log'}`,
  IN_PLACE_REFUSED: usage`merges cannot be scored ${() => optionName('inPlace')}: ${'reason'}; write them (\`${(d: { directory?: string }) => layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(d.directory ?? 'DIR'), '--resume')}\`), and leave the option out`,
  SERVER_FAILED: failed`the server for ${'model'} did not come up: ${'reason'}; its output is in ${'log'}`,
  EXCHANGE_FAILED: failed`the server did not take the weights of ${'model'}: ${'reason'}; nothing was scored; ${maybe('log', (log) => `its output is in ${log}; `)}without exchange: in evaluate: each model has a server of its own`,
  SERVER_UNSAFE: usage`serve: {${'key'}} stands within quotes, where a shell would act on characters of ${quoted('word')}; write it outside of quotes, or "$${'variable'}" within single quotes`,
  SERVE_NOT_ALLOWED: usage`${'directory'} was not made here by a batch of yours, and its evaluate: block would run what it likes (${list('commands')}); read it, and give ${() => optionName('allowServe')} if you trust it`,
  EVALUATION_INCOMPLETE: partial`evaluations that failed: ${length('failed')} (${byCause('failed', 'model')}); scores in ${'directory'}: ${number('scores')}. Mend what is wrong and evaluate again`,
  TRAINING_INCOMPLETE: partial`runs that are not finished: ${length('unfinished')} of ${number('runs')} (${each('unfinished', (one: { run: string; problem: string }) => `${one.run}: ${one.problem}`, 3)})`,
  OUTPUT_BUSY: failed`another layerloom is writing ${'out'} (${or('by', 'it')} holds ${'staging'}); wait for it or choose another output`,
  DISK_SPACE: failed`${'out'} needs ${number('needed')} bytes and its disk has ${number('available')} free; free some or choose another disk`,
  MEMORY_NEEDED: failed`${'tensor'} needs ${size('needed')} of memory, also with one thread, and this machine or its cgroup has ${size('available')}; use ${'lighter'}, or another machine`,
  HUB_UNAVAILABLE: failed`${'endpoint'}: ${'reason'}; ${'remedy'}`,
  PUSH_REFUSED: failed`${'model'}: the hub refuses what was pushed: ${'reason'}; mend it and push again, what was sent is not sent twice`,
  LINK_REFUSED: failed`${'file'} cannot be linked (${(d: { link: string }) => optionName('link', d.link)}): ${'reason'}; ${'remedy'}`,
  WRITE_FAILED: failed`${(d: { file: string }) => inOutput(d.file)} cannot be written${ofTensor}: ${'reason'}`,
  PLATFORM_UNSUPPORTED: failed`layerloom does not run on ${'platform'}-${'arch'}: ${'reason'}; ${'remedy'}`,
  PROCESS_UNAVAILABLE: failed`${(d: { command: string }) => cut(d.command, 200)} cannot be started (${'reason'}); use a shorter command, or free memory and end other processes`,
  THREADS_UNAVAILABLE: failed`threads cannot be started (${'reason'}); ${or('remedy', () => `use fewer (${optionName('threads')}), or let more processes run (ulimit -u)`)}`,
  ADDON_MISSING: failed`the native addon for ${'target'} is missing: there is no ${'file'}; ${'remedy'}`,
  ADDON_BROKEN: failed`the native addon ${'file'} cannot be loaded (${'reason'}); ${'remedy'}`,
  INSTALLATION_BROKEN: failed`merging does not work here: ${problems}`,
  BUILD_FAILED: failed`the native addon cannot be built: ${'reason'}; ${'remedy'}`,
  PLAN_INVALID: failed`the plan is not one that planMerge made: ${'reason'}; plan the merge again`,
  BATCH_INCOMPLETE: partial`${length('failed')} of ${number('merges')} merges fail (${byCause('failed', 'merge')})${maybe('out', (out) => `; the others are in ${out}. Mend what is wrong and run it again with ${optionName('resume')}`)}`,
  TABLES_INCOMPLETE: partial`comparisons or means left out of the tables: ${length('refusals')} (${list('refusals', 3)})`,
  INTERRUPTED: interrupted`interrupted; ${or('state', 'nothing was written')}${also<{ out?: string; evaluation?: string; answers?: 'kept' | 'lost'; fetched?: number }>()}`,
} satisfies Record<string, Sentence<never>>;

/** Maximum characters of a text in a message. Several long commands fit; files may hold megabytes. */
const mostShown = 20_000;

export const cut = (text: string, most = mostShown): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;
