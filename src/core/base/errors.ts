import { constants } from 'node:os';
import { argument, layerloomCommand, shellWord } from './command-line.js';
import { fileLimitOf } from './file-limit.js';
import { gigabytes } from './gigabytes.js';
import { optionName } from './option-name.js';
import { visible, visibleLine } from './visible.js';

/** Exit codes of the command line, one for each kind of failure. */
export const exitCodes = { failed: 1, usage: 2, input: 3, partial: 4, interrupted: 130 } as const;

type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

interface ErrorEntry<Details> {
  readonly exitCode: ExitCode;
  readonly message: (details: Details) => string;
}

const failed = <Details>(message: (details: Details) => string): ErrorEntry<Details> => ({
  exitCode: 1,
  message,
});
const usage = <Details>(message: (details: Details) => string): ErrorEntry<Details> => ({
  exitCode: 2,
  message,
});
const input = <Details>(message: (details: Details) => string): ErrorEntry<Details> => ({
  exitCode: 3,
  message,
});

interface TensorInFile {
  file: string;
  tensor: string;
}

/** Two models that do not fit; `other` is the one that differs from `first`. */
interface Pair {
  first: string;
  other: string;
}

const some = (names: readonly string[], shown = 5): string =>
  names.slice(0, shown).join(', ') + (names.length > shown ? `, … (${names.length} in all)` : '');

interface DamagedOutput {
  readonly out: string;
  readonly structure: string | null;
  readonly files: readonly { readonly file: string; readonly state: string; readonly reason?: string }[];
  readonly unlisted: readonly string[];
  readonly againstInputs: {
    readonly different: readonly { readonly file: string; readonly tensor: string | null }[];
  } | null;
}

const wrongFiles = ({ files }: DamagedOutput) =>
  files.filter(({ state }) => state === 'different' || state === 'missing');

interface UnloadedModel {
  readonly loadedAs: string | null;
  readonly missing: readonly string[];
  readonly unexpected: readonly string[];
  readonly mismatched: readonly { readonly tensor: string }[];
  readonly dtype: { readonly said: string } | null;
  readonly reason: string | null;
}

const faultsOf = (d: UnloadedModel): string[] => [
  ...d.missing.map((tensor) => `${tensor} is missing`),
  ...d.unexpected.map((tensor) => `${tensor} is unexpected`),
  ...d.mismatched.map(({ tensor }) => `${tensor} has another shape`),
  ...(d.dtype === null ? [] : [`no tensor is ${d.dtype.said}, as config.json says`]),
  ...(d.reason === null ? [] : [d.reason]),
];

const damageOf = (d: DamagedOutput): string[] => [
  ...(d.structure === null ? [] : [d.structure]),
  ...wrongFiles(d).map(({ file, reason }) => `${file} ${reason ?? 'differs'}`),
  ...(d.againstInputs?.different ?? []).map(({ file, tensor }) => `${tensor ?? 'the header'} of ${file}`),
];

const remedyOf = (d: DamagedOutput): string => {
  const added = wrongFiles(d).filter(({ file }) => d.unlisted.includes(file));
  if (added.length === 0) return 'merge it again';
  return added.length === damageOf(d).length
    ? 'remove what was added'
    : 'remove what was added, and merge it again';
};

/** NaN and infinity in weights: how many elements, or the place of one element. */
export type NonFinite =
  | { readonly tensor: string; readonly model: string; readonly count: number }
  | {
      readonly tensor: string;
      readonly index: readonly number[];
      readonly is: string;
      /** The input's file; absent if the inputs are finite and only the result is not. */
      readonly file?: string;
    };

const whereNonFinite = (found: NonFinite): string => {
  if ('count' in found) return `${found.tensor} of ${found.model} (${found.count} elements)`;
  const { tensor, index, is, file } = found;
  const element = `${tensor}[${index.join(', ')}]`;
  return file === undefined
    ? `${element} of the output (${is}, of finite inputs: beyond its dtype${is === 'NaN' ? ', or of a negative importance' : ''})`
    : `${element} of ${file} (${is})`;
};

const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

interface MissingModel {
  readonly model: string;
  readonly tried: readonly string[];
  /** A command that downloads it, if its name looks like a hub name. */
  readonly fetch?: string | undefined;
  /** A model with a similar name that exists. */
  readonly nearest?: string | undefined;
}

const missingModel = ({ model, tried, fetch, nearest }: MissingModel): string =>
  `${model}: no such model (tried ${tried.join(', ')})` +
  (nearest === undefined ? '' : `; did you mean ${nearest}?`) +
  (fetch === undefined
    ? ''
    : `; if it is on the hub, ${optionName('download')} fetches what is needed of it, and \`${fetch}\` all of it`);

interface MissingWeights {
  /** `org/name@COMMIT`. */
  readonly model: string;
  readonly bytes: number;
  readonly of: number;
}

/**
 * Every error of the project: its exit code, and one message that says what is wrong, where, and what to do.
 */
