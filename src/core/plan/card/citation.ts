import type { Citation } from '../../methods/framework/declaration/method.js';

export const bibtexOf = ({ key, title, authors, year, source }: Citation): string => {
  const fields: Record<string, string> = {
    title: `{${title}}`,
    author: authors.join(' and '),
    year: String(year),
    ...('arxiv' in source
      ? { eprint: source.arxiv, archivePrefix: 'arXiv', url: `https://arxiv.org/abs/${source.arxiv}` }
      : { url: source.url }),
  };
  const lines = Object.entries(fields).map(([name, value]) => `  ${name} = {${value}}`);
  return `@misc{${key},\n${lines.join(',\n')}\n}`;
};
