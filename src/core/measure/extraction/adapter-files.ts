import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { emptyTable, groupBy, valueAt } from '../../base/errors/lookup.js';
import { version } from '../../base/files/version.js';
import { writing } from '../../base/files/writing.js';
import { keptValue } from '../../base/way.js';
import { writeDurably } from '../../engine/output/durable.js';
import { recordOf, type ShardRecord } from '../../engine/output/record/provenance.js';
import { sealedText } from '../../engine/output/record/record-seal.js';
import { adapterConfigName, adapterConfigText } from '../../models/adapters/peft-config.js';
import { cardName, provenanceName } from '../../models/checkpoint/files/file-names.js';
import { sideFileContent } from '../../models/checkpoint/side-file-content.js';
import { isTokenizerFile } from '../../models/checkpoint/side-files.js';
import { mergedLicence } from '../../plan/card/licences.js';
import { fenced, markdownText, tableRow } from '../../plan/card/markdown.js';
import type { PlannedInput } from '../../plan/plan.js';
import { moduleOf } from './choose-tensors.js';
import type { Extraction } from './extraction.js';
import { loadedNames } from './loaded-name.js';
import type { ExtractionPlan } from './plan-extraction.js';

export const extractionName = 'extract-lora.json';

export const extractionMethod = 'extract_lora';

interface Provenance {
  readonly layerloom: string;
  readonly method: string;
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly inputs: readonly PlannedInput[];
  readonly shards: readonly ShardRecord[];
}

/**
 * Writes an adapter's files, the provenance last.
 *
 * @throws WRITE_FAILED
 */
export const writeAdapterFiles = async (
  plan: ExtractionPlan,
  extraction: Extraction,
  provenance: Provenance,
  directory: string,
): Promise<void> => {
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    const file = join(directory, name);
    await writing(file, () => writeDurably(file, content));
  };
  const { checkpoint } = plan.expert;
  const ofTokenizer = plan.vocabulary.length === 0 ? [] : checkpoint.sideFiles.filter(isTokenizerFile);
  const contents: (readonly [string, Uint8Array])[] = [];
  for (const name of ofTokenizer) contents.push([name, await sideFileContent(checkpoint, name)]);
  const beside = [
    [adapterConfigName, configOf(plan, extraction)],
    [extractionName, `${JSON.stringify(extraction, keptValue, 2)}\n`],
    [cardName, await cardOf(plan, extraction)],
    ...contents,
  ] as const;
  for (const [name, text] of beside) await write(name, text);
  const sideFiles = beside.map(([name, text]) => recordOf(name, text));
  const files = [...provenance.shards, ...sideFiles, { file: provenanceName }].map(({ file }) => file);
  const inputs = provenance.inputs.map(({ files: ofInput, ...input }) => ({
    ...input,
    files: ofInput.map(({ path, bytes, mtimeNs, header }) => ({
      file: basename(path),
      bytes,
      mtimeNs,
      header,
    })),
  }));
  await write(provenanceName, sealedText({ ...provenance, inputs, sideFiles, files }));
};

const configOf = (
  { base, expert, saved, vocabulary, factors }: ExtractionPlan,
  { tensors }: Extraction,
): string => {
  const rank = tensors.reduce((most, tensor) => Math.max(most, tensor.rank), 0);
  const loaded = loadedNames(expert.checkpoint.config);
  const nameOf = (tensor: string): string => loaded(moduleOf(tensor));
  const ranks = new Map(tensors.map((tensor) => [nameOf(tensor.name), tensor.rank]));
  const linear = groupBy(
    [...expert.checkpoint.tensors]
      .filter(([name, { shape }]) => name.endsWith('.weight') && shape.length === 2)
      .map(([name]) => nameOf(name)),
    leafOf,
  );
  const targets: string[] = [];
  const pattern = emptyTable<number>();
  for (const [leaf, modules] of groupBy(ranks.keys(), leafOf)) {
    // True if all modules with this last name have factors.
    const isAll = (linear.get(leaf) ?? []).every((module) => ranks.has(module));
    targets.push(...(isAll ? [leaf] : modules));
    const found = new Set(modules.map((module) => ranks.get(module)));
    if (isAll && found.size === 1) {
      const [one = rank] = found;
      if (one !== rank) pattern[leaf] = one;
    } else
      for (const module of modules)
        if (ranks.get(module) !== rank) pattern[module] = ranks.get(module) ?? rank;
  }
  return adapterConfigText({
    base: base.checkpoint.hub?.id ?? base.checkpoint.path,
    rank,
    alpha: rank,
    fanInFanOut: factors.some(({ transposed, embedding }) => transposed && !embedding),
    taskType: taskTypeOf(expert.checkpoint.config),
    targetModules: targets,
    rankPattern: pattern,
    // Alpha equals each module's rank, so that PEFT applies B·A unscaled.
    alphaPattern: pattern,
    // Leaves out embeddings of another size, which PEFT loads even if they are not named.
    modulesToSave: [
      ...new Set(saved.filter(({ name }) => !vocabulary.includes(name)).map(({ name }) => nameOf(name))),
    ],
  });
};

