import { groupBy } from '../../base/lookup.js';
import type { Figure } from '../../methods/operations/operation.js';
import { familyOfType } from '../../models/architecture/families.js';
import type { Role } from '../../models/architecture/role.js';
import { roleInside } from '../../models/architecture/roles.js';
import type { MergePlan, PlannedInput, PlannedTensor } from '../plan.js';
import { figuresOf } from './layer-figures.js';

/** A number of a merge over the layers, for a group of modules: a line of a chart. */
export interface ChartRow {
  /** The input that the number belongs to; null if it is the whole formula's, as slerp's `t`. */
  readonly model: string | null;
  /** `weight`, `density`, `t`, `rows kept` (the share of rows that are the expert's). */
  readonly figure: string;
  /** `self_attn`, `mlp`, `norms`, names of single modules; null if all modules have the same numbers. */
  readonly modules: string | null;
  /** True if the modules differ in their numbers, and `values` are means weighted by bytes. */
  readonly isMean: boolean;
  /** By layer; null where a layer has no such number. */
  readonly values: readonly (number | null)[];
}

/** The figure of a selection of rows (operations/row-select.ts). */
const keptRows = 'rows kept';

/** More groups of modules than these are drawn as means of attention, feed-forward and norms. */
const mostGroups = 6;

/** A module (`mlp.up_proj.weight`) with its numbers over the layers. */
interface Module {
  readonly name: string;
  readonly role: Role;
  readonly bytes: number;
  /** By figure, then by layer. */
  readonly values: ReadonlyMap<string, readonly (number | null)[]>;
}

/** Returns how the numbers of a merge vary over its layers and their modules. */
export const chartOf = (
  tensors: readonly PlannedTensor[],
  inputs: readonly PlannedInput[],
  { layers, family }: Pick<MergePlan['architecture'], 'layers' | 'family'>,
): ChartRow[] => {
  const figures = new Map<string, Omit<Figure<string>, 'value'>>();
  const modules = withRoles(modulesOf(tensors, inputs, layers, figures), family);
  const order = [...inputs.map(({ name }) => name), null];
  return [...figures]
    .filter(([key, figure]) => isTelling(figure, modules, key))
    .sort(([, a], [, b]) => order.indexOf(a.of) - order.indexOf(b.of))
    .flatMap(([key, { name, of }]) => {
      const groups = groupsOf(modules, key);
      return groups.map(({ label, members }): ChartRow => {
        const values = meanOf(members, key, layers);
        const isMean = members.some((one) => `${one.values.get(key)}` !== `${values}`);
        return { model: of, figure: name, modules: groups.length === 1 ? null : label, isMean, values };
      });
    });
};

const modulesOf = (
  tensors: readonly PlannedTensor[],
  inputs: readonly PlannedInput[],
  layers: number,
  figures: Map<string, Omit<Figure<string>, 'value'>>,
): readonly Omit<Module, 'role'>[] => {
  const modules = new Map<
    string,
    { bytes: number; present: Set<number>; values: Map<string, (number | null)[]> }
  >();
  const isByRows = tensors.some(({ expression: { kind } }) => kind === 'rowSelect');
  for (const tensor of tensors) {
    if (tensor.layer === null) continue;
    const name = moduleOf(tensor.name, tensor.layer);
    const module = modules.get(name) ?? { bytes: 0, present: new Set(), values: new Map() };
    modules.set(name, module);
    module.bytes += tensor.end - tensor.begin;
    module.present.add(tensor.layer);
    for (const figure of figuresOf(tensor, inputs)) {
      // A tensor that is copied whole, among those that are made of rows, has all its rows.
      const isRows = isByRows && figure.name === 'weight';
      if (isRows && figure.of !== inputs[0]?.name) continue;
      const what = isRows ? { ...figure, name: keptRows } : figure;
      const key = `${what.of ?? ''}\n${what.name}`;
      figures.set(key, { name: what.name, of: what.of });
      const values = module.values.get(key) ?? new Array<number | null>(layers).fill(null);
      module.values.set(key, values);
      values[tensor.layer] = what.value;
    }
  }
  // A model of weight 0 is no term of a formula.
  for (const { present, values } of modules.values())
    for (const [key, { name }] of figures) {
      if (name !== 'weight' && name !== keptRows) continue;
      const known = values.get(key) ?? new Array<number | null>(layers).fill(null);
      values.set(key, known);
      for (const layer of present) known[layer] ??= 0;
    }
  return [...modules].map(([name, { bytes, values }]) => ({ name, bytes, values }));
};

