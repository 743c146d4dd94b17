import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { isObject } from '../checkpoint/files/json.js';

/**
 * Order of the columns of a `lora_B` that several experts share. `rank_major`: the experts of a rank are
 * adjacent, as in PEFT. `grouped_by_expert`: the ranks of an expert are adjacent, as Unsloth trained until
 * September 2026 (unsloth-zoo#1269).
 */
export type ExpertPacking = z.output<typeof packing>;

const packing = z.enum(['rank_major', 'grouped_by_expert']);

/** Unsloth's keys of `adapter_config.json` for this order. */
export const packingKeys = {
  lora_B_layout: packing.nullish(),
  unsloth_fused_expert_lora: z
    .looseObject({ parameters: z.record(z.string(), z.looseObject({ lora_B_layout: packing })).nullish() })
    .nullish(),
};

/**
 * Returns the order; undefined if Unsloth wrote the adapter without these keys, because it used both.
 *
 * @throws ADAPTER_UNSUPPORTED if parameters have different orders
 */
export const packingOf = (
  { lora_B_layout: stated, unsloth_fused_expert_lora: detail }: z.output<z.ZodObject<typeof packingKeys>>,
  raw: Readonly<Record<string, unknown>>,
  file: string,
): ExpertPacking | undefined => {
  const ofParameters = Object.values(detail?.parameters ?? {}).map((one) => one.lora_B_layout);
  const [found, other] = new Set([...(stated ? [stated] : []), ...ofParameters]);
  if (other !== undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: 'lora_B_layout',
      reason: `says ${found} and ${other}, and one order is read`,
    });
  const mapping = raw['auto_mapping'];
  const isOfUnsloth = isObject(mapping) && mapping['unsloth_fixed'] === true;
  return found ?? (isOfUnsloth ? undefined : 'rank_major');
};
