import type { Colors } from 'picocolors/types.js';
import { groupBy } from '../../core/base/errors/lookup.js';
import { visibleLine } from '../../core/base/errors/visible.js';
import { counted, formatCount, formatPercent } from '../../core/base/format.js';
import { plainTable } from '../../core/base/table.js';
import type { Partition, PartName } from '../../core/measure/partition/partition.js';
import { partNames } from '../../core/measure/partition/partition.js';
import { splitterOf } from '../../core/measure/partition/regexes.js';
import { familyOfType } from '../../core/models/architecture/families.js';
import type { Role } from '../../core/models/architecture/role.js';
import { roleInside } from '../../core/models/architecture/roles.js';
import type { ChartRow } from '../../core/plan/card/layer-chart.js';
import type { LayerPicture } from '../../core/plan/card/layer-picture.js';
import type { Origin } from '../../core/plan/card/origins.js';
import { drawPicture } from './layer-stack.js';

interface Assigned {
  readonly part: PartName;
  readonly layer: number | null;
  readonly kind: (typeof kinds)[number] | null;
}

export const describePartition = (partition: Partition, colours: Colors): string => {
  const { parts, parameters } = partition;
  const total = partNames.reduce((sum, part) => sum + parameters[part], 0);
  const rows = partNames
    .filter((part) => parts[part].length > 0)
    .map((part) => [
      titles[part],
      counted(parts[part].length, 'tensor'),
      `${formatCount(parameters[part])} parameters`,
      formatPercent(parameters[part] / total),
    ]);
  return [
    visibleLine(`${partition.base.name}: ${foundBy(partition)}`),
    '',
    drawPicture(pictureOf(partition), ['task', 'language'], colours),
    '',
    plainTable(rows, 1),
  ].join('\n');
};

const titles: Readonly<Record<PartName, string>> = {
  language: 'language',
  task: 'task',
  both: 'both',
  neither: 'neither (frozen)',
};

const foundBy = ({ found }: Partition): string =>
  found.by === 'location'
    ? `bottom ${found.bottom}, top ${found.top}, others ${found.others}, norms ${found.norms}`
    : `by ${found.granularity}: each goes to the one of ${found.language.name} (language) and ${found.task.name} (task) that changed it more` +
      (found.others === null ? '' : `; others ${found.others}`);

const pictureOf = (partition: Partition): LayerPicture => {
  const split = splitterOf(partition);
  const family = familyOfType(partition.family);
  const assigned = partNames.flatMap((part) =>
    partition.parts[part].map((name): Assigned => {
      const at = split(name);
      return at === undefined
        ? { part, layer: null, kind: null }
        : { part, layer: at.layer, kind: kindOf(roleInside(family, at.rest)) };
    }),
  );
  const byLayer = groupBy(assigned, ({ layer }) => layer);
  const origins: Origin[] = [];
  let isMixed = false;
  for (let layer = 0; layer < partition.layers; layer += 1) {
    const from = partsIn(byLayer.get(layer) ?? []);
    isMixed ||= from.length > 1;
    const last = origins.at(-1);
    if (last?.layers && last.from.join() === from.join())
      origins[origins.length - 1] = { layers: [last.layers[0], layer], from };
    else origins.push({ layers: [layer, layer], from });
  }
  const outside = partsIn(byLayer.get(null) ?? []);
  if (outside.length > 0) origins.push({ layers: null, from: outside });
  return { layers: partition.layers, origins, chart: isMixed ? chartOf(partition, assigned) : null };
};

const partsIn = (assigned: readonly Assigned[]): PartName[] =>
  [...groupBy(assigned, ({ part }) => part)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([part]) => part);

const chartOf = ({ layers }: Partition, assigned: readonly Assigned[]): ChartRow[] =>
  kinds.flatMap((kind) => {
    const byLayer = groupBy(
      assigned.filter((one) => one.kind === kind),
      ({ layer }) => layer,
    );
    if (byLayer.size === 0) return [];
    const values = Array.from({ length: layers }, (_, layer) => {
      const found = byLayer.get(layer) ?? [];
      const language = found.filter(({ part }) => part === 'language');
      return found.length === 0 ? null : language.length / found.length;
    });
    return [{ model: 'language', figure: 'share', modules: kind, isMean: false, values }];
  });

const kinds = ['attention', 'feed-forward', 'norms, others'] as const;

const kindOf = (role: Role): (typeof kinds)[number] =>
  role === 'attention' ? 'attention' : role === 'feedForward' ? 'feed-forward' : 'norms, others';
