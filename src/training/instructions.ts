import { fileURLToPath } from 'node:url';
import { preparedFile } from './data-mix.js';
import type { Trainer, TrainingRun } from './training-run.js';
import { trlProgram } from './trl.js';

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

/** Returns the commands from an empty environment to checkpoints, and for `revert` from them to the expert. */
export const instructionsOf = (run: TrainingRun): Instruction[] => [
  [`pip install ${packages[run.trainer]}`, 'the trainer'],
  ...(run.way === 'simultaneous'
    ? ([[`pip install ${modularPackage}`, 'simultaneous training']] satisfies Instruction[])
    : []),
  ['python prepare_data.py', `the data: ${preparedFile}`],
  [trainingCommand(run), 'the training'],
  ...revertingCommands(run),
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

/** The last checkpoint of a run. */
const lastCheckpoint = ({ steps }: TrainingRun): string => `checkpoints/checkpoint-${steps}`;

const revertingCommands = (run: TrainingRun): Instruction[] => {
  if (run.way !== 'revert') return [];
  const expert = run.lora === undefined ? lastCheckpoint(run) : `${run.base}+${lastCheckpoint(run)}`;
  const keep = run.preset.categories[0] === 'math' ? 'middle' : 'top-bottom';
  return [
    [
      `layerloom revert --base ${quoted(run.base)} ${quoted(expert)} --keep ${keep} -o reverted`,
      `the other layers back to the base's (train-then-revert)`,
    ],
  ];
};

/** A word of the shell: in quotes where it needs them. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Returns `README.md` of a run's directory. */
export const readmeOf = (run: TrainingRun): string =>
  `# ${run.name}

${run.preset.title} Written by \`layerloom train init\`; change what you like, nothing reads it again.

\`\`\`sh
${instructionsOf(run)
  .map(([command, purpose]) => `${command}    # ${purpose}`)
  .join('\n')}
\`\`\`

${run.steps} steps of ${run.row.batchSize} samples; a checkpoint every ${run.stepsPerCheckpoint} steps. Each value in \`config.yaml\` says where it comes from: Table 4 of the paper, its text, or
"ours" where it states nothing.${run.lora === undefined ? ' The checkpoints are float32: merge them as they are, and convert at the end with `--dtype bfloat16`, since\nbfloat16 rounds changes of this size away.' : ''}

Train the other experts alike (other presets, or \`--seed\`), choose among their checkpoints with \`layerloom select\`, and merge with \`layerloom swap\`: docs/training.md has all steps.
`;
