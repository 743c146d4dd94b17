import { invalidRecipe } from '../../../../core/methods/recipe/document/invalid.js';
import { isText, type Mapping } from '../../../../core/methods/recipe/document/tree.js';
import { partWords } from '../../../../core/methods/recipe/model-places.js';

/**
 * @throws RECIPE_INVALID if `parts` name models outside the pair, because then merges of different pairs
 *   would be equal
 */
export const refuseOtherModels = ({ entries }: Mapping): void => {
  const parts = entries.get('parts')?.value;
  const models = (parts?.kind === 'list' ? parts.items : []).flatMap((part) => {
    if (part.kind !== 'mapping') return [];
    const several = part.entries.get('models')?.value;
    const one = part.entries.get('model')?.value;
    return [...(several?.kind === 'list' ? several.items : []), ...(one === undefined ? [] : [one])];
  });
  for (const model of models)
    if (!(isText(model) && partWords.has(model.value)))
      throw invalidRecipe(model.mark, {
        key: 'parts',
        reason: 'an experiment merges pairs of its experts',
        expected: `a model of the pair: ${[...partWords].join(', ')}`,
      });
};