const catalogue = {
  // Invalid requests, whatever the files hold.
  USAGE: usage((d: { reason: string }) => d.reason),
  INVALID_PARAMETER: usage(
    (d: { parameter: string; value: unknown; expected: string; nearest?: string | undefined }) =>
      (isAbsent(d.value)
        ? `${d.parameter} is missing: expected ${d.expected}`
        : `${d.parameter}: expected ${d.expected}, got ${typeof d.value === 'number' ? d.value : cut(JSON.stringify(d.value) ?? 'nothing')}`) +
      (d.nearest === undefined ? '' : `; did you mean ${d.nearest}?`),
  ),
  RECIPE_INVALID: usage(
    (d: {
      /** The recipe's name, if its context has no place. */
      file?: string;
      key?: string;
      reason: string;
      expected?: string;
      nearest?: string | undefined;
      excerpt?: string;
    }) =>
      `${d.file === undefined ? '' : `${d.file}: `}${d.key === undefined ? '' : `${d.key}: `}${d.reason}` +
      (d.expected === undefined ? '' : `; expected ${d.expected}`) +
      (d.nearest === undefined ? '' : `; did you mean ${d.nearest}?`),
  ),
  TEMPLATE_INVALID: usage(
    (d: { parameter: string; reason: string }) =>
      `${d.parameter}: the template has an error in its syntax (${d.reason}); correct it, or give auto or the name of a format`,
  ),
  EXPORT_UNSUPPORTED: usage(
    (d: { what: string; dialect: string; remedy: string }) =>
      `${d.dialect}'s dialect cannot say ${d.what}; ${d.remedy}`,
  ),
  PARTITION_UNSUPPORTED: usage(
    (d: { format: string; what: string; remedy: string }) =>
      `the options of ${d.format} cannot say ${d.what}; ${d.remedy}`,
  ),
  TOO_MANY_LAYERS: usage(
    (d: { layers: number; requested: number; counts: Record<string, number>; scales?: boolean }) =>
      `${Object.entries(d.counts)
        .map(([name, count]) => `${name} ${count}`)
        .join(
          ' + ',
        )} = ${d.requested} layers, but the models have ${d.layers}; lower the counts${'bottom transition' in d.counts ? ` or use ${optionName('scaled')} (in a file scaled: true)` : d.scales ? ` or use ${optionName('scaled')}` : ''}`,
  ),
  PARTS_INVALID: usage(
    (d: { problem: string; remedy: string; parts: readonly string[]; layers: string }) =>
      `${d.problem}; ${d.remedy}`,
  ),
  NAME_CLASH: usage(
    (d: { name: string; paths: readonly string[] }) =>
      `two models are named ${d.name}: ${d.paths.join(' and ')}; name them apart with NAME=PATH`,
  ),
  ADAPTER_WITHOUT_BASE: usage(
    (d: { adapter: string; base?: string | undefined }) =>
      `${d.adapter} is an adapter, not a whole model: give BASE+ADAPTER, such as ${d.base ?? './base'}+${d.adapter}`,
  ),
  FORMS_MIXED: usage(
    (d: { adapters: readonly string[]; full: readonly string[] }) =>
      `${some(d.adapters, 2)} ${d.adapters.length === 1 ? 'is a bare adapter' : 'are bare adapters'} and ${some(d.full, 2)} whole: write each adapter as BASE+ADAPTER, or give ${optionName('as', 'full')}`,
  ),
  NO_ADAPTER_FORM: usage(
    (d: { method: string; reason: string }) =>
      `${d.method} of bare adapters gives no adapter: ${d.reason}; ${optionName('as', 'full')} with ${optionName('base')} gives full weights`,
  ),
  INSTRUCTION_SET: usage(
    (d: { requested: string; available: readonly string[] }) =>
      `LAYERLOOM_ISA=${d.requested}: this machine has ${d.available.join(', ')}`,
  ),
  SEARCH_INVALID: usage((d: { reason: string; remedy: string }) => `${d.reason}; ${d.remedy}`),
  SELECTION_INVALID: usage((d: { reason: string; remedy: string }) => `${d.reason}; ${d.remedy}`),
  OUTPUT_INVALID: usage((d: { out: string; reason: string }) => `${d.out}: ${d.reason}`),
  OUTPUT_EXISTS: usage(
    (d: { out: string; experiment?: boolean; page?: boolean; file?: boolean; kept?: boolean }) =>
      d.kept
        ? `${d.out} is not empty; choose another output`
        : d.file
          ? `${d.out} exists; choose another file, or ${optionName('force')} to replace it`
          : d.page
            ? `${d.out} is not a page that layerloom wrote; choose another file, or ${optionName('force')} to replace it`
            : d.experiment
              ? `${d.out} holds an experiment; choose another output, or ${optionName('resume')} to make what is missing of this one`
              : `${d.out} is not empty; choose another output, or ${optionName('force')} to replace a merged checkpoint`,
  ),
  OUTPUT_NOT_OURS: usage(
    (d: { out: string; others: readonly string[] }) =>
      `${d.out} holds what layerloom did not write, or what was written since (${some(d.others)}), and ${optionName('force')} would lose it; ` +
      'move it away or choose another output',
  ),
  RESUME_MISMATCH: usage(
    (d: { staging: string; differences: readonly string[] }) =>
      `${d.staging} was begun by another merge, which cannot be resumed by this one: ${d.differences.join('; ')}. ` +
      `Run without ${optionName('resume')} to start afresh`,
  ),
  JOBS_OUTDATED: usage(
    (
      d: { file: string } & (
        | { version: string; expectedVersion: string }
        | { digest: string; expectedDigest: string }
      ),
    ) =>
      'version' in d
        ? `${d.file}: this job was written by layerloom ${d.expectedVersion}, and this is ${d.version}; ` +
          'run it by that version, or write all jobs again by this one'
        : `${d.file} was changed since this job was written (its SHA-256 began with ${d.expectedDigest}, ` +
          `now with ${d.digest}); restore it, or write all jobs again`,
  ),

  // Inputs that are missing, corrupt, or do not fit each other.
  MODEL_NOT_FOUND: input((d: MissingModel & { others?: readonly MissingModel[] }) =>
    d.others === undefined
      ? missingModel(d)
      : `${d.others.length + 1} models are missing:\n${[d, ...d.others].map((one) => `  ${missingModel(one)}`).join('\n')}`,
  ),
  DOWNLOAD_NEEDED: input(
    (d: { models: readonly MissingWeights[] }) =>
      `weights are needed that are not on this machine: ${some(
        d.models.map(({ model, bytes, of }) => `${gigabytes(bytes)} of ${model} (${gigabytes(of)} in all)`),
      )}; fetch them with ${optionName('download')}`,
  ),
  MODEL_AMBIGUOUS: input(
    (d: { path: string; model: string; adapter: string }) =>
      `${d.path} holds a whole model and an adapter, which loaders put together differently: give ${d.model} for the model alone, ${d.model}+${d.path} for the model with the adapter, BASE+${d.path} for another base with it, or ${d.adapter} for the adapter by itself`,
  ),
  NOT_AS_LOADED: input(
    (d: { path: string; reason: string; command: string; purpose: string }) =>
      `${d.path}: ${d.reason}, so that loaders do not make of it the model that is merged; write it plainly (\`${d.command}\`), and ${d.purpose} that`,
  ),
  NOT_A_CHECKPOINT: input((d: { path: string; reason: string }) => `${d.path}: ${d.reason}`),
  RUN_UNFINISHED: input(
    (d: { run: string; checkpoint: string; reason: string; before?: number }) =>
      `${d.run}: its last checkpoint, ${d.checkpoint}, cannot be opened (${d.reason}); wait until training has saved it${
        d.before === undefined ? '' : `, or end before it with ${optionName('until', String(d.before))}`
      }`,
  ),
  ADAPTER_INVALID: input(
    (d: { file: string; tensor?: string | undefined; reason: string; remedy: string }) =>
      `${d.file}: ${d.tensor === undefined ? '' : `tensor ${d.tensor} `}${d.reason}; ${d.remedy}`,
  ),
  ADAPTER_UNSUPPORTED: input(
    (d: { file: string; what: string; reason: string; remedy?: string | undefined }) =>
      `${d.file}: ${d.what} ${d.reason}; ${d.remedy ?? 'merge the adapter into its base with PEFT (merge_and_unload), and give that model'}`,
  ),
  ADAPTERS_DIFFER: input(
    (d: Pair & { what: string }) =>
      `${d.other} and ${d.first} differ in ${d.what}; merge adapters of one base, or give ${optionName('as', 'full')}`,
  ),
  BASE_NEEDED: input(
    (d: { adapter: string; reason: string; base?: string | undefined }) =>
      `${d.adapter} ${d.reason}; ${d.base === undefined ? `give the base with ${optionName('base')}` : `${d.base} has none either; merge adapters that save the same modules`}`,
  ),
  ADAPTER_MISMATCH: input(
    (d: { adapter: string; base: string; tensor: string; reason: string; trainedOn?: string | undefined }) =>
      `${d.adapter} is no adapter of ${d.base}: ${d.tensor} ${d.reason}; give the base that it was trained on${d.trainedOn === undefined ? '' : ` (its adapter_config.json names ${d.trainedOn})`}`,
  ),
  FILE_MISSING: input(
    (d: { file: string; neededBy: string }) =>
      `${d.file} is missing, though ${d.neededBy} names it; download or copy the checkpoint again`,
  ),
  FILE_TOO_SHORT: input(
    (d: { file: string; bytes: number }) =>
      `${d.file} has ${d.bytes} bytes, too few for a file of weights; is the download complete?`,
  ),
  HEADER_TOO_LARGE: input(
    (d: { file: string; bytes?: number }) =>
      `${d.file} announces a header${d.bytes === undefined ? '' : ` of ${d.bytes} bytes`} that is larger than any of a file of weights; is it one?`,
  ),
  HEADER_TRUNCATED: input(
    (d: { file: string; announced: number; available: number }) =>
      `${d.file} announces a header of ${d.announced} bytes and has ${d.available}; is the download complete?`,
  ),
  HEADER_INVALID: input(
    (d: { file: string; tensor?: string; reason: string }) =>
      `${d.file}: ${d.tensor === undefined ? 'header' : `tensor ${d.tensor}`}: ${d.reason}; write the file again`,
  ),
  PICKLE_RUNS_CODE: input(
    (d: { file: string; calls: string }) =>
      `${d.file}: its pickle names ${d.calls}, which would run as code when the file is loaded, and has not run here; take the model as safetensors, or, if you trust who wrote it, save its tensors alone with safetensors.torch.save_file`,
  ),
  WEIGHTS_UNSUPPORTED: input(
    (d: { file: string; tensor?: string; reason: string; remedy: string }) =>
      `${d.file}: ${d.tensor === undefined ? '' : `tensor ${d.tensor} `}${d.reason}; ${d.remedy}`,
  ),
  DUPLICATE_TENSOR: input((d: TensorInFile & { alsoIn?: string }) =>
    d.alsoIn === undefined
      ? `${d.file}: the header names ${d.tensor} twice; write the file again`
      : `${d.tensor} stands in both ${d.alsoIn} and ${d.file}; remove one of them`,
  ),
  UNKNOWN_DTYPE: input(
    (d: TensorInFile & { dtype: string }) =>
      `${d.file}: tensor ${d.tensor}: unknown dtype ${d.dtype}; this layerloom is older than the file`,
  ),
  SHAPE_OVERFLOW: input(
    (d: TensorInFile & { shape: readonly number[] }) =>
      `${d.file}: tensor ${d.tensor}: shape [${d.shape.join(', ')}] has too many elements; write the file again`,
  ),
  LENGTH_MISMATCH: input(
    (d: TensorInFile & { expected: number; actual: number }) =>
      `${d.file}: tensor ${d.tensor}: shape and dtype need ${d.expected} bytes, the offsets give ${d.actual}; write the file again`,
  ),
  OFFSETS_INVALID: input(
    (d: TensorInFile & { reason: string }) =>
      `${d.file}: tensor ${d.tensor}: ${d.reason}; write the file again`,
  ),
  FILE_LENGTH_MISMATCH: input(
    (d: { file: string; expected: number; actual: number }) =>
      `${d.file} has ${d.actual} bytes and its header accounts for ${d.expected}; is the download complete?`,
  ),
  INDEX_INVALID: input((d: { file: string; reason: string }) => `${d.file}: ${d.reason}`),
  INDEX_UNSAFE_NAME: input(
    (d: TensorInFile & { name: string }) =>
      `${d.file}: tensor ${d.tensor} is said to be in ${JSON.stringify(d.name)}, which is outside the checkpoint; do not trust this index`,
  ),
  TENSOR_MISSING: input(
    (d: TensorInFile & { index: string }) =>
      `${d.index} says that ${d.tensor} is in ${d.file}, which does not have it; download or write the checkpoint again`,
  ),
  CONFIG_INVALID: input((d: { file: string; reason: string }) => `${d.file}: ${d.reason}`),
  NO_LAYERS: input(
    (d: { model: string }) =>
      `${d.model}: no tensor is named …layers.N.… (or h, blocks), so that there are no layers to swap; \`${layerloomCommand('soup')}\` needs none`,
  ),
  STACKS_AMBIGUOUS: input(
    (d: { model: string; stacks: readonly string[]; choices: readonly string[] }) =>
      `${d.model} has several stacks of layers (${d.stacks.join(', ')}) and layerloom cannot tell which is meant; ${optionName('stack', d.choices[0])} (stack: in a recipe) chooses: ${d.choices.join(', ')}`,
  ),
  LAYER_MISSING: input(
    (d: { model: string; layer: number; layers: number }) =>
      `${d.model} has no layer ${d.layer} of ${d.layers}; is a shard missing?`,
  ),
  NAMING_MISMATCH: input(
    (d: Pair & { firstNaming: string; otherNaming: string }) =>
      `${d.first} has ${d.firstNaming} names and ${d.other} ${d.otherNaming} names, whose q and k rows are permuted differently; convert one of them`,
  ),
  LAYER_COUNT_MISMATCH: input(
    (d: Pair & { firstLayers: number; otherLayers: number }) =>
      `${d.first} has ${d.firstLayers} layers and ${d.other} ${d.otherLayers}; merge experts of one base`,
  ),
  TIED_MISMATCH: input(
    (d: { tied: string; untied: string }) =>
      `${d.tied} ties its head to the embeddings and ${d.untied} does not; merge experts that agree in it (an adapter that saves lm_head or embed_tokens unties its base)`,
  ),
  TENSOR_NAMES_DIFFER: input(
    (d: Pair & { missing: readonly string[]; unexpected: readonly string[] }) =>
      `${d.other} has other tensors than ${d.first}: ${[
        d.missing.length > 0 ? `lacks ${some(d.missing)}` : '',
        d.unexpected.length > 0 ? `has besides ${some(d.unexpected)}` : '',
      ]
        .filter(Boolean)
        .join('; ')}. Merge experts of one base`,
  ),
  SHAPE_MISMATCH: input(
    (d: Pair & { tensors: readonly string[]; remedy?: string }) =>
      `${d.other} has other shapes than ${d.first}: ${some(d.tensors)}. ${d.remedy ?? 'Merge experts of one base and vocabulary'}`,
  ),
  DTYPE_MISMATCH: input(
    (d: Pair & { tensors: readonly string[] }) =>
      `${d.other} has other dtypes than ${d.first}, which cannot be merged so: ${some(d.tensors)}. Convert one of them`,
  ),
  CONFIG_MISMATCH: input(
    (d: Pair & { differences: readonly string[] }) =>
      `${d.other}/config.json describes another model than ${d.first}/config.json: ${some(d.differences)}. Merge experts of one base`,
  ),
  STACK_UNSUPPORTED: input(
    (d: { model: string; key: string; reason: string }) =>
      `${d.model}/config.json cannot describe these layers in this order: ${d.key} ${d.reason}. Stack other layers`,
  ),
  TOKENIZER_MISMATCH: input(
    (d: Pair & { tokens: readonly string[]; remedy?: string }) =>
      `${d.other} numbers tokens otherwise than ${d.first}: ${some(d.tokens)}. ${d.remedy ?? 'Merge experts of one tokenizer'}`,
  ),
  TOKENIZER_UNSUPPORTED: input((d: { directory: string; reason: string }) => `${d.directory}: ${d.reason}`),
  VOCABULARY_UNMERGEABLE: input(
    (d: { model: string; tensor?: string; reason: string }) =>
      `${d.model}${d.tensor === undefined ? '' : `: tensor ${d.tensor}`} ${d.reason}`,
  ),
  QUANTISED_WEIGHTS: input(
    (d: { model: string; tensor: string }) =>
      `${d.model}: tensor ${d.tensor} is quantised in a form that is not read; dequantise the model first`,
  ),
  QUANTISATION_INVALID: input(
    (d: { file: string; tensor: string; reason: string }) =>
      `${d.file}: tensor ${d.tensor} ${d.reason}; quantise the model again, or take it out of config.json's quantization_config if it is not quantised`,
  ),
  NON_FINITE: input(
    (d: { tensors: readonly NonFinite[]; remedy?: string | undefined }) =>
      `not every number is finite in ${some(d.tensors.map(whereNonFinite))}; ` +
      (d.remedy ?? `mend the checkpoint, or leave those rows out with ${optionName('allowNonFinite')}`),
  ),
  NOTHING_TO_EXTRACT: input(
    (d: { expert: string; base: string; tensors: number }) =>
      `${d.expert} equals the base (${d.base}) in all ${d.tensors} weights that an adapter would change; give the fine-tuned model, or other weights with ${optionName('modules')}`,
  ),
  MAV_UNDEFINED: input(
    (d: { expert: string; base: string }) =>
      `${d.expert} equals the base (${d.base}): its mean MAV is 0, and so it has no magnitude weight; give weights as numbers`,
  ),
  ANALYSIS_MISMATCH: input(
    (d: { file: string; reason: string }) =>
      `${d.file} ${d.reason}; analyze the experts again, or leave ${optionName('analysis')} away`,
  ),
  MEASUREMENT_INVALID: input(
    (d: { file: string; reason: string }) =>
      `${d.file} ${d.reason}; measure both experts from one base in one way: by \`${layerloomCommand('analyze')}\`, or by \`${layerloomCommand('diff')}\`, as JSON in a file`,
  ),
  PARTITION_INVALID: input(
    (d: { file: string; reason: string; remedy: string }) => `${d.file}: ${d.reason}; ${d.remedy}`,
  ),
  VECTORS_INVALID: input(
    (d: { file: string; reason: string }) =>
      `${d.file}: ${d.reason}; give a NAME.mav.safetensors that \`${layerloomCommand('analyze')}\` wrote`,
  ),
  MERGE_UNDEFINED: input(
    (d: { tensor: string; method: string; reason: string }) =>
      `${d.method} has no result for tensor ${d.tensor}: ${d.reason}`,
  ),
  NON_FLOATING_MISMATCH: input(
    (d: { tensor: string; dtype: string; files: readonly string[] }) =>
      `tensor ${d.tensor} (${d.dtype}) would be averaged, is not floating, and differs between ${d.files.join(' and ')}; ` +
      `make it equal, or take what is outside the layers from one expert (${optionName('others')})`,
  ),
  INPUT_CHANGED: input(
    (d: { file: string; reason: string }) =>
      `${d.file} ${d.reason} since the merge was planned; run it again`,
  ),
  INPUT_NOT_AS_RECORDED: input(
    (d: { file: string; reason: string; record: string }) =>
      `${d.file} ${d.reason} since ${d.record} recorded it, and so the merge would be another one; put the recorded file back, or merge what is there now with ${optionName('allowChanged')}`,
  ),
  INPUT_SHRANK: input(
    (d: TensorInFile) =>
      `${d.file} became shorter while tensor ${d.tensor} was read from it; let what writes it finish, then run again`,
  ),
  READ_FAILED: input(
    (d: { file: string; tensor?: string; reason: string }) =>
      `${d.file} cannot be read${d.tensor === undefined ? '' : ` (tensor ${d.tensor})`}: ${d.reason}`,
  ),
  DATA_MISSING: input(
    (d: { task: string; file: string; directory?: string }) =>
      `${d.task} needs ${d.file}${
        d.directory === undefined
          ? '; name the directory that has it by `data:`'
          : `, which ${d.directory} does not have; put it there, or leave the task out`
      }`,
  ),
  DATA_INVALID: input(
    (d: { file: string; line?: number; reason: string }) =>
      `${d.file}${d.line === undefined ? '' : `:${d.line}`}: ${d.reason}; mend the file or fetch it again`,
  ),
  TASK_DATA_INVALID: input(
    (d: { directory: string; tasks: readonly string[] }) =>
      `${d.tasks.length} tasks cannot take their data from ${d.directory}: ${d.tasks.join(', ')}; mend the files named above`,
  ),
  INCLUDE_INVALID: input(
    (d: { directory: string; reason: string }) =>
      `${d.directory} cannot be used as include: of evaluate: ${d.reason}; name a directory of task files that each define another task`,
  ),
  TRAINING_INVALID: input(
    (d: { file: string; reason: string; remedy?: string }) =>
      `${d.file}: ${d.reason}; ${d.remedy ?? `name a directory that \`${layerloomCommand('train', 'init')}\` wrote`}`,
  ),
  OUTPUT_UNRECORDED: input(
    (d: {
      out: string;
      reason: string;
      /** `damaged` if there is a record that cannot be read. */
      verdict: 'damaged' | 'not-an-output';
      /** True if its card has a recipe. */
      hasRecipe?: boolean;
    }) =>
      d.verdict === 'damaged'
        ? `${d.out}: damaged: ${d.reason}, so that nothing says what its files should be; merge it again`
        : `${d.out} is not an output of layerloom: ${d.reason}; ` +
          (d.hasRecipe
            ? `its card has a recipe, by which ${optionName('againstInputs')} makes it again and compares`
            : 'give the directory that a merge wrote'),
  ),
  OUTPUT_DAMAGED: input((d: DamagedOutput) => `${d.out}: damaged: ${some(damageOf(d))}; ${remedyOf(d)}`),
  NOT_LOADABLE: input(
    (d: { out: string; loading: UnloadedModel | null }) =>
      `${d.out} does not load as ${d.loading?.loadedAs ?? 'a model'}: ${some(d.loading === null ? [] : faultsOf(d.loading))}. Its config.json and its weights are not of one model`,
  ),
  OUTPUT_INSIDE_INPUT: input(
    (d: { out: string; input: string }) =>
      `${d.out} is ${d.out === d.input ? 'an input' : `inside the input ${d.input}`}; choose an output elsewhere`,
  ),
  RESULTS_NOT_PAIRED: input(
    (d: { task: string; models: readonly string[]; reason: string }) =>
      `${d.task}: ${d.models.join(' and ')} cannot be compared by problem: ${d.reason}; evaluate both with the same task, shots and problems`,
  ),
  SUMMARIES_INVALID: input(
    (d: { file: string; line: number; reason: string }) =>
      `${d.file}:${d.line}: ${d.reason}; expected the columns language, benchmark, row, statistic, value, unit and optionally n, note`,
  ),
  STORE_INVALID: input((d: { store: string; reason: string }) => `${d.store}: ${d.reason}`),
  STORE_DAMAGED: input(
    (d: { store: string; damaged: readonly { file: string; reason: string }[] }) =>
      `${d.store} has damaged shards: ${some(d.damaged.map(({ file, reason }) => `${file} ${reason}`))}. ` +
      'They are computed anew when a merge next needs them; make checkpoints again that have hard links to them',
  ),
  STORE_SHARD_MISSING: input(
    (d: { store: string; key: string }) =>
      `${d.store} has no whole shard ${d.key}: it was removed, or found damaged, since it was looked up; run again`,
  ),
  HUB_ACCESS: input(
    (d: { model: string; reason: string; remedy: string }) => `${d.model}: ${d.reason}; ${d.remedy}`,
  ),
  HUB_NOT_FOUND: input(
    (d: { model: string; reason: string; remedy: string }) => `${d.model}: ${d.reason}; ${d.remedy}`,
  ),
  HUB_FILE_CHANGED: input(
    (d: { model: string; file: string; reason: string }) =>
      `${d.model}: ${d.file} ${d.reason}; what was fetched of it was removed, run again`,
  ),

  EXPERIMENT_MISSING: input((d: { directory: string; isModel?: boolean }) =>
    d.isModel
      ? `${d.directory} is a model, not an experiment: \`${layerloomCommand('try')}\` shows its answer to a prompt; lm_eval itself scores one model (model \`hf\`, model argument \`pretrained=${shellWord(d.directory)}\`)`
      : `${d.directory} has no experiment.json; run \`${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(d.directory))}\` first`,
  ),
  EXPERIMENT_INVALID: input((d: { file: string; reason: string }) => `${d.file}: ${d.reason}`),
  RESULTS_INVALID: input(
    (d: { file: string; reason: string }) => `${d.file}: ${d.reason}; remove it and evaluate again`,
  ),
  RESULTS_FOREIGN: input((d: { file: string; reason: string }) => `${d.file} was not imported: ${d.reason}`),
  TASK_UNKNOWN: usage(
    (d: { tasks: readonly string[]; nearest: string | undefined }) =>
      `lm_eval has no task ${some(d.tasks)}${d.nearest === undefined ? '' : `; did you mean ${d.nearest}?`} (\`lm_eval ls tasks\` lists them)`,
  ),

  CODE_NOT_ALLOWED: usage(
    (d: { task: string }) =>
      `${d.task} runs the programs that models write, with your rights; run it where they can do no harm, and consent by confirm_run_unsafe_code: true under evaluate:, or leave the task out`,
  ),

  // Refusals of the machine.
  PROGRAM_MISSING: failed(
    (d: { programs: readonly string[]; directory: string | undefined; remedy: string }) =>
      `there is no ${d.programs.join(' or ')} ${d.directory === undefined ? '' : `in ${d.directory} or `}on the PATH; ${d.remedy}`,
  ),
  LIBRARY_MISSING: failed(
    (d: { python: string; libraries: readonly string[] }) =>
      `${d.python} has no ${d.libraries.join(' and no ')}: install it there, or name a Python that has it with ${optionName('python')}`,
  ),
  EXPORT_FAILED: failed(
    (d: { model: string; program: string; reason: string; log: string }) =>
      `${d.program} failed for ${d.model} (${d.reason}); nothing was written; its output is in ${d.log}`,
  ),
  HARNESS_MISSING: failed(
    (d: { command: string; reason: string }) =>
      `${d.command} cannot be run (${d.reason}); install it with \`pip install "lm-eval[hf,api]==0.4.13"\`, or name its command with ${optionName('lmEval')}`,
  ),
  HARNESS_FAILED: failed(
    (d: { model: string; reason: string; log: string }) =>
      `lm_eval failed for ${d.model} (${d.reason}); its output is in ${d.log}`,
  ),
  HARNESS_TIMEOUT: failed(
    (d: { model: string; seconds: number; log: string }) =>
      `lm_eval was ended after ${d.seconds} s for ${d.model}; its output is in ${d.log}; raise timeout: in evaluate:`,
  ),
  WEIGHTS_DIFFER: failed(
    (d: { model: string; tensors: readonly string[]; log: string }) =>
      `what answers did not hold the weights of ${d.model} after loading them twice, ${d.tensors.length} ${d.tensors.length === 1 ? 'tensor' : 'tensors'} beginning with ${d.tensors[0]}; nothing was scored; was a file written meanwhile? The process's output is in ${d.log}`,
  ),
  IN_PLACE_REFUSED: usage(
    (d: { reason: string; directory?: string }) =>
      `merges cannot be scored ${optionName('inPlace')}: ${d.reason}; write them (\`${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(d.directory ?? 'DIR'), '--resume')}\`), and leave the option out`,
  ),
  SERVER_FAILED: failed(
    (d: { model: string; reason: string; log: string }) =>
      `the server for ${d.model} did not come up: ${d.reason}; its output is in ${d.log}`,
  ),
  EXCHANGE_FAILED: failed(
    (d: { model: string; reason: string; log: string | undefined }) =>
      `the server did not take the weights of ${d.model}: ${d.reason}; nothing was scored; ${d.log === undefined ? '' : `its output is in ${d.log}; `}without exchange: in evaluate: each model has a server of its own`,
  ),
  SERVER_UNSAFE: usage(
    (d: { key: string; word: string; variable: string }) =>
      `serve: {${d.key}} stands within quotes, where a shell would act on characters of ${JSON.stringify(d.word)}; ` +
      `write it outside of quotes, or "$${d.variable}" within single quotes`,
  ),
  SERVE_NOT_ALLOWED: usage(
    (d: { directory: string; commands: readonly string[] }) =>
      `${d.directory} was not made here by a batch of yours, and its evaluate: block would run what it likes (${some(d.commands)}); ` +
      `read it, and give ${optionName('allowServe')} if you trust it`,
  ),
  EVALUATION_INCOMPLETE: {
    exitCode: 4,
    message: (d: {
      directory: string;
      failed: readonly { model: string; message: string }[];
      scores: number;
    }) =>
      `${d.failed.length} ${d.failed.length === 1 ? 'evaluation' : 'evaluations'} failed (${some(
        d.failed.map(({ model, message }) => `${model}: ${message}`),
        3,
      )}); ${d.scores === 0 ? `there is no score in ${d.directory}` : `${d.scores} ${d.scores === 1 ? 'score is' : 'scores are'} in ${d.directory}`}. Mend what is wrong and evaluate again`,
  },
  TRAINING_INCOMPLETE: {
    exitCode: 4,
    message: (d: { unfinished: readonly { run: string; problem: string }[]; runs: number }) =>
      `${d.unfinished.length} of ${d.runs} ${d.runs === 1 ? 'run is' : 'runs are'} not finished (${some(
        d.unfinished.map(({ run, problem }) => `${run}: ${problem}`),
        3,
      )})`,
  },
  OUTPUT_BUSY: failed(
    (d: { out: string; staging: string; by?: string | undefined }) =>
      `another layerloom is writing ${d.out} (${d.by === undefined ? 'it' : d.by} holds ${d.staging}); wait for it or choose another output`,
  ),
  DISK_SPACE: failed(
    (d: { out: string; needed: number; available: number }) =>
      `${d.out} needs ${d.needed} bytes and its disk has ${d.available} free; free some or choose another disk`,
  ),
  MEMORY_NEEDED: failed(
    (d: { tensor: string; needed: number; available: number; lighter: string }) =>
      `${d.tensor} needs ${gigabytes(d.needed)} of memory, also with one thread, and this machine or its cgroup has ${gigabytes(d.available)}; use ${d.lighter}, or another machine`,
  ),
  HUB_UNAVAILABLE: failed(
    (d: { endpoint: string; reason: string; remedy: string }) => `${d.endpoint}: ${d.reason}; ${d.remedy}`,
  ),
  PUSH_REFUSED: failed(
    (d: { model: string; reason: string }) =>
      `${d.model}: the hub refuses what was pushed: ${d.reason}; mend it and push again, what was sent is not sent twice`,
  ),
  LINK_REFUSED: failed(
    (d: { file: string; link: string; reason: string }) =>
      `${d.file} cannot be linked (${optionName('link', d.link)}): ${d.reason}; ` +
      (d.link === 'hard'
        ? `hard links need the same file system, and some systems refuse them for files of another user: use ${optionName('link', 'symbolic')}, or copy`
        : `use ${optionName('link', 'copy')}`),
  ),
  WRITE_FAILED: failed(
    (d: { file: string; tensor?: string; reason: string }) =>
      `${d.file} cannot be written${d.tensor === undefined ? '' : ` (tensor ${d.tensor})`}: ${d.reason}`,
  ),
  PLATFORM_UNSUPPORTED: failed(
    (d: { platform: string; arch: string; reason: string; remedy: string }) =>
      `layerloom does not run on ${d.platform}-${d.arch}: ${d.reason}; ${d.remedy}`,
  ),
  PROCESS_UNAVAILABLE: failed(
    (d: { command: string; reason: string }) =>
      `${d.command.length > 200 ? `${d.command.slice(0, 200)}…` : d.command} cannot be started (${d.reason}); use a shorter command, or free memory and end other processes`,
  ),
  THREADS_UNAVAILABLE: failed(
    (d: { reason: string }) =>
      `threads cannot be started (${d.reason}); use fewer (${optionName('threads')})${d.reason.includes('ulimit') ? '' : ', or let more processes run (ulimit -u)'}`,
  ),
  ADDON_MISSING: failed(
    (d: { file: string; target: string; remedy: string }) =>
      `the native addon for ${d.target} is missing: there is no ${d.file}; ${d.remedy}`,
  ),
  ADDON_BROKEN: failed(
    (d: { file: string; reason: string; remedy: string }) =>
      `the native addon ${d.file} cannot be loaded (${d.reason}); ${d.remedy}`,
  ),
  INSTALLATION_BROKEN: failed(
    (d: { findings: readonly { subject: string; mark: string; text: string }[] }) =>
      `merging does not work here: ${some(d.findings.filter(({ mark }) => mark === 'problem').map(({ subject, text }) => `${subject}: ${text}`))}`,
  ),
  BUILD_FAILED: failed(
    (d: { reason: string; remedy: string }) => `the native addon cannot be built: ${d.reason}; ${d.remedy}`,
  ),
  PLAN_INVALID: failed(
    (d: { reason: string }) => `the plan is not one that planMerge made: ${d.reason}; plan the merge again`,
  ),
  BATCH_INCOMPLETE: {
    exitCode: 4,
    /** A dry run has no `out`. */
    message: (d: { out?: string; failed: readonly { merge: string; message: string }[]; merges: number }) =>
      `${d.failed.length} of ${d.merges} merges ${d.out === undefined ? 'would fail' : 'failed'} (${some(
        d.failed.map(({ merge, message }) => `${merge}: ${message}`),
        3,
      )}); ${
        d.out === undefined
          ? 'the others can be made'
          : `the others are in ${d.out}. Mend what is wrong and run it again with ${optionName('resume')}`
      }`,
  },
  TABLES_INCOMPLETE: {
    exitCode: 4,
    message: (d: { refusals: readonly string[] }) =>
      `${d.refusals.length} ${d.refusals.length === 1 ? 'comparison or mean was' : 'comparisons or means were'} left out of the tables (${some(d.refusals, 3)})`,
  },
  INTERRUPTED: {
    exitCode: 130,
    message: (d: {
      out?: string;
      batch?: boolean;
      /** The directory of an evaluation, and whether unfinished answers are kept. */
      evaluation?: string;
      answers?: 'kept' | 'lost';
      push?: boolean;
      fetched?: number;
    }) =>
      d.fetched !== undefined
        ? `interrupted; ${gigabytes(d.fetched)} were fetched, which stay in the cache and are not fetched again`
        : d.push
          ? 'interrupted; push again to continue: files that were sent whole are not sent again'
          : d.evaluation !== undefined
            ? `interrupted; finished scores are in ${d.evaluation}, and the same command scores the rest; ${d.answers === 'kept' ? `answers of models that were being scored are kept, and with ${optionName('resume')} it continues from them` : `answers of models that were being scored are lost, which ${optionName('resume')} keeps`}`
            : d.batch
              ? 'interrupted'
              : `interrupted; nothing was written${d.out === undefined ? '' : ` at ${d.out}`}`,
  },
} satisfies Record<string, ErrorEntry<never>>;

