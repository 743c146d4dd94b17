/**
 * Text search by a library. For pages that Node renders, the build replaces the compiled module by a bundle
 * (`scripts/bundle-libraries.mjs`). In pages, the library is part of the script.
 */
import MiniSearch from 'minisearch';

/** Returns positions of texts that match every word of a query, by prefix or approximately. */
export type TextSearch = (query: string) => number[];

export const searchIn = (texts: readonly string[]): TextSearch => {
  const engine = new MiniSearch<{ id: number; text: string }>({ fields: ['text'] });
  engine.addAll(texts.map((text, id) => ({ id, text })));
  return (query) =>
    engine.search(query, { prefix: true, fuzzy: 0.1, combineWith: 'AND' }).map(({ id }) => Number(id));
};
