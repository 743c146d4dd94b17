import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { BlockMeasurer } from '../../engine/compute/measures/measure.js';
import { runReductions } from '../../engine/compute/measures/reduce.js';
import type { InputFiles } from '../../engine/input-files.js';
import type { Run, RunControls } from '../../engine/run.js';
import { Program } from '../../methods/operations/program/program.js';
import { lowerOperand } from '../../plan/operands.js';
import type { ExtractionPlan, PlannedNorm } from './plan-extraction.js';

/** Returns ‖Δ‖²_F, from float64 sums of float32 differences. */
export const squaresOf = async (
  { pool }: Run,
  inputs: InputFiles,
  { name, shape, change }: PlannedNorm,
): Promise<number> => {
  const program = new Program(shape);
  if (program.elements === 0) return 0;
  // Ignores NaN and infinity, which the caller reports for all tensors together.
  const measurer = new BlockMeasurer(pool, inputs, name, () => undefined);
  const value = await lowerOperand(change, { tensor: name, program, measurer });
  return itemAt(await measurer.gram(program, [value]), 0);
};

/** Counts NaN and infinity in each model and returns the error. */
export const nonFiniteError = async (
  { inputs, base, expert }: ExtractionPlan,
  tensors: readonly PlannedNorm[],
  options: RunControls,
): Promise<LayerloomError<'NON_FINITE'>> => {
  const models = [base, expert];
  const found = await runReductions(
    {
      inputs,
      pairs: false,
      tensors: tensors.map(({ name, shape, base: before, expert: after }) => {
        const rows = shape.slice(0, -1).reduce((product, extent) => product * extent, 1);
        return {
          ...{ name, shape: [rows, shape.at(-1) ?? 1] as const, rows: 'output' as const, base: before },
          experts: [{ kind: 'tensor' as const, tensor: after }],
        };
      }),
    },
    options,
    ({ nonFinite }) => nonFinite,
  );
  return new LayerloomError('NON_FINITE', {
    tensors: tensors.flatMap(({ name }, index) =>
      itemAt(found.tensors, index).flatMap((count, model) =>
        count === 0 ? [] : [{ tensor: name, model: itemAt(models, model).checkpoint.name, count }],
      ),
    ),
    remedy: 'mend the checkpoint',
  });
};
