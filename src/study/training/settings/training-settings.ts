import * as z from 'zod';
import { type Given, setting } from '../../../core/base/errors/setting.js';
import { choices, trainers, trainingMethods, trainingWays } from './choices.js';

const count = z.int().min(1);

/** Parameters of a training. Preset and language are keys into the paper's data. */
export const trainingSettings = z.object({
  preset: setting(z.string(), {
    meaning: '`math-1` … `ben-3` (a row of Table 4), `joint`, `math-only`, `own-task` or `own-language`.',
  }),
  trainer: setting(z.enum(trainers).default('trl'), {
    meaning: 'The program that trains: `trl`, `axolotl` or `llama-factory`.',
  }),
  base: setting(z.string().optional(), {
    meaning: 'The model to fine-tune: a directory, or a name on the hub.',
    otherwise: `\`${choices.base}\`, as in the paper`,
  }),
  method: setting(z.enum(trainingMethods).default('full'), {
    meaning: '`full`: all weights train. `lora`: an adapter.',
  }),
  rank: setting(count.optional(), { meaning: 'Rank of LoRA.', otherwise: `${choices.lora.rank}` }),
  way: setting(z.enum(trainingWays).default('plain'), {
    meaning: '`plain`, `revert`, `freeze` or `simultaneous` ([modular ways](#modular-ways)).',
  }),
  partition: setting(z.string().optional(), {
    meaning: 'File `partition.json`, required for `freeze` and `simultaneous`, optional for `revert`.',
    otherwise: 'for `revert`, the default partition',
  }),
  data: setting(z.array(z.string()).default([]), {
    meaning:
      "Files of rows; may be repeated. `PATH` replaces the preset's data, `NAME=PATH` one data set, `math=PATH` or `language=PATH` all data of that kind.",
    expected: 'a list of paths, or NAME=PATH',
    otherwise: "the preset's",
  }),
  language: setting(z.string().optional(), {
    meaning:
      'Language of `joint`: `swh`, `tel`, `ben` or `jpn`. For `own-language`: its name in experiments, such as `japanese`.',
    otherwise: '`swh` for `joint`',
  }),
  samples: setting(count.optional(), {
    meaning: 'Number of samples in the run; for `joint`, of each kind of data.',
    otherwise: `${choices.samples}; with own data, ${choices.own.samples}`,
  }),
  seed: setting(z.int().min(0).optional(), {
    meaning: 'Seed of sampling and order.',
    otherwise: 'the number of the run',
  }),
  set: setting(z.record(z.string(), z.array(z.union([z.number(), z.string()]))).default({}), {
    meaning:
      "Hyper-parameters to use instead of the preset's, each with one or more values ([sweeps](#sweeps)): `learning_rate=1e-5,3e-5`.",
    expected: 'a list of values for each key',
    otherwise: "the preset's",
  }),
  cpu: setting(z.boolean().default(false), { meaning: 'Train on the processor, in float32 (TRL).' }),
  devices: setting(count.optional(), {
    meaning: 'Devices among which a batch is divided.',
    otherwise: `${choices.devices.full}; with LoRA or on the processor, ${choices.devices.lora}`,
  }),
});

/** The parameters of `trainInit`. */
export type TrainingParameters = Given<z.input<typeof trainingSettings>>;
