import { stringify } from 'yaml';
import { layerloomCommand } from '../../base/errors/command-line.js';
import { version } from '../../base/files/version.js';
import { inWords } from '../../base/format.js';
import type { Citation } from '../../methods/framework/declaration/method.js';
import { recipeYaml } from '../../methods/recipe/document/recipe-yaml.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import type { CompleteRecipe } from '../complete-recipe.js';
import { adapterFrontMatter, adapterUsageText, usageFrontMatter, usageText } from './card-usage.js';
import { bibtexOf } from './citation.js';
import { drawChart } from './layer-chart-text.js';
import type { LayerPicture } from './layer-picture.js';
import { mergedLicence } from './licences.js';
import { fenced, markdownText, tableRow } from './markdown.js';
import { type Origin, rangeText, wordsOf } from './origins.js';

export interface CardContent {
  readonly title: string;
  readonly method: string;
  readonly tags: readonly string[];
  readonly citations: readonly Citation[];
  readonly plugins: readonly string[];
  /** Names of models in the output, including those of nested recipes. */
  readonly names: readonly string[];
  readonly inputs: readonly CheckpointIndex[];
  readonly recipe: CompleteRecipe;
  readonly notes: readonly string[];
  /** Notes on scores: sentences, the last without a full stop. */
  readonly scoreNotes: readonly string[];
  readonly picture: LayerPicture;
  readonly config: Readonly<Record<string, unknown>> | undefined;
  readonly sideFiles: readonly string[];
  /** An adapter's base, or null; absent for whole models. */
  readonly adapterOf?: string | null;
}

/** Writes a model card. It has no local paths, because it may be published. */
export const writeModelCard = async (content: CardContent): Promise<string> => {
  const { title, names, inputs, picture, config, sideFiles, adapterOf } = content;
  const { frontMatter: licence, text: licences } = await mergedLicence(inputs);
  const ids = new Set(inputs.flatMap(({ hub }) => (hub === undefined ? [] : [hub.id])));
  const frontMatter = {
    ...(adapterOf === undefined
      ? {
          ...(ids.size === 0 ? {} : { base_model: [...ids] }),
          base_model_relation: 'merge',
          ...usageFrontMatter(config),
        }
      : adapterFrontMatter(adapterOf)),
    tags: [...(adapterOf === undefined ? [] : ['lora']), 'merge', 'layerloom', ...content.tags],
    ...licence,
  };
  return [
    '---',
    stringify(frontMatter).trimEnd(),
    '---',
    '',
    `# ${markdownText(`${title} of ${inWords(names)}`)}`,
    '',
    `Merged with layerloom ${version}.`,
    '',
    ...describeLayers(picture),
    '',
    ...recipeText(content),
    ...(adapterOf === undefined ? usageText(config, sideFiles) : adapterUsageText(adapterOf)),
    ...(licences.length === 0 ? [] : ['## Licences', '', ...licences, '']),
    ...citationText(content.citations),
  ].join('\n');
};

const describeLayers = ({ chart, layers, origins }: LayerPicture): string[] => {
  const table = (rows: readonly Origin[]) => [
    '| layers | from |',
    '| --- | --- |',
    ...rows.map((origin) => tableRow(rangeOf(origin.layers), wordsOf(origin))),
  ];
  if (chart === null) return table(origins.toReversed());
  const outside = origins.filter(({ layers: range }) => range === null);
  return [
    ...fenced('text', drawChart(chart, layers)),
    ...(outside.length === 0 ? [] : ['', ...table(outside)]),
  ];
};

const rangeOf = (layers: Origin['layers']): string =>
  layers === null ? 'outside the layers' : rangeText(layers);

const recipeText = ({ recipe, notes, scoreNotes, plugins }: CardContent): string[] => [
  'Recipe:',
  '',
  ...fenced('yaml', recipeYaml(recipe)),
  '',
  ...(notes.length === 0 ? [] : [`Found from the models: ${markdownText(notes.join('; '))}.`, '']),
  ...scoreNotes.flatMap((note) => [`${markdownText(note)}.`, '']),
  `\`${layerloomCommand('merge', 'README.md', '-o', 'merged', ...(plugins.length === 0 ? [] : (['--plugin', 'FILE'] as const)))}\` merges this again, to the same bytes. A model that is written as \`./NAME\` must lie beside the recipe's file.`,
  ...(plugins.length === 0
    ? []
    : [
        '',
        `Not of layerloom itself: ${markdownText(plugins.join(', '))}. FILE is the module that registers it.`,
      ]),
  '',
];

const citationText = (citations: readonly Citation[]): string[] =>
  citations.length === 0
    ? []
    : ['## Citation', '', ...fenced('bibtex', citations.map(bibtexOf).join('\n\n')), ''];
