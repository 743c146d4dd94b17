import type { Colors } from 'picocolors/types.js';
import type { MergePlan } from '../plan/plan.js';
import { formatBytes, formatCount } from './format.js';
import { drawLayerStack } from './layer-stack.js';
import { plainTable, shardRows } from './table.js';

/** Private memory of a run: Node, and for each thread its heap, stack and one tile. Measured by bench/memory.mjs. */
const nodeBytes = 27e6;
const threadBytes = 9e6;

/** `Layer swap: bottom 5, top 2, …`: the parameters as they are used, scaled ones as they were scaled. */
export const describeRecipe = ({ title, recipe }: MergePlan): string => {
  const settings = Object.entries(recipe).map(
    ([key, value]) => `${key} ${Array.isArray(value) ? value.join(',') : String(value)}`,
  );
  return `${title}: ${settings.join(', ')}`;
};

const wholeFiles = (bytes: number): string =>
  bytes === 0 ? '' : `, of which ${formatBytes(bytes)} are whole input files (--link)`;

/** A plan for people to read before they run it. */
export const describePlan = (plan: MergePlan, threads: number, colours: Colors): string => {
  const { inputs, architecture, shards, files, cost } = plan;
  const tensors = shards.reduce((total, shard) => total + shard.tensors.length, 0);
  return [
    describeRecipe(plan),
    '',
    plainTable(inputs.map(({ role, name, path }) => [role, name, path])),
    '',
    drawLayerStack(plan, colours),
    '',
    plainTable([
      ['architecture', `${architecture.family}, ${architecture.layers} layers`],
      ['output', `${formatCount(cost.parameters)} parameters, ${tensors} tensors in ${shards.length} shards`],
      ['copied', formatBytes(cost.bytesCopied)],
      ['computed', formatBytes(cost.bytesComputed)],
      ['to read', formatBytes(cost.bytesToRead)],
      ['to write', `${formatBytes(cost.bytesToWrite)}${wholeFiles(cost.bytesVerbatim)}`],
      ['memory', `about ${formatBytes(nodeBytes + threads * threadBytes)} private, with ${threads} threads`],
    ]),
    '',
    plainTable(
      shardRows(
        shards.map((shard) => ({ ...shard, tensors: shard.tensors.length })),
        formatBytes,
      ),
      1,
    ),
    '',
    `  beside them: ${files.map(({ name }) => name).join(', ')}, layerloom.json`,
  ].join('\n');
};
