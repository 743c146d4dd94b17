import * as z from 'zod';
import { type Given, type InFile, setting } from '../../core/base/errors/setting.js';

/** Node's longest timer in seconds; Node treats larger values as 0. */
const mostSeconds = 2_147_483;

const scalar = z.union([z.string(), z.number(), z.boolean()]);

const samplingSchema = z.strictObject({
  temperature: z.number().positive(),
  top_p: z.number().positive().max(1).exactOptional(),
  top_k: z.int().min(1).exactOptional(),
  min_p: z.number().positive().max(1).exactOptional(),
});

export type Sampling = z.output<typeof samplingSchema>;

const byTask = <Value extends z.ZodType>(value: Value) => z.union([value, z.record(z.string(), value)]);

export const evaluationSchema = z.strictObject({
  tasks: setting(z.record(z.string(), z.union([z.string().min(1), z.array(z.string().min(1)).min(1)])), {
    meaning: 'By language: a [task of the harness](#tasks), or a list of tasks.',
    expected: "languages, each with the harness's task or a list of tasks",
  }),
  benchmarks: setting(
    z
      .record(
        z.string().min(1),
        z.strictObject({
          tasks: z.array(z.string().min(1)).min(1),
          metric: z.string().min(1).exactOptional(),
        }),
      )
      .default({}),
    {
      meaning:
        'Benchmarks of your own by name: their `tasks`, one in each language, and optionally the `metric` (`exact_match,none`) that scores them. [Tables](#tasks-of-your-own) treat them as MGSM.',
      expected: 'names, each with tasks and optionally a metric',
      otherwise: 'a benchmark for each task',
    },
  ),
  everyLanguage: setting(z.boolean().default(false), {
    meaning: 'Measure every model in every language, not only in its own.',
  }),
  fewshot: setting(byTask(z.int().min(0)).optional(), {
    meaning:
      'Worked examples before each problem: one number, or a number for each task. Perplexity and FLORES tasks always have 0.',
    expected: 'a whole number, 0 or more, or one for each task',
    otherwise: "the task's own",
  }),
  limit: setting(z.int().min(1).optional(), {
    meaning: 'Number of problems to score in each task, from the first.',
    otherwise: 'all',
  }),
  problems: setting(byTask(z.string().regex(/^\d+-\d+$/)).optional(), {
    meaning:
      'Rows to score, from the first to the last, counted from 0: `200-249`, or a range for each task. Not with `limit`.',
    expected: 'a range of rows such as 200-249, or a range for each task',
    otherwise: 'all',
  }),
  selectedBy: setting(z.record(z.string(), z.string().regex(/^(\d+-\d+|all)$/)).optional(), {
    meaning:
      'Tasks by whose scores the experts were selected, with the rows used (`0-49`, or `all`). `experiment init --selection` writes it. Tables, reports and model cards say that scores on these rows are too high.',
    expected: 'tasks with rows, such as 0-49, or all',
    otherwise: 'none',
  }),
  maxTokens: setting(z.int().min(1).optional(), {
    meaning: 'Maximum tokens in an answer.',
    otherwise: "the task's own",
  }),
  sampling: setting(z.union([samplingSchema, z.record(z.string(), samplingSchema)]).optional(), {
    meaning:
      'Sample answers instead of decoding greedily: `temperature`, and optionally `top_p`, `top_k` and `min_p`; or such settings for each [task](#sampled-answers).',
    expected: 'temperature, top_p, top_k and min_p, or such settings for each task',
    otherwise: 'greedy',
  }),
  repeats: setting(byTask(z.int().min(1).max(1000)).default(1), {
    meaning:
      'Answers to each problem, each with another seed, for tasks with `sampling`: one number, or one for each task.',
    expected: 'a whole number, 1 to 1000, or one for each task',
  }),
  seed: setting(z.union([z.int(), z.string()]).default('0,1234,1234,1234'), {
    meaning: "The harness's four seeds (Python, NumPy, torch, few-shot examples), or one for all.",
    expected: 'a number, or four separated by commas: 0,1234,1234,1234',
  }),
  backend: setting(z.string().min(1).default('hf'), {
    meaning: "The harness's model type: `hf`, `vllm`, `local-completions`, …",
    expected: 'a model type of lm_eval: hf, vllm, local-completions',
  }),
  modelArgs: setting(z.record(z.string(), scalar).default({}), {
    meaning: 'More arguments for the back end: `{dtype: bfloat16}`.',
    expected: 'names and values: {dtype: bfloat16}',
  }),
  baseUrl: setting(z.union([z.url(), z.array(z.url()).min(1)]).optional(), {
    meaning: 'URL of a [running server](#servers), or a list to divide among jobs.',
    expected: 'the URL of a server, http://localhost:8000/v1, or a list of URLs',
  }),
  serve: setting(z.string().min(1).optional(), {
    meaning:
      'Command that starts a server for a checkpoint: `{model}`, `{name}` and `{port}` are replaced. Not with `base_url`.',
    expected: 'a command, with {model} and {port}',
  }),
  exchange: setting(z.enum(['vllm', 'sglang']).optional(), {
    meaning:
      'Use one server for all models and [replace its weights](#a-server-for-all-models) for each: `vllm` or `sglang`.',
    expected: 'a kind of server whose weights can be replaced: vllm or sglang',
    otherwise: 'a server for each model',
  }),
  fingerprint: setting(z.enum(['samples', 'whole']).default('samples'), {
    meaning:
      'How to check the weights in [a process](#a-process-for-all-models) or [a server](#a-server-for-all-models): `samples` of loaded tensors, or `whole`.',
    expected: 'samples or whole',
  }),
  serveTimeout: setting(z.number().positive().max(mostSeconds).default(600), {
    meaning: 'Seconds that a server has to start.',
    expected: `a number of seconds, at most ${mostSeconds}`,
  }),
  batchSize: setting(z.union([z.int().min(1), z.string().regex(/^auto(:\d+)?$/)]).default(1), {
    meaning: 'A number, `auto`, or `auto:N`.',
    expected: 'a whole number, 1 or more, or auto',
  }),
  device: setting(z.string().optional(), {
    meaning: '`cpu`, `cuda:0`.',
    expected: 'a device: cpu, cuda:0',
    otherwise: "the harness's",
  }),
  devices: setting(z.array(z.union([z.string(), z.int()])).default([]), {
    meaning: 'GPUs to divide among jobs, one for each, by `CUDA_VISIBLE_DEVICES`: `[0, 1]`.',
    expected: 'a list of GPUs: [0, 1]',
  }),
  arguments: setting(z.array(scalar).default([]), {
    meaning: 'More arguments for `lm_eval run`: `[--apply_chat_template]`.',
    expected: 'a list of arguments of lm_eval run',
  }),
  confirmRunUnsafeCode: setting(z.boolean().default(false), {
    meaning: 'Consent to tasks that run programs written by models, with your permissions (MBPP).',
  }),
  data: setting(z.string().min(1).optional(), {
    meaning: 'Directory of local data for [tasks that can read it](#local-data).',
    expected: 'a directory',
    otherwise: 'the hub',
  }),
  include: setting(z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(), {
    meaning: 'Directory of [task files of your own](#tasks-of-your-own), or a list of directories.',
    expected: 'a directory with task files of lm_eval, or a list of directories',
  }),
  timeout: setting(z.number().positive().max(mostSeconds).optional(), {
    meaning: 'Maximum seconds for a run of the harness.',
    expected: `a number of seconds, at most ${mostSeconds}`,
  }),
  jobs: setting(z.int().min(1).optional(), {
    meaning: 'Models scored at once; `--jobs` overrides it.',
    otherwise: '`1`; with a list of `base_url`, one for each server',
  }),
  harness: setting(z.literal('lm-eval').optional(), {
    meaning:
      '`evaluate` runs only this harness. A block for another one is copied unchecked, for other programs.',
    expected: 'lm-eval',
    otherwise: '`lm-eval`',
  }),
});

/** `evaluate:` of an experiment that is given as an object. Files use snake case. */
export type Evaluation = Given<z.input<typeof evaluationSchema>>;

export type ComparedShare = z.output<typeof evaluationSchema>['fingerprint'];

export type WeightServerKind = NonNullable<Evaluation['exchange']>;

/** `evaluate:` in an experiment's file. */
export type EvaluationBlock = Partial<InFile<Evaluation>> & { readonly [key: string]: unknown };
