import { adaptedBy, isMixture, type Partition, partNames, type Side } from '../partition.js';
import { splitterOf, wholePattern } from '../regexes.js';
import { unsupported } from './unsupported.js';

/** Arguments of PEFT's `LoraConfig` (0.21): which modules get a LoRA. */
export interface PeftTargets {
  readonly target_modules: readonly string[] | string;
  readonly layers_to_transform?: readonly number[];
  readonly layers_pattern?: string;
}

/** Those that are names with layers. */
interface NamedTargets extends Required<PeftTargets> {
  readonly target_modules: readonly string[];
}

/**
 * Returns the arguments of `LoraConfig` with which PEFT adapts the matrices of one side's layers and nothing else:
 * names and layers where all those layers have the same modules, else a regular expression for whole names (for a
 * mixture, of which PEFT reads those otherwise, a list of them). The result is checked against PEFT's own rule (`check_target_module_exists`) over all modules of the base.
 *
 * Parameters outside the layers, norms and biases are not adapted; `modules_to_save` may add them.
 *
 * @throws LayerloomError PARTITION_UNSUPPORTED for a part without matrices in the layers
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
  // PEFT reads the stack's name as a regular expression.
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

/** Every module that the names of the parameters tell of, containers too. */
const modulesOf = (partition: Partition): readonly string[] => {
  const modules = new Set<string>();
  for (const name of namesOf(partition)) {
    const steps = name.split('.');
    for (let length = 1; length < steps.length; length += 1) modules.add(steps.slice(0, length).join('.'));
  }
  return [...modules];
};

/** PEFT's rule for a list of names with layers: the name's end, then the first numbered segment behind the pattern. */
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
