import { fstat } from 'node:fs';
import { promisify } from 'node:util';
import { itemAt } from '../../../base/errors/lookup.js';
import type { Measurer } from '../../../methods/operations/program/measurer.js';
import { Program, type Value } from '../../../methods/operations/program/program.js';
import { type DifferenceNumber, differenceNumbers } from '../../../native/measure.js';
import { isStored, lowerOperand, sourcesOfOperand } from '../../../plan/operands.js';
import type { ComparisonPlan, PlannedComparison } from '../../../plan/reports/comparison.js';
import { bytesOfSources, type StoredTensor } from '../../../tensor/stored-tensor.js';
import type { InputFiles } from '../../input-files.js';
import { type Progress, Run, type RunControls, type RunCost } from '../../run.js';
import { blocksOf, type ElementRange, measureBlock, type TensorMeasures } from './blocks.js';
import { BlockMeasurer } from './measure.js';

export interface ComparedTensor extends Readonly<Record<DifferenceNumber, number>> {
  /** False if dtypes differ. Quantised tensors count as float32. */
  readonly isOneDtype: boolean;
}

export interface Compared extends RunCost {
  readonly tensors: readonly ComparedTensor[];
}

interface Comparing {
  readonly planned: PlannedComparison;
  readonly blocks: readonly ElementRange[];
  readonly found: Float64Array[];
  isOneDtype: boolean;
}

/**
 * Compares models. Skips byte ranges that both share (hard links); equal bytes need no arithmetic. If a
 * tensor differs, reads its equal blocks again for its norm. Results do not depend on the number of threads.
 *
 * @throws INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, INVALID_PARAMETER, INTERRUPTED
 */
export const runComparisons = async (plan: ComparisonPlan, controls: RunControls): Promise<Compared> => {
  await using run = new Run(controls);
  const { pool } = run;
  const inputs = await run.open(plan.inputs, plan.tensors.flatMap(sourcesOf));
  const tensors: Comparing[] = plan.tensors.map((planned) => ({
    planned,
    blocks:
      planned.tiles?.map((tile, index) => ({ index, ...tile, scattered: true as const })) ??
      blocksOf(programFor(planned)),
    found: [],
    isOneDtype: planned.sources[0].dtype === planned.sources[1].dtype,
  }));
  const isShared = await sharing(inputs);
  const different: Comparing[] = [];
  for (const tensor of tensors) if (!(await isShared(tensor.planned.sources))) different.push(tensor);
  let total = different.reduce((bytes, { planned }) => bytes + bytesOf(planned), 0);
  const progress = (): Progress => ({ phase: 'comparison', done: pool.counters.bytesRead, total });

  const compareBlocks = async (
    work: readonly { tensor: Comparing; block: ElementRange }[],
    equalBlocks: boolean,
  ): Promise<void> => {
    await pool.eachInLanes(work, async ({ tensor, block }) => {
      const measurer = new BlockMeasurer(pool, inputs, tensor.planned.name, leaveAlone);
      const { measures, isOneDtype } = await measuresOf(tensor.planned, equalBlocks, measurer);
      tensor.isOneDtype = isOneDtype;
      const {
        found: [numbers],
      } = await measureBlock(pool, inputs, measures, block);
      if (numbers === undefined) throw new RangeError('a block has no numbers');
      tensor.found[block.index] = numbers;
    });
  };

  try {
    await run.reporting(progress, async () => {
      await compareBlocks(
        different.flatMap((tensor) => tensor.blocks.map((block) => ({ tensor, block }))),
        false,
      );
      const left = different.flatMap((tensor) =>
        blocksWithoutNorm(tensor).map((block) => ({ tensor, block })),
      );
      total += left.reduce((bytes, { tensor, block }) => bytes + bytesOfBlock(tensor, block), 0);
      await compareBlocks(left, true);
      await inputs.verify();
    });
  } catch (error) {
    throw run.reasonOf(error, {});
  }
  return {
    tensors: tensors.map(({ found, isOneDtype }) => ({ ...together(found), isOneDtype })),
    ...run.cost,
  };
};

