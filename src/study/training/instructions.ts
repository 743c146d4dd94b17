import { join } from 'node:path';
import { argument, layerloomCommand, shellPath } from '../../core/base/errors/command-line.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import type { Side } from '../../core/measure/partition/partition.js';
import { spelt } from '../../core/methods/recipe/block.js';
import type { Trainer } from './settings/choices.js';
import { preparedFile } from './settings/data-mix.js';
import { kindOf } from './settings/preset.js';
import { canResume } from './settings/resume.js';
import type { TrainingRun } from './settings/training-run.js';
import { partitionCopy, trlProgram } from './trainers/trl.js';

/** Command to type in a run's directory, and its purpose. */
export type Instruction = readonly [command: string, purpose: string];

const packages: Readonly<Record<Trainer, string>> = {
  trl: '"trl[peft]==1.16.0" pyyaml',
  axolotl: 'axolotl==0.19.0',
  'llama-factory': 'llamafactory==0.9.5',
};

/**
 * Returns the commands from an empty environment to checkpoints; with `revert` to the expert, and for a
 * simultaneous adapter to the model.
 */
export const instructionsOf = (run: TrainingRun): Instruction[] => [
  ...installCommands(run),
  ...workCommands(run),
];

export const installCommands = (run: TrainingRun): Instruction[] => [
  [`pip install ${packages[run.trainer]}`, 'the trainer'],
];

export const preparingCommand = 'python prepare_data.py';

const workCommands = (run: TrainingRun): Instruction[] => [
  [preparingCommand, `the data: ${preparedFile}`],
  [trainingCommand(run), 'the training'],
  ...finishingSteps(run).map(({ command, purpose }): Instruction => [command, purpose]),
];

const launched = 'accelerate launch --config_file accelerate.yaml';

/** Returns the launcher for layerloom's programs. Simultaneous training starts a process per device. */
const launcherOf = ({ devices, way }: TrainingRun): string => {
  if (devices === 1) return 'python';
  return way === 'simultaneous' ? `torchrun --nproc_per_node ${devices}` : launched;
};

export const trainingCommand = (run: TrainingRun): string => {
  switch (run.trainer) {
    case 'trl': {
      const own = trlProgram(run);
      if (own === undefined)
        return `trl sft --config config.yaml${run.devices > 1 ? ' --accelerate_config accelerate.yaml' : ''}`;
      return `${launcherOf(run)} ${own} --config config.yaml`;
    }
    case 'axolotl':
      return 'axolotl train config.yaml';
    case 'llama-factory':
      return run.devices > 1
        ? `${launched} -m llamafactory.launcher config.yaml`
        : 'llamafactory-cli train config.yaml';
  }
};

const trainedModel = ({ base, lora, steps }: TrainingRun): string => {
  const last = `checkpoints/checkpoint-${steps}`;
  return lora === undefined ? last : `${base}+${last}`;
};

const sideOf = ({ preset }: TrainingRun): Side =>
  preset.categories.some((category) => kindOf(category) === 'math') ? 'task' : 'language';

const revertedModel = 'reverted';

interface FinishingStep {
  readonly command: string;
  readonly purpose: string;
  readonly makes: string;
}

export const finishingSteps = (run: TrainingRun): FinishingStep[] => {
  const model = argument(trainedModel(run));
  if (run.way === 'simultaneous' && run.lora !== undefined)
    return [
      {
        command: layerloomCommand('relayout', model, '-o', 'merged'),
        purpose: 'base and adapter as one model',
        makes: 'merged',
      },
    ];
  if (run.way !== 'revert') return [];
  const base = argument(run.base);
  const by = ['--partition', argument(partitionCopy), '--side', sideOf(run)] as const;
  const parts = {
    command: layerloomCommand('partition', base, '-o', argument(partitionCopy)),
    purpose: 'the part of each expert',
    makes: partitionCopy,
  };
  return [
    ...(run.partition === undefined ? [parts] : []),
    {
      command: layerloomCommand('revert', '--base', base, model, ...by, '-o', revertedModel),
      purpose: `reverts all but the ${sideOf(run)} part to the base (train-then-revert)`,
      makes: revertedModel,
    },
  ];
};

/** Advice after a run; if the merge needs another run's model, includes the merging command. */
export interface Sequel {
  readonly text: string;
  readonly command?: string;
}