/** Details that are not escaped: texts made of escaped ones, and values shown as JSON. */
const shownAsTheyAre = ['excerpt', 'message', 'value'];

/**
 * Most characters of a text in a message, enough for several long commands. Texts from files may have
 * megabytes.
 */
const mostShown = 20_000;

const cut = (text: string): string => (text.length > mostShown ? `${text.slice(0, mostShown)}…` : text);

/**
 * Escapes details for a message: names come from untrusted files, so each becomes one line without control
 * characters.
 */
const shown = (value: unknown, key = ''): unknown => {
  if (shownAsTheyAre.includes(key)) return value;
  if (typeof value === 'string') return visibleLine(cut(value));
  if (Array.isArray(value)) return value.map((item) => shown(item, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shown(inner, name)]));
};

type Catalogue = typeof catalogue;

/** An error code; docs/errors.md says when each occurs. */
export type ErrorCode = keyof Catalogue;

/** Details of a code's errors, besides their context. */
export type ErrorDetails<Code extends ErrorCode> = Parameters<Catalogue[Code]['message']>[0];

/** Every code. */
export const errorCodes = Object.keys(catalogue) as ErrorCode[];

/** Circumstances that callers add as an error propagates. */
export interface ErrorContext {
  /** Keys and indexes that lead to the faulty value in a recipe. */
  readonly recipePath?: readonly (string | number)[] | undefined;
  /** The place of that value in a file; `excerpt` is its line, with a caret below. */
  readonly place?:
    | { readonly file: string; readonly line: number; readonly column: number; readonly excerpt: string }
    | undefined;
  /** The parameter as the user wrote it, if it is an option: `--base`. */
  readonly option?: string | undefined;
  /** The merge of a batch that the error was found in. */
  readonly merge?: string | undefined;
  /** The directory with finished work, for `--resume`. */
  readonly keptIn?: string | undefined;
  /** Earlier warnings that may explain the error, such as an ignored key. */
  readonly warnings?: readonly string[] | undefined;
}

