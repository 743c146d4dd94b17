import { expect } from 'vitest';

// Independent copies of the rules by which trainers choose parameters, from their sources.

/** axolotl, utils/freeze.py (LayerNamePattern): names that train. */
export const axolotlTrains = (patterns: readonly string[], names: readonly string[]): string[] => {
  const compiled = patterns.map((pattern) => {
    expect(pattern).not.toMatch(/\[\d*(:\d*)?\]$/);
    return new RegExp(`^(?:${pattern.replace(/\.(?!\+)/g, '\\.')})`);
  });
  return names.filter((name) => compiled.some((pattern) => pattern.test(name)));
};

/** PEFT 0.21, check_target_module_exists: modules that get a LoRA. */
export const peftAdapts = (config: Record<string, unknown>, modules: readonly string[]): string[] => {
  const { target_modules: targets, layers_to_transform: layers, layers_pattern: pattern } = config;
  if (typeof targets === 'string') {
    const whole = new RegExp(`^(?:${targets})$`);
    return modules.filter((name) => whole.test(name));
  }
  const list = targets as string[];
  return modules.filter((name) => {
    if (list.includes(name)) return true;
    if (!list.some((target) => name.endsWith(`.${target}`))) return false;
    const found = new RegExp(`^(?:|.*?\\.)${pattern}\\.(\\d+)\\.`).exec(name);
    return found !== null && (layers as number[]).includes(Number(found[1]));
  });
};

/** LLaMA-Factory, model/adapter.py (_setup_freeze_tuning): names that train. */
export const llamaFactoryTrains = (
  options: Record<string, unknown>,
  names: readonly string[],
  layers: number,
): string[] => {
  const count = Number(options['freeze_trainable_layers']);
  const first = count > 0 ? Math.max(0, layers - count) : 0;
  const end = count > 0 ? layers : Math.min(-count, layers);
  const parts: string[] = [];
  for (const module of String(options['freeze_trainable_modules']).split(','))
    for (let layer = first; layer < end; layer += 1)
      parts.push(`.${layer}.${module === 'all' ? '' : module}`);
  const extra = options['freeze_extra_modules'];
  if (typeof extra === 'string') parts.push(...extra.split(','));
  return names.filter((name) => parts.some((part) => name.includes(part)));
};
