import { LayerloomError } from '../../../base/errors/errors.js';
import { optionName } from '../../../base/errors/option-name.js';
import type { Recipe } from '../../../methods/recipe/recipe.js';
import { layerDifferences } from '../../../models/architecture/layer-settings/differing.js';
import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import { namedChatTemplates, readChatTemplate } from '../../../models/tokenizer/chat-templates/read.js';
import { joined } from '../../../models/tokenizer/files/words.js';
import { type InVocabulary, tokenizerOf } from '../vocabularies/vocabulary.js';
import { checkCompatible, type Fit, warningOf } from './compatible.js';
import { at, type OpenedModel } from './models.js';
import type { Cached, PlanningSession } from './session.js';

export const refuseTwins = (models: readonly OpenedModel[]): void => {
  for (const [index, { role, checkpoint, operandOf, path }] of models.entries()) {
    // Compares one tensor only: each model has its own byte range or formula for it.
    const [name = ''] = checkpoint.tensors.keys();
    const source = operandOf(name);
    const twin = models
      .slice(0, index)
      .find(
        (other) =>
          other.role === role &&
          other.checkpoint.name === checkpoint.name &&
          JSON.stringify(other.operandOf(name)) === JSON.stringify(source),
      );
    if (twin !== undefined)
      throw at(
        new LayerloomError('NAME_CLASH', {
          name: checkpoint.name,
          paths: [twin.checkpoint.path, checkpoint.path],
        }),
        path,
      );
  }
};

/** Refuses models whose layers differ in settings, because a merge has one configuration. */
const checkLayers = (
  { checkpoint: a, architecture: { stacks, layers } }: OpenedModel,
  { checkpoint: b }: OpenedModel,
) => {
  if (a.config === undefined || b.config === undefined) return;
  const [one, other] = [a.config, b.config];
  const number = stacks.length === 1 ? layers : undefined;
  const differences = stacks.flatMap((stack) => layerDifferences(one, other, stack, number));
  if (differences.length > 0)
    throw new LayerloomError('CONFIG_MISMATCH', { first: a.path, other: b.path, differences });
};

const fits: Cached<Promise<Fit>> = { most: Number.POSITIVE_INFINITY };

const idOf = ({ checkpoint, configEdits, vocabulary }: OpenedModel): unknown[] => [
  checkpoint.path,
  checkpoint.name,
  vocabulary,
  configEdits,
];

/**
 * Checks every model against the first.
 *
 * @returns warnings; `omitted`: redundant tensors that a merged model lacks; `own`: tensors of a head or
 * tower that only the first model has
 * @throws as `checkCompatible`; TENSOR_NAMES_DIFFER if only some models have the head
 */
export const checkAll = async (
  recipe: Pick<Recipe, 'stacksLayers' | 'chatTemplate'>,
  models: readonly OpenedModel[],
  companions: readonly OpenedModel[],
  session: PlanningSession,
  { isDecided: tokensAreDecided, tokenizer }: Pick<InVocabulary, 'isDecided' | 'tokenizer'>,
): Promise<{
  readonly warnings: readonly string[];
  readonly omitted: ReadonlySet<string>;
  readonly own: readonly string[];
}> => {
  const [first] = models;
  const heads = new Map<OpenedModel, readonly string[]>();
  const warnings = [...models, ...companions].flatMap(({ checkpoint }) => checkpoint.warnings);
  const omitted = new Set<string>();
  const isOwn = first === undefined || tokenizerOf(first).checkpoint.path === tokenizer.checkpoint.path;
  if (!isOwn && recipe.chatTemplate === undefined)
    warnings.push(...(await templatesLeft([...models, ...companions], tokenizer.checkpoint)));
  const named = recipe.chatTemplate === undefined ? [] : await namedChatTemplates(tokenizer.checkpoint);
  if (named.length > 0)
    warnings.push(
      `named chat templates of ${tokenizer.checkpoint.name} (${named.join(', ')}) are not in the output, which has one: leave out ${optionName('chatTemplate')} to keep them`,
    );
  for (const other of [...models.slice(1), ...companions]) {
    if (first === undefined) break;
    const { stacksLayers: stacks } = recipe;
    const key = [idOf(first), idOf(other), stacks, tokensAreDecided, tokenizer.checkpoint.path];
    const found = session.remember(fits, key, () =>
      checkCompatible(first, other, { stacks, tokensAreDecided }, session.tokenizers).then((fit) => {
        if (!stacks) checkLayers(first, other);
        return fit;
      }),
    );
    const fit = await found.catch((error: unknown) => {
      throw at(error, other.path);
    });
    const open = fit.differences.filter(
      ({ decidedBy }) => decidedBy === undefined || (isOwn && recipe[decidedBy] === undefined),
    );
    warnings.push(...open.map(warningOf));
    if (companions.includes(other)) continue;
    for (const name of fit.redundant) omitted.add(name);
    heads.set(other, fit.own);
  }
  const own = [...new Set([...heads.values()].flat())];
  refuseSharedHead(own, models, heads);
  const left = [...omitted].sort();
  if (left.length > 0)
    warnings.push(
      `not every model stores ${left.slice(0, 3).join(', ')}${left.length > 3 ? ', …' : ''}: left out, as loaders compute ${left.length === 1 ? 'it' : 'them'}`,
    );
  return { warnings, omitted, own };
};

/** Warns of chat templates that another model's tokenizer files replace. */
const templatesLeft = async (models: readonly OpenedModel[], chosen: CheckpointIndex): Promise<string[]> => {
  const theirs = await readChatTemplate(chosen);
  const left: string[] = [];
  for (const model of models) {
    const own = await readChatTemplate(tokenizerOf(model).checkpoint);
    if (own !== undefined && own !== theirs) left.push(model.checkpoint.name);
  }
  if (left.length === 0) return [];
  const has = theirs === undefined ? `none, as ${chosen.name}` : `that of ${chosen.name}`;
  return [
    `the chat template of ${joined(left)} is not in the output, which has ${has}: ${optionName('chatTemplate')} chooses one`,
  ];
};

/**
 * Refuses a head that the first model shares with only some models, because the merged head would lack the other
 * models' changes. If the base has no head, there are no changes to add, and the first model's head is kept.
 */
const refuseSharedHead = (
  names: readonly string[],
  [first, ...others]: readonly OpenedModel[],
  lacking: ReadonlyMap<OpenedModel, readonly string[]>,
): void => {
  const experts = others.filter(({ role }) => role !== 'base');
  for (const other of experts) {
    const missing = lacking.get(other) ?? [];
    if (
      first !== undefined &&
      missing.length > 0 &&
      experts.some((one) => lacking.get(one)?.length !== names.length)
    )
      throw at(
        new LayerloomError('TENSOR_NAMES_DIFFER', {
          first: first.checkpoint.path,
          other: other.checkpoint.path,
          missing,
          unexpected: [],
        }),
        other.path,
      );
  }
};