/** The details that an error's context adds. */
export interface ContextDetails {
  readonly path?: ErrorContext['recipePath'];
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly merge?: string;
  readonly kept?: string;
  readonly warnings?: readonly string[];
}

/**
 * Adds the context to `details`. The place in a recipe overrides `file`; a `path` that the details have is
 * kept.
 */
const withContext = <Details>(
  details: Details,
  { recipePath, place, merge, keptIn, warnings = [] }: ErrorContext,
): Details & ContextDetails => ({
  ...details,
  ...(recipePath === undefined ? {} : { path: recipePath, ...details }),
  ...(place === undefined ? {} : { file: place.file, line: place.line, column: place.column }),
  ...(merge === undefined ? {} : { merge }),
  ...(keptIn === undefined ? {} : { kept: keptIn }),
  ...(warnings.length === 0 ? {} : { warnings }),
});

const messageIn = (message: string, { place, merge, keptIn }: ErrorContext): string =>
  (merge === undefined ? '' : `${visibleLine(merge)}: `) +
  (place === undefined ? '' : `${visibleLine(place.file)}:${place.line}:${place.column}: `) +
  message +
  (keptIn === undefined ? '' : `; what is done waits in ${visibleLine(keptIn)} for ${optionName('resume')}`) +
  (place === undefined || place.excerpt === '' ? '' : `\n${visible(place.excerpt)}`);

