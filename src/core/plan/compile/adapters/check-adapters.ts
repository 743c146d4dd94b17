import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LayerloomError } from '../../../base/errors/errors.js';
import { optionName } from '../../../base/errors/option-name.js';
import type { Adapter } from '../../../models/adapters/adapter.js';
import { applyAdapter } from '../../../models/adapters/apply.js';
import { adapterConfigName } from '../../../models/adapters/peft-config.js';
import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';

/**
 * Checks that adapters are stored alike, fit the base and, unless the recipe names it, name the same base.
 *
 * @returns warnings
 * @throws ADAPTER_UNSUPPORTED (their sum is not an adapter), ADAPTERS_DIFFER, ADAPTER_INVALID,
 *   ADAPTER_MISMATCH
 */
export const checkAdapters = async (
  [first, ...others]: readonly Adapter[],
  { base, isNamed }: { readonly base: CheckpointIndex | undefined; readonly isNamed: boolean },
): Promise<readonly string[]> => {
  if (first === undefined) return [];
  for (const { config, checkpoint, pairs } of [first, ...others]) {
    const ofConvolutions = [...pairs.values()].some((pair) => pair.isConvolution);
    const isGrouped = [...pairs.values()].some(({ experts }) => experts?.grouped);
    const noSum =
      config.kind.noSum ??
      config.tuners[0]?.tuner.noSum ??
      (ofConvolutions ? 'changes convolutions' : isGrouped ? 'has experts in Unsloth’s order' : undefined);
    if (noSum !== undefined)
      throw new LayerloomError('ADAPTER_UNSUPPORTED', {
        file: join(checkpoint.folder ?? checkpoint.path, adapterConfigName),
        what: config.kind.key ?? (ofConvolutions ? 'LoRA' : 'trainable_token_indices'),
        reason: `${noSum}, so that a merge of such adapters is no adapter`,
        remedy: 'give BASE+ADAPTER for each model, and get full weights',
      });
  }
  for (const other of others) {
    const differ = (what: string) =>
      new LayerloomError('ADAPTERS_DIFFER', {
        first: first.checkpoint.path,
        other: other.checkpoint.path,
        what,
      });
    const [a, b] = [first.config, other.config];
    if (a.fanInFanOut !== b.fanInFanOut) throw differ('fan_in_fan_out');
    const parameters = [a, b].map(({ targetParameters }) => [...targetParameters].sort().join(', '));
    if (parameters[0] !== parameters[1]) throw differ(`target_parameters (${parameters.join(' against ')})`);
    const hasExperts = [first, other].some(({ pairs }) => [...pairs.values()].some((pair) => pair.experts));
    if (hasExperts && a.expertLayout !== b.expertLayout)
      throw differ(
        `the layout of factors of experts, by their peft_version (${b.expertLayout} against ${a.expertLayout})`,
      );
    if (!isNamed && a.base !== undefined && b.base !== undefined && !(await isSameBase(a.base, b.base)))
      throw differ(
        `their base (${b.base} against ${a.base}; ${optionName('base')} says which it is if that is one model)`,
      );
  }
  return base === undefined ? [] : [first, ...others].flatMap((adapter) => checkAgainst(base, adapter));
};

/** Checks an adapter against a base. Passes adapters that can be merged but not applied. */
const checkAgainst = (base: CheckpointIndex, adapter: Adapter): readonly string[] => {
  if (base.adapted !== undefined) return [];
  try {
    return applyAdapter({ ...base, warnings: [] }, adapter, '').warnings;
  } catch (error) {
    const cannotBeAdded = ['ADAPTER_UNSUPPORTED', 'QUANTISED_WEIGHTS'];
    if (error instanceof LayerloomError && cannotBeAdded.includes(error.code)) return [];
    throw error;
  }
};

const isSameBase = async (a: string, b: string): Promise<boolean> => {
  const [one, other] = await Promise.all(
    [a, b].map(async (name) => await realpath(resolve(name)).catch(() => name.replace(/\/+$/, ''))),
  );
  return one === other;
};
