import { stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { optionName } from '../../base/errors/option-name.js';
import { writing } from '../../base/files/writing.js';
import { makeDirectories, writeWhole } from '../../engine/output/durable.js';
import { formatPartition, type PartitionFile } from './formats/index.js';
import { type PartitionFormat, partitionFormats } from './formats/names.js';
import type { Partition } from './partition.js';

export interface WrittenPartition {
  readonly files: readonly string[];
  readonly warnings: readonly string[];
}

/** @throws INVALID_PARAMETER for an unknown format, or a trainer's format if `out` is a file */
export const checkFormats = (formats: readonly string[] | undefined, out: string | undefined): void => {
  for (const format of formats ?? [])
    if (!(partitionFormats as readonly string[]).includes(format))
      throw invalidParameter('format', format, partitionFormats.join(', '));
  if (out !== undefined && isFile(out) && formats?.some((format) => format !== 'json'))
    throw invalidParameter(
      'out',
      out,
      'a directory, since the formats of trainers have a file for each side',
    );
};

/**
 * Writes a partition to `out`: a file `….json`, or a directory for `partition.json` and one or two files per
 * format. Warns of a format that cannot express the partition, or throws if it was requested.
 *
 * @throws OUTPUT_EXISTS if a file exists, PARTITION_UNSUPPORTED, WRITE_FAILED
 */
export const writePartition = async (
  partition: Partition,
  out: string,
  formats: readonly PartitionFormat[] | undefined,
  force: boolean,
): Promise<WrittenPartition> => {
  const path = resolve(out);
  const directory = isFile(out) ? dirname(path) : path;
  const { files, warnings } = isFile(out)
    ? { files: renamed(formatPartition(partition, 'json').files, basename(path)), warnings: [] }
    : filesOf(partition, formats);
  if (!force) for (const { name } of files) await refuseExisting(join(directory, name));
  for (const { name, text } of files) await write(join(directory, name), text);
  return { files: files.map(({ name }) => join(directory, name)), warnings };
};

const isFile = (out: string): boolean => extname(out) === '.json';

const renamed = (files: readonly PartitionFile[], name: string): PartitionFile[] =>
  files.map(({ text }) => ({ name, text }));

const filesOf = (partition: Partition, asked: readonly PartitionFormat[] | undefined) => {
  const files: PartitionFile[] = [];
  const warnings: string[] = [];
  for (const format of new Set<PartitionFormat>(['json', ...(asked ?? partitionFormats)]))
    try {
      const formatted = formatPartition(partition, format);
      files.push(...formatted.files);
      warnings.push(...formatted.warnings);
    } catch (error) {
      const isUnsupported = error instanceof LayerloomError && error.code === 'PARTITION_UNSUPPORTED';
      if (!isUnsupported || asked !== undefined) throw error;
      warnings.push(error.message);
    }
  return { files, warnings };
};

const refuseExisting = async (file: string): Promise<void> => {
  const isThere = await stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
  if (!isThere) return;
  const remedy = `choose another file, or ${optionName('force')} to replace it`;
  throw new LayerloomError('OUTPUT_EXISTS', { out: file, reason: 'exists', remedy });
};

const write = async (file: string, text: string): Promise<void> => {
  await writing(file, async () => {
    await makeDirectories(dirname(file));
    await writeWhole(file, text);
  });
};
