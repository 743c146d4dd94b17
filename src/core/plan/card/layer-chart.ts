import { groupBy } from '../../base/errors/lookup.js';
import type { Figure } from '../../methods/operations/program/operation.js';
import { familyOfType } from '../../models/architecture/families.js';
import type { Role } from '../../models/architecture/role.js';
import { roleInside } from '../../models/architecture/roles.js';
import type { MergePlan, PlannedInput, PlannedTensor } from '../plan.js';
import { figuresOf } from './layer-figures.js';

/** A row: one parameter over the layers, for a group of modules. */
export interface ChartRow {
  /** The model; null for the whole formula, as in slerp's `t`. */
  readonly model: string | null;
  /** `weight`, `density`, `t`, or `rows kept` (share of rows from the expert). */
  readonly figure: string;
  /** `self_attn`, `mlp`, `norms` or single modules; null if all have equal values. */
  readonly modules: string | null;
  /** True if modules in a layer differ; then `values` are means weighted by bytes. */
  readonly isMean: boolean;
  /** Values by layer; null if the layer lacks the parameter. */
  readonly values: readonly (number | null)[];
}

const keptRows = 'rows kept';

/** With more groups, a chart shows means of attention, feed-forward and norms. */
const mostGroups = 6;

interface Module {
  readonly name: string;
  readonly role: Role;
  readonly bytes: number;
  readonly values: ReadonlyMap<string, readonly (number | null)[]>;
}

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
      // Beside tensors that select rows, a copied tensor selects all rows.
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
  // Adds zeros for models of weight 0, which formulas omit.
  for (const { present, values } of modules.values())
    for (const [key, { name }] of figures) {
      if (name !== 'weight' && name !== keptRows) continue;
      const known = values.get(key) ?? new Array<number | null>(layers).fill(null);
      values.set(key, known);
      for (const layer of present) known[layer] ??= 0;
    }
  return [...modules].map(([name, { bytes, values }]) => ({ name, bytes, values }));
};

const withRoles = (modules: readonly Omit<Module, 'role'>[], type: string): readonly Module[] => {
  const family = familyOfType(type);
  return modules.map((module) => ({ ...module, role: roleInside(family, module.name) }));
};

const moduleOf = (name: string, layer: number): string => {
  const number = `.${layer}.`;
  const at = name.indexOf(number);
  return at === -1 ? name : name.slice(at + number.length);
};

/** True for a figure to show. A density of 1, and a constant of the whole formula, are left out. */
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

/** Groups modules with equal values or, if too many, by kind. Attention comes first. */
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

const partOf = ({ name, role }: Module): string =>
  role === 'blockNorm' ? 'norms' : (name.split('.')[0] ?? name);

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
    // Averages only different values, because averaging equal ones could change the last bit.
    if (found.every(({ value }) => value === first.value)) return first.value;
    const total = found.reduce((sum, { bytes }) => sum + bytes, 0);
    return found.reduce((sum, { value, bytes }) => sum + value * bytes, 0) / total;
  });
