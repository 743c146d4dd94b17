// @ts-check
/**
 * Writes skills/layerloom/SKILL.md: instructions for programs that type commands. Commands, exit codes and
 * errors come from the definitions; test/docs/fences.test.ts runs each command. Run by `npm run docs:tables`;
 * test/docs/llms.test.ts finds an outdated file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeCommands } from '../dist/cli/framework/describe.js';
import { buildProgram } from '../dist/cli/program.js';
import { commands } from './python-parameters.mjs';

/**
 * Tasks, each with the lines that do it.
 *
 * @type {readonly (readonly [title: string, words: string, ...blocks: string[]])[]}
 */
const wishes = [
  [
    'See whether merging works here',
    'Findings with `✗` keep merging from working; each has its remedy.',
    'layerloom doctor --json',
  ],
  [
    'Look at a model before merging it',
    'Architecture, layers, dtypes and sizes, from headers alone. Experts must be fine-tuned from one base.',
    'layerloom inspect ./math-1 --json',
  ],
  [
    'Give one model the task of one expert and the language of another',
    'Bottom and top layers come from `--lang`, the middle from `--task`; `--bottom 5 --top 2` are the defaults, for 32 layers: `--scaled` fits them to another number.',
    'layerloom swap --task ./math-1 --lang ./swh-1 --dry-run --json\nlayerloom swap --task ./math-1 --lang ./swh-1 -o ./merged --json',
  ],
  [
    'Average several models',
    'Uniformly, or with one weight for each.',
    'layerloom soup ./math-1 ./math-2 ./math-3 -o ./soup --json\nlayerloom soup ./math-1 ./swh-1 --weights 2,1 -o ./weighted-soup --json',
  ],
  [
    'Merge by any other method, or by a recipe of mergekit',
    'A recipe is YAML; `layerloom schema recipe` prints its JSON Schema. Files with `merge_method:` are mergekit’s, and mean what they mean there.',
    '# ties.yaml\nmethod: ties\nbase: ./llama-3.1-8b\nmodels:\n  - { model: ./math-1, weight: 1 }\n  - { model: ./swh-1, weight: 0.5 }\ndensity: 0.3\n',
    'layerloom merge ties.yaml --dry-run --json\nlayerloom merge ties.yaml -o ./ties --json\nlayerloom merge ties.yaml --explain lm_head.weight',
  ],
  [
    'Merge LoRA adapters',
    'Bare adapters give an adapter; `BASE+ADAPTER` is an adapter as a whole model.',
    'layerloom swap --task ./math-lora --lang ./swh-lora -o ./swapped-lora --json\nlayerloom swap --task ./llama-3.1-8b+./math-lora --lang ./swh-1 -o ./from-lora --json',
  ],
  [
    'Choose which layers to swap',
    'The result has `bottom` and `top` with `reasons`, `undecided` if the weights say nothing, and the `command` that merges so.',
    'layerloom suggest --base ./llama-3.1-8b --task ./math-1 --lang ./swh-1 --json',
  ],
  [
    'Put parts of an expert back to its base',
    'By location, or by how little they changed.',
    'layerloom revert --base ./llama-3.1-8b ./math-1 --bottom 5 --top 2 -o ./reverted --json',
  ],
  [
    'Check a merge, and make it again',
    '`diff` compares tensors and side files; `layerloom.json` beside the weights makes the same bytes once more.',
    'layerloom diff ./math-1 ./merged --json\nlayerloom merge ./merged/layerloom.json -o ./merged-again --json\nlayerloom diff ./merged ./merged-again --exit-code -q',
  ],
  [
    'Make and compare many merges',
    'The file of an experiment is written by `init` and edited; every distinct shard is written once.',
    'layerloom experiment init --preset ablation -o study.yaml --task math-1=./math-1 --lang swahili:swh-1=./swh-1\nlayerloom batch study.yaml -o ./study --dry-run --json\nlayerloom batch study.yaml -o ./study --json',
  ],
  [
    'Score them, and write what came of it',
    'Scores need lm_eval 0.4.13, `pip install "lm-eval[hf,api]==0.4.13"`. `--limit 20` tries it with few problems.',
    'layerloom evaluate ./study --dry-run --json\nlayerloom evaluate ./study --json\nlayerloom table ./study --format markdown\nlayerloom report ./study -o study.html',
  ],
  [
    'Write an expert’s change as an adapter',
    'By rank, or with `--energy` by the share of the change that is kept.',
    'layerloom extract-lora --base ./llama-3.1-8b ./math-1 --rank 16 -o ./math-1-lora --json',
  ],
];

