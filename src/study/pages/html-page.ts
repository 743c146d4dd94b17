import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { h } from 'preact';
import { shipped } from '../../core/base/files/shipped.js';
import { render } from './render.js';

/** Bundled scripts and styles from `npm run build:ts`. */
const assets = shipped('dist/study/pages/assets');

/** The `meta` element that identifies pages by layerloom. */
export const generatorMeta = '<meta name="generator" content="layerloom">';

/** `<`, line separators, and control characters that JSON keeps and HTML forbids. */
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

type StillPage = { readonly title: string; readonly body: string; readonly refresh: number | undefined };

/**
 * Assembles a page without a script.
 *
 * @param refresh seconds until the browser reloads it; undefined: never
 */
export const stillPage = async ({ title, body, refresh }: StillPage): Promise<string> => `<!doctype html>
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

interface HtmlPage {
  readonly title: string;
  readonly body: string;
  readonly data: unknown;
  readonly script: 'report' | 'analysis' | 'comparison';
}

/**
 * Assembles an HTML file that needs no network: the drawn page, its data as JSON, style and script.
 *
 * @param script name of the bundle in `dist/study/pages/assets`
 * @param body the drawn page, escaped by the renderer
 */
export const htmlPage = async ({ title, body, data, script }: HtmlPage): Promise<string> => {
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
