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

export type PlacedInput = z.infer<typeof schema>['inputs'][number];

/** Returns a record's inputs, with their paths on the merge's machine. */
export const placedInputs = ({ content }: WrittenRecord): readonly PlacedInput[] =>
  schema.safeParse(content).data?.inputs ?? [];

/** Returns the paths of an input, or of its base and adapter. */
export const placesOf = ({ path, adapted }: PlacedInput): string[] =>
  adapted === undefined ? [path] : [adapted.base.path, adapted.adapter.path];

/**
 * Returns the path of a weight file, if it exists. Looks at no other files, because records are untrusted.
 */
export const fileAt = async (place: string, file: string): Promise<string | undefined> => {
  if (!staysInside(file) || !isWeightsName(file)) return undefined;
  for (const path of basename(place) === file ? [place, join(place, file)] : [join(place, file)]) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) return path;
  }
  return undefined;
};
