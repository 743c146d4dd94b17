import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ComponentType, h } from 'preact';
import { shipped } from '../../core/base/files/shipped.js';
import { render } from './render.js';

/** Bundled scripts and styles from `npm run build:ts`. */
const assets = shipped('dist/study/pages/assets');

export const generatorMeta = '<meta name="generator" content="layerloom">';

/** Matches `<`, line separators, and control characters that JSON keeps but HTML forbids. */
const unsafe = /[<\u007f-\u009f\u2028\u2029\ufffe\uffff]/g;

/**
 * Encodes JSON for a script element. Escapes `<`, because `</script>` or `<!--` in a string would end the
 * element, and characters that HTML forbids.
 */
export const embedJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    unsafe,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const assetOf = (name: string): Promise<string> => readFile(join(assets, name), 'utf8');

interface HtmlPage<Data> {
  readonly title: string;
  readonly data: Data;
  /** Bundle in `dist/study/pages/assets`; undefined: a page without script. */
  readonly script?: 'report' | 'analysis' | 'comparison';
  /** Seconds until the browser reloads it. */
  readonly refresh?: number | undefined;
}

/** Assembles an HTML file that needs no network. */
export const htmlPage = async <Data>(
  Page: ComponentType<{ data: Data }>,
  { title, data, script, refresh }: HtmlPage<Data>,
): Promise<string> => {
  const code = script === undefined ? undefined : await assetOf(`${script}.js`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'${code === undefined ? '' : "; script-src 'unsafe-inline'; img-src data:"}">
${generatorMeta}${refresh === undefined ? '' : `\n<meta http-equiv="refresh" content="${refresh}">`}
<meta name="viewport" content="width=device-width, initial-scale=1">
${render(h('title', null, title))}
<style>${await assetOf('pages.css')}</style>
</head>
<body>
<div id="page">${render(h(Page, { data }))}</div>${
    code === undefined
      ? ''
      : `
<script type="application/json" id="data">${embedJson(data)}</script>
<script>${code.replaceAll('</script', '<\\/script')}</script>`
  }
</body>
</html>
`;
};
