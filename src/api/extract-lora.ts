import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { requireOut } from '../core/base/files/require-out.js';
import { isCount } from '../core/base/is-count.js';
import { doubtsOfBase } from '../core/measure/analysis/base-concerns.js';
import type { Choice } from '../core/measure/extraction/choose-tensors.js';
import type { ExtractionResult } from '../core/measure/extraction/extraction.js';
import { planExtraction } from '../core/measure/extraction/plan-extraction.js';
import { type ExtractionOptions, runExtraction } from '../core/measure/extraction/run-extraction.js';
import { bringModels } from '../core/models/sources/bring-models.js';
import { type FactorDtype, factorDtypes } from '../core/native/solve.js';
import { type DtypeName, parseDtype } from '../core/tensor/dtype.js';

export interface ExtractLoraParameters extends Choice {
  /** Model that the expert was fine-tuned from: a path, `org/name`, or `NAME=PATH`. */
  base: string;
  /** Expert, in the same form. */
  expert: string;
  /** Maximum rank of the factors, limited by a matrix's smaller extent. Required without `energy`. */
  rank?: number | undefined;
  /**
   * Share of ‖Δ‖²_F, above 0 and below 1. Each matrix gets the smallest rank that keeps it, up to `rank`,
   * whose default is then 128.
   */
  energy?: number | undefined;
  /**
   * Dtype of the factors: bfloat16, float16 or float32. Default: the dtype of the expert's weight, if it is
   * one of these, else float32.
   */
  dtype?: DtypeName | undefined;
  /** Random seed; equal seeds give equal bytes. Default 0. */
  seed?: number | undefined;
}

const mostOfEnergy = 128;

/**
 * Extracts a LoRA adapter for PEFT from an expert and its base. For each linear weight in attention and
 * feed-forward modules, a randomised singular value decomposition turns the change Δ = W_expert − W_base into
 * a low-rank product B·A. Each factor gets √σ, and alpha equals the rank.
 *
 * @example await extractLora({ base: './llama-3.1-8b', expert: './math-1', rank: 32 }, { out: './math-1-lora'
 *   })
 * @throws LayerloomError INVALID_PARAMETER, NOTHING_TO_EXTRACT, NON_FINITE, the codes of opening and
 *   comparing models, of an output, and of reading and writing
 */
export const extractLora = async (
  parameters: ExtractLoraParameters,
  options: ExtractionOptions,
): Promise<ExtractionResult> => {
  const { base, expert, rank, energy, dtype, seed = 0, ...choice } = parameters;
  for (const [parameter, value] of Object.entries({ base, expert }))
    if (typeof value !== 'string' || value === '')
      throw invalidParameter(
        parameter,
        value ?? null,
        parameter === 'base' ? 'the model that the expert was fine-tuned from' : 'the fine-tuned model',
      );
  if (rank === undefined && energy === undefined)
    throw invalidParameter(
      'rank',
      null,
      'the rank of the factors, or `energy`, the share of the change to keep',
    );
  const most = rank ?? mostOfEnergy;
  if (!Number.isInteger(most) || most < 1 || most > 4096)
    throw invalidParameter('rank', rank, 'a whole number from 1 to 4096');
  if (energy !== undefined && !(energy > 0 && energy < 1))
    throw invalidParameter('energy', energy, 'a number above 0 and below 1');
  if (!isCount(seed)) throw invalidParameter('seed', seed, 'a whole number, 0 or more');
  const wanted = { rank: most, energy, dtype: factorDtypeOf(dtype), seed };
  requireOut(options);
  const fetched = await bringModels([base, expert], options);
  const plan = await planExtraction({ base, expert }, choice, wanted);
  const result = await runExtraction(plan, options);
  const doubts = await doubtsOfBase(plan.base, [plan.expert], options);
  return { ...result, warnings: [...fetched, ...result.warnings, ...doubts] };
};

const factorDtypeOf = (name: DtypeName | undefined): FactorDtype | undefined => {
  if (name === undefined) return undefined;
  const parsed = parseDtype(name);
  const found = factorDtypes.find((one) => one === parsed);
  if (found === undefined) throw invalidParameter('dtype', name, 'bfloat16, float16 or float32');
  return found;
};
