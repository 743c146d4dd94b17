import * as z from 'zod';

// The parts of the harness's output that layerloom uses. Results are untrusted: others may have made them.

/** Name that becomes part of file names. */
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^/\p{Cc}]+$/u, 'a name of a task, without slashes');
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const place = z.string().nullish();
const rows = z.int().min(0);

const config = z.object({
  model: z.string().nullish(),
  model_args: z.union([z.string(), z.looseObject({ pretrained: place, model: place })]).nullish(),
  // A number of rows; below 1, a share of the rows.
  limit: z
    .number()
    .positive()
    .refine((limit) => limit < 1 || Number.isSafeInteger(limit), 'a number of rows, or a share of them')
    .nullish(),
  gen_kwargs: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
  random_seed: scalar.optional(),
  numpy_seed: scalar.optional(),
  torch_seed: scalar.optional(),
  fewshot_seed: scalar.optional(),
});

export const resultsSchema = z.object({
  config,
  results: z.record(name, z.record(z.string(), z.unknown())),
  group_subtasks: z.record(name, z.array(name)).nullish(),
  versions: z.record(z.string(), scalar).nullish(),
  'n-shot': z.record(z.string(), scalar).nullish(),
  'n-samples': z
    .record(z.string(), z.object({ original: rows.nullish(), effective: rows.nullish() }))
    .nullish(),
  higher_is_better: z.record(z.string(), z.record(z.string(), z.boolean().nullable()).nullish()).nullish(),
  date: z.union([z.number(), z.string()]).nullish(),
  lm_eval_version: scalar.optional(),
  total_evaluation_time_seconds: z.union([z.number(), z.string()]).nullish(),
  model_name: z.string().nullish(),
  chat_template_sha: z.string().nullish(),
  system_instruction_sha: z.string().nullish(),
  fewshot_as_multiturn: z.boolean().nullish(),
});

export type HarnessResults = z.infer<typeof resultsSchema>;
export type HarnessConfig = HarnessResults['config'];

/** Line of `samples_*.jsonl`. Further keys are metrics. */
export const sampleSchema = z.looseObject({
  doc_id: rows,
  metrics: z.array(z.string()),
  filter: z.string().nullish(),
});

export const sampleHashesSchema = z.object({
  doc_hash: z.string(),
  prompt_hash: z.string(),
  target_hash: z.string(),
});
