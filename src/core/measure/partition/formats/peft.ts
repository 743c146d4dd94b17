import { adaptedBy, isMixture, type Partition, partNames, type Side } from '../partition.js';
import { splitterOf, wholePattern } from '../regexes.js';
import { unsupported } from './unsupported.js';

/** Arguments of PEFT's `LoraConfig` (0.21) that select modules. */
export interface PeftTargets {
  readonly target_modules: readonly string[] | string;
  readonly layers_to_transform?: readonly number[];
  readonly layers_pattern?: string;
}

interface NamedTargets extends Required<PeftTargets> {
  readonly target_modules: readonly string[];
}

/**
 * Returns `LoraConfig` arguments with which PEFT adapts exactly the matrices in one side's layers. If these
 * layers have the same modules, lists names and layers; otherwise gives an expression for whole names. A
 * mixture gets a list, because PEFT treats expressions differently there. Checks the result against PEFT's
 * rule (`check_target_module_exists`) over all modules.
 *
 * Norms, biases and parameters outside the layers are not adapted; `modules_to_save` may add them.
 *
 * @throws PARTITION_UNSUPPORTED for a part without matrices in layers
 */
export const peftTargets = (partition: Partition, side: Side): PeftTargets => {
  const adapted = adaptedBy(partition, side);
  const split = splitterOf(partition);
  const inside = adapted.flatMap((name) => split(name) ?? []);
  if (inside.length === 0)
    throw unsupported(
      'PEFT',
      `a LoRA for the ${side}: its part has no matrix in the layers`,
      'give that side layers',
    );
  const layers = [...new Set(inside.map(({ layer }) => layer))].sort((a, b) => a - b);
  const paths = [...new Set(inside.map(({ rest }) => rest))];
  const pattern = partition.stack.split('.').at(-1) as string;
  const candidates = [[...new Set(paths.map(lastPart))], paths].map((modules) => ({
    target_modules: modules,
    layers_to_transform: layers,
    layers_pattern: pattern,
  }));
  const modules = modulesOf(partition);
  const wanted = new Set(adapted);
  // Checks the targets, because PEFT reads the stack's name as a regular expression.
  const isExact = (targets: NamedTargets): boolean => {
    const isTarget = targetRule(targets);
    return /^\w+$/.test(pattern) && modules.every((name) => isTarget(name) === wanted.has(name));
  };
  const exact = candidates.find(isExact);
  if (exact !== undefined) return exact;
  return { target_modules: isMixture(namesOf(partition)) ? adapted : wholePattern(partition, adapted) };
};

const lastPart = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

const namesOf = ({ parts }: Partition): readonly string[] => partNames.flatMap((part) => parts[part]);

/** Lists all modules that parameters' names imply, including those that only contain others. */
const modulesOf = (partition: Partition): readonly string[] => {
  const modules = new Set<string>();
  for (const name of namesOf(partition)) {
    const steps = name.split('.');
    for (let length = 1; length < steps.length; length += 1) modules.add(steps.slice(0, length).join('.'));
  }
  return [...modules];
};

/** Returns PEFT's rule, which compares the end of a name and the first number after the layers' pattern. */
const targetRule = ({
  target_modules: targets,
  layers_to_transform: layers,
  layers_pattern: pattern,
}: NamedTargets): ((name: string) => boolean) => {
  const [ends, numbers] = [new Set(targets), new Set(layers)];
  return (name) => {
    const steps = name.split('.');
    if (ends.has(name)) return true;
    if (!steps.some((_, from) => from > 0 && ends.has(steps.slice(from).join('.')))) return false;
    const at = steps.findIndex(
      (step, index) => step === pattern && index + 2 < steps.length && /^\d+$/.test(steps[index + 1] ?? ''),
    );
    return at >= 0 && numbers.has(Number(steps[at + 1]));
  };
};
