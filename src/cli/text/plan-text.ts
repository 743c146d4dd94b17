import type { Colors } from 'picocolors/types.js';
import { visibleLine } from '../../core/base/errors/visible.js';
import { counted, formatBytes, formatCount } from '../../core/base/format.js';
import { plainTable, shardRows } from '../../core/base/table.js';
import { wrap } from '../../core/base/wrap.js';
import { mostThreads } from '../../core/engine/threads/fit-threads.js';
import { decimals } from '../../core/methods/operations/program/words.js';
import { passesOf } from '../../core/plan/operands.js';
import type { MergePlan } from '../../core/plan/plan.js';
import { memoryOf, memoryWith } from '../../core/plan/reports/memory.js';
import { columns, textWidth } from '../print.js';
import { downloadRows } from './download-text.js';
import { drawLayers } from './layer-stack.js';

/** Describes a plan's memory. If memory limits the number of threads, also gives the memory for all. */
const describeMemory = ({ shards }: MergePlan, wanted: number): string => {
  const need = memoryOf(shards.flatMap(({ tensors }) => tensors));
  const threads = mostThreads(need, wanted);
  const more = threads < wanted ? `; ${wanted} would take ${formatBytes(memoryWith(need, wanted))}` : '';
  return `about ${formatBytes(memoryWith(need, threads))} private, with ${counted(threads, 'thread')}${more}`;
};

/** Describes a recipe with its final parameters: `Layer swap: bottom 5, top 2, …`. */
export const describeRecipe = ({ title, recipe, form }: MergePlan): string => {
  const settings = Object.entries(recipe).map(([key, value]) =>
    // The picture of layers shows these parameters.
    key === 'slices' && Array.isArray(value)
      ? counted(value.length, 'slice')
      : `${key} ${describeValue(value, key)}`,
  );
  const name = form === 'adapter' ? `${title}, as a LoRA adapter` : title;
  const said = settings.length === 0 ? name : `${name}: ${settings.join(', ')}`;
  const [first, ...others] = wrap(visibleLine(said), textWidth() - 2);
  return [first, ...others.map((line) => `  ${line}`)].join('\n');
};

/** Parameters that are lists of numbers without being gradients over layers. */
const listed = ['weights', 'magnitude_weights', 'schedule_weights', 'layer_range', 'layers'];

/**
 * Formats a list of numbers as `1,2`, and a gradient as `1 → 0.5`. Numbers have four digits. Filters, models
 * and recipes have YAML's flow style.
 */
const describeValue = (value: unknown, key: string): string => {
  if (typeof value === 'number') return decimals(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => describeValue(item, key));
    if (value.some((item) => typeof item === 'object')) return `[${items.join(', ')}]`;
    const isGradient = value.every((item) => typeof item === 'number') && !listed.includes(key);
    return items.join(isGradient ? ' → ' : ',');
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return `{${Object.entries(value)
    .map(([inner, one]) => `${inner}: ${describeValue(one, inner)}`)
    .join(', ')}}`;
};

const wholeFiles = (bytes: number): string =>
  bytes === 0 ? '' : `, ${formatBytes(bytes)} of them whole input files (--link)`;

const describeMeasured = ({ shards, cost }: MergePlan): string => {
  const statistics = new Set(
    shards.flatMap(({ tensors }) =>
      tensors.flatMap(({ expression }) => passesOf(expression).map(({ what }) => what)),
    ),
  );
  return `${formatBytes(cost.bytesToMeasure)} read first, for ${[...statistics].join(', ')}`;
};

export const describePlan = (plan: MergePlan, threads: number, colours: Colors): string => {
  const { inputs, architecture, shards, files, cost } = plan;
  const tensors = shards.reduce((total, shard) => total + shard.tensors.length, 0);
  return [
    describeRecipe(plan),
    '',
    plainTable(inputs.map(({ role, name, path }) => [role, name, path])),
    '',
    drawLayers(plan, colours),
    '',
    plainTable([
      ['architecture', `${architecture.family}, ${counted(architecture.layers, 'layer')}`],
      [
        'output',
        `${formatCount(cost.parameters)} parameters, ${counted(tensors, 'tensor')} in ${counted(shards.length, 'shard')}`,
      ],
      ['copied', formatBytes(cost.bytesCopied)],
      ['computed', formatBytes(cost.bytesComputed)],
      ...downloadRows(plan.download),
      ['to read', formatBytes(cost.bytesToRead)],
      ...(cost.bytesToMeasure > 0 ? [['to measure', describeMeasured(plan)] as const] : []),
      ['to write', `${formatBytes(cost.bytesToWrite)}${wholeFiles(cost.bytesVerbatim)}`],
      ['memory', describeMemory(plan, threads)],
    ]),
    '',
    plainTable(
      shardRows(
        shards.map((shard) => ({ ...shard, tensors: shard.tensors.length })),
        formatBytes,
      ),
      1,
      columns(),
    ),
    '',
    ...wrap(
      visibleLine(`other files: ${files.map(({ name }) => name).join(', ')}, layerloom.json`),
      textWidth() - 4,
    ).map((line, index) => `${index === 0 ? '  ' : '    '}${line}`),
  ].join('\n');
};