/** Spells INVALID_PARAMETER's parameter as the user wrote it: as an option, or in snake case. */
const spelt = <Details extends object>(details: Details, { option, place }: ErrorContext): Details => {
  if (!('parameter' in details) || typeof details.parameter !== 'string') return details;
  const inFile = details.parameter.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { ...details, parameter: option ?? (place === undefined ? details.parameter : inFile) };
};

/**
 * The one error class. `code` is stable, for programs. `message` is for people: it names the file, the tensor
 * and the remedy, escaped. `details` holds the message's values unescaped.
 */
export class LayerloomError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly details: ErrorDetails<Code> & ContextDetails;
  readonly exitCode: ExitCode;
  readonly context: ErrorContext;
  readonly #own: ErrorDetails<Code>;

  constructor(
    code: Code,
    details: ErrorDetails<Code>,
    { context = {}, ...options }: ErrorOptions & { context?: ErrorContext } = {},
  ) {
    const entry = catalogue[code] as unknown as ErrorEntry<ErrorDetails<Code>>;
    // USAGE shows the user's own text, and commander's messages may have two lines.
    const texts = code === 'USAGE' ? details : (shown(details) as ErrorDetails<Code>);
    // A SyntaxError quotes the text, and programs print the causes of an error.
    const cause = options.cause instanceof SyntaxError ? {} : options;
    super(messageIn(visible(entry.message(spelt(texts, context))), context), cause);
    this.name = 'LayerloomError';
    this.code = code;
    this.details = withContext(details, context);
    this.exitCode = entry.exitCode;
    this.context = context;
    this.#own = details;
  }

  /** Returns the error with more context; `context` overrides. */
  with(context: ErrorContext): LayerloomError<Code> {
    return newError(this.code, this.#own, {
      cause: this.cause,
      context: { ...this.context, ...context },
    });
  }

  /** The error as `--json` prints it. */
  toJSON(): { code: Code; message: string; details: ErrorDetails<Code> & ContextDetails } {
    return { code: this.code, message: this.message, details: this.details };
  }
}

