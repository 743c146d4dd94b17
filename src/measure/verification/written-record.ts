import { join } from 'node:path';
import * as z from 'zod';
import { staysInside } from '../../address/file-name.js';
import { LayerloomError } from '../../base/errors.js';
import { provenanceName } from '../../checkpoint/file-names.js';
import { readJsonFile } from '../../checkpoint/json-file.js';
import { extractionMethod } from '../extraction/adapter-files.js';

const name = z.string().refine(staysInside, { error: 'a name inside the directory' });

const fileSchema = z.object({
  file: name,
  bytes: z.int().nonnegative(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .exactOptional(),
});

const schema = z.object({
  layerloom: z.string(),
  method: z.string().exactOptional(),
  shards: z.array(fileSchema).exactOptional(),
  /** Not recorded by version 0.1 before these were. */
  sideFiles: z.array(fileSchema).exactOptional(),
  files: z.array(name),
  completeRecipe: z.unknown().optional(),
});

/** A file as it was when it was written; `bytes` and `sha256` where they were recorded. */
export interface WrittenFile {
  readonly file: string;
  readonly bytes?: number;
  readonly sha256?: string;
}

/** What the `layerloom.json` of an output says of its files. */
export interface WrittenRecord {
  /** The version that wrote it. */
  readonly layerloom: string;
  readonly files: readonly WrittenFile[];
  /** True for the output of a merge, which has a recipe; false for an extracted adapter. */
  readonly isMerge: boolean;
  /** Its complete recipe as JSON; empty where it has none. */
  readonly recipe: string;
}

/** @throws LayerloomError OUTPUT_UNRECORDED where there is no such record, or it is none */
export const readWrittenRecord = async (directory: string): Promise<WrittenRecord> => {
  const {
    layerloom,
    method,
    shards = [],
    sideFiles = [],
    files,
    completeRecipe,
  } = await readJsonFile(join(directory, provenanceName), {
    schema,
    what: 'the record of an output',
    fail: ({ reason, isRead, cause }) =>
      new LayerloomError(
        'OUTPUT_UNRECORDED',
        {
          out: directory,
          reason: isRead
            ? `its ${provenanceName} ${reason}`
            : `its ${provenanceName} is not there (${reason})`,
        },
        { cause },
      ),
  });
  const described = new Map([...shards, ...sideFiles].map((one) => [one.file, one]));
  const others = files.filter((file) => file !== provenanceName && !described.has(file));
  return {
    layerloom,
    isMerge: method !== extractionMethod,
    recipe: JSON.stringify(completeRecipe ?? ''),
    files: [
      ...[...described.values()].map(({ file, bytes, sha256 }) => ({
        ...{ file, bytes },
        ...(sha256 === undefined ? {} : { sha256 }),
      })),
      ...others.map((file) => ({ file })),
    ],
  };
};
