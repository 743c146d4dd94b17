/** True for the ids of groups of merges; others are of models that were trained and not merged. */
export const isMergedId = (id: string): boolean =>
  /-(best|default)$/.test(id) || id === 'soup-of-each' || id === 'multilingual';