/** Common errors and their remedies. @type {Readonly<Record<string, string>>} */
const remedies = {
  USAGE: 'read the message, which names the nearest command or option',
  INVALID_PARAMETER: 'give what the message expects',
  RECIPE_INVALID: 'correct the recipe at the place that the message names',
  TOO_MANY_LAYERS: 'lower `--bottom` and `--top`, or add `--scaled`',
  OUTPUT_EXISTS: 'choose another output; `--force` replaces a merge that layerloom wrote',
  OUTPUT_INSIDE_INPUT: 'choose an output outside the inputs, which are never written to',
  ADAPTER_WITHOUT_BASE: 'write `BASE+ADAPTER`',
  FORMS_MIXED: 'write each adapter as `BASE+ADAPTER`',
  MODEL_NOT_FOUND: 'correct the path; a model of the hub needs `--download`',
  DOWNLOAD_NEEDED: 'the same command with `--download`, which fetches the bytes that are needed',
  NOT_A_CHECKPOINT: 'give a directory with `model.safetensors` or an index',
  TENSOR_NAMES_DIFFER: 'merge experts of one base',
  SHAPE_MISMATCH: 'merge experts of one base and vocabulary',
  CONFIG_MISMATCH: 'merge experts of one base',
  TOKENIZER_MISMATCH: 'read the remedy in the message; `--tokenizer` says whose vocabulary the output has',
  NON_FINITE: 'find the checkpoint that is damaged: the message names file and element',
  DISK_SPACE: 'free space or choose another disk; `--dry-run` says the bytes',
  MEMORY_NEEDED:
    'choose the method or the smaller rank that the message names, or a machine with more memory; `--dry-run` says what is needed',
  OUTPUT_BUSY: 'wait for the other run',
  HARNESS_MISSING: 'install lm_eval, or name its command with `--lm-eval`',
  BATCH_INCOMPLETE: 'read which merges failed and why; the others are complete, `--resume` makes the rest',
  EVALUATION_INCOMPLETE: 'read which models failed and why; the same command again scores what is missing',
  INTERRUPTED: 'run it again; what had been begun with `--resume` continues',
};

const program = describeCommands(buildProgram());

/** Each code's exit code and cause, from docs/errors.md. */
const errors = new Map(
  [
    ...readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8').matchAll(
      /^\| `(\w+)` *\| (\d+) *\| (.*?) *\|$/gm,
    ),
  ].map(([, code = '', exit = '', when = '']) => [
    code,
    { exit, when: when.replace(/\]\([^)]*\)/g, '').replace('[', '') },
  ]),
);

const errorRows = Object.entries(remedies).map(([code, remedy]) => {
  const error = errors.get(code);
  if (error === undefined) throw new Error(`docs/errors.md has no ${code}`);
  return `| \`${code}\` | ${error.exit} | ${error.when} | ${remedy} |\n`;
});

/** @param {string} text */
const blockOf = (text) => `\`\`\`${text.startsWith('#') ? 'yaml' : 'sh'}\n${text.trimEnd()}\n\`\`\`\n`;

/** The text of SKILL.md. */
export const skillText = `---
name: layerloom
description: Merge fine-tuned LLM checkpoints (safetensors) with the command layerloom or its Python and Node packages - layer swapping of a task and a language expert, averages, TIES, DARE, SLERP and other methods, mergekit recipes, LoRA adapters, comparing and scoring merges. Use it when models are to be merged, compared, or analysed for what fine-tuning changed.
license: MIT
---

<!-- Written by scripts/skill.mjs: \`npm run docs:tables\`. -->

# layerloom

## First

- \`--dry-run\` before any command that writes: it checks headers, configurations and tokenizers, writes nothing, and says what would be read and written.
- \`--json\` for every command: one document on stdout, of long commands (\`batch\`, \`evaluate\`, \`search\`) a line for each event with \`done\` last. Errors are \`{"error": {"code", "message", "details"}}\`; warnings are on stderr.
- Exit codes: 0 done, 1 failed, 2 usage or recipe, 3 incompatible or corrupt input, 4 part of a batch or evaluation failed, 130 interrupted.
- A model is a directory with \`model.safetensors\` or an index, one \`.safetensors\` file, \`BASE+ADAPTER\`, or \`org/name[@revision]\` of the Hugging Face hub, which is asked only with \`--download\`. \`NAME=MODEL\` names it.
- Inputs are never written to. An output appears whole or not at all; where it exists the command stops, and \`--force\` replaces only what layerloom wrote.
- \`layerloom COMMAND --help\` has every option with its default, \`layerloom --help --json\` all commands as data.

## What people want

Paths stand for yours: \`./llama-3.1-8b\` is a base, \`./math-1\` and \`./swh-1\` are experts of it, \`./math-lora\` and \`./swh-lora\` adapters.
${wishes.map(([title, words, ...blocks]) => `\n### ${title}\n\n${words}\n\n${blocks.map(blockOf).join('\n')}`).join('')}
In Python the functions \`${Object.keys(commands).join('`, `')}\` of \`layerloom\` are commands: \`layerloom.swap(task="./math-1", lang="./swh-1", out="./merged")\` returns what \`--json\` prints, and raises \`layerloom.LayerloomError\` with \`code\`, \`message\` and \`details\`.

## Commands

| command | purpose |
| --- | --- |
${program
  .filter(({ path, subcommands }) => path.length > 0 && path[0] !== 'help' && subcommands.length === 0)
  .map(({ path, description }) => `| \`layerloom ${path.join(' ')}\` | ${description} |\n`)
  .join('')}
## Limits

- Linux and macOS, Node.js 20 or later; on Windows, WSL 2. No GPU is used.
- Experts must be fine-tuned from one base: other shapes, layers, RoPE or token ids are refused. Only safetensors are read.
- Weights are averaged in float32 and rounded once; quantised weights are only copied.
- layerloom trains nothing (\`train init\` writes configurations of trainers) and scores nothing itself (\`evaluate\` drives lm_eval).

## Errors

The message says what is wrong, in which file and tensor, and what to do. Those that are met most:

| code | exit | when | what to do |
| --- | --- | --- | --- |
${errorRows.join('')}`;

export const skillFile = fileURLToPath(new URL('../skills/layerloom/SKILL.md', import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(skillFile, skillText);