/** @param type of the family, as a configuration calls it */
const withRoles = (modules: readonly Omit<Module, 'role'>[], type: string): readonly Module[] => {
  const family = familyOfType(type);
  return modules.map((module) => ({ ...module, role: roleInside(family, module.name) }));
};

/** The part of a name after its layer's number. */
const moduleOf = (name: string, layer: number): string => {
  const number = `.${layer}.`;
  const at = name.indexOf(number);
  return at === -1 ? name : name.slice(at + number.length);
};

/** False for numbers that say nothing: a density of 1, and a constant of the whole formula. */
const isTelling = (
  { name, of }: Omit<Figure<string>, 'value'>,
  modules: readonly Module[],
  key: string,
): boolean => {
  const values = new Set(
    modules.flatMap(({ values: all }) => all.get(key) ?? []).filter((one) => one !== null),
  );
  if (of === null) return values.size > 1 || name === 't';
  return name !== 'density' || values.size > 1 || !values.has(1);
};

interface Group {
  readonly label: string;
  readonly members: readonly Module[];
}

/** Groups the modules of equal numbers, attention first; if they are too many, modules of one kind. */
const groupsOf = (modules: readonly Module[], key: string): readonly Group[] => {
  const exact = groupBy(modules, ({ values }) => `${values.get(key)}`);
  const groups =
    exact.size <= mostGroups
      ? [...exact.values()].map((members) => ({ label: labelOf(members, modules), members }))
      : [...groupBy(modules, partOf)].map(([label, members]) => ({ label, members }));
  const rank = ({ label, members }: Group) =>
    label === otherModules
      ? roles.length
      : Math.min(...members.map(({ role }) => roles.indexOf(role) + 1 || roles.length));
  return groups.sort((a, b) => rank(a) - rank(b));
};

const roles: readonly Role[] = ['attention', 'feedForward', 'blockNorm'];

/** `self_attn`, `mlp` and the like: the first part of a module's name; `norms` for norms. */
const partOf = ({ name, role }: Module): string =>
  role === 'blockNorm' ? 'norms' : (name.split('.')[0] ?? name);

/** The label of a group whose modules' names would be too long. */
const otherModules = 'others';
const longestLabel = 16;

const labelOf = (members: readonly Module[], modules: readonly Module[]): string => {
  const labels = [...groupBy(members, partOf)].flatMap(([part, some]) =>
    some.length === modules.filter((module) => partOf(module) === part).length
      ? [part]
      : some.map(
          ({ name }) =>
            name
              .replace(/(\.lora_(embedding_)?[AB])?(\.weight)?$/, '')
              .split('.')
              .at(-1) ?? name,
        ),
  );
  const label = [...new Set(labels)].join(', ');
  return label.length > longestLabel && members.length > 1 ? otherModules : label;
};

const meanOf = (members: readonly Module[], key: string, layers: number): (number | null)[] =>
  Array.from({ length: layers }, (_, layer) => {
    const found = members.flatMap(({ bytes, values }) => {
      const value = values.get(key)?.[layer] ?? null;
      return value === null ? [] : [{ value, bytes }];
    });
    const [first] = found;
    if (first === undefined) return null;
    // Equal values stay exact: a mean of them might differ in the last bit.
    if (found.every(({ value }) => value === first.value)) return first.value;
    const total = found.reduce((sum, { bytes }) => sum + bytes, 0);
    return found.reduce((sum, { value, bytes }) => sum + value * bytes, 0) / total;
  });
