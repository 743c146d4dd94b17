import { type Argument, madeCommands } from '../../core/base/errors/command-line.js';
import { type OptionSpelling, spellBy } from '../../core/base/errors/option-name.js';

interface OtherSpellings {
  readonly also?: readonly string[];
  /** Spellings that are refused with a hint to the option. */
  readonly meant?: readonly string[];
}

/** Other spellings of options, by the spelling that help, completion, docs and Python use. */
export const spellings: Readonly<Record<string, OtherSpellings>> = {
  '--task': { meant: ['--task-model', '--task-expert'] },
  '--lang': { also: ['--language'], meant: ['--language-model', '--language-expert', '--target-language'] },
  '--lang-layers': { also: ['--language-layers'], meant: ['--layers', '--layer-range'] },
  '--bottom': { meant: ['--bottom-layers', '--first-layers'] },
  '--top': { meant: ['--top-layers', '--last-layers'] },
  '--part': { also: ['--shard-range'] },
  '--quantise': {
    also: ['--quantize'],
    meant: ['--quantisation', '--quantization', '--bits', '--load-in-8bit'],
  },
  '--quantise-report': { also: ['--quantize-report'] },
  // The name in mergekit.
  '--max-shard-size': { also: ['--out-shard-size'], meant: ['--shard-size'] },
  '--out': {
    meant: [
      ...['-O', '--output', '--output-dir', '--output-path', '--out-path', '--out-file'],
      ...['--save', '--save-dir', '--save-path', '--dest', '--destination'],
    ],
  },
  '--base': { meant: ['--base-model', '--pretrained', '--original'] },
  '--weights': { meant: ['--ratio', '--coefficients'] },
  '--dtype': {
    meant: ['--torch-dtype', '--out-dtype', '--precision', '--bf16', '--fp16', '--fp32', '--half'],
  },
  '--force': { meant: ['-f', '-y', '--yes', '--overwrite', '--exist-ok', '--clobber'] },
  '--threads': { meant: ['--num-threads', '--workers', '--num-workers', '--num-proc', '--nproc'] },
  '--resume': { meant: ['--continue', '--restart'] },
  '--dry-run': { meant: ['-n', '--simulate', '--what-if'] },
  '--checksums': { meant: ['--sha256', '--hash'] },
  '--rank': { meant: ['-r', '--r', '--lora-rank', '--max-rank'] },
  '--set': { meant: ['--learning-rate', '--lr', '--epochs'] },
  '--against-inputs': { meant: ['--check-inputs', '--recompute'] },
  '--limit': { meant: ['--num-samples', '--max-samples'] },
  '--lm-eval': { meant: ['--harness', '--lm-eval-path'] },
  '--store': { meant: ['--cache'] },
  '--allow-changed': { meant: ['--ignore-changes'] },
  '--allow-non-finite': { meant: ['--allow-nan'] },
  '--quiet': { meant: ['-s', '--silent'] },
  '--verbose': { meant: ['--debug', '--traceback'] },
  '--help': { meant: ['-?', '--usage', '--options'] },
};

interface Refusal {
  readonly reason: string;
  readonly words: readonly string[];
  readonly commands?: readonly string[];
}

const refusal = (reason: string, words: string, commands?: string): Refusal => ({
  reason,
  words: words.split(' '),
  ...(commands === undefined ? {} : { commands: commands.split(' ') }),
});

/** Options of other programs that have no counterpart here. The first entry that matches applies. */
const refusals: readonly Refusal[] = [
  refusal('a command makes one merge, with --threads threads', '--jobs --parallel', 'swap soup merge'),
  refusal('name the experts with --task and --lang', '--expert --target --source', 'swap suggest'),
  refusal(
    'each end has its own option: --bottom-transition and --top-transition',
    '--transition --transitions --transition-layers',
  ),
  refusal(
    'models are arguments, and the back end is a setting, as in --set backend=hf',
    '--model',
    'evaluate',
  ),
  refusal('local data are a setting, as in --set data=./mgsm', '--data --data-dir --dataset', 'evaluate'),
  refusal('answers are always stored with the scores; leave it out', '--log-samples', 'evaluate'),
  refusal('--write names the merges to write', '--only --filter --select', 'batch'),
  refusal('settings are in the recipe; change them there', '--set --param --parameters', 'merge'),
  refusal(
    'give it as a setting: --set fewshot=8 batch_size=4 device=cuda',
    '--device --cuda --gpu --num-fewshot --fewshot --batch-size --backend --seed',
    'evaluate',
  ),
  refusal('a model is an argument, without pretrained=', '--model-args', 'evaluate'),
  refusal(
    'set it in model_args: of the evaluate: block of an experiment',
    '--trust-remote-code',
    'evaluate try',
  ),
  refusal(
    'the page always contains the pictures; leave it out',
    '--plot --plots --figures --html',
    'analyze',
  ),
  refusal(
    'merging uses processor cores, not a GPU; leave it out',
    '--cuda --gpu --gpus --device --gpu-rich --multi-gpu --read-to-gpu --num-gpus',
  ),
  refusal(
    'merging always needs little memory; leave it out',
    '--lazy-unpickle --low-cpu-memory --low-cpu-mem-usage --clone-tensors --async-write --async-writes --write-threads',
  ),
  refusal(
    'the tokenizer is always copied; leave it out, or choose another with --tokenizer',
    '--copy-tokenizer',
  ),
  refusal('incompatible models are always refused; leave it out', '--allow-crimes'),
  refusal('merging never runs code of models; leave it out', '--trust-remote-code'),
  refusal(
    'weights are always written as safetensors; leave it out',
    '--safe-serialization --no-safe-serialization --safetensors',
  ),
  refusal(
    'each output has a model card, README.md; leave it out',
    '--write-model-card --no-write-model-card',
  ),
  refusal('set the seed in a recipe: seed: 7', '--random-seed --seed'),
  refusal(
    'set HF_HOME or HF_HUB_CACHE to choose the hub cache',
    '--cache-dir --transformers-cache --hf-home',
  ),
  refusal('adapters need no cache; leave it out', '--lora-merge-cache --lora-merge-dtype'),
  refusal('merge first, then upload with layerloom push', '--push-to-hub --push --upload --hub-model-id'),
  refusal('the token comes from HF_TOKEN, or from `hf auth login`', '--token --hf-token --use-auth-token'),
  refusal('write a revision after the model: org/name@main', '--revision'),
  refusal(
    'write the method and its settings into a recipe for layerloom merge',
    '--method --merge-method --density --normalize --lambda --epsilon --t --ties --slerp --dare --linear --task-arithmetic',
  ),
  refusal('weights are equal by default; leave it out', '--uniform --equal'),
];

