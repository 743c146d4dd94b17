// @ts-check

/** What is used of markdown-it's tokens. @typedef {{ type: string, info: string, content: string, meta?: any }} Token */
/** @typedef {(tokens: Token[], index: number, ...rest: any[]) => string} Rule */
/** @typedef {{ push(name: string, rule: (state: { tokens: Token[], env: { relativePath?: string } }) => void): void }} Ruler */

/** Names of the tabs, by the language of their block, in the order in which pages have them. */
export const tabNames = { sh: 'Command line', ts: 'TypeScript', python: 'Python' };

const begin = '<!-- tabs -->';
const end = '<!-- /tabs -->';

/** The language of a block, or '' of what has no tab. @param {Token} token */
const tabOf = ({ type, info }) => {
  const [language = ''] = info.trim().split(/\s/);
  return type === 'fence' && language in tabNames ? language : '';
};

/**
 * Makes tabs of the blocks between `<!-- tabs -->` and `<!-- /tabs -->`, which GitHub shows one below another. The
 * component `CodeTabs` shows them.
 *
 * @param {{ core: { ruler: Ruler }, renderer: { rules: { fence: Rule } } }} md the parser, of markdown-it
 */
export const codeTabs = (md) => {
  md.core.ruler.push('code_tabs', ({ tokens, env }) => {
    const marks = tokens.filter(({ type }) => type === 'html_block');
    for (const opening of marks.filter(({ content }) => content.trim() === begin)) {
      const closing = marks.slice(marks.indexOf(opening)).find(({ content }) => content.trim() === end);
      const blocks = tokens.slice(tokens.indexOf(opening) + 1, closing && tokens.indexOf(closing));
      if (closing === undefined || blocks.some((block) => tabOf(block) === ''))
        throw new Error(
          `${env.relativePath}: between ${begin} and ${end} are blocks of ${Object.keys(tabNames).join(', ')}`,
        );
      for (const block of blocks) block.meta = { ...block.meta, tab: tabOf(block) };
      opening.content = `<CodeTabs languages="${blocks.map(tabOf).join(' ')}">\n`;
      closing.content = '</CodeTabs>\n';
    }
  });
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const shown = fence(tokens, index, ...rest);
    const tab = tokens[index]?.meta?.tab;
    return tab === undefined ? shown : `<template #${tab}>\n${shown}</template>\n`;
  };
};
