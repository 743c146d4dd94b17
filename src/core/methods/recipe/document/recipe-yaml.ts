import { Document, isScalar, isSeq, visit } from 'yaml';

/** Formats a recipe, with lists of numbers on one line, without final newline. */
export const recipeYaml = (recipe: Readonly<Record<string, unknown>>): string => {
  // Lines are not folded, because spaces in templates matter.
  const document = new Document(recipe, { aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_key, node) => {
      if (isSeq(node) && node.items.every((item) => isScalar(item) && typeof item.value === 'number'))
        node.flow = true;
    },
  });
  // Removes only one newline: further newlines may belong to a chat template.
  return document.toString({ flowCollectionPadding: false, lineWidth: 0 }).replace(/\n$/, '');
};
