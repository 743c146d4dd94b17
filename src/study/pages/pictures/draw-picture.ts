import { type ComponentType, h } from 'preact';
import { render } from 'preact-render-to-string';
import { visible } from '../../../core/base/visible.js';

/**
 * Renders a picture as the text of an SVG file. XML allows neither control characters nor `]]>` in texts, which
 * HTML's escapes leave as they are; names come from file names and may have both.
 */
export const drawPicture = <Props extends object>(Drawn: ComponentType<Props>, props: Props): string =>
  `${visible(render(h(Drawn, props))).replaceAll(']]>', ']]&gt;')}\n`;
