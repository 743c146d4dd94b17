// Markdown that both GitHub and VitePress read alike; VitePress takes text for a template of Vue.

/** A code span. Vue's delimiters are not read in it. */
export const code = (text) => `\`${text}\``;

const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** Text with the signs that begin HTML or a template replaced, code spans aside. */
export const text = (prose) =>
  prose
    .split(/(`[^`]*`)/)
    .map((part, index) =>
      index % 2 === 1 ? part : part.replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;'),
    )
    .join('');

/** A table; columns that are empty in every row are left out. */
export const table = (heads, rows) => {
  const used = heads.map((_, column) => rows.some((row) => row[column] !== ''));
  const line = (cells) =>
    `| ${cells
      .filter((_, column) => used[column])
      .map(cell)
      .join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map((row) => line(row.map(text)))].join('\n');
};

/** A page of paragraphs. */
export const page = (paragraphs) => `${paragraphs.join('\n\n')}\n`;
