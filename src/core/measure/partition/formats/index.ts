import { stringify } from 'yaml';
import { LayerloomError } from '../../../base/errors/errors.js';
import { version } from '../../../base/files/version.js';
import { isMixture, type Partition, type Side, sides, trainedBy } from '../partition.js';
import { patternsOf } from '../regexes.js';
import { axolotlOptions } from './axolotl.js';
import { llamaFactoryFreeze } from './llama-factory.js';
import type { formatsBySide, formatsOfBoth, PartitionFormat } from './names.js';
import { peftTargets } from './peft.js';
import { pythonModule } from './python.js';

export interface PartitionFile {
  readonly name: string;
  readonly text: string;
}

export interface FormattedPartition {
  readonly files: readonly PartitionFile[];
  readonly warnings: readonly string[];
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
const lines = (texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('');

export const partitionJson = ({ format, ...partition }: Partition): string =>
  json({ format, layerloom: version, ...partition });

/** @throws PARTITION_UNSUPPORTED */
type Writer = (partition: Partition, side: Side) => { text: string; warning?: string };

const bySide = {
  peft: [
    'peft.json',
    (partition, side) => ({
      text: json(peftTargets(partition, side)),
      ...(isMixture(trainedBy(partition, side))
        ? {
            warning: `PEFT adapts the attention of the ${side} only: transformers 5 fuses the experts of a mixture, and PEFT would adapt those of every layer; add whole names to target_parameters of LoraConfig, such as ${partition.stack}.0.mlp.experts.gate_up_proj`,
          }
        : {}),
    }),
  ],
  'llama-factory': [
    'llama-factory.yaml',
    (partition, side) => {
      const { options, leftOut } = llamaFactoryFreeze(partition, side);
      return {
        text: stringify(options),
        ...(leftOut.length === 0
          ? {}
          : {
              warning: `LLaMA-Factory's options leave ${leftOut.join(', ')} of the ${side} frozen: its extra modules are parts of names, which others have too`,
            }),
      };
    },
  ],
  axolotl: ['axolotl.yaml', (partition, side) => ({ text: stringify(axolotlOptions(partition, side)) })],
  names: ['names.txt', (partition, side) => ({ text: lines(trainedBy(partition, side)) })],
  regex: [
    'regex.txt',
    (partition, side) => ({ text: lines(patternsOf(partition, trainedBy(partition, side))) }),
  ],
} as const satisfies Record<(typeof formatsBySide)[number], readonly [string, Writer]>;

const ofBoth = {
  json: ['partition.json', partitionJson],
  python: ['freeze.py', pythonModule],
} as const satisfies Record<
  (typeof formatsOfBoth)[number],
  readonly [string, (partition: Partition) => string]
>;

/**
 * Formats a partition. Skips sides that the format cannot express, with a warning.
 *
 * @throws PARTITION_UNSUPPORTED if it can express neither side
 */
export const formatPartition = (partition: Partition, format: PartitionFormat): FormattedPartition => {
  if (format === 'json' || format === 'python') {
    const [name, textOf] = ofBoth[format];
    return { files: [{ name, text: textOf(partition) }], warnings: [] };
  }
  const [extension, write]: readonly [string, Writer] = bySide[format];
  const files: PartitionFile[] = [];
  const warnings: string[] = [];
  const refusals: LayerloomError[] = [];
  for (const side of sides)
    try {
      const { text, warning } = write(partition, side);
      files.push({ name: `${side}.${extension}`, text });
      if (warning !== undefined) warnings.push(warning);
    } catch (error) {
      if (!(error instanceof LayerloomError) || error.code !== 'PARTITION_UNSUPPORTED') throw error;
      refusals.push(error);
      warnings.push(error.message);
    }
  const [refusal] = refusals;
  if (files.length === 0 && refusal !== undefined) throw refusal;
  return { files, warnings };
};
