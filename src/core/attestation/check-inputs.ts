import { statementName } from '../models/checkpoint/files/file-names.js';
import type { Statement } from '../statements/statement.js';
import { type PlacedInput, placesOf } from './input-places.js';
import { statedOf } from './stated.js';

/**
 * Compares the statement of a merge with its inputs' own statements, if any. Reads no weights.
 *
 * @returns a warning for each input whose own statement has other hashes
 */
export const compareInputs = async (
  { predicate }: Statement,
  placed: readonly PlacedInput[],
): Promise<string[]> => {
  const used = new Map(
    predicate.buildDefinition.resolvedDependencies.map(({ name, digest }) => [name, digest.sha256]),
  );
  const warnings: string[] = [];
  for (const input of placed)
    for (const place of placesOf(input)) {
      const stated = await statedOf(place, undefined);
      if (stated.state === 'invalid') warnings.push(`${place}: ${stated.file} ${stated.reason}`);
      if (stated.state !== 'read') continue;
      const isOther = [...stated.subjects].some(([file, sha256]) => {
        const wanted = used.get(`${input.name}/${file}`);
        return wanted !== undefined && wanted !== sha256;
      });
      if (isOther)
        warnings.push(`${place}: its ${statementName} states other files than those that were merged`);
    }
  return [...new Set(warnings)];
};
