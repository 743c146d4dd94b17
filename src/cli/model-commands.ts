import type { Command } from 'commander';
import type { Adapter } from '../adapter/adapter.js';
import { openAdapter } from '../adapter/open-adapter.js';
import { openModel } from '../adapter/open-model.js';
import { splitAdapter } from '../checkpoint/adapter-text.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { LayerloomError } from '../errors.js';
import { bringModels } from '../hub/bring-models.js';
import { describeCheckpoint, summariseCheckpoint } from '../report/inspect.js';
import { describeAdapter, summariseAdapter } from '../report/inspect-adapter.js';
import type { AnalyzeCliOptions } from './analyze.js';
import { addExamples, commandGroups, optionGroups, optionOf } from './help.js';
import {
  addOutputOptions,
  downloadOption,
  modelWords,
  type OutputOptions,
  threadsOption,
  toNumber,
} from './options.js';
import { printJson, printLine, warn } from './print.js';

type InspectOptions = OutputOptions & { readonly download?: boolean };

/** Adds `layerloom inspect`. */
export const addInspect = (program: Command): void => {
  const command = program
    .command('inspect')
    .helpGroup(commandGroups.looking)
    .description('show architecture, layers, dtypes, parameters, shards and sizes')
    .argument('<checkpoint>', modelWords)
    .addOption(downloadOption('the headers of a model that is not here'));
  addOutputOptions(command).action(async (model: string, options: InspectOptions) => {
    const { json, quiet, download } = options;
    const fetched = await bringModels([model], { download: download && 'headers' });
    if (!quiet) fetched.forEach(warn);
    const { checkpoint, adapter } = await openForInspection(model);
    const summary = checkpoint === undefined ? undefined : summariseCheckpoint(checkpoint);
    const ofAdapter = adapter === undefined ? undefined : summariseAdapter(adapter);
    if (json)
      printJson(summary === undefined ? ofAdapter : { ...summary, ...(ofAdapter && { adapter: ofAdapter }) });
    else if (!quiet) {
      summary?.warnings.forEach(warn);
      const texts = [summary && describeCheckpoint(summary), ofAdapter && describeAdapter(ofAdapter)];
      printLine(texts.filter((text) => text !== undefined).join('\n\n'));
    }
  });
  addExamples(command, [
    ['layerloom inspect ./math-1', 'read the headers of a checkpoint'],
    ['layerloom inspect ./math-1/model.safetensors --json', 'one file, as JSON'],
    ['layerloom inspect ./math-lora', 'an adapter: ranks, scales and modules'],
  ]);
};

/** Opens a model, its adapter too where it has one, or an adapter by itself. */
const openForInspection = async (
  model: string,
): Promise<{ readonly checkpoint?: CheckpointIndex; readonly adapter?: Adapter }> => {
  try {
    const checkpoint = await openModel(model);
    const parts = await splitAdapter(model);
    return { checkpoint, ...(parts === undefined ? {} : { adapter: await openAdapter(parts.adapter) }) };
  } catch (error) {
    if (!(error instanceof LayerloomError) || error.code !== 'ADAPTER_WITHOUT_BASE') throw error;
    return { adapter: await openAdapter(model) };
  }
};

/** Adds `layerloom analyze`. */
export const addAnalyze = (program: Command): void => {
  const command = program
    .command('analyze')
    .helpGroup(commandGroups.looking)
    .description('show which layers and matrices fine-tuning changed: tables, pictures and a page')
    .argument('[expert...]', 'experts: each a model, or NAME=MODEL; not needed with --from')
    .addOption(
      optionOf('--base <model>', 'the model that the experts were fine-tuned from', {
        required: 'unless --from',
      }),
    )
    .addOption(
      optionOf('--from <file...>', 'NAME.mav.safetensors of earlier analyses, read instead of weights'),
    )
    .addOption(
      optionOf(
        '--threshold <t>',
        'rows whose MAV is above it count as changed; auto: what a third of the rows exceed',
        { parse: toNumber, default: '1e-5' },
      ),
    )
    .addOption(
      optionOf('--rows <which>', 'rows are input or output features', {
        choices: ['input', 'output'],
        default: 'input',
      }),
    )
    .addOption(
      optionOf('--bottom <n>', 'number of first layers in the summary', { parse: toNumber, default: '5' }),
    )
    .addOption(
      optionOf('--top <n>', 'number of last layers in the summary', { parse: toNumber, default: '2' }),
    )
    .addOption(optionOf('--compare <csv...>', 'published tables to draw beside the experts'))
    .addOption(
      optionOf('--allow-non-finite', 'leave out rows with a NaN or an infinity, instead of refusing them'),
    )
    .addOption(
      optionOf('-o, --out <dir>', 'directory for the files', { required: true, group: optionGroups.output }),
    )
    .addOption(downloadOption())
    .addOption(threadsOption());
  addOutputOptions(command).action(async (experts: string[], options: AnalyzeCliOptions) => {
    // Loaded on demand: other commands need no pages and pictures.
    const { analyzeCommand } = await import('./analyze.js');
    await analyzeCommand(experts, options);
  });
  addExamples(command, [
    [
      'layerloom analyze --base ./llama-3.1-8b ./math-1 ./swh-1 -o ./analysis',
      'compare two experts with their base',
    ],
    [
      'layerloom analyze --from ./analysis/math-1.mav.safetensors --threshold auto -o ./analysis-auto',
      'draw an earlier analysis with another threshold, without reading weights',
    ],
  ]);
};
