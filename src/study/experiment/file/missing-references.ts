import { LayerloomError } from '../../../core/base/errors/errors.js';
import { openModel } from '../../../core/models/reading/read-model.js';
import type { Experiment } from './read-experiment.js';

/**
 * Returns a warning for each further reference that cannot be opened. Batches do not need references; scoring a missing
 * reference is an error.
 */
export const missingReferences = async ({ furtherReferences }: Experiment): Promise<string[]> => {
  const warnings = await Promise.all(
    furtherReferences.map(async ({ name, path }) => {
      try {
        await openModel(path);
        return [];
      } catch (error) {
        if (!(error instanceof LayerloomError)) throw error;
        return [`reference ${name} cannot be scored: ${error.message}`];
      }
    }),
  );
  return warnings.flat();
};
