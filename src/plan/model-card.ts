import { join } from 'node:path';
import { Document, isScalar, isSeq, parse, stringify, visit } from 'yaml';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/json.js';
import { readSideFile } from '../checkpoint/small-file.js';
import { version } from '../version.js';
import { drawChart } from './layer-chart-text.js';
import type { LayerPicture } from './layer-picture.js';
import { type Origin, rangeText, wordsOf } from './origins.js';

export interface CardContent {
  readonly title: string;
  readonly method: string;
  readonly tags: readonly string[];
  /** Every model of the recipe with its role, base included. */
  readonly models: readonly NamedModel[];
  /** The checkpoints that the merge reads, those of nested recipes included. */
  readonly inputs: readonly CheckpointIndex[];
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly picture: LayerPicture;
}

/** A model of a recipe with its role: a checkpoint, or a nested recipe. */
export interface NamedModel {
  readonly role: string;
  readonly checkpoint: CheckpointIndex;
  readonly recipe?: Readonly<Record<string, unknown>>;
}

/**
 * Returns the README.md of a merged checkpoint: the hub's front matter, a table of the layers' origins, and
 * the recipe.
 */
export const writeModelCard = async ({
  title,
  method,
  tags,
  models,
  inputs,
  recipe,
  picture,
}: CardContent): Promise<string> => {
  const names = [...new Set(models.map(({ checkpoint }) => checkpoint.name))];
  const frontMatter = {
    base_model: [...new Set(inputs.map(({ name }) => name))],
    base_model_relation: 'merge',
    library_name: 'transformers',
    tags: ['merge', 'layerloom', ...tags],
    ...(await commonLicence(inputs)),
  };
  return [
    '---',
    stringify(frontMatter).trimEnd(),
    '---',
    '',
    `# ${title} of ${names.join(' and ')}`,
    '',
    `Merged with layerloom ${version}.`,
    '',
    ...describeLayers(picture),
    '',
    'Recipe:',
    '',
    '```yaml',
    recipeYaml({ method, ...rolesOf(models), ...recipe }),
    '```',
    '',
  ].join('\n');
};

/** Returns a table of the layers' origins; where numbers vary over layers, a chart of them. */
const describeLayers = ({ chart, layers, origins }: LayerPicture): string[] => {
  const table = (rows: readonly Origin[]) => [
    '| layers | from |',
    '| --- | --- |',
    ...rows.map((origin) => `| ${rangeOf(origin.layers)} | ${wordsOf(origin)} |`),
  ];
  if (chart === null) return table(origins.toReversed());
  const outside = origins.filter(({ layers: range }) => range === null);
  return [
    ...['```text', drawChart(chart, layers), '```'],
    ...(outside.length === 0 ? [] : ['', ...table(outside)]),
  ];
};

const rangeOf = (layers: Origin['layers']): string =>
  layers === null ? 'outside the layers' : rangeText(layers);

/** Formats a recipe as YAML, with lists of numbers on one line. */
const recipeYaml = (recipe: Record<string, unknown>): string => {
  const document = new Document(recipe);
  visit(document, {
    Seq: (_key, node) => {
      if (isSeq(node) && node.items.every((item) => isScalar(item) && typeof item.value === 'number'))
        node.flow = true;
    },
  });
  return document.toString({ flowCollectionPadding: false }).trimEnd();
};

/**
 * Returns a recipe's models under their keys: `models` is a list, other roles are keys of their own, nested
 * recipes are inlined.
 */
export const rolesOf = (models: readonly NamedModel[]): Record<string, unknown> => {
  const named = ({ checkpoint, recipe }: NamedModel) => recipe ?? checkpoint.name;
  const merged = models.filter(({ role }) => role === 'model').map(named);
  const others = models.filter(({ role }) => role !== 'model').map((model) => [model.role, named(model)]);
  return { ...(merged.length === 0 ? {} : { models: merged }), ...Object.fromEntries(others) };
};

/** Returns the licence of the inputs' model cards, if all name the same one. */
const commonLicence = async (checkpoints: readonly CheckpointIndex[]): Promise<{ license?: string }> => {
  const licences = new Set(await Promise.all(checkpoints.map(licenceOf)));
  const [licence] = licences;
  return licences.size === 1 && licence !== undefined ? { license: licence } : {};
};

const licenceOf = async ({ path, sideFiles }: CheckpointIndex): Promise<string | undefined> => {
  if (sideFiles.length === 0) return undefined;
  const card = (await readSideFile(join(path, 'README.md')).catch(() => '')).toString();
  const frontMatter = /^---\r?\n(?<yaml>.*?)\r?\n---/s.exec(card)?.groups?.['yaml'];
  try {
    const value: unknown = frontMatter === undefined ? undefined : parse(frontMatter);
    const licence = isObject(value) ? value['license'] : undefined;
    return typeof licence === 'string' ? licence : undefined;
  } catch {
    // Front matter that is not YAML names no licence, and nothing else is read from the card.
    return undefined;
  }
};
