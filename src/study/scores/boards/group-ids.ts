export const isMergedId = (id: string): boolean =>
  /-(best|default)$/.test(id) || id === 'soup-of-each' || id === 'multilingual';
