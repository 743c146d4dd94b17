import type { RebuildOptions, RebuiltStudy } from '../study/bundle/rebuild-study.js';

/**
 * Unpacks a bundle into a new directory, for tables and reports. With `experts`, remakes each merge whose
 * models exist, and compares its weights with the recorded SHA-256. Bundles are untrusted: everything is
 * checked before the directory appears.
 *
 * @example await rebuild('study.tar', { out: './again', experts: './experts' })
 * @throws LayerloomError BUNDLE_INVALID, OUTPUT_EXISTS, READ_FAILED, WRITE_FAILED, INTERRUPTED; with
 *   `experts` the codes of `runExperiment`. If a merge differs or cannot be made, the call does not throw;
 *   the result lists it
 */
export const rebuild = async (file: string, options: RebuildOptions = {}): Promise<RebuiltStudy> => {
  const { rebuildStudy } = await import('../study/bundle/rebuild-study.js');
  return await rebuildStudy(file, options);
};
