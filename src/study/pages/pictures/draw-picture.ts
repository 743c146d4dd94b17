import { type ComponentType, h } from 'preact';
import { visible } from '../../../core/base/errors/visible.js';
import { render } from '../render.js';

/**
 * Renders a picture as SVG. XML forbids control characters and `]]>`, which HTML's escapes keep and names of
 * files may contain.
 */
export const drawPicture = <Props extends object>(Drawn: ComponentType<Props>, props: Props): string =>
  `${visible(render(h(Drawn, props))).replaceAll(']]>', ']]&gt;')}\n`;
