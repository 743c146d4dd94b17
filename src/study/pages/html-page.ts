import { readFile } from 'node:fs/promises';
import { h } from 'preact';
import { render } from 'preact-render-to-string';

/** Folder of the bundled scripts and styles, which `npm run build:ts` writes. */
const assets = new URL('../../../dist/study/pages/assets/', import.meta.url);

/** Name of the `meta` element by which layerloom knows a page that it wrote. */
export const generatorMeta = '<meta name="generator" content="layerloom">';

/** Control characters that JSON leaves as they are and that HTML does not allow, and line separators. */
const unsafe = /[<\u007f-\u009f\u2028\u2029\ufffe\uffff]/g;

/**
 * Encodes JSON for a script element: `</script>` or `<!--` in a string would end it, and some control
 * characters are not allowed in HTML.
 */
export const embedJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    unsafe,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const assetOf = (name: string): Promise<string> => readFile(new URL(name, assets), 'utf8');

/** Assembles a page that has no script. @param refresh seconds after which the browser reads it again; undefined: never */
export const stillPage = async ({
  title,
  body,
  refresh,
}: {
  readonly title: string;
  readonly body: string;
  readonly refresh: number | undefined;
}): Promise<string> => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
${generatorMeta}${refresh === undefined ? '' : `\n<meta http-equiv="refresh" content="${refresh}">`}
<meta name="viewport" content="width=device-width, initial-scale=1">
${render(h('title', null, title))}
<style>${await assetOf('pages.css')}</style>
</head>
<body>
<div id="page">${body}</div>
</body>
</html>
`;

/**
 * Assembles one HTML file that needs no network: the drawn page, its data as JSON, its style and its script.
 *
 * @param script name of the bundle in `dist/study/pages/assets`
 * @param body the drawn page, escaped by the renderer
 */
export const htmlPage = async ({
  title,
  body,
  data,
  script,
}: {
  readonly title: string;
  readonly body: string;
  readonly data: unknown;
  readonly script: 'report' | 'analysis' | 'comparison';
}): Promise<string> => {
  const [style, code] = await Promise.all(['pages.css', `${script}.js`].map(assetOf));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
${generatorMeta}
<meta name="viewport" content="width=device-width, initial-scale=1">
${render(h('title', null, title))}
<style>${style}</style>
</head>
<body>
<div id="page">${body}</div>
<script type="application/json" id="data">${embedJson(data)}</script>
<script>${code?.replaceAll('</script', '<\\/script')}</script>
</body>
</html>
`;
};
