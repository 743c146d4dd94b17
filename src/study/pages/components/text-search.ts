/**
 * A search in texts, by a library. The build replaces the compiled module by its bundle (`scripts/bundle-libraries.mjs`),
 * which draws pages; pages themselves have the library in their script.
 */
import MiniSearch from 'minisearch';

/** Returns the positions of the texts that have every word of a query, or one that begins like it or nearly equals it. */
export type TextSearch = (query: string) => number[];

export const searchIn = (texts: readonly string[]): TextSearch => {
  const engine = new MiniSearch<{ id: number; text: string }>({ fields: ['text'] });
  engine.addAll(texts.map((text, id) => ({ id, text })));
  return (query) =>
    engine.search(query, { prefix: true, fuzzy: 0.1, combineWith: 'AND' }).map(({ id }) => Number(id));
};
