import { fileURLToPath } from 'node:url';
import { layerloomCommand } from '../base/command-line.js';
import type { Side } from '../measure/partition/partition.js';
import type { Trainer } from './choices.js';
import { preparedFile } from './data-mix.js';
import type { TrainingRun } from './training-run.js';
import { partitionCopy, trlProgram } from './trl.js';

/** Commands to type in the directory of a run, in order, each with its purpose. */
export type Instruction = readonly [command: string, purpose: string];

/** The Python package `layerloom-train`, which is in layerloom's own directory. */
const modularPackage = fileURLToPath(new URL('../../python', import.meta.url));

/** What pip installs for each trainer, as tried. */
const packages: Readonly<Record<Trainer, string>> = {
  trl: '"trl[peft]==1.16.0" pyyaml',
  axolotl: 'axolotl==0.19.0',
  'llama-factory': 'llamafactory==0.9.5',
};

/**
 * Returns the commands from an empty environment to checkpoints, for `revert` from them to the expert, and for
 * simultaneous training of an adapter to the model.
 */
export const instructionsOf = (run: TrainingRun): Instruction[] => [
  [`pip install ${packages[run.trainer]}`, 'the trainer'],
  ...(run.way === 'simultaneous'
    ? ([[`pip install ${modularPackage}`, 'simultaneous training']] satisfies Instruction[])
    : []),
  ['python prepare_data.py', `the data: ${preparedFile}`],
  [trainingCommand(run), 'the training'],
  ...finishingCommands(run),
];

const trainingCommand = (run: TrainingRun): string => {
  const launched = 'accelerate launch --config_file accelerate.yaml';
  switch (run.trainer) {
    case 'trl': {
      const own = trlProgram(run);
      if (own === undefined)
        return `trl sft --config config.yaml${run.devices > 1 ? ' --accelerate_config accelerate.yaml' : ''}`;
      return `${run.devices > 1 ? launched : 'python'} ${own} --config config.yaml`;
    }
    case 'axolotl':
      return 'axolotl train config.yaml';
    case 'llama-factory':
      return run.devices > 1
        ? `${launched} -m llamafactory.launcher config.yaml`
        : 'llamafactory-cli train config.yaml';
  }
};

/** The model that a run ends with: its last checkpoint, or the base with its adapter. */
const trainedModel = ({ base, lora, steps }: TrainingRun): string => {
  const last = `checkpoints/checkpoint-${steps}`;
  return lora === undefined ? last : `${base}+${last}`;
};

const sideOf = ({ preset }: TrainingRun): Side => (preset.categories[0] === 'math' ? 'task' : 'language');

const revertedModel = 'reverted';

const finishingCommands = (run: TrainingRun): Instruction[] => {
  if (run.way === 'simultaneous' && run.lora !== undefined)
    return [
      [layerloomCommand('relayout', trainedModel(run), '-o', 'merged'), 'base and adapter as one model'],
    ];
  if (run.way !== 'revert') return [];
  const of = ['--base', run.base, trainedModel(run)];
  const by = ['--partition', partitionCopy, '--side', sideOf(run)];
  return [
    ...(run.partition === undefined
      ? ([[layerloomCommand('partition', run.base, '-o', partitionCopy), 'the part of each expert']] as const)
      : []),
    [
      layerloomCommand('revert', ...of, ...by, '-o', revertedModel),
      `all but the part of the ${sideOf(run)} back to the base's (train-then-revert)`,
    ],
  ];
};

/** What follows a run: a sentence, and where its model is one of two the command that merges them. */
export interface Sequel {
  readonly text: string;
  readonly command?: string;
}

/** Returns what to do with a run's model. In a command, the expert that another run trains is in capital letters. */
export const sequelOf = (run: TrainingRun): Sequel => {
  if (run.way === 'simultaneous')
    return { text: 'Both parts were trained in one run: its last checkpoint is the merged model.' };
  const isBaseline = run.preset.expert === undefined;
  if (run.way === 'plain' && isBaseline)
    return { text: 'A baseline to compare merges with: its last checkpoint is a model as it is.' };
  const own = run.way === 'revert' ? revertedModel : trainedModel(run);
  const [task, language] = sideOf(run) === 'task' ? [own, 'LANGUAGE_EXPERT'] : ['TASK_EXPERT', own];
  const by = run.way === 'plain' ? [] : ['--partition', partitionCopy];
  return {
    text:
      run.way === 'plain'
        ? `Train the other experts alike (other presets, or \`--seed\`), choose among their checkpoints with \`${layerloomCommand('select')}\`, and swap layers:`
        : `Train the expert of the ${sideOf(run) === 'task' ? 'language' : 'task'} alike, by the same ${partitionCopy}, and put the parts together:`,
    command: layerloomCommand('swap', '--task', task, '--lang', language, ...by, '-o', 'merged'),
  };
};

/** Returns `README.md` of a run's directory. */
export const readmeOf = (run: TrainingRun): string => {
  const { text, command } = sequelOf(run);
  return `# ${run.name}

${run.preset.title} Written by \`${layerloomCommand('train', 'init')}\`; change what you like, nothing reads it again.

\`\`\`sh
${instructionsOf(run)
  .map(([line, purpose]) => `${line}    # ${purpose}`)
  .join('\n')}
\`\`\`

${run.steps} steps of ${run.row.batchSize} samples; a checkpoint every ${run.stepsPerCheckpoint} steps. Each value in \`config.yaml\` says where it comes from: Table 4 of the paper, its text, or
"ours" where it states nothing.${run.lora === undefined ? ' The checkpoints are float32: merge them as they are, and convert at the end with `--dtype bfloat16`, since\nbfloat16 rounds changes of this size away.' : ''}

${text}
${command === undefined ? '' : `\n\`\`\`sh\n${command}\n\`\`\`\n`}
docs/training.md has all steps.
`;
};