/** Returns CAUSAL_LM for decoders that generate text. Other models lack methods that PEFT's tasks need. */
const taskTypeOf = (config: Readonly<Record<string, unknown>> | undefined): string | null => {
  const { architectures, is_encoder_decoder: hasEncoder } = config ?? {};
  const [name] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  if (typeof name !== 'string') return 'CAUSAL_LM';
  return hasEncoder !== true && /(ForCausalLM|ForConditionalGeneration|LMHeadModel)$/.test(name)
    ? 'CAUSAL_LM'
    : null;
};

const leafOf = (module: string): string => module.slice(module.lastIndexOf('.') + 1);

const cardOf = async (
  { base, expert, vocabulary, wanted }: ExtractionPlan,
  { error, kept, tensors, saved, leftOut }: Extraction,
): Promise<string> => {
  const checkpoints = [base.checkpoint, expert.checkpoint];
  const { frontMatter: licence, text: licences } = await mergedLicence(checkpoints);
  const { hub } = base.checkpoint;
  const ranks = tensors.map((tensor) => tensor.rank);
  const [least, most] = [Math.min(...ranks), Math.max(...ranks)];
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const names = markdownText(`${expert.checkpoint.name} from ${base.checkpoint.name}`);
  const rows = [
    ['rank', least === most ? String(most) : `${least} to ${most}`],
    ['matrices', String(tensors.length)],
    ['error, ‖Δ − B·A‖ / ‖Δ‖', percent(error)],
    ["kept of the model's ‖Δ‖²", percent(kept)],
    ['saved whole', saved.length === 0 ? 'none' : String(saved.length)],
    ['changed and left out', leftOut.length === 0 ? 'none' : String(leftOut.length)],
  ];
  return [
    '---',
    stringify({
      ...(hub === undefined ? {} : { base_model: hub.id, base_model_relation: 'adapter' }),
      library_name: 'peft',
      tags: ['lora', 'layerloom'],
      ...licence,
    }).trimEnd(),
    '---',
    '',
    `# LoRA adapter of ${names}`,
    '',
    `The change of the weights, W_expert − W_base, as a product of low rank for each matrix: extracted with layerloom ${version}${wanted.energy === undefined ? '' : `, to keep ${percent(wanted.energy)} of each matrix's ‖Δ‖²`}. \`${extractionName}\` has the figures of each matrix.`,
    '',
    '| | |',
    '| --- | --- |',
    ...rows.map(([what = '', value = '']) => tableRow(what, value)),
    '',
    ...(licences.length === 0 ? [] : ['## Licences', '', ...licences, '']),
    '## Use',
    '',
    ...fenced(
      'python',
      [
        'from peft import PeftModel',
        'from transformers import AutoModelForCausalLM',
        '',
        `base = AutoModelForCausalLM.from_pretrained(${JSON.stringify(hub?.id ?? base.checkpoint.name)}, torch_dtype="auto")`,
        ...vocabulary
          .slice(0, 1)
          .map(
            (name) => `base.resize_token_embeddings(${valueAt(expert.checkpoint.tensors, name).shape[0]})`,
          ),
        'model = PeftModel.from_pretrained(base, ".")  # this folder, or the name of the adapter on the hub',
      ].join('\n'),
    ),
    '',
  ].join('\n');
};
