import { itemAt } from '../../base/errors/lookup.js';
import { type ModelTokens, tokensWhere } from './files/tokenizer.js';
import { joined, quoted, someTokens } from './files/words.js';
import type { Missing } from './rows.js';

export const missingWarnings = (models: readonly ModelTokens[], missing: readonly Missing[]): string[] => {
  const name = (model: number) => itemAt(models, model).name;
  return missing.map(({ models: lacking, tokens, from }) => {
    const lackers = new Set(lacking.map(name)).size;
    if (from.length === 0) return `no model has rows for ${someTokens(tokens)}: they are 0`;
    const [verb, one] = [lackers === 1 ? 'lacks' : 'lack', tokens.length === 1];
    const source = joined(from.map(name));
    const has =
      `${joined(lacking.map(name))} ${verb} ${tokens.length} ${one ? 'token' : 'tokens'} that ${source} ` +
      `${from.length === 1 ? 'has' : 'have'} (${quoted(tokens)})`;
    if (from.length === 1) return `${has}: ${one ? 'its row comes' : 'their rows come'} from ${source}`;
    return `${has}: ${one ? 'its row is' : 'their rows are'} the mean of theirs`;
  });
};

export const rowsWarning = (models: readonly ModelTokens[], rows: number): string[] => {
  if (models.every((model) => model.rows === rows)) return [];
  const counts = [...new Set(models.map((model) => model.rows))].map(
    (count) =>
      `${count} in ${joined(models.filter((model) => model.rows === count).map(({ name }) => name))}`,
  );
  return [`the output’s embeddings have ${rows} rows (${counts.join(', ')})`];
};

export const movedWarnings = (models: readonly ModelTokens[], ids: ReadonlyMap<string, number>): string[] => {
  const told = new Set<ModelTokens['tokenizer']>();
  return models.flatMap(({ name, rows, tokenizer }) => {
    if (told.has(tokenizer)) return [];
    told.add(tokenizer);
    const moved = tokensWhere(tokenizer.ids, (id, token) => id < rows && (ids.get(token) ?? id) !== id);
    return moved.length === 0
      ? []
      : [
          `${someTokens(moved)} of ${name} ${moved.length === 1 ? 'has another id' : 'have other ids'} in the output`,
        ];
  });
};

/** Warns about tokens without rows, in models whose tokenizer is not the output's. */
export const rowlessWarnings = (models: readonly ModelTokens[], donor: number): string[] => {
  const told = new Set([itemAt(models, donor).tokenizer]);
  return models.flatMap(({ name, rows, tokenizer }) => {
    if (told.has(tokenizer)) return [];
    told.add(tokenizer);
    const rowless = tokensWhere(tokenizer.ids, (id) => id >= rows);
    return rowless.length === 0 ? [] : [`${name} has ${rows} rows, and none for ${someTokens(rowless)}`];
  });
};
