import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import type { RunControls } from '../core/engine/run.js';
import { compareModels } from '../core/measure/comparison/compare-models.js';
import type { Comparison } from '../core/measure/comparison/comparison.js';
import { openPair } from '../core/measure/comparison/open-pair.js';
import { reportQuantisation } from '../core/measure/quantisation/quantisation-report.js';
import { matches } from '../core/methods/framework/match-names.js';
import { checkQuantising, type QuantisingName } from '../core/models/quantisation/quantising.js';
import { readGivenConfig } from '../core/models/reading/given-config.js';
import { bringModels } from '../core/models/sources/bring-models.js';

export interface DiffOptions extends RunControls {
  /** Compare only tensors with matching names; `*` stands for any text. Default: all. */
  only?: string | undefined;
  /** Compare only tensors; `sideFiles` is then empty. Default false. */
  weightsOnly?: boolean | undefined;
  /** Directory with `config.json` and tokenizer, or that file, for a model without one. */
  config?: string | undefined;
  /** Quantisation scheme: measure how much of the change from `a` to `b` remains after quantising both. */
  quantizeReport?: QuantisingName | undefined;
  /** File to write: a page (`.html`), a picture of layers and modules (`.svg`), or a table (`.csv`). */
  out?: string | undefined;
  /** Replace `out` even if layerloom did not write it; default false. */
  force?: boolean | undefined;
}

/**
 * Compares two checkpoints: which tensors and side files differ, and by how much. Tensors are matched by
 * name; shards and dtypes may differ. Numbers are the same with every instruction set and number of threads.
 * Equal bytes cost no arithmetic, and a file linked by both checkpoints is not read.
 *
 * @example const { equal, tensors } = await diff('./math-1', './merged')
 * @param a a directory, a file of weights, `org/name[@revision]` in the hub cache, or `NAME=MODEL`
 * @param b in the same form; relative differences are relative to `a`
 * @returns plain data; `equal` is true if all tensors, dtypes, shapes and bytes are the same
 * @throws LayerloomError NAMING_MISMATCH (Meta's names against Hugging Face's), INVALID_PARAMETER,
 * INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, OUTPUT_EXISTS, WRITE_FAILED, INTERRUPTED, the codes of
 * `openCheckpoint`
 */
export const diff = async (
  a: string,
  b: string,
  { only, weightsOnly = false, out, force = false, config, quantizeReport, ...controls }: DiffOptions = {},
): Promise<Comparison> => {
  // Loaded on demand, because only drawn comparisons need pages.
  const report =
    out === undefined ? undefined : await import('../study/pages/comparison/write-comparison.js');
  if (out !== undefined) report?.checkComparisonFile(out);
  const scheme = quantizeReport === undefined ? undefined : checkQuantising(quantizeReport);
  const wanted = (name: string): boolean => only === undefined || matches(name, only);
  const fetched = await bringModels([a, b], controls);
  const pair = await openPair(a, b, await readGivenConfig(config));
  const compared = await compareModels(pair, wanted, controls, weightsOnly);
  const comparison = { ...compared, warnings: [...fetched, ...compared.warnings] };
  if (comparison.tensors.length === 0)
    throw invalidParameter(
      'only',
      only,
      `a pattern of tensor names such as "*.mlp.*", with a match in ${comparison.a.path} or ${comparison.b.path}`,
    );
  if (out !== undefined) await report?.writeComparison(comparison, out, force);
  if (scheme === undefined) return comparison;
  return { ...comparison, quantised: await reportQuantisation(pair, scheme, wanted, controls) };
};
