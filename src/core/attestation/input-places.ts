import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod';
import type { WrittenRecord } from '../measure/verification/written-record.js';
import { staysInside } from '../models/address/file-name.js';
import { isWeightsName } from '../models/checkpoint/containers/containers.js';

const found = z.object({ path: z.string() });

const schema = z.object({
  inputs: z.array(
    found.extend({
      role: z.string(),
      name: z.string(),
      adapted: z.object({ base: found, adapter: found }).exactOptional(),
      files: z.array(z.object({ file: z.string(), bytes: z.number(), mtimeNs: z.string() })),
    }),
  ),
});

/** An input as a record places it. */
export type PlacedInput = z.infer<typeof schema>['inputs'][number];

/** Returns the inputs of a record, with their paths on the machine of the merge. */
export const placedInputs = ({ content }: WrittenRecord): readonly PlacedInput[] =>
  schema.safeParse(content).data?.inputs ?? [];

/** The folders or files in which an input's files were. */
export const placesOf = ({ path, adapted }: PlacedInput): string[] =>
  adapted === undefined ? [path] : [adapted.base.path, adapted.adapter.path];

/**
 * Returns the path of a model's file of weights at a place, if there is one. A record may name any file of this
 * machine, so no other file is looked at.
 */
export const fileAt = async (place: string, file: string): Promise<string | undefined> => {
  if (!staysInside(file) || !isWeightsName(file)) return undefined;
  for (const path of basename(place) === file ? [place, join(place, file)] : [join(place, file)]) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) return path;
  }
  return undefined;
};
