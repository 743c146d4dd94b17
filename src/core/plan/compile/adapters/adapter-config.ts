import { itemAt } from '../../../base/errors/lookup.js';
import type { Adapter, AdapterConfig } from '../../../models/adapters/adapter.js';
import { adapterConfigText } from '../../../models/adapters/peft-config.js';
import type { AdapterModel } from './adapter-model.js';
import type { TargetModule } from './adapter-tensors.js';

export interface AdapterConfigOf {
  /** The merged adapters. Settings that are equal in all are copied. */
  readonly adapters: readonly Adapter[];
  readonly merged: Omit<AdapterModel, 'adapters'>;
  readonly targets: readonly TargetModule[];
  readonly rsLora: boolean;
  readonly base: string | undefined;
}

/**
 * Returns an `adapter_config.json`. The commonest rank and alpha are its defaults; `rank_pattern` and `alpha_pattern`
 * give other values.
 */
export const mergedConfigText = ({ adapters, merged, targets, rsLora, base }: AdapterConfigOf): string => {
  const configs = adapters.map(({ config }) => config);
  const first = itemAt(configs, 0);
  const parameters = new Set(configs.flatMap(({ targetParameters }) => targetParameters));
  const isParameter = ({ parameter }: TargetModule) =>
    [...parameters].some((target) => endsWith(parameter, target));
  const matched = (target: TargetModule) => (isParameter(target) ? target.parameter : target.module);
  const [rank, alpha] = [
    commonest(targets.map((one) => one.rank)),
    commonest(targets.map((one) => one.alpha)),
  ];
  const names = targets.map(matched);
  const patternOf = (numberOf: (target: TargetModule) => number, usual: number) =>
    Object.fromEntries(
      targets
        .filter((target) => numberOf(target) !== usual)
        .map((target) => [asPattern(matched(target), names), numberOf(target)]),
    );
  const taskType = first.raw['task_type'];
  const version = first.raw['peft_version'];
  const hasExperts = [...merged.changes.values()].some(({ experts }) => experts !== undefined);
  return adapterConfigText({
    ...(base === undefined ? {} : { base }),
    rank,
    alpha,
    rsLora,
    fanInFanOut: first.fanInFanOut,
    bias: biasOf(configs),
    loraBias: merged.added.size > 0,
    rankPattern: patternOf((one) => one.rank, rank),
    alphaPattern: patternOf((one) => one.alpha, alpha),
    targetModules: targetModules(
      adapters,
      targets.filter((target) => !isParameter(target)).map(({ module }) => module),
    ),
    targetParameters: targets.filter(isParameter).map(({ parameter }) => parameter),
    modulesToSave: savedModules(configs, merged, targets),
    taskType: typeof taskType === 'string' ? taskType : null,
    // PEFT's version decides how factors of square matrices are laid out.
    ...(hasExperts && typeof version === 'string' ? { peftVersion: version } : {}),
  });
};

const endsWith = (name: string, end: string): boolean => name === end || name.endsWith(`.${end}`);

const commonest = (numbers: readonly number[]): number => {
  const counts = new Map<number, number>();
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0] ?? Number.NaN;
};

/**
 * Returns a name as a pattern. PEFT matches ends of names, so it is anchored if another name ends with it.
 */
const asPattern = (name: string, names: readonly string[]): string =>
  names.some((other) => other.endsWith(`.${name}`)) ? `^${name}` : name;

/** Returns the adapters' `target_modules` if they agree and cover all modules; otherwise full names. */
const targetModules = (
  adapters: readonly Adapter[],
  modules: readonly string[],
): readonly string[] | string => {
  const listed = adapters.map(({ config: { targetModules: targets, raw } }) =>
    isUnset(raw['layers_to_transform']) && isUnset(raw['exclude_modules']) && targets !== undefined
      ? JSON.stringify(Array.isArray(targets) ? [...targets].sort() : targets)
      : undefined,
  );
  const [first] = listed;
  const { config } = itemAt(adapters, 0);
  const isSame = first !== undefined && listed.every((one) => one === first);
  const hasAll = adapters.every(({ pairs }) => pairs.size === modules.length);
  return isSame && hasAll && config.targetModules !== undefined ? config.targetModules : modules;
};

const isUnset = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

const biasOf = (configs: readonly AdapterConfig[]): AdapterConfig['bias'] =>
  (['all', 'lora_only'] as const).find((kind) => configs.some(({ bias }) => bias === kind)) ?? 'none';

/**
 * Returns `modules_to_save` without modules that have factors, whose replaced tensors are in `base_layer`.
 */
const savedModules = (
  configs: readonly AdapterConfig[],
  { whole }: Pick<AdapterModel, 'whole'>,
  targets: readonly TargetModule[],
): readonly string[] => {
  const entries = [...new Set(configs.flatMap(({ modulesToSave }) => modulesToSave))];
  const factored = new Set(targets.map(({ module }) => module));
  const saved = new Set<string>();
  for (const parameter of whole.keys()) {
    const module = parameter.slice(0, parameter.lastIndexOf('.'));
    if (factored.has(module)) continue;
    const parts = module.split('.');
    const paths = parts.map((_, index) => parts.slice(0, index + 1).join('.'));
    const path = paths.find((one) => entries.some((entry) => endsWith(one, entry)));
    if (path !== undefined) saved.add(path);
  }
  return [...saved];
};