/** Returns the advice. In its command, another run's expert is in capital letters. */
export const sequelOf = (run: TrainingRun): Sequel => {
  if (run.way === 'simultaneous')
    return { text: 'A single run trained both parts: its last checkpoint is the merged model.' };
  const isBaseline = run.preset.expert === undefined && !run.preset.isOwnRow;
  if (run.way === 'plain' && isBaseline)
    return { text: 'A baseline to compare merges with: its last checkpoint is the finished model.' };
  const own = run.way === 'revert' ? revertedModel : trainedModel(run);
  const [task, language] = sideOf(run) === 'task' ? [own, 'LANGUAGE_EXPERT'] : ['TASK_EXPERT', own];
  const by = run.way === 'plain' ? [] : (['--partition', argument(partitionCopy)] as const);
  return {
    text:
      run.way === 'plain'
        ? `Train the other experts in the same way (other presets, or \`--seed\`), choose among their checkpoints with \`${layerloomCommand('select')}\`, and swap layers:`
        : `Train the expert of the ${sideOf(run) === 'task' ? 'language' : 'task'} in the same way, with the same ${partitionCopy}, and put the parts together:`,
    command: layerloomCommand(
      'swap',
      '--task',
      argument(task),
      '--lang',
      argument(language),
      ...by,
      '-o',
      'merged',
    ),
  };
};

export const sweepCommands = (runs: readonly TrainingRun[], directory: string): Instruction[] => [
  ...installCommands(itemAt(runs, 0)),
  [`bash ${shellPath(join(directory, 'train.sh'))}`, `all ${runs.length} runs`],
  [layerloomCommand('train', 'status', argument(directory)), 'which runs exist, and what comes next'],
];

export const sequelOfSweep: Sequel = {
  text: 'Train experts of the other kind in the same way. `train status` of all of them together says how to score and choose checkpoints.',
};

export const readmeOfSweep = (runs: readonly TrainingRun[]): string => {
  const first = itemAt(runs, 0);
  return `# ${runs.length} runs

${first.preset.title} Written by \`${layerloomCommand('train', 'init')}\`. Each folder is one run, with its own configuration.

\`\`\`sh
${sweepCommands(runs, '.')
  .map(([line, purpose]) => `${line}    # ${purpose}`)
  .join('\n')}
\`\`\`

\`bash train.sh 0/4\` trains the first of four parts; \`${layerloomCommand('train', 'slurm', '.')}\` prints them as jobs of a cluster.

| run | steps | ${Object.keys(first.values).map(spelt).join(' | ')} |
| --- | --- | ${Object.keys(first.values)
    .map(() => '---')
    .join(' | ')} |
${runs.map(({ name, steps, values }) => `| ${name} | ${steps} | ${Object.values(values).join(' | ')} |`).join('\n')}

docs/training.md has all steps.
`;
};

const whenInterrupted = (run: TrainingRun): string =>
  canResume(run)
    ? 'An interrupted run continues from its last complete checkpoint, which contains the optimiser state.'
    : 'An interrupted run cannot continue; `bash train.sh --again` starts it from the first step.';

export const readmeOf = (run: TrainingRun): string => {
  const { text, command } = sequelOf(run);
  return `# ${run.name}

${run.preset.title} Written by \`${layerloomCommand('train', 'init')}\`; you may change it before the first start, because layerloom does not read it again.

\`\`\`sh
${instructionsOf(run)
  .map(([line, purpose]) => `${line}    # ${purpose}`)
  .join('\n')}
\`\`\`

\`bash train.sh\` does everything except the installation, one start at a time. ${whenInterrupted(run)}

${run.steps} steps of ${run.row.batchSize} samples; a checkpoint every ${run.stepsPerCheckpoint} steps. Each value in \`config.yaml\` says where it comes from: Table 4 of the paper, its text, or
"ours" where it states nothing.${run.lora === undefined ? ' The checkpoints are float32: merge them as they are, and convert at the end with `--dtype bfloat16`, since\nbfloat16 rounds changes of this size away.' : ''}

${text}
${command === undefined ? '' : `\n\`\`\`sh\n${command}\n\`\`\`\n`}
docs/training.md has all steps.
`;
};