/**
 * A function outside the class, because the bundler renames a class that refers to itself, and Node prints
 * that name.
 */
const newError = <Code extends ErrorCode>(
  ...parameters: ConstructorParameters<typeof LayerloomError<Code>>
): LayerloomError<Code> => new LayerloomError(...parameters);

/** Errors without a name in libuv, which Node calls `Unknown system error -122`: full quotas, and NFS. */
const unnamedErrors: ReadonlyMap<number, string> = new Map([
  [-constants.errno.EDQUOT, 'EDQUOT: disk quota exceeded'],
  [-constants.errno.ESTALE, 'ESTALE: stale file handle'],
]);

/** The name of a system error: `ENOENT`. */
export const codeOf = (error: unknown): string | undefined => {
  const { errno = 0, code } = error as NodeJS.ErrnoException;
  return unnamedErrors.get(errno)?.replace(/:.*/, '') ?? code;
};

/** Adds the path to the error of a call on a file descriptor, which has none. */
export const withPath = (error: unknown, path: string): unknown => {
  if (!(error instanceof Error) || error instanceof LayerloomError) return error;
  const system = error as NodeJS.ErrnoException;
  if (system.syscall !== undefined) system.path ??= path;
  return error;
};

/**
 * Returns a system error's reason without Node's path and call: `ENOENT: no such file or directory`. For a
 * limit on open files, adds what to do.
 */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const unnamed = unnamedErrors.get((error as NodeJS.ErrnoException).errno ?? 0);
  return unnamed ?? fileLimitOf(error) ?? jsonFault(error) ?? error.message.replace(/, \w+( '.*)?$/, '');
};

/**
 * Says where a text stops being JSON, without quoting it as V8 does: the file may not be the one that was
 * meant.
 */
const jsonFault = (error: Error): string | undefined => {
  if (!(error instanceof SyntaxError) || !/\bJSON\b/.test(error.message)) return undefined;
  const { position } = / at position (?<position>\d+)/.exec(error.message)?.groups ?? {};
  if (position !== undefined) return `there is a mistake at character ${Number(position) + 1}`;
  return /end of JSON input/.test(error.message) ? 'it ends too early' : 'it has other characters';
};

/** @throws LayerloomError INTERRUPTED, once `signal` is aborted */
export const checkInterrupt = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw new LayerloomError('INTERRUPTED', {}, { cause: signal.reason });
};