export const whyRefused = (flag: string, command: string | undefined): string | undefined =>
  refusals.find(({ words, commands }) => words.includes(flag) && (commands?.includes(command ?? '') ?? true))
    ?.reason;

const othersOf = (shown: string): OtherSpellings =>
  Object.hasOwn(spellings, shown) ? (spellings[shown] ?? {}) : {};

export const alsoAccepted = (shown: string): readonly string[] => othersOf(shown).also ?? [];

export const spellingsOf = (shown: string): readonly string[] => [
  shown,
  ...alsoAccepted(shown),
  ...(othersOf(shown).meant ?? []),
];

/** Returns the spelling that is shown: `--lang` for `--language`. */
export const shownSpelling = (long: string): string =>
  Object.keys(spellings).find((shown) => alsoAccepted(shown).includes(long)) ?? long;

/** Returns a parameter's option: `--dry-run` for `dryRun`, `--lang` for `language`. */
export const longOf = (parameter: string): string =>
  shownSpelling(`--${parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);

const pythonWords = new Set(['as', 'from', 'import']);

/** Returns `dry_run` for `--dry-run`. */
export const pythonName = (long: string): string => {
  const name = long.replace(/^--/, '').replaceAll('-', '_');
  return pythonWords.has(name) ? `${name}_` : name;
};

export const pythonFunctions: Readonly<Record<string, string>> = {
  ...{ swap: 'swap', soup: 'soup', merge: 'merge', revert: 'revert', apply: 'apply', relayout: 'relayout' },
  ...{
    transplant: 'transplant',
    'extract-lora': 'extract_lora',
    analyze: 'analyze',
    diff: 'diff',
    suggest: 'suggest',
  },
  ...{ verify: 'verify', attest: 'attest', chain: 'chain' },
  ...{ inspect: 'inspect', partition: 'partition', batch: 'run_experiment' },
  ...{ evaluate: 'evaluate', search: 'search', table: 'table', report: 'report', export: 'export' },
  ...{ bundle: 'bundle', rebuild: 'rebuild', rescore: 'rescore', draw: 'draw' },
};

const isOption = (word: string | Argument): word is string =>
  typeof word === 'string' && word.startsWith('-');

const pythonValue = (word: string | Argument): string =>
  typeof word === 'string' && /^\d+$/.test(word)
    ? word
    : JSON.stringify(typeof word === 'string' ? word : word.argument);

const pythonCall = ([command, ...words]: readonly (string | Argument)[], text: string): string => {
  const name = typeof command === 'string' ? pythonFunctions[command] : undefined;
  if (name === undefined) return `python -m ${text}`;
  if (words.length === 0) return `layerloom.${name}`;
  const first = words.findIndex(isOption);
  const given = first < 0 ? [] : words.slice(first);
  const options = given.flatMap((word, at) => {
    if (!isOption(word) || word === '--json') return [];
    const end = given.findIndex((other, after) => after > at && isOption(other));
    const values = given.slice(at + 1, end < 0 ? given.length : end).map(pythonValue);
    const value = values.length > 1 ? `[${values.join(', ')}]` : (values[0] ?? 'True');
    return [`${pythonName(word === '-o' ? '--out' : word)}=${value}`];
  });
  const places = words.slice(0, first < 0 ? words.length : first).map(pythonValue);
  return `layerloom.${name}(${[...places, ...options].join(', ')})`;
};

export const commandsInPython = (message: string): string =>
  [...madeCommands]
    .filter(([text]) => message.includes(text))
    .toSorted(([a], [b]) => b.length - a.length)
    .reduce((said, [text, words]) => said.replaceAll(text, () => pythonCall(words, text)), message);

export type Reader = 'shell' | 'python';

const spellingFor: Readonly<Record<Reader, OptionSpelling>> = {
  shell: (name, value) => `${longOf(name)}${value === undefined ? '' : ` ${value}`}`,
  python: (name, value) => {
    const spelt = pythonName(longOf(name));
    return value === undefined
      ? `\`${spelt}\``
      : `\`${spelt}=${/^\d+$/.test(value) ? value : `'${value}'`}\``;
  },
};

let reader: Reader | undefined;

export const isForShell = (): boolean => reader === 'shell';

/** @returns a function that restores the former spelling */
export const spellFor = (next: Reader): (() => void) => {
  const former = reader;
  const spellAsBefore = spellBy(spellingFor[next]);
  reader = next;
  return () => {
    reader = former;
    spellAsBefore();
  };
};
