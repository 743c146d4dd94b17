import { type PartitionOptions, type PartitionParameters, partition } from '../../../api/partition.js';
import { partitionJson } from '../../../core/measure/partition/formats/index.js';
import type { OutputOptions } from '../../options/output.js';
import { printJson, printLine, stdoutColours, warn } from '../../print.js';
import { describePartition } from '../../text/partition-text.js';

interface PartitionCommandOptions extends OutputOptions, PartitionParameters, PartitionOptions {
  readonly base: string;
}

export const partitionCommand = async ({
  base,
  out,
  formats,
  force,
  download,
  json,
  quiet,
  verbose: _verbose,
  ...parameters
}: PartitionCommandOptions): Promise<void> => {
  const result = await partition(base, parameters, { out, formats, force, download });
  if (!quiet) result.warnings.forEach(warn);
  if (json) printJson(JSON.parse(partitionJson(result.partition)));
  else if (!quiet)
    printLine(
      [
        describePartition(result.partition, stdoutColours()),
        ...(out === undefined ? [] : ['', ...result.files]),
      ].join('\n'),
    );
};
