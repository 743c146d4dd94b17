import { Document, isScalar, isSeq, visit } from 'yaml';

/** Formats a recipe as YAML without the last line's end, with lists of numbers on one line. */
export const recipeYaml = (recipe: Readonly<Record<string, unknown>>): string => {
  // Lines are not folded: where templates and names have spaces matters.
  const document = new Document(recipe, { aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_key, node) => {
      if (isSeq(node) && node.items.every((item) => isScalar(item) && typeof item.value === 'number'))
        node.flow = true;
    },
  });
  // One line end, since those before it may be a chat template's.
  return document.toString({ flowCollectionPadding: false, lineWidth: 0 }).replace(/\n$/, '');
};