/** Lets NaN and infinity pass, because comparisons count them. */
const leaveAlone = (): void => undefined;

const sourcesOf = ({ sources, reads }: PlannedComparison): readonly StoredTensor[] =>
  reads ?? sources.flatMap(sourcesOfOperand);

const bytesOf = (planned: PlannedComparison): number => bytesOfSources(sourcesOf(planned));

/** Treats stored tensors as one column, so that blocks may begin anywhere. */
const programFor = ({ elements, shape, sources }: PlannedComparison): Program =>
  new Program(sources.every(isStored) ? [elements, 1] : shape);

const measuresOf = async (
  planned: PlannedComparison,
  equalBlocks: boolean,
  measurer: Measurer,
): Promise<{ readonly measures: TensorMeasures; readonly isOneDtype: boolean }> => {
  const { name, sources, numbers } = planned;
  const program = programFor(planned);
  const values: Value[] = [];
  for (const source of sources)
    values.push(
      isStored(source)
        ? program.source(source)
        : await lowerOperand(source, { tensor: name, program, measurer }),
    );
  const emitted = program.emit(values);
  const [a, b] = [itemAt(emitted.values, 0), itemAt(emitted.values, 1)];
  const [dtype, other] = values.map((value) => program.dtypeOf(value));
  return {
    measures: { tensor: name, emitted, measures: [{ kind: 'difference', a, b, numbers, equalBlocks }] },
    isOneDtype: dtype === other,
  };
};

/** Returns a predicate: true if both sources are the same range of one inode. */
const sharing = async (inputs: InputFiles) => {
  const known = new Map<string, Promise<string>>();
  const fileOf = (source: StoredTensor): Promise<string> => {
    const path = inputs.pathOf(source);
    const file = known.get(path) ?? inodeOf(inputs.fdOf(source));
    known.set(path, file);
    return file;
  };
  return async ([a, b]: PlannedComparison['sources']): Promise<boolean> =>
    isStored(a) &&
    isStored(b) &&
    a.begin === b.begin &&
    a.end === b.end &&
    a.dtype === b.dtype &&
    (await fileOf(a)) === (await fileOf(b));
};

const inodeOf = async (fd: number): Promise<string> => {
  const { dev, ino } = await promisify(fstat)(fd, { bigint: true });
  return `${dev} ${ino}`;
};

/** Returns the equal blocks of a floating-point tensor that differs elsewhere; their norm is missing. */
const blocksWithoutNorm = ({ planned, blocks, found, isOneDtype }: Comparing): ElementRange[] => {
  if (!planned.numbers || !isOneDtype) return [];
  const isEqual = ({ index }: ElementRange) => numberOf(itemAt(found, index), 'otherBits') === 0;
  return blocks.every(isEqual) ? [] : blocks.filter(isEqual);
};

const bytesOfBlock = ({ planned, blocks }: Comparing, { count }: ElementRange): number =>
  (count / blocks.reduce((sum, block) => sum + block.count, 0)) * bytesOf(planned);

const numberOf = (found: Float64Array, number: DifferenceNumber): number =>
  itemAt(found, differenceNumbers.indexOf(number));

const together = (blocks: readonly Float64Array[]): Readonly<Record<DifferenceNumber, number>> => {
  const combine = (number: DifferenceNumber): number => {
    const values = blocks.map((found) => numberOf(found, number));
    if (number === 'largest') return values.reduce((a, b) => Math.max(a, b), 0);
    if (number === 'first') return values.find((value) => value > 0) ?? 0;
    return values.reduce((a, b) => a + b, 0);
  };
  return Object.fromEntries(differenceNumbers.map((number) => [number, combine(number)])) as Record<
    DifferenceNumber,
    number
  >;
};
