import { join } from 'node:path';
import * as z from 'zod';
import { LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { sealedText, sealName } from '../../engine/output/record/record-seal.js';
import { recipeYaml } from '../../methods/recipe/document/recipe-yaml.js';
import { staysInside } from '../../models/address/file-name.js';
import { provenanceName } from '../../models/checkpoint/files/file-names.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readJsonFile } from '../../models/checkpoint/files/json-file.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
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

// Old versions recorded no side files; still older ones wrote no seal.
const schema = z.object({
  layerloom: z.string(),
  method: z.string().exactOptional(),
  shards: z.array(fileSchema).exactOptional(),
  sideFiles: z.array(fileSchema).exactOptional(),
  files: z.array(name),
  completeRecipe: z.unknown().optional(),
  [sealName]: z.unknown().optional(),
});

/** A file of the output; `bytes` and `sha256` if recorded. */
export interface WrittenFile {
  readonly file: string;
  readonly bytes?: number;
  readonly sha256?: string;
}

export interface WrittenRecord {
  readonly layerloom: string;
  readonly files: readonly WrittenFile[];
  readonly shards: readonly string[];
  /** False for an extracted adapter. */
  readonly isMerge: boolean;
  /** The complete recipe as the card has it. */
  readonly recipe: string | undefined;
  /** True if the record is unedited; undefined without a seal. */
  readonly isSealed: boolean | undefined;
  /** The whole record, unchecked. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** @throws OUTPUT_UNRECORDED if the record is missing or invalid */
export const readWrittenRecord = async (directory: string): Promise<WrittenRecord> => {
  const file = join(directory, provenanceName);
  const unrecorded = (reason: string, cause?: unknown) =>
    new LayerloomError(
      'OUTPUT_UNRECORDED',
      {
        out: directory,
        state: 'is damaged, and nothing says what its files should be',
        reason,
        remedy: 'merge it again',
        verdict: 'damaged',
      },
      { cause },
    );
  const read = await readJsonFile(file, {
    schema,
    what: 'the record of an output',
    fail: ({ reason, isRead, cause }) =>
      unrecorded(`its ${provenanceName} ${isRead ? reason : `cannot be read (${reason})`}`, cause),
  });
  try {
    return {
      layerloom: read.layerloom,
      isMerge: read.method !== extractionMethod,
      recipe: isObject(read.completeRecipe) ? recipeYaml(read.completeRecipe) : undefined,
      isSealed: isAsSealed(read, await readSmallFile(file)),
      content: read,
      files: filesOf(read),
      shards: (read.shards ?? []).map(({ file: shard }) => shard),
    };
  } catch (error) {
    // Values are nested too deep, or the file was replaced meanwhile.
    throw unrecorded(`its ${provenanceName} cannot be read (${reasonOf(error)})`, error);
  }
};

const isAsSealed = (
  { [sealName]: seal, ...content }: Readonly<Record<string, unknown>>,
  bytes: Buffer,
): boolean | undefined => (seal === undefined ? undefined : bytes.equals(Buffer.from(sealedText(content))));

const filesOf = ({ shards = [], sideFiles = [], files }: z.infer<typeof schema>): WrittenFile[] => {
  const described = new Map([...shards, ...sideFiles].map((one) => [one.file, one]));
  const others = files.filter((file) => file !== provenanceName && !described.has(file));
  return [
    ...[...described.values()].map(({ file, bytes, sha256 }) => ({
      ...{ file, bytes },
      ...(sha256 === undefined ? {} : { sha256 }),
    })),
    ...others.map((file) => ({ file })),
  ];
};
